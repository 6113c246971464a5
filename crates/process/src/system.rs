//! What all processes of a runtime share: the table, the names, the groups.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    task::Waker,
};

use kernel::{Handle, Tenant};

use crate::{
    dispatch::Dispatcher,
    faults::Faults,
    monitor::MonitorId,
    pid::Pid,
    relay::Relays,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    table::Table,
};

/// The members of each group that has any.
pub(crate) type Groups = HashMap<Arc<str>, BTreeSet<Pid>>;

pub(crate) struct System {
    pub(crate) table: Table,
    pub(crate) names: Mutex<HashMap<Arc<str>, Pid>>,
    pub(crate) groups: Mutex<Groups>,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) relays: Relays,
    pub(crate) faults: Faults,
    monitors: AtomicU64,
    /// No more processes are spawned.
    stopping: AtomicBool,
}

/// The processes of this runtime.
#[inline]
pub(crate) fn of(runtime: &Handle) -> &System {
    runtime.tenant(|| System::new(runtime.worker_count()))
}

impl System {
    fn new(workers: usize) -> System {
        System {
            table: Table::new(workers),
            names: Mutex::default(),
            groups: Mutex::default(),
            dispatcher: Dispatcher::default(),
            relays: Relays::default(),
            faults: Faults::default(),
            monitors: AtomicU64::new(1),
            stopping: AtomicBool::new(false),
        }
    }

    pub(crate) fn next_monitor(&self) -> MonitorId {
        MonitorId(self.monitors.fetch_add(1, Relaxed))
    }

    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Relaxed);
    }
}

impl Tenant for System {
    fn closed(&self) {
        self.stop();
        // The runtime runs nobody any more: a process that is woken ends.
        self.table.each(|process| process.with_waker(Waker::wake_by_ref));
    }
}
