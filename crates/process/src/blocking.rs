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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn more_jobs_than_threads_wait_and_are_done_by_the_same_threads() {
        const JOBS: usize = THREADS_MAX + 3;
        let pool = Arc::new(Pool::default());
        let ((enter, entered), (open, gate)) = (mpsc::channel(), mpsc::channel::<()>());
        let gate = Arc::new(Mutex::new(gate));
        for _ in 0..JOBS {
            let (enter, gate) = (enter.clone(), gate.clone());
            pool.run(Box::new(move || {
                enter.send(thread::current().id()).unwrap();
                // Until it is opened for all.
                let _ = gate.lock().unwrap().recv();
            }));
        }
        let next = || entered.recv_timeout(Duration::from_secs(20)).unwrap();
        let threads: Vec<_> = (0..THREADS_MAX).map(|_| next()).collect();
        {
            let state = pool.state.lock().unwrap();
            assert_eq!((state.threads, state.jobs.len()), (THREADS_MAX, JOBS - THREADS_MAX));
        }
        drop(open);
        let rest: Vec<_> = (THREADS_MAX..JOBS).map(|_| next()).collect();
        assert!(rest.iter().all(|thread| threads.contains(thread)));
    }
}
