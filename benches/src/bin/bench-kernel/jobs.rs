//! What does one small job cost: from outside, from inside, and into an idle pool?

use benches::{Args, Line, Tally, sizes, submit, wake_delay as delay};
use kernel::{Runtime, Turn};

use crate::OURS;

pub(crate) fn submit(args: &Args, runtime: &Runtime) -> Line {
    let (jobs, threads) = (args.items(submit::JOBS), submit::threads_of(&args.workload));
    args.time_per_item(OURS, "ns/job", jobs, || {
        submit::submit_and_wait(threads, jobs, |job| {
            runtime.submit(move |_| job.run()).expect("the runtime runs");
        });
    })
}

/// A result handle for each job.
pub(crate) fn submit_handle(args: &Args, runtime: &Runtime) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(OURS, "ns/job", jobs, || {
        submit::submit_and_join(
            jobs,
            |job| runtime.compute(move |_| job.run_for_result()).expect("the runtime runs"),
            |mut handle| handle.join().expect("the job ran"),
        );
    })
}

/// All jobs in one call.
pub(crate) fn submit_batch(args: &Args, runtime: &Runtime) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(OURS, "ns/job", jobs, || {
        submit::batch_and_wait(jobs, |batch| {
            let batch = batch.map(|job| move |_: &mut Turn<'_>| job.run());
            runtime.submit_all(batch).expect("the runtime runs");
        });
    })
}

pub(crate) fn spawn_tree(args: &Args, runtime: &Runtime) -> Line {
    fn node(turn: &mut Turn<'_>, depth: u32, leaves: &'static Tally) {
        if depth == 0 {
            leaves.add();
        } else {
            turn.submit(move |turn| node(turn, depth - 1, leaves));
            turn.submit(move |turn| node(turn, depth - 1, leaves));
        }
    }
    let depth = sizes::tree_depth(args);
    args.time_per_item(OURS, "ns/node", 2 << depth, || {
        let leaves = Tally::leaked();
        runtime.submit(move |turn| node(turn, depth, leaves)).expect("the runtime runs");
        leaves.wait_for(1 << depth);
    })
}

pub(crate) fn wake_delay(args: &Args, runtime: &Runtime) -> Line {
    delay::measure(args, OURS, |ping| {
        runtime.submit(move |_| ping.arrived()).expect("the runtime runs");
    })
}
