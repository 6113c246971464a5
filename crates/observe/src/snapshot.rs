//! What does a running program look like at one moment?
//!
//! Counters only grow, so that whoever looks twice knows what happened in between; the time to
//! divide by is [`Snapshot::uptime_seconds`], which no clock that is set can move.

use std::hash::{BuildHasher, Hasher, RandomState};

use kernel::{Handle, Histogram, WorkerMetrics, WorkerState};
use serde::{Deserialize, Serialize};

/// A program with its runtimes, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// `node`, `demo`, or what its author calls it.
    pub program: String,
    /// Of the program.
    pub version: String,
    /// Which run of the program this is: see [`new_run`]. Empty if it does not say.
    #[serde(default)]
    pub run: String,
    /// The time of day in milliseconds since 1970: to be shown, not to be calculated with.
    pub time_ms: u64,
    /// Since the program started, by a clock that never goes back.
    pub uptime_seconds: f64,
    /// Every runtime of the program.
    pub runtimes: Vec<Runtime>,
    /// What takes turns, the busiest first; not more than [`ENTRIES_MAX`]. Where there are more, those
    /// with an error are not left out for others that are busier.
    pub entries: Vec<Entry>,
    /// How many there are in all, also those that are not listed.
    pub entries_total: u64,
    /// What has been done, by kind: `transactions`, `messages`, `jobs`, `turns`.
    pub done: Vec<Done>,
}

/// A name for a run of a program, for [`Snapshot::run`]: random, so that whoever looks twice knows
/// whether the program was started anew in between. To be made once.
///
/// ```
/// use observe::snapshot::new_run;
///
/// assert_ne!(new_run(), new_run());
/// ```
#[must_use]
pub fn new_run() -> String {
    // Keyed with what the system gives out as random.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// So many of what takes turns are in a snapshot.
pub const ENTRIES_MAX: usize = 200;

/// A runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its name.
    pub name: String,
    /// By number.
    pub workers: Vec<Worker>,
    /// Entries that wait now.
    pub queued: u64,
    /// Timers that wait now.
    pub timers: u64,
    /// From queued to running, sampled: bucket `i` counts what took less than `2^i` ns and is in
    /// no earlier one. Empty buckets at the end are left out.
    pub waiting: Vec<u64>,
    /// Lengths of turns, sampled, in the same way.
    pub running: Vec<u64>,
}

impl Runtime {
    /// How this runtime is now.
    ///
    /// ```
    /// let runtime = kernel::Runtime::builder().workers(2).build()?;
    /// let seen = observe::snapshot::Runtime::of("tills", &runtime.handle());
    /// assert_eq!((seen.name.as_str(), seen.workers.len()), ("tills", 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(name: impl Into<String>, handle: &Handle) -> Runtime {
        let metrics = handle.metrics();
        let total = metrics.total();
        let workers = handle.workers().into_iter().zip(&metrics.workers);
        Runtime {
            name: name.into(),
            workers: workers.map(|(state, worker)| Worker::new(state, worker)).collect(),
            queued: metrics.queued as u64,
            timers: metrics.timers as u64,
            waiting: buckets(&total.waiting),
            running: buckets(&total.running),
        }
    }
}

fn buckets(histogram: &Histogram) -> Vec<u64> {
    let used = histogram.buckets.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    histogram.buckets[..used].to_vec()
}

/// A worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// `running`, `idle`, `searching`, `paused` or `stopped`.
    pub state: String,
    /// The name of what it runs, if it runs something that has one.
    pub runs: Option<String>,
    pub turns: u64,
    pub wakes: u64,
    pub steals: u64,
    pub parks: u64,
    pub hand_offs: u64,
    pub panics: u64,
    pub overruns: u64,
    /// CPU time of its thread, where the system tells it: two of them and the time between make a
    /// utilization.
    pub cpu_seconds: Option<f64>,
}

impl Worker {
    fn new(state: WorkerState, metrics: &WorkerMetrics) -> Worker {
        let (state, runs) = match state {
            WorkerState::Running(name) => ("running", Some(name)),
            WorkerState::Idle => ("idle", None),
            WorkerState::Paused => ("paused", None),
            WorkerState::Stopped => ("stopped", None),
            _ => ("searching", None),
        };
        Worker {
            state: state.to_owned(),
            runs,
            turns: metrics.turns,
            wakes: metrics.wakes,
            steals: metrics.steals,
            parks: metrics.parks,
            hand_offs: metrics.hand_offs,
            panics: metrics.panics,
            overruns: metrics.overruns,
            cpu_seconds: metrics.cpu.map(|cpu| cpu.as_secs_f64()),
        }
    }
}

/// Something that takes turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// `shard`, `process`, `task`, `job` or `strand`.
    pub kind: String,
    /// As its author calls it: any text.
    pub name: String,
    /// What it is doing.
    pub state: String,
    /// How much it has done: transactions of a shard, messages of a process, turns of others.
    pub done: u64,
    /// What waits for it: its pool, its mailbox.
    pub waiting: u64,
    /// What went wrong last, if anything.
    pub error: Option<String>,
}

/// How much of something has been done since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// What: `transactions`, `messages`, `jobs`.
    pub what: String,
    /// How many.
    pub count: u64,
}
