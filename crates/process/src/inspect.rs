//! What a process tells of itself.

use std::time::Duration;

use kernel::{Handle, Phase, StrandWith};

use crate::{
    core::{BLOCKED, CANCELLED, Core, TRAPS},
    pid::Pid,
    system,
};

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It waits for its turn.
    Ready,
    /// It is in its turn.
    Running,
    /// It waits for yields.
    Blocked,
    /// It waits for messages.
    Idle,
    /// It has exited.
    Complete,
}

/// What is known of a process. From [`Processes::processes`](crate::Processes::processes).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// Its pid.
    pub pid: Pid,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What it is doing.
    pub state: ProcessState,
    /// Turns it has taken.
    pub steps: u64,
    /// Messages that wait.
    pub mailbox_len: usize,
    /// How many may wait; `None` without a bound.
    pub mailbox_bound: Option<usize>,
    /// Messages that were dropped for newer ones.
    pub dropped: u64,
    /// Who spawned it, if a process did.
    pub parent: Option<Pid>,
    /// Whom it is linked to.
    pub links: Vec<Pid>,
    /// How many monitor it.
    pub monitors: usize,
    /// The groups it is in.
    pub groups: Vec<String>,
    /// How long ago it was spawned.
    pub age: Duration,
    /// How much time its turns took, estimated from one in 256 of them; `None` before the first
    /// such.
    pub cpu_time: Option<Duration>,
    /// Whether exits of links come as events.
    pub traps_exits: bool,
    /// Whether it has been asked to end.
    pub cancelled: bool,
}

fn state_of(process: &StrandWith<Core>) -> ProcessState {
    match process.strand().phase() {
        Phase::Queued => ProcessState::Ready,
        Phase::Running => ProcessState::Running,
        Phase::Done => ProcessState::Complete,
        Phase::Idle if process.has(BLOCKED) => ProcessState::Blocked,
        Phase::Idle => ProcessState::Idle,
    }
}

pub(crate) fn info(process: &StrandWith<Core>) -> ProcessInfo {
    let mail = process.mail();
    let now = process.runtime().now();
    let mut info = ProcessInfo {
        pid: process.pid(),
        name: None,
        state: state_of(process),
        steps: process.steps(),
        mailbox_len: mail.len as usize,
        mailbox_bound: (mail.bound != u32::MAX).then_some(mail.bound as usize),
        dropped: mail.dropped,
        parent: process.parent(),
        links: Vec::new(),
        monitors: 0,
        groups: Vec::new(),
        age: now.saturating_sub(Duration::from_millis(process.born().into())),
        cpu_time: process.cpu_nanos().map(Duration::from_nanos),
        traps_exits: process.has(TRAPS),
        cancelled: process.has(CANCELLED),
    };
    process.if_extras(|state| {
        info.name = state.name.as_ref().map(|name| name.to_string());
        info.links = state.links.keys().copied().collect();
        info.monitors = state.watchers.len();
        info.groups = state.groups.iter().map(|group| group.to_string()).collect();
    });
    info
}

pub(crate) fn all(runtime: &Handle) -> Vec<ProcessInfo> {
    let mut all = Vec::new();
    system::of(runtime).table.each(|process| all.push(info(process)));
    all
}
