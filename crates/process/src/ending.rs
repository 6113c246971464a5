//! The end of a process: what is closed, and who is told, in which order.
//!
//! The mailbox is closed first, so that senders are told from now on; then the name and the groups
//! are given up; then the exit is marked, so that nobody links or watches any more without hearing
//! of it; then the pid is given up; and last those who are tied to it are told. The name comes
//! before the mark, since whoever watches from then on is told at once, and may want the name.

use std::{mem::ManuallyDrop, task::Waker};

use kernel::{Handle, JoinError, StrandWith};

use crate::{
    core::{Core, Front, State},
    exit::ExitReason,
    link, names, system,
};

/// Ends a process. The handle that the table had is the caller's to give back.
///
/// # Safety
/// The caller holds the turn of the strand that `front` is the open part of; once only.
#[inline]
pub(crate) unsafe fn exit<M: Send>(
    front: &Front<M>,
    runtime: &Handle,
    reason: ExitReason,
) -> ManuallyDrop<StrandWith<Core>> {
    // SAFETY: the caller holds the turn.
    unsafe { front.mail().close() };
    let core = &front.core;
    give_up_names(core, runtime);
    let state = core.mark_exit(&reason);
    let own = system::of(runtime).table.leave(runtime, core.pid());
    if let Some(state) = state {
        tell(&own, state, &reason);
    }
    own
}

/// Gives up the name and the groups. Nobody takes any after this: that happens in turns only.
#[inline]
fn give_up_names(core: &Core, runtime: &Handle) {
    let taken = core.if_extras(|state| (state.name.take(), std::mem::take(&mut state.groups)));
    let Some((name, groups)) = taken else { return };
    let (pid, system) = (core.pid(), system::of(runtime));
    if let Some(name) = name {
        names::release(system, &name, pid);
    }
    for group in groups {
        names::leave(system, &group, pid);
    }
}

#[cold]
fn tell(own: &StrandWith<Core>, state: State, reason: &ExitReason) {
    let pid = own.pid();
    for other in state.links {
        link::remove(&other, own);
        link::tell(&other, own, reason.clone());
    }
    for watch in state.watchers {
        watch.tell(pid, reason.clone());
    }
    // They try again, and find the mailbox closed.
    state.senders.into_iter().for_each(Waker::wake);
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
