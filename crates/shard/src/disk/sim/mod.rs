//! What does a disk do that forgets, tears, fails, fills up and is slow? For tests.
//!
//! [`SimDisk`] keeps files in memory, each as it reads now and as it would be found after a
//! power cut. The same seed and the same calls give the same bytes.
//!
//! 1. What was synced is there after a crash. Of the rest, each sector of 512 bytes holds
//!    what it held at the last sync or after any one write since, whatever its neighbours do.
//! 2. A cut of a file (`set_len` to less) is there whole or not at all, and nothing that was
//!    written to the file after it is there without it.
//! 3. A write that fails has written some of its sectors. A sync that fails has synced some, and
//!    the others are never synced unless they are written again.
//! 4. Names are on disk at once, as [`Disk`] promises.

mod file;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::file::Content;
use super::{Disk, File};

/// What is written whole or not at all.
const SECTOR: usize = 512;

/// A disk in memory, for tests. Clones are the same disk.
///
/// ```
/// use shard::disk::{Disk, SimDisk, Unsynced};
///
/// let disk = SimDisk::new(1);
/// let file = disk.open("a")?;
/// file.write_at(0, b"synced")?;
/// file.sync()?;
/// file.write_at(0, b"not synced")?;
///
/// let after = disk.crash(Unsynced::Lost);
/// assert_eq!(after.read("a").as_deref(), Some(b"synced".as_slice()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct SimDisk(Arc<Mutex<State>>);

/// What became of writes that were not synced when the power went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// None of them is there.
    Lost,
    /// All can be read: the process was killed, the machine ran on. They are not synced yet.
    Kept,
    /// Each sector has decided for itself.
    Torn,
}

/// How long a disk that fails goes on failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// One call.
    Once,
    /// That call and every call after it, until [`SimDisk::repair`].
    FromThenOn,
}

/// What was asked of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Remove,
    Read,
    Write,
    SetLen,
    Sync,
}

impl Operation {
    fn changes(self) -> bool {
        self != Operation::Read
    }
}

/// One call, told before it is done: to count, or to let virtual time pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    pub operation: Operation,
    pub name: &'a str,
    /// How many are read or written; of a sync, how many were waiting for it.
    pub bytes: u64,
}

type Listener = Arc<dyn Fn(Call<'_>) + Send + Sync>;

struct State {
    files: BTreeMap<String, Content>,
    random: Random,
    /// Calls that change something, so far.
    changes: u64,
    fails: Option<(u64, Fails)>,
    syncs_fail: bool,
    reads_fail: bool,
    capacity: u64,
    listener: Option<Listener>,
}

impl SimDisk {
    /// An empty disk. All that is left to chance is drawn from the seed.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::with(BTreeMap::new(), Random(seed))
    }

    fn with(files: BTreeMap<String, Content>, random: Random) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(State {
            files,
            random,
            changes: 0,
            fails: None,
            syncs_fail: false,
            reads_fail: false,
            capacity: u64::MAX,
            listener: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk as it is found after the power went and came back: healthy, with the same room.
    /// This one stays as it is, so that one moment can be crashed in several ways.
    #[must_use]
    pub fn crash(&self, unsynced: Unsynced) -> SimDisk {
        let state = &mut *self.state();
        let after = |random: &mut Random, content: &Content| content.after_crash(unsynced, random);
        let random = &mut state.random;
        let files = state.files.iter().map(|(name, file)| (name.clone(), after(random, file)));
        let disk = SimDisk::with(files.collect(), Random(random.next()));
        disk.state().capacity = state.capacity;
        disk
    }

    /// How many calls changed something so far: files created or removed, writes, changes of
    /// length, syncs.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Fails the call that changes something after `after` more of them.
    pub fn fail_after(&self, after: u64, how: Fails) {
        let mut state = self.state();
        state.fails = Some((state.changes + after, how));
    }

    /// Whether the call that [`SimDisk::fail_after`] asked for has come.
    pub fn has_failed(&self) -> bool {
        let state = self.state();
        state.fails.is_some_and(|(at, _)| state.changes > at)
    }

    /// From now on syncs fail, or do not.
    pub fn fail_syncs(&self, fail: bool) {
        self.state().syncs_fail = fail;
    }

    /// From now on reads fail, or do not.
    pub fn fail_reads(&self, fail: bool) {
        self.state().reads_fail = fail;
    }

    /// From now on all files together hold no more than so many bytes.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity = bytes;
    }

    /// How many bytes all files hold.
    pub fn used(&self) -> u64 {
        self.state().used()
    }

    /// From now on nothing fails.
    pub fn repair(&self) {
        let mut state = self.state();
        (state.fails, state.syncs_fail, state.reads_fail) = (None, false, false);
    }

    /// From now on each call is told to `listener` before it is done. The disk is not locked
    /// meanwhile.
    pub fn on_call(&self, listener: impl Fn(Call<'_>) + Send + Sync + 'static) {
        self.state().listener = Some(Arc::new(listener));
    }

    /// What a file holds now.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.state().files.get(name).map(|file| file.now().to_vec())
    }

    /// Makes a file hold this, on disk: what somebody else has put there.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        self.state().files.insert(name.to_owned(), Content::synced(bytes));
    }

    /// Tells the listener, and decides whether the call fails.
    fn begin(&self, operation: Operation, name: &str, bytes: u64) -> Result<(), io::Error> {
        let listener = self.state().listener.clone();
        if let Some(listener) = listener {
            listener(Call { operation, name, bytes });
        }
        let mut state = self.state();
        let at = state.changes;
        state.changes += u64::from(operation.changes());
        let planned = operation.changes()
            && state.fails.is_some_and(|(from, how)| match how {
                Fails::Once => at == from,
                Fails::FromThenOn => at >= from,
            });
        let failed = planned
            || operation == Operation::Sync && state.syncs_fail
            || operation == Operation::Read && state.reads_fail;
        if failed { Err(io::Error::other("the simulated disk has failed")) } else { Ok(()) }
    }
}

