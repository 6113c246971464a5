//! How do blocks and accepted transactions of all shards get to the disk together?
//!
//! ```text
//!   shards, admission        committer                          folder
//!   submit(records, done) -> queue -> one append, one sync      one fold, whole
//!                                     done(Ok(epoch)) ...       epoch's records -> tables
//!                                     log long enough: rotate ->
//! ```
//!
//! 1. `done` is called once for each submission: with the epoch that holds it when it is as durable
//!    as the setting says, or with the error when it is not. After an error nothing of it is kept.
//! 2. Submissions are appended in the order in which they came.
//! 3. At most one epoch is being folded while the next is filled. Where folding is slower than
//!    filling, appending waits: memory is bounded. What was acknowledged is synced in time all the same.
//! 4. After a failed append, sync or fold nothing is appended until the store was reopened; until
//!    then each submission fails at once. A panic of the store is such a failure.
//!
//! What commits is a plain object that is driven: by a thread of its own in a real runtime, by a
//! strand in a simulated one.

pub(crate) mod driver;
pub(crate) mod fold;
pub(crate) mod keys;
pub(crate) mod prune;
pub(crate) mod reads;
mod reason;
pub(crate) mod record;
mod reopen;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use kernel::Strand;

use crate::{
    config::Durability,
    store::{Epoch, Store, StoreError},
};
use fold::Beginning;
use prune::{Cut, Cuts, Portion};
use record::Record;
use reopen::caught;

/// So many times the bytes of a checkpoint may be in the log while the one before is folded.
const BEHIND_MAX: u64 = 4;

/// With so many submissions waiting, a sync is not put off for more.
const ENOUGH: usize = 1_024;

/// So much room for the bytes of an append is kept for the next one.
const ROOM_MAX: usize = 4 << 20;

/// The runtime's clock.
pub(crate) type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// Told what became of a submission.
pub(crate) type Done = Box<dyn FnOnce(Result<Epoch, StoreError>) + Send>;

/// Called with each epoch that is in the tables, so that copies in memory can go.
pub(crate) type Folded = Box<dyn Fn(Epoch) + Send + Sync>;

/// What is written as one, and who is told of it.
pub(crate) struct Submission {
    pub(crate) records: Vec<Record>,
    pub(crate) done: Done,
}

/// A submission that was not taken. Whoever waits for it must be told.
#[must_use = "somebody waits for it"]
pub(crate) struct Refused {
    done: Done,
    error: StoreError,
}

impl Refused {
    pub(crate) fn tell(self) {
        tell(self.done, Err(self.error));
    }
}

/// Tells what became of a submission. Somebody else's waker may panic: that must not end the
/// committer, on which everyone waits.
fn tell(done: Done, result: Result<Epoch, StoreError>) {
    let _ = catch_unwind(AssertUnwindSafe(|| done(result)));
}

/// Takes what must be durable, from any thread.
pub(crate) struct Commit {
    store: Arc<dyn Store>,
    durability: Durability,
    checkpoint_bytes: u64,
    genesis: Arc<dyn Beginning + Send + Sync>,
    folded: Folded,
    cuts: Cuts,
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
    /// The same for the thread that appends. It has one to itself, so that a submission wakes nobody
    /// else, and nobody at all while that thread is at work.
    submitted: Condvar,
    /// Room for the bytes of an append: fresh memory costs more than what is written to it.
    room: Mutex<Vec<u8>>,
    /// What drives it in a simulated runtime.
    strand: OnceLock<Strand>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Submission>,
    /// What the current epoch's log holds.
    records: Vec<Record>,
    /// The epoch before, until it is in the tables.
    folding: Option<Folding>,
    /// What is to go from the tables and the last fold did not get to.
    unpruned: Vec<Cut>,
    /// Why nothing can be appended.
    failure: Option<StoreError>,
    /// When to try to reopen it next.
    reopen_at: Option<Duration>,
    /// How long to wait after the next failure. Nothing, when all was well for a while.
    reopen_after: Duration,
    /// When the first of what was appended and not synced was appended.
    unsynced: Option<Duration>,
    /// How long the last append took, if it was synced for several: for as long others may gather.
    shared_sync: Option<Duration>,
    /// The store may have failed without a word to us.
    doubted: bool,
    /// The thread that appends sleeps until something is submitted.
    idle: bool,
    closing: bool,
    /// Threads that drove it and have ended.
    ended: usize,
    counts: Counts,
}

struct Folding {
    epoch: Epoch,
    records: Arc<Vec<Record>>,
    /// Whether someone is at it.
    begun: bool,
}

/// What the committer has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Appends, each with one sync at most.
    pub commits: u64,
    /// Records in them.
    pub records: u64,
    /// Epochs folded into the tables.
    pub folds: u64,
    /// Times that the store has failed.
    pub failures: u64,
}

/// What a driver is to do next.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Next {
    /// Look again at once.
    Again,
    /// Nothing until it is woken.
    Wait,
    /// Look again after this time, or when it is woken.
    WaitFor(Duration),
    /// All is written and it is closing.
    Closed,
}

