//! Who drives the committer?
//!
//! In a real runtime two threads: one appends, one folds, and both may block on the disk, which a
//! worker must not. In a simulated runtime a strand does both, so that a seed decides about the
//! order.

use std::{
    io, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use kernel::{Body, Handle, ScheduleError, Step, Timer, Turn};

use super::{Commit, Done, ENOUGH, Next, Refused, Submission, record::Record};

/// A sync that took less is no reason to wait: it costs less than to let everybody wait longer, who then
/// asks for less.
pub(super) const GATHER_MIN: Duration = Duration::from_micros(500);
/// However long a sync took, what comes next does not wait longer.
const GATHER_MAX: Duration = Duration::from_millis(1);

/// The committer at work. Dropping it writes what was submitted, and stops it.
pub(crate) struct Committer {
    commit: Arc<Commit>,
    /// None in a simulated runtime, and after it was closed.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// How many of them there were.
    started: AtomicUsize,
}

/// Why a committer could not begin.
#[derive(Debug)]
pub(crate) enum StartError {
    Thread(io::Error),
    Strand(ScheduleError),
}

impl Committer {
    pub(crate) fn start(commit: Arc<Commit>, runtime: &Handle) -> Result<Committer, StartError> {
        // Dropped, it stops what was started: the second thread may not be given.
        let committer = Committer {
            commit: commit.clone(),
            threads: Mutex::default(),
            started: AtomicUsize::new(0),
        };
        if runtime.is_simulated() {
            start_strand(commit, runtime).map_err(StartError::Strand)?;
        } else {
            committer.add(thread("commit", commit.clone(), Commit::append_and_rest)?);
            committer.add(thread("fold", commit, Commit::fold_and_rest)?);
        }
        Ok(committer)
    }

    fn add(&self, thread: JoinHandle<()>) {
        self.threads().push(thread);
        self.started.fetch_add(1, Relaxed);
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has records written, and `done` told in any case.
    pub(crate) fn submit(&self, records: Vec<Record>, done: Done) {
        if let Err(refused) = self.enqueue([Submission { records, done }]) {
            refused.into_iter().for_each(Refused::tell);
        }
    }

    /// The same for those who hold a lock that a `done` or somebody whom it wakes may want.
    pub(crate) fn enqueue(
        &self,
        submissions: impl IntoIterator<Item = Submission>,
    ) -> Result<(), Vec<Refused>> {
        self.commit.submit(submissions)
    }

    pub(crate) fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Writes what was submitted and takes no more. Whether that was done in time; if not, nobody
    /// waits for it any more.
    pub(crate) fn close_within(&self, time: Duration) -> bool {
        self.commit.close();
        let started = self.started.load(Relaxed);
        let state = self.commit.state();
        let waited =
            self.commit.changed.wait_timeout_while(state, time, |state| state.ended < started);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let in_time = state.ended >= started;
        drop(state);
        let threads = mem::take(&mut *self.threads());
        if in_time {
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        in_time
    }

    /// Writes what was submitted and takes no more.
    pub(crate) fn close(&self) {
        self.commit.close();
        let threads = mem::take(&mut *self.threads());
        for thread in threads {
            // It may be the committer's own thread that drops the last shard.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.close();
    }
}

fn thread(
    name: &str,
    commit: Arc<Commit>,
    step_and_rest: fn(&Commit) -> bool,
) -> Result<JoinHandle<()>, StartError> {
    let run = move || {
        let driven = Driven(&commit);
        while step_and_rest(driven.0) {}
    };
    thread::Builder::new().name(format!("shiftwork-{name}")).spawn(run).map_err(StartError::Thread)
}

/// Says when a thread ends, however it does.
struct Driven<'a>(&'a Commit);

impl Drop for Driven<'_> {
    fn drop(&mut self) {
        self.0.state().ended += 1;
        self.0.changed.notify_all();
    }
}

impl Commit {
    /// A step of the thread that appends, and its rest after that. Whether there are more.
    fn append_and_rest(&self) -> bool {
        match self.step() {
            Next::Again => self.gather(),
            Next::Wait => self.await_submission(None),
            Next::WaitFor(time) => self.await_submission(Some(time)),
            Next::Closed => return false,
        }
        true
    }

    /// After a sync for several, lets more come before the next one, for as long as that sync took. A
    /// sync costs the same for one transaction as for many, so while they keep coming half of the time
    /// is spent on syncs and not all of it. After a pause nobody waits, nor does one who is alone: the
    /// block of a lone transaction comes right after its acceptance.
    pub(super) fn gather(&self) {
        let mut state = self.state();
        // Taken: whatever else a step does, it is followed by no pause.
        let Some(took) = state.shared_sync.take().filter(|took| *took >= GATHER_MIN) else {
            return;
        };
        if !self.store.has_disk() {
            return;
        }
        let until = (self.clock)() + took.min(GATHER_MAX);
        loop {
            let urgent = state.closing || state.doubted || state.failure.is_some();
            let left = until.saturating_sub((self.clock)());
            if urgent || state.waiting.len() >= ENOUGH || left.is_zero() {
                return;
            }
            let waited = self.submitted.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Until something is submitted, or for this long; if the store has failed, until it is reopened.
    pub(super) fn await_submission(&self, time: Option<Duration>) {
        let mut state = self.state();
        // Looked at under the lock: what changed between the step and now is not slept through.
        if self.is_step_due(&state) {
            return;
        }
        // A fold may have failed since the step. Until the store is reopened no submission is taken,
        // so none would wake this thread, and it is the one that reopens.
        let time = match state.failure {
            Some(_) => Some(self.until_reopening(&state).unwrap_or_default()),
            None => time,
        };
        state.idle = true;
        let mut state = match time {
            None => self.submitted.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(time) => {
                let waited = self.submitted.wait_timeout(state, time);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.idle = false;
    }

    /// The same for the thread that folds.
    fn fold_and_rest(&self) -> bool {
        match self.fold() {
            Next::Again => {}
            Next::Wait | Next::WaitFor(_) => {
                let state = self.state();
                if !self.is_fold_due(&state) {
                    drop(self.changed.wait(state).unwrap_or_else(PoisonError::into_inner));
                }
            }
            Next::Closed => return false,
        }
        true
    }
}

fn start_strand(commit: Arc<Commit>, runtime: &Handle) -> Result<(), ScheduleError> {
    let body = CommitBody { commit: commit.clone(), runtime: runtime.clone(), timer: None };
    let (strand, _) = runtime.strand().name("commit").idle_body(body)?;
    commit.strand.set(strand).expect("a committer is started once");
    // What opening has found may be there to be folded.
    commit.wake();
    Ok(())
}

struct CommitBody {
    commit: Arc<Commit>,
    runtime: Handle,
    /// Until it looks again by itself.
    timer: Option<Timer>,
}

impl Body for CommitBody {
    type Output = ();

    fn turn(&mut self, turn: &mut Turn<'_>) -> Step<()> {
        self.timer = None;
        loop {
            match (self.commit.step(), self.commit.fold()) {
                (Next::Closed, _) => return Step::End(()),
                (Next::Again, _) | (_, Next::Again) => {}
                (Next::WaitFor(time), _) => {
                    let own = turn.strand().expect("this is a strand's turn");
                    self.timer = self.runtime.wake_after(time, &own).ok();
                    return Step::Pause;
                }
                _ => return Step::Pause,
            }
        }
    }
}
