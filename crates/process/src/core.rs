//! What every process has in the open part of its strand, and what only some have.
//!
//! ```text
//!   header | Core, Mailbox<M> | body            Extras: in a box of its own,
//!   kernel   Front<M>           the future      made when first needed
//! ```
//!
//! The core knows nothing of the type of messages, so that signals, links and inspection work for
//! any process. Whatever few processes need lies behind `extras`: the parent, links, monitors, news,
//! waiting senders, the name. A process that exits without extras leaves a mark there, so that
//! nobody links to it afterwards.
//!
//! Ordering: who makes the extras releases them, and who finds them acquires. The mark releases too:
//! who sees that a process has exited sees that its pid and its name are given up.

use std::{any::TypeId, collections::BTreeMap, ptr, task::Waker};

use kernel::StrandWith;

use crate::{
    exit::ExitReason,
    mailbox::{
        Gauge, Inbox, Mailbox, Store,
        stack::{Pushed, Stack},
    },
    monitor::Watch,
    news::News,
    pid::Pid,
    seats::Seats,
    signal::Signal,
    sync::{
        self, Mutex,
        atomic::{
            AtomicPtr, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

/// It was asked to end.
pub(crate) const CANCELLED: u8 = 1;
/// Exits of links come as events.
pub(crate) const TRAPS: u8 = 2;
/// It waits for yields, not for messages.
pub(crate) const BLOCKED: u8 = 4;
/// Senders wait for room.
pub(crate) const CROWDED: u8 = 8;
/// Somebody inside waits with a waker of its own.
pub(crate) const FOREIGN: u8 = 16;
/// There is news.
pub(crate) const NEWS: u8 = 32;
/// Some of the news waits behind messages, so they are counted.
pub(crate) const BEHIND: u8 = 64;

/// In `steps`: the context was dropped in a turn, and its handle goes with the end of the process.
const CONTEXT_LEFT: u64 = 1 << 63;
/// In `steps`: a handle that was counted and is not used yet. The turns are below.
const SPARE: u64 = 1 << 59;
const SPARES: u64 = CONTEXT_LEFT - SPARE;

/// One turn in so many is timed, beginning with the sixteenth: many processes have only a few, and to time
/// one of those would cost a part of what it costs to spawn them.
pub(crate) const SAMPLE: u64 = 256;
const FIRST_TIMED: u64 = 16;

/// What senders write to comes first; the reader writes to the store behind, and once per turn to
/// `steps`.
#[repr(C)]
pub(crate) struct Core {
    inbox: Inbox,
    gauge: Gauge,
    /// When it was spawned, in milliseconds of the runtime's time.
    born: u32,
    pid: Pid,
    pub(crate) signals: Stack<Signal>,
    extras: AtomicPtr<Extras>,
    /// Turns taken, spare handles, and CONTEXT_LEFT. Written in turns only.
    steps: AtomicU64,
    /// What depends on the type of its messages.
    kind: &'static Kind,
}

/// The open part of a process's strand.
#[repr(C)]
pub(crate) struct Front<M> {
    pub(crate) core: Core,
    pub(crate) store: Store<M>,
}

impl<M> Front<M> {
    #[inline]
    pub(crate) fn mail(&self) -> Mailbox<'_, M> {
        // SAFETY: this is the only place that knows the type, and it is the front's.
        let stack = unsafe { self.core.inbox.of() };
        Mailbox { gauge: &self.core.gauge, stack, store: &self.store }
    }
}

impl<M: Send> Front<M> {
    /// Whether whoever was leaving a message in the slot is done.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.mail().is_settled()
    }
}

impl<M> Front<M> {
    /// Notes how long a turn took that is timed. For the turn itself.
    ///
    /// What is kept is the mean of all that were timed: with that of the last few, the time of all
    /// turns would fall when short turns follow long ones. A whole number of nanoseconds could not
    /// follow after many.
    pub(crate) fn note_time(&self, nanos: u64) {
        let before = self.core.steps() / SAMPLE;
        let mut mean = nanos.max(1) as f32;
        // Many processes have one such turn in their life, and no division.
        if before > 0 {
            let old = f32::from_bits(self.store.mean.load(Relaxed));
            mean = old + (mean - old) / (before + 1) as f32;
        }
        self.store.mean.store(mean.to_bits(), Relaxed);
    }
}

impl<M> Drop for Front<M> {
    fn drop(&mut self) {
        // SAFETY: we are the last.
        unsafe { self.mail().empty() };
    }
}

/// What of a process depends on the type of its messages.
struct Kind {
    message: fn() -> TypeId,
    /// # Safety
    /// The core is that of a front with such messages.
    mail: unsafe fn(&Core) -> MailInfo,
}

/// What a mailbox tells of itself.
pub(crate) struct MailInfo {
    pub(crate) len: u32,
    pub(crate) bound: u32,
    pub(crate) dropped: u64,
    /// How long a turn of the process takes, in nanoseconds; 0 if none was timed.
    pub(crate) mean: f32,
}

/// # Safety
/// `core` is that of a `Front<M>`.
unsafe fn mail_of<M: Send>(core: &Core) -> MailInfo {
    // SAFETY: a core is the first field of its front (`repr(C)`), and never anywhere else.
    let front = unsafe { &*ptr::from_ref(core).cast::<Front<M>>() };
    let mail = front.mail();
    MailInfo {
        len: mail.len(),
        bound: mail.bound(),
        dropped: mail.dropped(),
        mean: f32::from_bits(front.store.mean.load(Relaxed)),
    }
}

pub(crate) struct Extras(Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    /// Who spawned it, if a process did.
    pub(crate) parent: Option<Pid>,
    /// Set once it has exited.
    pub(crate) exit: Option<ExitReason>,
    /// Whom it is tied to; `None` for one that was never there.
    pub(crate) links: BTreeMap<Pid, Option<StrandWith<Core>>>,
    pub(crate) watchers: Vec<Watch>,
    pub(crate) news: News,
    /// Those who wait for room in the mailbox.
    pub(crate) senders: Seats,
    /// Those who wait for the request to end with wakers that are not the strand's.
    pub(crate) asked: Seats,
    /// Whoever receives, if it waits with a waker that is not the strand's.
    pub(crate) foreign: Option<Waker>,
    pub(crate) name: Option<std::sync::Arc<str>>,
    pub(crate) groups: Vec<std::sync::Arc<str>>,
}

/// What `extras` points to once a process without any has exited.
fn exited() -> *mut Extras {
    ptr::without_provenance_mut(1)
}

impl Core {
    pub(crate) fn new<M: Send + 'static>(pid: Pid, born: u32, gauge: Gauge) -> Core {
        Core {
            inbox: Inbox::new(),
            gauge,
            born,
            pid,
            signals: Stack::new(),
            extras: AtomicPtr::new(ptr::null_mut()),
            steps: AtomicU64::new(0),
            kind: const { &Kind { message: TypeId::of::<M>, mail: mail_of::<M> } },
        }
    }

    #[inline]
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn parent(&self) -> Option<Pid> {
        self.if_extras(|state| state.parent).flatten()
    }

    pub(crate) fn born(&self) -> u32 {
        self.born
    }

    #[inline]
    pub(crate) fn flags(&self) -> u8 {
        self.gauge.flags.load(Relaxed)
    }

    #[inline]
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.gauge.flags.load(Relaxed) & flag != 0
    }

    pub(crate) fn set(&self, flag: u8, on: bool) {
        if on {
            self.gauge.flags.fetch_or(flag, Relaxed);
        } else {
            self.gauge.flags.fetch_and(!flag, Relaxed);
        }
    }

    /// Counts a turn; true if it is one of those that are timed. For the turn itself.
    #[inline]
    pub(crate) fn count_step(&self) -> bool {
        let steps = self.steps.load(Relaxed) + 1;
        self.steps.store(steps, Relaxed);
        steps % SAMPLE == FIRST_TIMED
    }

    /// The context is dropped in a turn: its handle stays, for whoever ends the process.
    #[inline]
    pub(crate) fn leave_context(&self) {
        self.steps.store(self.steps.load(Relaxed) | CONTEXT_LEFT, Relaxed);
    }

    pub(crate) fn takes<M: 'static>(&self) -> bool {
        (self.kind.message)() == TypeId::of::<M>()
    }

    pub(crate) fn mail(&self) -> MailInfo {
        // SAFETY: the kind was made with the type of the front that this core is in.
        unsafe { (self.kind.mail)(self) }
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Relaxed) & (SPARE - 1)
    }

    /// Takes a spare handle. For turns. False: there is none.
    #[inline]
    pub(crate) fn take_spare(&self) -> bool {
        let steps = self.steps.load(Relaxed);
        if steps & SPARES == 0 {
            return false;
        }
        self.steps.store(steps - SPARE, Relaxed);
        true
    }

    /// So many handles were counted that are not used yet. For turns, when there is no spare one.
    pub(crate) fn set_spares(&self, spares: u32) {
        let steps = self.steps.load(Relaxed);
        debug_assert!(steps & SPARES == 0, "some are left");
        self.steps.store(steps + u64::from(spares) * SPARE, Relaxed);
    }

    /// Handles that go with the end of the process: the spare ones, and a context's that was left.
    #[inline]
    pub(crate) fn handles_left(&self) -> u32 {
        let steps = self.steps.load(Relaxed);
        ((steps & SPARES) / SPARE) as u32 + u32::from(steps & CONTEXT_LEFT != 0)
    }

    /// How long all turns took together, as far as the timed ones tell.
    pub(crate) fn cpu_nanos(&self) -> Option<u64> {
        let mean = f64::from(self.mail().mean);
        (mean > 0.0).then(|| (mean * self.steps() as f64) as u64)
    }

    /// Calls `user` with the news, and sets the flags by what is left of it. For turns.
    pub(crate) fn with_news<R>(&self, user: impl FnOnce(&mut News) -> R) -> Option<R> {
        self.with_extras(|state| {
            let result = user(&mut state.news);
            self.set(NEWS, !state.news.is_empty());
            self.set(BEHIND, state.news.is_behind());
            result
        })
    }

    /// Calls `user` with the extras, which are made if there are none. `None`: it has exited
    /// without ever having any.
    pub(crate) fn with_extras<R>(&self, user: impl FnOnce(&mut State) -> R) -> Option<R> {
        let mut at = self.extras.load(Acquire);
        if at.is_null() {
            let new = Box::into_raw(Box::new(Extras(Mutex::default())));
            match self.extras.compare_exchange(ptr::null_mut(), new, Release, Acquire) {
                Ok(_) => at = new,
                Err(there) => {
                    // SAFETY: it was made above, and nobody has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    at = there;
                }
            }
        }
        self.at(at, user)
    }

    /// Whether there are extras, or it has exited.
    #[inline]
    pub(crate) fn has_extras(&self) -> bool {
        !self.extras.load(Relaxed).is_null()
    }

    /// Calls `user` with the extras, if there are any.
    pub(crate) fn if_extras<R>(&self, user: impl FnOnce(&mut State) -> R) -> Option<R> {
        self.at(self.extras.load(Acquire), user)
    }

    fn at<R>(&self, at: *mut Extras, user: impl FnOnce(&mut State) -> R) -> Option<R> {
        if at.is_null() || at == exited() {
            return None;
        }
        // SAFETY: extras that are there stay until the core is dropped.
        Some(user(&mut unsafe { &*at }.0.lock()))
    }

    /// Marks the exit, and takes what others must be told of it. For the process itself, once.
    #[inline]
    pub(crate) fn mark_exit(&self, reason: &ExitReason) -> Option<State> {
        let none = ptr::null_mut();
        if reason.is_normal()
            && self.extras.compare_exchange(none, exited(), Release, Relaxed).is_ok()
        {
            return None;
        }
        self.with_extras(|state| {
            let exit = Some(reason.clone());
            let parent = state.parent;
            std::mem::replace(state, State { parent, exit, ..State::default() })
        })
    }

    /// Why it exited, if it has and anybody cared.
    pub(crate) fn exit_reason(&self) -> Option<ExitReason> {
        if self.extras.load(Acquire) == exited() {
            return Some(ExitReason::Normal);
        }
        self.if_extras(|state| state.exit.clone()).flatten()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let at = sync::last(&mut self.extras);
        if !at.is_null() && at != exited() {
            // SAFETY: it was made from a box by `with_extras`, and we are the last.
            drop(unsafe { Box::from_raw(at) });
        }
    }
}

