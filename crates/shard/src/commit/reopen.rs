//! What happens after the store has failed?
//!
//! Whoever waits is told, and the store is reopened, at once the first time. That it can be
//! reopened does not say that what has failed works now: so the waits grow from failure to failure,
//! until all that was to do has worked.

use std::{
    collections::VecDeque,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use super::{Commit, Next, State, Submission, tell};
use crate::{shard::message, store::StoreError};

/// After one failure the store is reopened at once. After the next one, of whatever, it waits for
/// so long first; that doubles up to [`REOPEN_MAX`] until all that was to do has worked.
pub(super) const REOPEN_FIRST: Duration = Duration::from_millis(10);
const REOPEN_MAX: Duration = Duration::from_secs(5);

/// A panic is a failure: whoever drives the committer must not end by it.
pub(super) fn caught<T>(f: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let what = format!("a panic: {}", message(&*panic));
        Err(StoreError::Io { doing: "committing", what })
    })
}

impl Commit {
    /// A step that ends with a failure when it panics, so that the store is reopened.
    pub(super) fn survive(&self, step: fn(&Commit) -> Next) -> Next {
        caught(|| Ok(step(self))).unwrap_or_else(|error| {
            self.failed(error, VecDeque::new());
            self.notify();
            Next::Again
        })
    }

    /// Somebody could not read: is the store still well?
    pub(super) fn doubt(&self) {
        self.state().doubted = true;
        self.wake();
    }

    /// Tells all who wait, with those of a batch.
    pub(super) fn failed(&self, error: StoreError, batch: VecDeque<Submission>) {
        let mut state = self.state();
        state.counts.failures += 1;
        state.failure = Some(error.clone());
        self.back_off(&mut state);
        state.unsynced = None;
        let late = mem::take(&mut state.waiting);
        drop(state);
        batch.into_iter().chain(late).for_each(|one| tell(one.done, Err(error.clone())));
    }

    /// Says when it is reopened next.
    fn back_off(&self, state: &mut State) {
        let wait = state.reopen_after;
        state.reopen_at = Some((self.clock)() + wait);
        state.reopen_after = (wait * 2).clamp(REOPEN_FIRST, REOPEN_MAX);
    }

    /// Tries to open the store again.
    pub(super) fn reopen(&self) -> Next {
        match self.store.reopen().and_then(|()| self.append_lost()) {
            Ok(()) => {
                let mut state = self.state();
                state.failure = None;
                if let Some(folding) = &mut state.folding {
                    folding.begun = false;
                }
                drop(state);
                self.changed.notify_all();
                Next::Again
            }
            Err(error) => {
                let mut state = self.state();
                state.failure = Some(error);
                self.back_off(&mut state);
                Next::Again
            }
        }
    }

    /// What was acknowledged without a sync may not be in the log any more. It is in memory, so it is
    /// appended again: the log must have no gap.
    fn append_lost(&self) -> Result<(), StoreError> {
        let (current, _) = self.store.current();
        let mut found = 0;
        self.store.replay(&mut |epoch, _| {
            found += usize::from(epoch == current);
            Ok(())
        })?;
        let state = self.state();
        let lost = state.records.get(found..).unwrap_or_default();
        if lost.is_empty() {
            return Ok(());
        }
        let encoded: Vec<Vec<u8>> = lost
            .iter()
            .map(|record| {
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                bytes
            })
            .collect();
        drop(state);
        let slices: Vec<&[u8]> = encoded.iter().map(Vec::as_slice).collect();
        self.store.append(&slices, true)
    }

    /// How long to wait before the store is reopened; `None`: not any longer.
    pub(super) fn until_reopening(&self, state: &State) -> Option<Duration> {
        let left = state.reopen_at?.saturating_sub((self.clock)());
        (!left.is_zero()).then_some(left)
    }
}
