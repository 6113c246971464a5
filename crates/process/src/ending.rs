//! The end of a process: what is closed, and who is told, in which order.
//!
//! The mailbox is closed first, so that senders are told from now on; then the pid, the name and the
//! groups are given up, so that whoever hears of the exit finds nothing of it there; then the exit is
//! marked, so that nobody links or watches any more without hearing of it; and last those who are
//! tied to it are told.
//!
//! Most processes end when nobody has their address any more, and nothing but their pid leads to
//! them. Once that is given up, nobody can ever see what would be closed and marked, and it is not.

use std::{
    mem::{self, ManuallyDrop},
    sync::Arc,
    task::Waker,
};

use kernel::{Handle, JoinError, StrandWith};

use crate::{
    core::{Core, Front, State},
    exit::ExitReason,
    link, names,
    pid::Pid,
    system,
};

/// Ends a process. The handle that the table had is the caller's to give back.
///
/// # Safety
/// The caller holds the turn of the strand that `front` is the open part of; once only.
#[inline]
pub(crate) unsafe fn exit<M: Send>(
    front: &Front<M>,
    runtime: &Handle,
    reason: &ExitReason,
) -> ManuallyDrop<StrandWith<Core>> {
    // SAFETY: the caller holds the turn.
    unsafe { front.mail().close() };
    let core = &front.core;
    let names = core.if_extras(|state| (state.name.take(), mem::take(&mut state.groups)));
    if let Some((name, groups)) = names {
        give_up(runtime, core.pid(), name, groups);
    }
    let own = system::of(runtime).table.leave(runtime, core.pid());
    announce(core, &own, reason);
    own
}

/// Ends a process in its own turn. Of its strand it has so many handles, with the one that the table
/// had; they are the caller's to give back.
///
/// # Safety
/// As for `exit`.
#[inline]
pub(crate) unsafe fn exit_in_turn<M: Send>(
    own: &StrandWith<Front<M>>,
    reason: &ExitReason,
    handles: u32,
) {
    let alone = || own.is_sole(handles) && !own.core.has_extras() && own.mail().is_empty();
    if !alone() {
        // SAFETY: by the caller's promise.
        let _ = unsafe { exit(own, own.runtime(), reason) };
        return;
    }
    let listed = system::of(own.runtime()).table.leave(own.runtime(), own.core.pid());
    // Whoever has looked it up meanwhile holds it now.
    if !alone() || !own.core.signals.is_empty() {
        // SAFETY: the caller holds the turn.
        unsafe { own.mail().close() };
        announce(&own.core, &listed, reason);
    }
}

/// Marks the exit, and tells those who are tied to the process.
fn announce(core: &Core, own: &StrandWith<Core>, reason: &ExitReason) {
    let state = core.mark_exit(reason);
    // Nobody hears signals any more: what is left is dropped, and what comes is refused.
    let mut unheard = core.signals.close();
    while unheard.len > 0 {
        contain(|| drop(unheard.pop()));
    }
    if let Some(mut state) = state {
        if !state.groups.is_empty() {
            // Joined after the groups were given up, from outside of the turn.
            give_up(own.runtime(), own.pid(), None, mem::take(&mut state.groups));
        }
        tell(own, state, reason);
    }
}

#[cold]
fn give_up(runtime: &Handle, pid: Pid, name: Option<Arc<str>>, groups: Vec<Arc<str>>) {
    let system = system::of(runtime);
    if let Some(name) = name {
        names::release(system, &name, pid);
    }
    for group in groups {
        names::give_up(system, &group, pid);
    }
}

#[cold]
fn tell(own: &StrandWith<Core>, mut state: State, reason: &ExitReason) {
    for other in state.links.into_values().flatten() {
        link::tell(&other, own, reason.clone());
    }
    for watch in state.watchers {
        contain(|| watch.tell(own, reason.clone()));
    }
    // They try again, and find the mailbox closed.
    state.senders.call_all().for_each(wake);
    // Those inside are gone, or will never be asked. Their wakers are anybody's code.
    contain(|| drop((state.asked, state.foreign)));
}

/// Wakes by anybody's waker: its panic is neither ours nor that of those who come after it.
pub(crate) fn wake(waker: Waker) {
    contain(|| waker.wake());
}

pub(crate) fn contain(user: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(user));
}

/// Calls anybody's code.
///
/// # Errors
/// The text of its panic.
pub(crate) fn catch<R>(user: impl FnOnce() -> R) -> Result<R, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(user)).map_err(|payload| {
        let text = panic_text(&*payload);
        contain(|| drop(payload));
        text
    })
}

/// The reason that the kernel's word for an end stands for.
pub(crate) fn reason_of(why: JoinError) -> ExitReason {
    match why {
        JoinError::Panicked(text) => ExitReason::Panic(text.into()),
        JoinError::Stopped | JoinError::Abandoned => ExitReason::Shutdown,
        _ => ExitReason::Killed,
    }
}

/// The text of a panic.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