/// Sends a signal. It is never refused for want of room.
pub(crate) fn signal(process: &StrandWith<Core>, signal: Signal) {
    if let Ok(pushed) = process.signals.push(signal, u32::MAX)
        && (pushed == Pushed::First || process.runtime().is_simulated())
    {
        process.with_waker(Waker::wake_by_ref);
    }
}

/// The same process, with the type of its messages, if that is `M`.
pub(crate) fn typed<M: Send + 'static>(process: &StrandWith<Core>) -> Option<StrandWith<Front<M>>> {
    process.takes::<M>().then(|| {
        let raw = process.clone().into_raw();
        // SAFETY: a core whose kind is of type `M` is the first field of a `Front<M>`.
        unsafe { StrandWith::from_raw(raw) }
    })
}

/// The same process, without the type of its messages.
#[inline]
pub(crate) fn untyped<M>(process: &StrandWith<Front<M>>) -> StrandWith<Core> {
    let raw = process.clone().into_raw();
    // SAFETY: a front is `repr(C)`, begins with its core, and both are aligned to 8 bytes.
    unsafe { StrandWith::from_raw(raw) }
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(align_of::<Front<u128>>() == 8 && size_of::<Front<u128>>() == 112);

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn front() -> Front<u8> {
        let pid = Pid::new(0, 1);
        Front { core: Core::new::<u8>(pid, 0, Gauge::new(1, 0)), store: Store::new() }
    }

    /// Takes the turns up to the next that is timed, which takes so long. Gives the time of all.
    fn time_next(front: &Front<u8>, nanos: u64) -> u64 {
        while !front.core.count_step() {}
        front.note_time(nanos);
        front.core.cpu_nanos().unwrap()
    }

    #[test]
    fn time_of_all_turns_does_not_fall_when_short_ones_follow_long_ones() {
        let front = front();
        let mut before = 0;
        for sample in 0..2000 {
            let long = sample < 1000;
            let all = time_next(&front, if long { SECOND / 1000 } else { 1 });
            assert!(all >= before, "{all} after {before}, sample {sample}");
            before = all;
        }
        // A thousand samples of a millisecond, each for 256 turns.
        assert!((255 * SECOND..=256 * SECOND).contains(&before), "{before}");
    }

    #[test]
    fn long_turns_after_very_many_short_ones_are_seen() {
        let front = front();
        time_next(&front, 100);
        // As after so many samples of the same length.
        let samples = 1_000_000;
        front.core.steps.store(samples * SAMPLE + FIRST_TIMED - 1, Relaxed);
        let before = front.core.cpu_nanos().unwrap();
        let mut after = 0;
        for _ in 0..1000 {
            after = time_next(&front, 10_000);
        }
        let more = after - before;
        let expected = 1000 * SAMPLE * 10_000;
        assert!(more.abs_diff(expected) < expected / 10, "{more} of {expected}");
    }

    #[test]
    fn turn_of_any_length_counts_in_full() {
        assert_eq!(time_next(&front(), 64 * SECOND) / SECOND, FIRST_TIMED * 64);
    }
}