impl Commit {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        durability: Durability,
        checkpoint_bytes: u64,
        genesis: Arc<dyn Beginning + Send + Sync>,
        folded: Folded,
        cuts: Cuts,
        clock: Clock,
    ) -> Commit {
        let (state, strand) = (Mutex::default(), OnceLock::new());
        let (changed, submitted) = (Condvar::new(), Condvar::new());
        Commit {
            store,
            durability,
            checkpoint_bytes,
            genesis,
            folded,
            cuts,
            clock,
            state,
            changed,
            submitted,
            room: Mutex::default(),
            strand,
        }
    }

    /// There is something to do for whoever drives it.
    fn wake(&self) {
        self.notify();
        self.wake_strand();
    }

    /// The same for threads alone.
    fn notify(&self) {
        self.changed.notify_all();
        self.submitted.notify_all();
    }

    fn wake_strand(&self) {
        if let Some(strand) = self.strand.get() {
            // A runtime that takes no wakes is shutting down: nothing more is written.
            let _ = strand.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of the state is one assignment or push: a panic leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room(&self) -> MutexGuard<'_, Vec<u8>> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the logs still hold after opening: an epoch that is complete and has not been folded,
    /// and the current one.
    pub(crate) fn take_over(&self, older: Option<(Epoch, Vec<Record>)>, current: Vec<Record>) {
        let mut state = self.state();
        state.records = current;
        state.folding = older.map(|(epoch, records)| Folding {
            epoch,
            records: Arc::new(records),
            begun: false,
        });
    }

    /// Has these appended after those that were submitted before. What is refused is not told here:
    /// the caller may hold a lock.
    pub(crate) fn submit(
        &self,
        submissions: impl IntoIterator<Item = Submission>,
    ) -> Result<(), Vec<Refused>> {
        let mut state = self.state();
        let refusal = match (&state.failure, state.closing) {
            (Some(_), _) => Some(StoreError::Failed),
            (None, true) => Some(StoreError::Closed),
            (None, false) => None,
        };
        if let Some(error) = refusal {
            drop(state);
            let refused = |one: Submission| Refused { done: one.done, error: error.clone() };
            return Err(submissions.into_iter().map(refused).collect());
        }
        let before = state.waiting.len();
        state.waiting.extend(submissions);
        let enough = before < ENOUGH && state.waiting.len() >= ENOUGH;
        let wake = mem::take(&mut state.idle) || enough;
        drop(state);
        if wake {
            self.submitted.notify_all();
        }
        self.wake_strand();
        Ok(())
    }

    /// Why nothing can be made durable at the moment.
    pub(crate) fn failure(&self) -> Option<StoreError> {
        self.state().failure.clone()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.state().counts
    }

    /// From now on nothing is taken; what was is still written.
    pub(crate) fn close(&self) {
        self.state().closing = true;
        self.wake();
    }

    /// One step of committing: what has gathered is appended with one sync.
    pub(crate) fn step(&self) -> Next {
        self.survive(Commit::try_step)
    }

    fn try_step(&self) -> Next {
        let mut state = self.state();
        let closing = state.closing;
        if state.failure.is_some() {
            let left = self.until_reopening(&state);
            drop(state);
            return match left {
                _ if closing => Next::Closed,
                Some(left) => Next::WaitFor(left),
                None => self.reopen(),
            };
        }
        if mem::take(&mut state.doubted) {
            drop(state);
            // One that has failed says so.
            return self.sync();
        }
        if let Some(left) = self.until_sync(&state) {
            if left.is_zero() || closing {
                drop(state);
                return self.sync();
            }
            if state.waiting.is_empty() {
                return Next::WaitFor(left);
            }
        }
        if state.waiting.is_empty() {
            if closing && state.unsynced.is_some() {
                drop(state);
                return self.sync();
            }
            return if closing { Next::Closed } else { Next::Wait };
        }
        let batch = mem::take(&mut state.waiting);
        drop(state);
        self.append(batch);
        Next::Again
    }

    /// Whether `step` has something to do. A fold that fails on another thread is something to do.
    fn is_step_due(&self, state: &State) -> bool {
        let due = match state.failure {
            Some(_) => self.until_reopening(state).is_none(),
            None => state.doubted || !state.waiting.is_empty(),
        };
        state.closing || due
    }

    /// Whether `fold` has something to do.
    fn is_fold_due(&self, state: &State) -> bool {
        let complete = state.folding.as_ref().is_some_and(|folding| !folding.begun);
        state.closing || (state.failure.is_none() && complete)
    }

    fn append(&self, batch: VecDeque<Submission>) {
        let mut bytes = mem::take(&mut *self.room());
        let sync = self.durability == Durability::Sync;
        // After a panic the batch is still there, and those who wait for it are told.
        let (records, took) = match caught(|| self.write(&batch, &mut bytes, sync)) {
            Ok(written) => written,
            // Nothing was written. Whoever it is, the others need not suffer for it.
            Err(error @ StoreError::TooLong { .. }) => return self.append_apart(error, batch),
            Err(error) => return self.failed(error, batch),
        };
        if bytes.capacity() <= ROOM_MAX {
            bytes.clear();
            *self.room() = bytes;
        }
        let (epoch, filled) = self.store.current();
        let mut state = self.state();
        state.shared_sync = (sync && batch.len() > 1).then_some(took);
        state.counts.commits += 1;
        state.counts.records += records;
        if state.folding.is_none() {
            state.reopen_after = Duration::ZERO;
        }
        if !sync && state.unsynced.is_none() {
            state.unsynced = Some((self.clock)());
        }
        let mut done = Vec::with_capacity(batch.len());
        for submission in batch {
            state.records.extend(submission.records);
            done.push(submission.done);
        }
        drop(state);
        done.into_iter().for_each(|done| tell(done, Ok(epoch)));
        if filled >= self.checkpoint_bytes {
            self.checkpoint(filled);
        }
    }

    /// Appends the records of a batch, whose bytes are written to `bytes`. How many there are, and
    /// how long it took.
    fn write(
        &self,
        batch: &VecDeque<Submission>,
        bytes: &mut Vec<u8>,
        sync: bool,
    ) -> Result<(u64, Duration), StoreError> {
        let mut ends = Vec::new();
        for submission in batch {
            for record in &submission.records {
                record.encode(bytes);
                ends.push(bytes.len());
            }
        }
        let mut from = 0;
        let slices: Vec<&[u8]> =
            ends.iter().map(|&end| &bytes[mem::replace(&mut from, end)..end]).collect();
        let begun = (self.clock)();
        self.store.append(&slices, sync)?;
        Ok((slices.len() as u64, (self.clock)().saturating_sub(begun)))
    }

    /// One of them is too long for the log.
    fn append_apart(&self, error: StoreError, mut batch: VecDeque<Submission>) {
        if batch.len() == 1 {
            return batch.into_iter().for_each(|one| tell(one.done, Err(error.clone())));
        }
        while let Some(submission) = batch.pop_front() {
            self.append(VecDeque::from([submission]));
        }
    }

    /// What was acknowledged without a sync is on disk afterwards, or the store has failed.
    fn sync(&self) -> Next {
        if let Err(error) = self.store.sync() {
            self.failed(error, VecDeque::new());
            return Next::Again;
        }
        self.state().unsynced = None;
        Next::Again
    }

    /// How long what was acknowledged without a sync may go on without one; `None`: nobody was
    /// promised that it ends.
    fn until_sync(&self, state: &State) -> Option<Duration> {
        let Durability::Batch(delay) = self.durability else { return None };
        Some(state.unsynced?.saturating_add(delay).saturating_sub((self.clock)()))
    }

    /// Begins the next epoch, so that the current one can be folded. Whoever waits for a fold before
    /// that still syncs what is due.
    fn checkpoint(&self, filled: u64) {
        let mut state = self.state();
        while state.folding.is_some() {
            if filled < self.checkpoint_bytes.saturating_mul(BEHIND_MAX)
                || state.failure.is_some()
                || state.folding.as_ref().is_some_and(|folding| !folding.begun)
            {
                return;
            }
            state = match self.until_sync(&state) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => {
                    drop(state);
                    let _ = self.sync();
                    self.state()
                }
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        let (epoch, _) = self.store.current();
        drop(state);
        if let Err(error) = self.store.rotate() {
            return self.failed(error, VecDeque::new());
        }
        let mut state = self.state();
        let records = Arc::new(mem::take(&mut state.records));
        state.folding = Some(Folding { epoch, records, begun: false });
        drop(state);
        self.changed.notify_all();
    }

    /// One step of folding: an epoch that is complete goes into the tables.
    pub(crate) fn fold(&self) -> Next {
        self.survive(Commit::try_fold)
    }

    fn try_fold(&self) -> Next {
        let mut state = self.state();
        if state.closing {
            // All of it is in the log: whoever opens the store next folds it, and nobody who closes
            // it waits for that.
            return Next::Closed;
        }
        if state.failure.is_some() {
            return Next::Wait;
        }
        let Some(folding) = state.folding.as_mut().filter(|folding| !folding.begun) else {
            return Next::Wait;
        };
        folding.begun = true;
        let (epoch, records) = (folding.epoch, folding.records.clone());
        let unpruned = state.unpruned.clone();
        drop(state);
        let portion = Portion::of(&records);
        let cuts = prune::in_turn(unpruned, (self.cuts)(portion.blocks));
        // Until it is done: whatever happens meanwhile, they are not forgotten.
        self.state().unpruned.clone_from(&cuts);
        let pruned = prune::changes(&*self.store, &cuts, portion.entries);
        let folded = pruned.and_then(|(pruned, left)| {
            let mut changes = fold::changes(pruned, &records, &*self.genesis);
            self.store.fold(epoch, &mut changes).map(|()| left)
        });
        match folded {
            Ok(left) => {
                (self.folded)(epoch);
                let mut state = self.state();
                state.unpruned = left;
                state.folding = None;
                state.reopen_after = Duration::ZERO;
                state.counts.folds += 1;
            }
            Err(error) => self.failed(error, VecDeque::new()),
        }
        // Whoever appends may wait for the end of it, or has to open the store again.
        self.notify();
        Next::Again
    }
}
