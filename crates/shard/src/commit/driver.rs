//! Who drives the committer?
//!
//! In a real runtime two threads: one appends, one folds, and both may block on the disk, which a
//! worker must not. In a simulated runtime a strand does both, so that a seed decides about the
//! order.

use std::{
    io, mem,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use kernel::{Body, Handle, ScheduleError, Step, Strand, Timer, Turn};

use super::{Commit, Done, Next, Refused, State, record::Record};

/// The committer at work. Dropping it writes what was submitted, and stops it.
pub(crate) struct Committer {
    commit: Arc<Commit>,
    driver: Driver,
}

enum Driver {
    Threads(Mutex<Vec<JoinHandle<()>>>),
    Strand(Strand),
}

/// Why a committer could not begin.
#[derive(Debug)]
pub(crate) enum StartError {
    Thread(io::Error),
    Strand(ScheduleError),
}

impl Committer {
    pub(crate) fn start(commit: Arc<Commit>, runtime: &Handle) -> Result<Committer, StartError> {
        let driver = if runtime.is_simulated() {
            Driver::Strand(strand(commit.clone(), runtime).map_err(StartError::Strand)?)
        } else {
            Driver::Threads(Mutex::new(vec![
                thread("shiftwork-commit", commit.clone(), Commit::step, Commit::is_step_due)?,
                thread("shiftwork-fold", commit.clone(), Commit::fold, Commit::is_fold_due)?,
            ]))
        };
        Ok(Committer { commit, driver })
    }

    /// Has records written, and `done` told in any case.
    pub(crate) fn submit(&self, records: Vec<Record>, done: Done) {
        if let Err(refused) = self.enqueue(records, done) {
            refused.tell();
        }
    }

    /// The same for those who hold a lock that `done` or somebody whom it wakes may want.
    pub(crate) fn enqueue(&self, records: Vec<Record>, done: Done) -> Result<(), Refused> {
        self.commit.submit(records, done)?;
        if let Driver::Strand(strand) = &self.driver {
            // A runtime that takes no wakes is shutting down: nothing more is written.
            let _ = strand.wake();
        }
        Ok(())
    }

    pub(crate) fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Writes what was submitted and takes no more.
    pub(crate) fn close(&self) {
        self.commit.close();
        match &self.driver {
            Driver::Threads(threads) => {
                let threads =
                    mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner));
                for thread in threads {
                    // It may be the committer's own thread that drops the last shard.
                    if thread.thread().id() != thread::current().id() {
                        let _ = thread.join();
                    }
                }
            }
            Driver::Strand(strand) => {
                let _ = strand.wake();
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
    step: fn(&Commit) -> Next,
    is_due: fn(&Commit, &State) -> bool,
) -> Result<JoinHandle<()>, StartError> {
    let run = move || {
        loop {
            match step(&commit) {
                Next::Again => {}
                Next::Wait => commit.sleep(None, is_due),
                Next::WaitFor(time) => commit.sleep(Some(time), is_due),
                Next::Closed => return,
            }
        }
    };
    thread::Builder::new().name(name.into()).spawn(run).map_err(StartError::Thread)
}

impl Commit {
    /// Until something changes, or for this long.
    fn sleep(&self, time: Option<Duration>, is_due: fn(&Commit, &State) -> bool) {
        let state = self.state();
        // Looked at under the lock: what changed between the step and now is not slept through.
        if is_due(self, &state) {
            return;
        }
        match time {
            None => drop(self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)),
            Some(time) => {
                drop(self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner))
            }
        }
    }
}

fn strand(commit: Arc<Commit>, runtime: &Handle) -> Result<Strand, ScheduleError> {
    let body = CommitBody { commit, runtime: runtime.clone(), timer: None };
    let (strand, _) = runtime.strand().name("commit").idle_body(body)?;
    Ok(strand)
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
