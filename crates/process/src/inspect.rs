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
    /// It has exited: only an address still tells of it, see [`Addr::state`](crate::Addr::state).
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
    /// Messages that wait. Of those that have come since its last turn up to 65,535 are counted.
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
    /// How long ago it was spawned, in whole milliseconds. After 2³² of them, 49.7 days, it begins
    /// anew.
    pub age: Duration,
    /// How much time passed in its turns, whether their worker had a core or not. It is estimated: the
    /// mean of those that were timed, one in 256 beginning with the sixteenth, for all of them, and
    /// never more than its age. `None` before the sixteenth. When the next is timed, and was shorter,
    /// what was estimated for the turns before it may be taken back.
    pub cpu_time: Option<Duration>,
    /// Whether exits of links come as events.
    pub traps_exits: bool,
    /// Whether it has been asked to end.
    pub cancelled: bool,
}

/// How many processes there are, and what waits for them. From
/// [`Processes::process_counts`](crate::Processes::process_counts).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessCounts {
    /// Those that wait for their turn.
    pub ready: usize,
    /// Those that are in their turn.
    pub running: usize,
    /// Those that wait for yields.
    pub blocked: usize,
    /// Those that wait for messages.
    pub idle: usize,
    /// Messages that wait, of all of them.
    pub messages: u64,
    /// The most that wait for one of them.
    pub messages_max: u64,
    /// Messages that were dropped for newer ones, of all of them.
    pub dropped: u64,
}

pub(crate) fn state_of(process: &StrandWith<Core>) -> ProcessState {
    match process.strand().phase() {
        Phase::Queued => ProcessState::Ready,
        Phase::Running => ProcessState::Running,
        Phase::Done => ProcessState::Complete,
        Phase::Idle if process.has(BLOCKED) => ProcessState::Blocked,
        Phase::Idle => ProcessState::Idle,
    }
}

/// How long ago it was spawned. Of that moment a process knows the last 32 bits.
fn age(now: Duration, born: u32) -> Duration {
    let now = now.as_millis() as u64;
    // In a simulation, one may be spawned by a turn that goes on after now.
    let age = if now < born.into() { 0 } else { (now as u32).wrapping_sub(born) };
    Duration::from_millis(age.into())
}

/// How long it may have been in turns at most: no longer than it is there, as far as that is known.
fn time_max(now: Duration, age: Duration) -> Duration {
    /// An age is in whole milliseconds.
    const ROUNDED: Duration = Duration::from_millis(1);
    let is_whole = u32::try_from(now.as_millis()).is_ok();
    if is_whole { age + ROUNDED } else { now }
}

pub(crate) fn info(process: &StrandWith<Core>) -> ProcessInfo {
    let mail = process.mail();
    let now = process.runtime().now();
    let age = age(now, process.born());
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
        age,
        cpu_time: process
            .cpu_nanos()
            .map(|nanos| Duration::from_nanos(nanos).min(time_max(now, age))),
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

pub(crate) fn counts(runtime: &Handle) -> ProcessCounts {
    let mut counts = ProcessCounts::default();
    system::of(runtime).table.each(|process| {
        match state_of(process) {
            ProcessState::Ready => counts.ready += 1,
            ProcessState::Running => counts.running += 1,
            ProcessState::Blocked => counts.blocked += 1,
            ProcessState::Idle => counts.idle += 1,
            // It is about to leave.
            ProcessState::Complete => return,
        }
        let mail = process.mail();
        counts.messages += u64::from(mail.len);
        counts.messages_max = counts.messages_max.max(mail.len.into());
        counts.dropped += mail.dropped;
    });
    counts
}

pub(crate) fn all(runtime: &Handle) -> Vec<ProcessInfo> {
    let mut all = Vec::new();
    system::of(runtime).table.each(|process| all.push(info(process)));
    all
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn age_is_right_also_when_the_runtime_is_older_than_its_milliseconds_count() {
        let ms = Duration::from_millis;
        let lap = 1 << 32;
        for (now, born, expected) in [
            (5, 0, 5),
            (5, 5, 0),
            // Spawned by a simulated turn that has come to later than now.
            (5, 7, 0),
            (lap - 1, 0, lap - 1),
            (lap + 3, lap - 2, 5),
            (lap + 9, lap + 2, 7),
            (7 * lap + 9, 7 * lap + 9, 0),
        ] {
            assert_eq!(age(ms(now), born as u32), ms(expected), "{born} to {now}");
        }
    }

    #[test]
    fn time_in_turns_is_no_more_than_the_age_while_that_is_known() {
        let ms = Duration::from_millis;
        let lap = 1 << 32;
        assert_eq!(time_max(ms(9), ms(4)), ms(5));
        assert_eq!(time_max(ms(lap - 1), ms(4)), ms(5));
        // It may be older by a lap.
        assert_eq!(time_max(ms(lap + 9), ms(4)), ms(lap + 9));
    }
}
