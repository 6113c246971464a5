//! What a part of the demo is given, and what it owes the one who watches.

use std::{
    panic,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use shiftwork::Handle;

/// Where the parts play. A part looks at [`Stage::is_closed`] every turn, and then ends.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) handle: Handle,
    closed: Arc<AtomicBool>,
}

impl Stage {
    pub(crate) fn new(handle: Handle) -> Stage {
        Stage { handle, closed: Arc::new(AtomicBool::new(false)) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

/// One line of the view: a name, what is counted, and the count so far.
pub(crate) struct Part {
    /// `strand`, `job`, `process`, `task` or `shard`.
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    /// What is counted, in the plural.
    pub(crate) unit: &'static str,
    /// So many messages between processes each of them takes.
    messages_each: u64,
    count: Tally,
}

/// The count of a part, for those who do the work.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<AtomicU64>);

impl Part {
    pub(crate) fn new(name: &'static str, unit: &'static str) -> (Part, Tally) {
        let count = Tally::default();
        (Part { kind: "strand", name, unit, messages_each: 0, count: count.clone() }, count)
    }

    pub(crate) fn with_messages(self, messages_each: u64) -> Part {
        Part { messages_each, ..self }
    }

    pub(crate) fn of(self, kind: &'static str) -> Part {
        Part { kind, ..self }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.0.load(Ordering::Relaxed)
    }

    /// How many messages `count` of them stand for.
    pub(crate) fn messages(&self, count: u64) -> u64 {
        count * self.messages_each
    }
}

impl Tally {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
}

/// What a strand or a process says when it panics only to show that nothing comes of it.
pub(crate) const DELIBERATE: &str = "it panics on purpose";

/// Keeps deliberate panics off the screen; the runtime reports them anyway.
pub(crate) fn silence_deliberate_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&DELIBERATE) {
            usual(info);
        }
    }));
}
