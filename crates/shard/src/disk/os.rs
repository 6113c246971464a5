//! Which directory of the operating system holds the files, and who else may use it?
//!
//! Nobody else: a lock on the file `lock` is held as long as the [`OsDisk`] lives. The system
//! gives it back when the process ends, however it ends.
//!
//! The name of a file or directory is on disk when the directory was synced that it is in. So each
//! directory that is made here is followed by a sync of the one that it is in, before anything is made
//! in it. What a process has made in the data directory that died before it has synced is synced by
//! the next one.

use std::{
    fs::{self, TryLockError},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use super::{Disk, File};
use crate::store::StoreError;

const LOCK: &str = "lock";

/// A directory, locked.
///
/// ```
/// use shard::{disk::OsDisk, store::StoreError};
///
/// let path = std::env::temp_dir().join(format!("shard-os-disk-{}", std::process::id()));
/// let disk = OsDisk::open(&path)?;
/// assert!(matches!(OsDisk::open(&path), Err(StoreError::Locked(_))));
/// drop(disk);
/// OsDisk::open(&path)?;
/// # std::fs::remove_dir_all(path).expect("it is ours");
/// # Ok::<(), StoreError>(())
/// ```
#[derive(Debug)]
pub struct OsDisk {
    path: PathBuf,
    /// Synced when a name in it changes.
    directory: fs::File,
    _lock: fs::File,
}

impl OsDisk {
    /// Creates the directory when there is none, with those above it, and locks it.
    pub fn open(path: impl AsRef<Path>) -> Result<OsDisk, StoreError> {
        let path = path.as_ref();
        let io = |doing| move |error: io::Error| StoreError::io(doing, path.display(), &error);
        make(path, &mut sync).map_err(io("creating the data directory"))?;
        let lock = options().open(path.join(LOCK)).map_err(io("opening the lock file in"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked(path.display().to_string()));
            }
            Err(TryLockError::Error(error)) => return Err(io("locking")(error)),
        }
        let directory = fs::File::open(path).map_err(io("opening the data directory"))?;
        directory.sync_all().map_err(io("syncing the data directory"))?;
        Ok(OsDisk { path: path.to_owned(), directory, _lock: lock })
    }
}

fn options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options
}

/// Makes the directory and those above it that are not there, and has the parent of each synced.
fn make(path: &Path, sync: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        make(above, sync)?;
    }
    match fs::create_dir(path) {
        // Somebody else was quicker, or the path goes up again.
        Err(_) if path.is_dir() => {}
        made => made?,
    }
    path.canonicalize()?.parent().map_or(Ok(()), sync)
}

fn sync(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

impl Disk for OsDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let is_new = !self.exists(name)?;
        let file = options().open(self.path.join(name))?;
        if is_new {
            self.directory.sync_all()?;
        }
        Ok(Box::new(OsFile(file)))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.path.join(name).try_exists()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))?;
        self.directory.sync_all()
    }

    fn path(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

#[derive(Debug)]
struct OsFile(fs::File);

impl File for OsFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(into, at)
    }

    fn write_at(&self, at: u64, from: &[u8]) -> io::Result<()> {
        self.0.write_all_at(from, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        // The length is synced with the data where reading needs it. Times are not.
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::directory::Directory;

    #[test]
    fn what_is_written_is_read_and_stays_after_opening_again() {
        let directory = Directory::new("os-stays");
        {
            let disk = OsDisk::open(directory.path()).expect("nobody else has it");
            let file = disk.open("a").expect("it can be created");
            file.write_at(3, b"xyz").expect("there is room");
            file.sync().expect("it is a file");
        }
        let disk = OsDisk::open(directory.path()).expect("it was given back");
        assert!(disk.exists("a").expect("the directory can be read"));
        let file = disk.open("a").expect("it is there");
        let mut read = [9; 6];
        file.read_at(0, &mut read).expect("it is as long");
        assert_eq!(&read, b"\0\0\0xyz");
        assert!(file.read_at(1, &mut read).is_err(), "it read past the end");
    }

    #[test]
    fn each_directory_that_is_made_is_synced_into_the_one_above_before_the_next_is_made() {
        let directory = Directory::new("os-above");
        fs::create_dir_all(directory.path()).expect("the temporary directory is ours");
        let root = directory.path().canonicalize().expect("it is there");
        let (b, c) = (root.join("a/b"), root.join("a/b/c"));
        let mut synced = Vec::new();
        let mut sync = |at: &Path| {
            synced.push((at.to_owned(), b.exists(), c.exists()));
            Ok(())
        };
        make(&c, &mut sync).expect("there is room");
        make(&c, &mut sync).expect("it is there");
        let expected =
            [(root.clone(), false, false), (root.join("a"), true, false), (b.clone(), true, true)];
        assert_eq!(synced, expected, "and what was there is not synced");
        drop(OsDisk::open(root.join("d/../e/f")).expect("nobody else has it"));
        assert!(root.join("e/f").exists());
    }

    #[test]
    fn a_file_that_was_removed_is_gone() {
        let directory = Directory::new("os-removed");
        let disk = OsDisk::open(directory.path()).expect("nobody else has it");
        drop(disk.open("a").expect("it can be created"));
        disk.remove("a").expect("it is there");
        assert!(!disk.exists("a").expect("the directory can be read"));
    }

    #[test]
    fn a_locked_directory_is_named() {
        let directory = Directory::new("os-locked");
        let _first = OsDisk::open(directory.path()).expect("nobody else has it");
        let path = directory.path().display().to_string();
        assert_eq!(OsDisk::open(directory.path()).err(), Some(StoreError::Locked(path)));
    }

    #[test]
    fn a_path_that_is_a_file_is_an_error_that_names_it() {
        let directory = Directory::new("os-file");
        let path = directory.path().join("file");
        fs::create_dir_all(directory.path()).expect("the temporary directory is ours");
        fs::write(&path, b"not a directory").expect("the temporary directory is ours");
        let error = OsDisk::open(&path).expect_err("it is a file").to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
}
