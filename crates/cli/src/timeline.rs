//! Where does the timeline of a run go?

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use shiftwork::{Recording, observe};

/// So many events are kept per worker: the last seconds of a busy run. A trace of them is some ten
/// megabytes per worker, which viewers open at once.
pub(crate) const EVENTS: usize = 1 << 18;

/// The file of `--timeline`. It is made before the run, so that a place that can not be written to is
/// known then and not after.
pub(crate) struct Timeline {
    path: PathBuf,
    file: File,
}

impl Timeline {
    pub(crate) fn create(path: &Path) -> Result<Timeline> {
        let file = File::create(path)
            .with_context(|| format!("could not write the timeline to {}", path.display()))?;
        Ok(Timeline { path: path.to_owned(), file })
    }

    /// Writes what was recorded. Returns what to tell the user about it.
    pub(crate) fn write(mut self, runtimes: &[(&str, &Recording)]) -> Result<String> {
        observe::timeline::write(&mut self.file, runtimes)
            .with_context(|| format!("could not write the timeline to {}", self.path.display()))?;
        let events: usize = runtimes.iter().map(|(_, recording)| recording.events.len()).sum();
        let dropped: u64 = runtimes.iter().map(|(_, recording)| recording.dropped).sum();
        let mut text = format!(
            "timeline: {events} events in {}, to be opened in https://ui.perfetto.dev\n",
            self.path.display()
        );
        if dropped > 0 {
            text.push_str(&format!("          {dropped} earlier events no longer fitted\n"));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_can_not_be_written_is_named_before_the_run() {
        let Err(error) = Timeline::create(Path::new("/nowhere/at/all.json")) else {
            panic!("it was made")
        };
        assert!(error.to_string().contains("/nowhere/at/all.json"), "{error}");
    }
}
