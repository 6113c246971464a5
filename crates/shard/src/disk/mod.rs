//! What does this crate ask of a disk?
//!
//! As little as the outside world allows, so that the one that fails on purpose is small:
//! [`OsDisk`] is a directory, [`SimDisk`] is memory that forgets what was not synced.
//!
//! What is written is on disk after the next `sync` of the same file that succeeds, and not
//! before. After a `sync` that failed it may never be there, though reading shows it and a later
//! `sync` succeeds: only writing it again helps.

mod os;
mod sim;

use std::{fmt, io};

pub use os::OsDisk;
pub use sim::{Call, Fails, Operation, SimDisk, Unsynced};

/// Files by name.
pub trait Disk: fmt::Debug + Send + Sync + 'static {
    /// The file with this name. It is created when there is none, and its name is on disk when
    /// this returns.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Whether there is a file with this name.
    fn exists(&self, name: &str) -> io::Result<bool>;

    /// Removes the file with this name. That it is gone is on disk when this returns.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Where the file is, for people.
    fn path(&self, name: &str) -> String;
}

/// A file. Calls may come from any thread.
#[expect(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty")]
pub trait File: fmt::Debug + Send + Sync + 'static {
    /// How many bytes it holds.
    fn len(&self) -> io::Result<u64>;

    /// Fills `into`. An error when the file ends before.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes all of `from`; the file grows when it ends before.
    fn write_at(&self, at: u64, from: &[u8]) -> io::Result<()>;

    /// Cuts the file, or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// What was written before is on disk when this returns.
    fn sync(&self) -> io::Result<()>;
}
