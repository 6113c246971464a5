//! Tasks that are ticked, beside tasks that never end and never block.
//!
//! The log is where the outside world sees a tick: a guest logs an empty line when it handles one.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

use ::task::{LogSink, NO_ARGUMENTS};
use benches::{
    Args, Line,
    task::guests,
    ticks::{self, Schedule},
};

use crate::{OURS, ours::Ours};

pub(crate) fn measure(args: &Args, ours: &Ours<'_>) -> Vec<Line> {
    let schedule = Schedule::leaked(args);
    let handled: Vec<AtomicU64> = (0..ticks::PROCESSES).map(|_| AtomicU64::new(0)).collect();
    let program = ours.load(guests::TICKS, |options| {
        options.log = LogSink::new(move |line| {
            // The ticked are the first tasks, which are counted from 1.
            let process = line.task.get() - 1;
            let tick = handled[process as usize].fetch_add(1, Relaxed);
            schedule.handled(process, tick);
        });
    });
    let first = schedule.due(0).expect("there is a tick");
    let lead = first.saturating_duration_since(Instant::now());
    let first = (ours.runtime.now() + lead).as_nanos() as i64;
    for _ in 0..ticks::PROCESSES {
        program.spawn("ticked", [first, schedule.ticks() as i64]).expect("it can be spawned");
    }
    for _ in 0..ticks::hogs(args) {
        program.spawn("hog", NO_ARGUMENTS).expect("it can be spawned");
    }
    schedule.report(args, OURS)
}
