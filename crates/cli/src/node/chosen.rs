//! What has been chosen, before it is made into the library's settings.

use std::path::PathBuf;

use ::node::{
    Settings,
    settings::{BaseChain, Storage},
};

use super::{genesis, log::LogFormat, paths};

/// What has been chosen.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) settings: Settings,
    /// Not there where blocks are kept in memory: the sources have settled which it is.
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) in_memory: bool,
    pub(crate) genesis: Option<PathBuf>,
    pub(crate) timeline: Option<PathBuf>,
    /// Its URL is empty: there is none.
    pub(crate) base_chain: BaseChain,
    pub(crate) log_format: LogFormat,
    pub(crate) log_level: String,
}

impl Default for Chosen {
    fn default() -> Chosen {
        Chosen {
            settings: Settings::in_memory(),
            data_dir: None,
            in_memory: false,
            genesis: None,
            timeline: None,
            base_chain: BaseChain::new(""),
            log_format: LogFormat::Text,
            log_level: "info".to_owned(),
        }
    }
}

impl Chosen {
    /// The library's settings. Reads the genesis file.
    pub(crate) fn into_settings(self) -> Result<Settings, String> {
        let mut settings = self.settings;
        settings.storage = match (self.in_memory, self.data_dir) {
            (true, _) => Storage::Memory,
            (false, Some(directory)) => Storage::Directory(directory),
            (false, None) => Storage::Directory(paths::data()?),
        };
        if let Some(file) = &self.genesis {
            settings.shards.genesis = genesis::read(file)?;
        }
        if !self.base_chain.url.is_empty() {
            settings.base_chain = Some(self.base_chain);
        }
        settings.timeline = self.timeline.is_some();
        settings.shards.check()?;
        Ok(settings)
    }
}
