//! What anyone with a task's handle may see of it, while its stack is its turn's own.

use std::fmt;

use kernel::StrandWith;

use crate::{
    id::{CHANNEL, ChannelId, MUTEX, MutexId, TaskId},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::wait::Wait,
};

/// A handle of a task.
pub(crate) type Task = StrandWith<TaskCell>;

/// In `reason`: it waits to send, not to receive.
const SEND: u64 = 1 << 62;
/// In `reason`: it waits for one of several channels.
const SELECT: u64 = 1 << 63;
/// In `reason`: it waits for time to pass.
const TIMER: u64 = 0;

/// The open part of a task's strand.
#[derive(Debug)]
pub(crate) struct TaskCell {
    pub(crate) id: TaskId,
    /// Where it begins, by the program's list of functions.
    pub(crate) function: u32,
    pub(crate) wait: Wait,
    /// What it waits for, if it does. Noted before the wait begins.
    reason: AtomicU64,
    selected: Mutex<Vec<ChannelId>>,
    /// Operations used so far. Written in turns only.
    fuel: AtomicU64,
    /// Whether a handle of the task was left with it. Touched by whoever has its turn.
    spare: AtomicBool,
}

/// What a blocked task waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockReason {
    /// The end of a task.
    Task(TaskId),
    /// A mutex that somebody else holds.
    Mutex(MutexId),
    /// Room in a channel, or a receiver.
    Send(ChannelId),
    /// A message.
    Receive(ChannelId),
    /// A message from one of several channels.
    Select(Vec<ChannelId>),
    /// Time to pass.
    Timer,
}

impl TaskCell {
    pub(crate) fn new(id: TaskId, function: u32) -> TaskCell {
        TaskCell {
            id,
            function,
            wait: Wait::default(),
            reason: AtomicU64::new(TIMER),
            selected: Mutex::default(),
            fuel: AtomicU64::new(0),
            spare: AtomicBool::new(false),
        }
    }

    /// Notes what it is about to wait for. For the task itself.
    #[inline]
    pub(crate) fn note(&self, reason: Noted) {
        self.reason.store(reason.0, Relaxed);
    }

    /// Notes several channels that it is about to wait for. For the task itself.
    pub(crate) fn note_channels(&self, channels: Vec<ChannelId>) {
        *self.selected.lock() = channels;
        self.reason.store(SELECT, Relaxed);
    }

    /// Lets go of the list of channels. For the task itself, when it waits for them no more.
    pub(crate) fn forget_channels(&self) {
        *self.selected.lock() = Vec::new();
    }

    /// What it waits for, or waited for last.
    pub(crate) fn reason(&self) -> BlockReason {
        match self.reason.load(Relaxed) {
            TIMER => BlockReason::Timer,
            SELECT => BlockReason::Select(self.selected.lock().clone()),
            id if id & SEND != 0 => BlockReason::Send(ChannelId::of(id & !SEND)),
            id if id & CHANNEL != 0 => BlockReason::Receive(ChannelId::of(id)),
            id if id & MUTEX != 0 => BlockReason::Mutex(MutexId::of(id)),
            id => BlockReason::Task(TaskId::new(id)),
        }
    }

    pub(crate) fn fuel(&self) -> u64 {
        self.fuel.load(Relaxed)
    }

    /// For turns.
    #[inline]
    pub(crate) fn add_fuel(&self, used: u64) {
        self.fuel.store(self.fuel().saturating_add(used), Relaxed);
    }
}

/// Leaves a handle with its task, which needs one for its next wait: so the word of the strand is not
/// counted up and down each time. For whoever has the task's turn; turns are ordered by the same word.
#[inline]
pub(crate) fn leave_handle(task: Task) {
    if !task.spare.load(Relaxed) {
        task.spare.store(true, Relaxed);
        task.into_raw();
    }
}

/// The handle that was left with the task.
///
/// # Safety
/// The caller has the task's turn.
#[inline]
pub(crate) unsafe fn spare_handle(task: &Task) -> Option<Task> {
    if !task.spare.load(Relaxed) {
        return None;
    }
    task.spare.store(false, Relaxed);
    // SAFETY: `leave_handle` has given one away, of the same type. Nobody but the caller takes it, who
    // has the turn.
    Some(unsafe { Task::from_raw(task.as_raw()) })
}

/// A reason to wait, in one word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted(u64);

impl Noted {
    pub(crate) const TIMER: Noted = Noted(TIMER);

    pub(crate) fn task(id: TaskId) -> Noted {
        Noted(id.get())
    }

    pub(crate) fn mutex(raw: u64) -> Noted {
        Noted(raw)
    }

    pub(crate) fn receive(raw: u64) -> Noted {
        Noted(raw)
    }

    pub(crate) fn send(raw: u64) -> Noted {
        Noted(raw | SEND)
    }
}

/// So many channels of a select are named, at most.
const NAMED_MAX: usize = 8;

impl fmt::Display for BlockReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockReason::Task(task) => write!(f, "waits for {task}"),
            BlockReason::Mutex(mutex) => write!(f, "waits for {mutex}"),
            BlockReason::Send(channel) => write!(f, "waits to send to {channel}"),
            BlockReason::Receive(channel) => write!(f, "waits for a message from {channel}"),
            BlockReason::Select(channels) => {
                let mut names: Vec<String> =
                    channels.iter().take(NAMED_MAX).map(ChannelId::to_string).collect();
                if channels.len() > NAMED_MAX {
                    names.push(format!("{} more", channels.len() - NAMED_MAX));
                }
                write!(f, "waits for a message from one of {}", names.join(", "))
            }
            BlockReason::Timer => f.write_str("sleeps"),
        }
    }
}
