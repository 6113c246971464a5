//! What a program has done so far, and what it has at the moment.

use crossbeam_utils::CachePadded;
use kernel::{Turn, WorkerId};

use crate::{
    program::shared::Shared,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// What a program has done and has. From [`Program::stats`](crate::Program::stats).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks that were spawned.
    pub spawned: u64,
    /// Tasks that have returned.
    pub completed: u64,
    /// Tasks that have failed.
    pub failed: u64,
    /// Tasks that have ended and whose results are forgotten: see
    /// [`Limits::results`](crate::Limits::results).
    pub forgotten: u64,
    /// Of those, tasks that had failed, and that nobody had awaited until then.
    pub forgotten_failures: u64,
    /// Tasks that have not ended.
    pub live: usize,
    /// The most tasks that there were at once.
    pub live_max: usize,
    /// How often a worker turned to a task.
    pub switches: u64,
    /// How often a task had to make room after its slice of operations.
    pub preemptions: u64,
    /// Calls of the host's functions.
    pub host_calls: u64,
    /// Operations that tasks have used.
    pub fuel: u64,
    /// Open channels, and closed ones that are not drained.
    pub channels: usize,
    /// Mutexes.
    pub mutexes: usize,
    /// Bytes of messages, cells, inputs and selects that wait, as they count in the limit.
    pub bytes_in_flight: usize,
    /// Bytes of tasks' memories, tables and stacks, as they count in
    /// [`Limits::program_memory`](crate::Limits::program_memory).
    pub memory: usize,
}

/// Counts of one worker. Only its turns write them.
#[derive(Debug, Default)]
struct Counts {
    switches: AtomicU64,
    preemptions: AtomicU64,
    host_calls: AtomicU64,
    fuel: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Tally {
    /// Each worker counts for itself, so that a turn shares nothing.
    workers: Box<[CachePadded<Counts>]>,
    completed: AtomicU64,
    failed: AtomicU64,
    live_max: AtomicUsize,
}

/// What one turn adds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnTally {
    pub(crate) preempted: bool,
    pub(crate) host_calls: u64,
    pub(crate) fuel: u64,
}

impl Tally {
    pub(crate) fn new(workers: usize) -> Tally {
        Tally {
            workers: (0..workers).map(|_| CachePadded::default()).collect(),
            completed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            live_max: AtomicUsize::new(0),
        }
    }

    #[inline]
    pub(crate) fn turn(&self, turn: &Turn<'_>, what: TurnTally) {
        let add = |count: &AtomicU64, more: u64| count.store(count.load(Relaxed) + more, Relaxed);
        let counts = &self.workers[WorkerId::get(turn.worker())];
        add(&counts.switches, 1);
        add(&counts.preemptions, what.preempted.into());
        add(&counts.host_calls, what.host_calls);
        add(&counts.fuel, what.fuel);
    }

    pub(crate) fn ended(&self, failed: bool) {
        let count = if failed { &self.failed } else { &self.completed };
        count.fetch_add(1, Relaxed);
    }

    /// There are so many tasks now.
    pub(crate) fn live(&self, live: usize) {
        if live > self.live_max.load(Relaxed) {
            self.live_max.fetch_max(live, Relaxed);
        }
    }
}

impl Stats {
    pub(crate) fn of(shared: &Shared) -> Stats {
        let tally = &shared.tally;
        let sum = |which: fn(&Counts) -> &AtomicU64| {
            tally.workers.iter().map(|counts| which(counts).load(Relaxed)).sum()
        };
        let (forgotten, forgotten_failures) = shared.registry.forgotten();
        Stats {
            spawned: shared.registry.given_out(),
            completed: tally.completed.load(Relaxed),
            failed: tally.failed.load(Relaxed),
            forgotten,
            forgotten_failures,
            live: shared.commons.counts.live(),
            live_max: tally.live_max.load(Relaxed),
            switches: sum(|counts| &counts.switches),
            preemptions: sum(|counts| &counts.preemptions),
            host_calls: sum(|counts| &counts.host_calls),
            fuel: sum(|counts| &counts.fuel),
            channels: shared.channels.len(),
            mutexes: shared.mutexes.len(),
            bytes_in_flight: shared.commons.in_flight.used(),
            memory: shared.memory.used(),
        }
    }
}
