//! How late does a process handle its tick, beside processes that never block?
//!
//! Each of [`PROCESSES`] arms a timer for its next tick, which is due a millisecond after the last
//! one was *due*, not after it was handled: one that is late has the next ticks to catch up with,
//! and each of them counts as late as it is. Ticks that were never handled count with what they
//! had waited when the run ended, and if most were not, the contestant has starved.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use crate::{Args, Line, report::percentile};

/// Processes that are ticked.
pub const PROCESSES: u64 = 100;

/// From one tick to the next.
pub const PERIOD: Duration = Duration::from_millis(1);

/// Hogs beyond one for each worker.
const HOGS_MORE: usize = 4;

/// Ticks of each process in a run of the usual size.
const TICKS: u64 = 2_000;

/// Before the first tick: enough for everyone to have started, the hogs included.
const LEAD: Duration = Duration::from_millis(300);

/// After the last tick was due: for those who are nearly done.
const GRACE: Duration = Duration::from_millis(100);

/// When each tick is due, and how late it was handled.
pub struct Schedule {
    first: Instant,
    ticks: u64,
    /// Nanoseconds, of each tick of each process. 0 stands for "not yet".
    late_ns: Vec<AtomicU64>,
}

impl Schedule {
    /// A schedule whose first tick is a little while from now.
    pub fn leaked(args: &Args) -> &'static Schedule {
        let ticks = args.items(TICKS);
        let late_ns = (0..ticks * PROCESSES).map(|_| AtomicU64::new(0)).collect();
        Box::leak(Box::new(Schedule { first: Instant::now() + LEAD, ticks, late_ns }))
    }

    /// When the tick is due; None after the last.
    pub fn due(&self, tick: u64) -> Option<Instant> {
        (tick < self.ticks).then(|| self.first + PERIOD * tick as u32)
    }

    /// The process has seen its tick.
    pub fn handled(&self, process: u64, tick: u64) {
        let late = (self.first + PERIOD * tick as u32).elapsed().as_nanos() as u64;
        self.late_ns[(process * self.ticks + tick) as usize].store(late.max(1), Relaxed);
    }

    /// How many ticks each process has.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Waits until the last tick is over, and reports two lines: the workload's name and `_p50`,
    /// `_p99`.
    pub fn report(&self, args: &Args, who: &str) -> Vec<Line> {
        let end = self.first + PERIOD * self.ticks as u32 + GRACE;
        thread::sleep(end.saturating_duration_since(Instant::now()));
        let handled = self.late_ns.iter().filter(|late| late.load(Relaxed) > 0).count();
        let share = handled as f64 / self.late_ns.len() as f64;
        let mut late_ms: Vec<f64> = self
            .late_ns
            .iter()
            .enumerate()
            .map(|(at, late)| {
                let waited = || end - (self.first + PERIOD * (at as u64 % self.ticks) as u32);
                match late.load(Relaxed) {
                    0 => waited().as_secs_f64() * 1e3,
                    ns => ns as f64 / 1e6,
                }
            })
            .collect();
        [50, 99]
            .map(|percent| {
                let name = &format!("{}_p{percent}", args.workload);
                let line = if share < 0.5 {
                    let why = format!("starved: {:.0} % of the ticks were handled", 100.0 * share);
                    Line::without(name, who, "ms", why)
                } else {
                    Line::new(name, who, "ms", percentile(&mut late_ms, percent.into()))
                };
                line.with("handled", share).with("workers", args.workers as f64)
            })
            .into()
    }
}

/// How many hogs run beside the ticked.
pub fn hogs(args: &Args) -> usize {
    args.workers + HOGS_MORE
}

/// What a hog does where nothing can interrupt it: it works for ever.
pub fn hog() -> ! {
    let mut sum = 0_u64;
    loop {
        sum = black_box(work(sum));
    }
}

/// A little work of a hog, well below a microsecond. One that checks its turn does so in between.
#[inline]
pub fn work(sum: u64) -> u64 {
    (0..64).fold(sum, |sum, n| black_box(sum.wrapping_add(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short() -> (Args, &'static Schedule) {
        let args = Args::parse("latency --scale 2".split(' ').map(String::from)).unwrap();
        let schedule = Schedule::leaked(&args);
        (args, schedule)
    }

    #[test]
    fn nobody_who_handles_nothing_gets_a_number() {
        let (args, schedule) = short();
        assert!(schedule.report(&args, "nobody").iter().all(|line| line.value().is_none()));
    }

    #[test]
    fn a_tick_is_late_since_it_was_due() {
        let (args, schedule) = short();
        assert!(schedule.due(1).is_some() && schedule.due(2).is_none());
        for process in 0..PROCESSES {
            (0..2).for_each(|tick| schedule.handled(process, tick));
        }
        // All were handled early, which counts as on time.
        let lines = schedule.report(&args, "somebody");
        assert!(lines.iter().all(|line| line.value().is_some_and(|ms| ms < 0.001)), "{lines:?}");
    }
}
