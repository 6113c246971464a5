//! Jobs with priorities, from several threads at once.

use std::thread;

use super::random::Random;
use crate::{Args, Line, Tally, submit::Job};

/// Threads that submit. They are beside the workers.
const PRODUCERS: u64 = 2;

/// Of all producers together.
const JOBS: u64 = 1_000_000;

/// One that runs jobs by priority, in the order that it documents.
pub trait Priorities: Sync {
    /// Takes a job from any thread, and does not wait for it. More is more urgent.
    fn submit(&self, priority: u32, job: Job);
}

/// Has the producers submit jobs of random priorities, and reports the time until all have run.
pub fn priority(args: &Args, who: &str, contestant: &impl Priorities) -> Line {
    let each = args.items(JOBS) / PRODUCERS;
    args.time_per_item(who, "ns/job", each * PRODUCERS, || {
        let tally = Tally::leaked();
        thread::scope(|scope| {
            for producer in 0..PRODUCERS {
                scope.spawn(move || {
                    let mut random = Random::new(producer);
                    for _ in 0..each {
                        contestant.submit((random.next() >> 32) as u32, Job::new(tally));
                    }
                });
            }
        });
        tally.wait_for(each * PRODUCERS);
    })
}
