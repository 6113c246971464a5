//! Which task ran where, as a picture.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use observe::Gantt;
use shiftwork::Recording;

use super::Options;

/// The file of `--gantt`. It is made just before the run: a place that can not be written to is known
/// then and not after, and a picture that is there stays if nothing is run.
pub(crate) struct Picture {
    path: PathBuf,
    file: File,
}

impl Picture {
    pub(crate) fn create(path: &Path) -> Result<Picture> {
        let file = File::create(path)
            .with_context(|| format!("could not write the picture to {}", path.display()))?;
        Ok(Picture { path: path.to_owned(), file })
    }

    /// Draws what was recorded.
    pub(crate) fn draw(mut self, options: &Options, recording: &Recording) -> Result<()> {
        // Not where it is: on another machine the same seed gives the same picture.
        let mut title = options.file.file_name().unwrap_or_default().display().to_string();
        if let Some(seed) = options.seed {
            title.push_str(&format!(" with seed {seed}"));
        }
        let chart = Gantt::of_recording(title, recording, |strand| recording.name_of(strand));
        let written = self.file.write_all(chart.svg().as_bytes());
        written.with_context(|| format!("could not write the picture to {}", self.path.display()))
    }
}
