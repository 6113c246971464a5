//! Where may a test put real files, and who cleans up?

use std::path::{Path, PathBuf};

/// A temporary directory of its own, removed at the end.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    /// Not created yet. The name tells tests of one process apart.
    pub(crate) fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("shard-{name}-{}", std::process::id()));
        // A process with this id may have died here before.
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
