//! What is submitted from outside, by how many threads, and when is it over?

use std::{
    iter::{RepeatN, repeat_n},
    thread,
};

use crate::Tally;

/// Jobs of a run of the usual size.
pub const JOBS: u64 = 1_000_000;

/// What every job does: it holds one pointer, and counts itself.
#[derive(Clone, Copy)]
pub struct Job(&'static Tally);

impl Job {
    pub(crate) fn new(tally: &'static Tally) -> Job {
        Job(tally)
    }

    #[inline]
    pub fn run(self) {
        self.0.add();
    }

    /// The same job for programs that want a result, which is then checked.
    #[inline]
    pub fn run_for_result(self) -> u64 {
        self.0.add();
        1
    }
}

/// Calls `submit` `jobs` times, spread over `threads` threads, and returns when all have run.
/// With one thread the caller submits.
pub fn submit_and_wait(threads: u64, jobs: u64, submit: impl Fn(Job) + Sync) {
    let tally = Tally::leaked();
    let share = jobs / threads;
    let send = || (0..share).for_each(|_| submit(Job(tally)));
    if threads == 1 {
        send();
    } else {
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(send);
            }
        });
    }
    tally.wait_for(share * threads);
}

/// Hands `jobs` jobs over as one batch, and returns when all have run.
pub fn batch_and_wait(jobs: u64, submit: impl FnOnce(RepeatN<Job>)) {
    let tally = Tally::leaked();
    submit(repeat_n(Job(tally), jobs as usize));
    tally.wait_for(jobs);
}

/// Submits `jobs` jobs, keeps the handle of each, then takes the results in that order.
pub fn submit_and_join<H>(jobs: u64, submit: impl Fn(Job) -> H, mut join: impl FnMut(H) -> u64) {
    let tally = Tally::leaked();
    let mut handles = Vec::with_capacity(jobs as usize);
    for _ in 0..jobs {
        handles.push(submit(Job(tally)));
    }
    let total: u64 = handles.into_iter().map(&mut join).sum();
    assert_eq!(total, jobs, "a handle gave a wrong result");
}

/// How many threads the workload `submit_<n>` submits from.
pub fn threads_of(workload: &str) -> u64 {
    workload.strip_prefix("submit_").and_then(|n| n.parse().ok()).unwrap_or(1)
}
