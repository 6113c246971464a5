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

use super::{Commit, Done, Next, Refused, State, record::Record};

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
            let append = thread("commit", commit.clone(), Commit::step, Commit::is_step_due)?;
            committer.add(append);
            let fold = thread("fold", commit, Commit::fold, Commit::is_fold_due)?;
            committer.add(fold);
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
        if let Err(refused) = self.enqueue(records, done) {
            refused.tell();
        }
    }

    /// The same for those who hold a lock that `done` or somebody whom it wakes may want.
    pub(crate) fn enqueue(&self, records: Vec<Record>, done: Done) -> Result<(), Refused> {
        self.commit.submit(records, done)
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
    step: fn(&Commit) -> Next,
    is_due: fn(&Commit, &State) -> bool,
) -> Result<JoinHandle<()>, StartError> {
    let run = move || {
        let driven = Driven(&commit);
        loop {
            match step(driven.0) {
                Next::Again => {}
                Next::Wait => commit.sleep(None, is_due),
                Next::WaitFor(time) => commit.sleep(Some(time), is_due),
                Next::Closed => return,
            }
        }
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
