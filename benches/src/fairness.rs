//! How long does the unluckiest of many runnable strands wait for its next turn?
//!
//! Each strand keeps a [`Watch`]: it says when its turns begin and end. The longest wait is
//! counted in quanta that each worker gave to others meanwhile, since time would also grow when
//! the machine is busy with something else. It is reported beside.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use crate::{Args, Line, Tally};

/// Strands that always have work.
pub const STRANDS: u64 = 1_000;

/// What each uses of its turn, and the quantum it is checked against.
pub const QUANTUM: Duration = Duration::from_micros(100);

/// Milliseconds of a run of the usual size: some twenty rounds of all strands on two workers.
pub const RUN_MS: u64 = 1_500;

static TURNS: Tally = Tally::new();
static LONGEST_NS: AtomicU64 = AtomicU64::new(0);
static LONGEST_TURNS: AtomicU64 = AtomicU64::new(0);

/// One strand's view of its own waiting.
pub struct Watch {
    since: Instant,
    turns_then: u64,
    began: Instant,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { since: Instant::now(), turns_then: TURNS.sum(), began: Instant::now() }
    }
}

impl Watch {
    /// A turn begins: the wait is over.
    pub fn begin(&mut self) {
        self.began = Instant::now();
        LONGEST_NS.fetch_max((self.began - self.since).as_nanos() as u64, Relaxed);
        LONGEST_TURNS.fetch_max(TURNS.sum() - self.turns_then, Relaxed);
        TURNS.add();
    }

    /// Has the strand used what it is given?
    pub fn used_up(&self) -> bool {
        self.began.elapsed() >= QUANTUM
    }

    /// The turn ends, and the next wait begins.
    pub fn end(&mut self) {
        self.since = Instant::now();
        self.turns_then = TURNS.sum();
    }
}

/// Keeps the core busy for a while.
pub fn work_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Lets the strands run for a while, then reports the longest wait of any of them so far.
pub fn observe(args: &Args, who: &str) -> Line {
    thread::sleep(Duration::from_millis(args.items(RUN_MS)));
    let (longest_ns, turns) = (LONGEST_NS.load(Relaxed), LONGEST_TURNS.load(Relaxed));
    let workers = args.workers as f64;
    Line::new(&args.workload, who, "quanta", turns as f64 / workers)
        .with("longest_ms", longest_ns as f64 / 1e6)
        .with("bound", STRANDS as f64 / workers)
        .with("rounds", TURNS.sum() as f64 / STRANDS as f64)
        .with("workers", workers)
}
