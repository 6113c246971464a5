//! The children of a supervisor in the order of their start, and how each of them is.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use crate::{
    exit::ExitReason,
    monitor::MonitorId,
    pid::Pid,
    supervisor::{SupervisorError, intensity::Restarts, spec::ChildSpec},
};

/// Names a child. They grow, so that their order is that of the start.
pub(super) type Key = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It was not started yet, or it was terminated: it stays so until somebody asks.
    Stopped,
    Running {
        pid: Pid,
        monitor: MonitorId,
        since: Duration,
    },
    /// It has ended, and the supervisor has not decided yet.
    Ended,
    /// It is started at this time, or when those before it have been.
    Waiting {
        at: Duration,
    },
    /// It has ended, and is not started again.
    Done,
}

pub(super) struct Child {
    pub(super) spec: ChildSpec,
    state: State,
    /// How often it was started again.
    pub(super) restarts: u64,
    /// How often in a row it failed without having run well.
    pub(super) failures: u32,
    /// How long all its runs took together, and its failures of late by that time, in which it never
    /// waits for a back-off.
    pub(super) lived: Duration,
    pub(super) recent: Option<Restarts>,
    /// How long it ran when it last ran.
    pub(super) ran: Duration,
    pub(super) last_exit: Option<ExitReason>,
}

impl Child {
    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn pid(&self) -> Option<Pid> {
        match self.state {
            State::Running { pid, .. } => Some(pid),
            _ => None,
        }
    }
}

#[derive(Default)]
pub(super) struct Children {
    list: BTreeMap<Key, Child>,
    ids: HashMap<Arc<str>, Key>,
    monitors: HashMap<MonitorId, Key>,
    waiting: BTreeSet<(Duration, Key)>,
    ended: VecDeque<Key>,
    next: Key,
}

impl Children {
    /// Adds a child that does not run.
    pub(super) fn add(&mut self, spec: ChildSpec) -> Result<Key, SupervisorError> {
        if self.ids.contains_key(&spec.id) {
            return Err(SupervisorError::DuplicateChild(spec.id.to_string()));
        }
        if let Some(flaw) = spec.backoff.and_then(|backoff| backoff.flaw()) {
            return Err(SupervisorError::Config(flaw));
        }
        let key = self.next;
        self.next += 1;
        self.ids.insert(spec.id.clone(), key);
        let child = Child {
            spec,
            state: State::Stopped,
            restarts: 0,
            failures: 0,
            lived: Duration::ZERO,
            recent: None,
            ran: Duration::ZERO,
            last_exit: None,
        };
        self.list.insert(key, child);
        Ok(key)
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.set(key, State::Stopped);
        if let Some(child) = self.list.remove(&key) {
            self.ids.remove(&child.spec.id);
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<Key> {
        self.ids.get(id).copied()
    }

    pub(super) fn get(&self, key: Key) -> Option<&Child> {
        self.list.get(&key)
    }

    /// A child that is there.
    pub(super) fn child(&mut self, key: Key) -> &mut Child {
        self.list.get_mut(&key).expect("a child is removed only where nobody goes on with it")
    }

    pub(super) fn state(&self, key: Key) -> Option<State> {
        Some(self.list.get(&key)?.state)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Child> {
        self.list.values()
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        self.list.keys().copied().collect()
    }

    /// The others, in order: those after it only, or all.
    pub(super) fn others(&self, key: Key, after_only: bool) -> Vec<Key> {
        let from = if after_only { key } else { 0 };
        self.list.range(from..).map(|(key, _)| *key).filter(|other| *other != key).collect()
    }

    pub(super) fn set(&mut self, key: Key, state: State) {
        let Some(child) = self.list.get_mut(&key) else { return };
        match child.state {
            State::Running { monitor, .. } => {
                self.monitors.remove(&monitor);
            }
            State::Waiting { at } => {
                self.waiting.remove(&(at, key));
            }
            _ => {}
        }
        child.state = state;
        match state {
            State::Running { monitor, .. } => {
                self.monitors.insert(monitor, key);
            }
            State::Waiting { at } => {
                self.waiting.insert((at, key));
            }
            State::Ended => self.ended.push_back(key),
            _ => {}
        }
    }

    /// Whether this is the monitor of a child that runs.
    pub(super) fn awaits(&self, monitor: MonitorId) -> bool {
        self.monitors.contains_key(&monitor)
    }

    /// Notes that the process behind this monitor has ended, if it is one of the children.
    pub(super) fn ended(&mut self, monitor: MonitorId, reason: ExitReason, now: Duration) {
        let Some(&key) = self.monitors.get(&monitor) else { return };
        let child = self.child(key);
        if let State::Running { since, .. } = child.state {
            child.ran = now.saturating_sub(since);
            child.lived = child.lived.saturating_add(child.ran);
        }
        child.last_exit = Some(reason);
        self.set(key, State::Ended);
    }

    /// One that has ended and is to be decided on, in the order of their ends.
    pub(super) fn next_ended(&mut self) -> Option<Key> {
        loop {
            // One that was stopped with others meanwhile is decided on already.
            let key = self.ended.pop_front()?;
            if self.state(key) == Some(State::Ended) {
                return Some(key);
            }
        }
    }

    /// The one that is to be started next, and when. In order, nobody overtakes.
    pub(super) fn next_due(&self, in_order: bool) -> Option<(Duration, Key)> {
        if in_order {
            self.waiting.iter().min_by_key(|(_, key)| *key).copied()
        } else {
            self.waiting.first().copied()
        }
    }
}