impl State {
    fn used(&self) -> u64 {
        self.files.values().map(|file| file.now().len() as u64).sum()
    }

    fn file(&mut self, name: &str) -> io::Result<(&mut Content, &mut Random)> {
        let file = self.files.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        Ok((file, &mut self.random))
    }

    /// Whether a file can grow to `len`.
    fn make_room(&mut self, name: &str, len: u64) -> io::Result<()> {
        let now = self.file(name)?.0.now().len() as u64;
        let used = self.used() - now + len.max(now);
        let fits = len <= now || used <= self.capacity;
        if fits { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        if !self.exists(name)? {
            self.begin(Operation::Create, name, 0)?;
            self.state().files.insert(name.to_owned(), Content::default());
        }
        Ok(Box::new(SimFile { disk: self.clone(), name: name.to_owned() }))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.state().files.contains_key(name))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.begin(Operation::Remove, name, 0)?;
        let removed = self.state().files.remove(name);
        removed.map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn path(&self, name: &str) -> String {
        format!("simulated/{name}")
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("SimDisk").field("files", &state.files.keys()).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    name: String,
}

impl File for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().file(&self.name)?.0.now().len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.disk.begin(Operation::Read, &self.name, into.len() as u64)?;
        let mut state = self.disk.state();
        let (file, _) = state.file(&self.name)?;
        let range = usize::try_from(at).ok().and_then(|at| Some(at..at.checked_add(into.len())?));
        let bytes = range.and_then(|range| file.now().get(range));
        into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, at: u64, from: &[u8]) -> io::Result<()> {
        let begun = self.disk.begin(Operation::Write, &self.name, from.len() as u64);
        let mut state = self.disk.state();
        state.make_room(&self.name, at + from.len() as u64)?;
        let (file, random) = state.file(&self.name)?;
        let written = match &begun {
            Ok(()) => from.len(),
            Err(_) => (random.below(from.len() as u64 + 1)) as usize / SECTOR * SECTOR,
        };
        file.write(at as usize, &from[..written]);
        begun
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.begin(Operation::SetLen, &self.name, 0)?;
        let mut state = self.disk.state();
        state.make_room(&self.name, len)?;
        state.file(&self.name)?.0.set_len(len as usize);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let waiting = self.disk.state().file(&self.name)?.0.waiting();
        let begun = self.disk.begin(Operation::Sync, &self.name, waiting);
        let mut state = self.disk.state();
        let (file, random) = state.file(&self.name)?;
        match &begun {
            Ok(()) => file.sync(),
            Err(_) => file.fail_to_sync(random),
        }
        begun
    }
}

/// Numbers that follow from a seed (splitmix64).
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not 0.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
