//! What does a job take that waits for its turn?

use crate::{Args, Line, resident};

/// That wait, in a run of the usual size.
pub const JOBS: u64 = 1_000_000;

/// Has `queue` queue so many jobs more which can not start yet, and reports how much the resident
/// set has grown for each, without the `payload` bytes that the job itself was given.
///
/// No warm-up and no repetition: what the first run leaves would be used by the second.
pub fn memory(args: &Args, who: &str, payload: usize, mut queue: impl FnMut(u64)) -> Line {
    const UNIT: &str = "bytes/job";
    let jobs = args.items(JOBS);
    // Threads start and allocators prepare themselves with the first few.
    queue((jobs / 100).max(1));
    let before = resident::bytes();
    queue(jobs);
    match (before, resident::bytes()) {
        (Some(before), Some(after)) => {
            let each = after.saturating_sub(before) as f64 / jobs as f64 - payload as f64;
            let line = Line::new(&args.workload, who, UNIT, each);
            line.with("items", jobs as f64).with("workers", args.workers as f64)
        }
        _ => Line::without(&args.workload, who, UNIT, "no /proc to read".to_owned()),
    }
}
