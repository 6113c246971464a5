//! Who is told when a process exits, without being tied to it.

use kernel::StrandWith;

use crate::{core::Core, exit::ExitReason, faults, signal::Signal, system};

/// Names a monitor. From [`Context::monitor`](crate::Context::monitor).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonitorId(pub(crate) u64);

/// One who is to be told.
pub(crate) struct Watch {
    pub(crate) id: MonitorId,
    pub(crate) who: Watcher,
}

pub(crate) enum Watcher {
    Process(StrandWith<Core>),
    Call(Box<dyn FnOnce(ExitReason) + Send>),
}

impl Watch {
    fn is_dead(&self) -> bool {
        matches!(&self.who, Watcher::Process(process) if process.strand().is_done())
    }

    pub(crate) fn tell(self, exited: &StrandWith<Core>, reason: ExitReason) {
        match self.who {
            Watcher::Process(process) => {
                let down = Signal::Down { monitor: self.id, pid: exited.pid(), reason };
                faults::signal(&process, exited, down);
            }
            Watcher::Call(call) => call(reason),
        }
    }
}

/// Watches a process. If it has exited already, the watcher is told at once.
pub(crate) fn watch(process: &StrandWith<Core>, who: Watcher) -> MonitorId {
    let id = system::of(process.runtime()).next_monitor();
    let mut watch = Some(Watch { id, who });
    let mut dead = Vec::new();
    let exited = process.with_extras(|state| {
        if state.exit.is_none() {
            // Now and then, those who have exited: nobody would ever tell them.
            if state.watchers.len() == state.watchers.capacity() {
                dead.extend(state.watchers.extract_if(.., |watch| watch.is_dead()));
            }
            state.watchers.extend(watch.take());
        }
        state.exit.clone()
    });
    if let Some(watch) = watch {
        let reason = exited.flatten().unwrap_or(ExitReason::Normal);
        watch.tell(process, reason);
    }
    id
}

/// Ends a monitor. False: it is not there, since its process has exited.
pub(crate) fn unwatch(process: &StrandWith<Core>, id: MonitorId) -> bool {
    let watch = process.if_extras(|state| {
        let at = state.watchers.iter().position(|watch| watch.id == id)?;
        Some(state.watchers.swap_remove(at))
    });
    watch.flatten().is_some()
}
