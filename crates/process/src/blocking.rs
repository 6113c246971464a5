//! Threads for what may block, so that no worker has to.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

type Job = Box<dyn FnOnce() + Send>;

/// So many threads at most; what comes meanwhile waits.
const THREADS_MAX: usize = 64;

/// A thread without work ends after this time.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

impl Pool {
    /// Runs a job on a thread that may block. A job whose thread can not be started is dropped.
    pub(crate) fn run(self: &Arc<Pool>, job: Job) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() || state.threads == THREADS_MAX {
            self.work.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let pool = self.clone();
        let builder = thread::Builder::new().name("shiftwork-blocking".to_owned());
        if builder.spawn(move || pool.work()).is_err() {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.threads -= 1;
            let orphans =
                if state.threads == 0 { state.jobs.split_off(0) } else { VecDeque::new() };
            drop(state);
            drop(orphans);
        }
    }

    /// The life of a thread.
    fn work(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.idle += 1;
            let (back, waited) =
                self.work.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            state = back;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}
