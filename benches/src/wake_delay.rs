//! How long does a job wait when it reaches an idle pool, and what does the pool's idling cost?

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use crate::{Args, Line, cpu, report::percentile};

/// Samples of a run of the usual size: at one per millisecond, seconds times a thousand.
pub const SAMPLES: u64 = 2_000;

const PERIOD: Duration = Duration::from_millis(1);

/// The job: says how long ago it was sent.
#[derive(Clone, Copy)]
pub struct Ping {
    sent: Instant,
    delay_ns: &'static AtomicU64,
}

impl Ping {
    #[inline]
    pub fn arrived(self) {
        // Never 0, which stands for "not yet".
        self.delay_ns.store((self.sent.elapsed().as_nanos() as u64).max(1), Relaxed);
    }
}

/// Sends a ping each millisecond. The first tenth warms up and does not count.
pub fn measure(args: &Args, who: &str, mut submit: impl FnMut(Ping)) -> Line {
    let samples = args.items(SAMPLES);
    let delays: &'static [AtomicU64] = Vec::leak((0..samples).map(|_| AtomicU64::new(0)).collect());
    let mut send_all = |delays: &'static [AtomicU64]| {
        let mut next = Instant::now();
        for delay_ns in delays {
            next += PERIOD;
            thread::sleep(next.saturating_duration_since(Instant::now()));
            submit(Ping { sent: Instant::now(), delay_ns });
        }
        thread::sleep(PERIOD);
        while delays.iter().any(|delay| delay.load(Relaxed) == 0) {
            thread::sleep(PERIOD);
        }
    };
    let (warm_up, counted) = delays.split_at(samples as usize / 10);
    send_all(warm_up);
    let (start, used) = (Instant::now(), cpu::other_threads_ns());
    send_all(counted);
    let cpu_percent = match (used, cpu::other_threads_ns()) {
        (Some(before), Some(after)) => {
            100.0 * after.saturating_sub(before) as f64 / start.elapsed().as_nanos() as f64
        }
        _ => f64::NAN,
    };
    let mut delays: Vec<f64> =
        counted.iter().map(|delay| delay.load(Relaxed) as f64 / 1000.0).collect();
    let line = Line::new(&args.workload, who, "µs p50", percentile(&mut delays, 50.0))
        .with("p99", percentile(&mut delays, 99.0))
        .with("workers", args.workers as f64);
    if cpu_percent.is_nan() { line } else { line.with("cpu_percent", cpu_percent) }
}
