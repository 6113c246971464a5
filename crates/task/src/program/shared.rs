//! What all tasks of a program share.

use std::{
    fmt,
    sync::{Arc, Weak},
    task::Waker,
};

use kernel::{Handle, Tenant};

use crate::{
    abi::Code,
    engine::Engine,
    id::{CHANNEL, MUTEX},
    module::{Entry, Module},
    object::{Commons, channel::Channel, guarded::Guarded, message::Allowance, table::Table},
    options::Options,
    program::{
        counts::{Counts, TASKS_MAX, Verdict},
        deadlock,
        finished::Seats,
        registry::Registry,
        stats::Tally,
    },
    sync::Mutex,
    task::{cell::Task, wait::Outcome, waiter::Ready},
};

pub(crate) struct Shared {
    pub(crate) runtime: Handle,
    pub(crate) module: Module,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) options: Options,
    /// Where tasks that Rust spawns begin: by the module's list of exports.
    entries: Vec<Entry>,
    pub(crate) commons: Commons,
    pub(crate) registry: Registry,
    pub(crate) channels: Table<Channel>,
    pub(crate) mutexes: Table<Guarded>,
    /// Bytes of guests' memories, tables and stacks.
    pub(crate) memory: Allowance,
    pub(crate) tally: Tally,
    pub(crate) seats: Seats,
}

impl Shared {
    pub(crate) fn new(
        runtime: &Handle,
        module: Module,
        engine: Box<dyn Engine>,
        options: Options,
    ) -> Arc<Shared> {
        let limits = &options.limits;
        let export = |(name, _): &(String, _)| Entry::Export(name.clone());
        let shared = Arc::new(Shared {
            runtime: runtime.clone(),
            entries: module.exports.iter().map(export).collect(),
            module,
            engine,
            commons: Commons {
                counts: Counts::new(),
                in_flight: Allowance::new(limits.bytes_in_flight),
            },
            registry: Registry::new(limits.results),
            channels: Table::new(CHANNEL, limits.channels),
            mutexes: Table::new(MUTEX, limits.mutexes),
            memory: Allowance::new(limits.program_memory),
            tally: Tally::new(runtime.worker_count()),
            seats: Seats::default(),
            options,
        });
        runtime.tenant(Programs::default).add(&shared);
        shared
    }

    /// The number of an entry of the table, as a function of the program.
    pub(crate) fn of_table(&self, index: u32) -> u32 {
        self.entries.len() as u32 + index
    }

    /// Calls `user` with where a task of this function begins.
    pub(crate) fn with_entry<R>(&self, function: u32, user: impl FnOnce(&Entry) -> R) -> R {
        match self.entries.get(function as usize) {
            Some(entry) => user(entry),
            None => user(&Entry::Table(function - self.entries.len() as u32)),
        }
    }

    pub(crate) fn function_name(&self, function: u32) -> String {
        self.with_entry(function, |entry| match entry {
            Entry::Export(name) => name.clone(),
            Entry::Table(index) => {
                let table = self.module.table.as_ref();
                let named =
                    table.and_then(|table| table.functions.get(*index as usize)?.as_deref());
                named.map_or_else(|| format!("table[{index}]"), |(name, _)| name.clone())
            }
        })
    }

    /// How many tasks there may be.
    pub(crate) fn tasks_max(&self) -> usize {
        self.options.limits.tasks.min(TASKS_MAX)
    }

    /// Does what whoever brought it about owes: tells those who wait for all tasks, or ends a
    /// deadlock. No lock is held.
    #[inline]
    pub(crate) fn act(&self, verdict: Verdict) {
        match verdict {
            Verdict::GoesOn => {}
            Verdict::Finished => self.seats.call_all(),
            Verdict::Stuck => deadlock::resolve(self),
        }
    }

    /// Counts a caller from outside as busy, for as long as it has what is returned.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.commons.counts.enter();
        Inside(self)
    }

    /// Asks a task to end. The caller is counted as busy.
    pub(crate) fn cancel(&self, task: &Task) {
        if self.commons.counts.claim(|| task.wait.cancel()).is_some() {
            // SAFETY: the claim was ours.
            unsafe { task.wait.deliver(Outcome::Code(Code::Cancelled), &[]) };
            Ready(task.clone()).wake();
        }
    }

    /// Asks all tasks to end, and lets none begin any more.
    pub(crate) fn cancel_all(&self) {
        let _inside = self.enter();
        self.registry.close();
        for task in self.registry.live() {
            self.cancel(&task);
        }
    }

    /// Ends all tasks without asking: nobody could see what they do.
    pub(crate) fn abort_all(&self) {
        self.registry.close();
        for task in self.registry.live() {
            task.strand().abort();
        }
    }
}

/// Somebody from outside who is counted as busy.
#[must_use = "it is counted for as long as this is there"]
pub(crate) struct Inside<'a>(&'a Shared);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.act(self.0.commons.counts.leave());
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("counts", &self.commons.counts).finish_non_exhaustive()
    }
}

/// The programs of a runtime, which hear when it has closed.
#[derive(Default)]
struct Programs(Mutex<Vec<Weak<Shared>>>);

impl Programs {
    fn add(&self, shared: &Arc<Shared>) {
        let mut programs = self.0.lock();
        programs.retain(|program| program.strong_count() > 0);
        programs.push(Arc::downgrade(shared));
    }
}

impl Tenant for Programs {
    fn closed(&self) {
        let programs: Vec<Arc<Shared>> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        for program in programs {
            program.registry.close();
            // Nothing gets a turn any more: a task that is woken ends.
            for task in program.registry.live() {
                task.with_waker(Waker::wake_by_ref);
            }
        }
    }
}
