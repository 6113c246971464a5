//! Processes that are tied to each other: when one exits, the others are told or exit too.
//!
//! Both sides keep the link, each under its own lock, one after the other. Who exits marks that, and
//! takes its links, in one step; then it tells them.
//!
//! 1. An exit counts for a process only while the process keeps the link, and ends it. So an exit
//!    that is heard after `unlink`, or twice, is nothing.
//! 2. Whoever makes a link looks at the marks when both entries are made, and tells what it finds.
//!    Who exits after that look has the link among those it tells. Who exited before it may have told
//!    too early, before there was an entry; by rule 1 one of the two counts.

use kernel::StrandWith;

use crate::{
    core::{self, Core},
    exit::ExitReason,
    faults,
    pid::Pid,
    signal::Signal,
};

/// Adds `other` to the links of `process`, unless that has exited.
fn add(process: &StrandWith<Core>, other: &StrandWith<Core>) {
    process.with_extras(|state| {
        if state.exit.is_none() {
            state.links.entry(other.pid()).or_insert_with(|| Some(other.clone()));
        }
    });
}

/// Ties two processes together. One that has exited already counts as exiting now.
pub(crate) fn link(one: &StrandWith<Core>, other: &StrandWith<Core>) {
    if one == other {
        return;
    }
    add(one, other);
    add(other, one);
    for (process, tied) in [(one, other), (other, one)] {
        if let Some(reason) = process.exit_reason() {
            tell(tied, process, reason);
        }
    }
}

/// Ties a process to one that is not there: that counts as exiting now.
pub(crate) fn link_to_nobody(process: &StrandWith<Core>, pid: Pid) {
    process.with_extras(|state| {
        state.links.entry(pid).or_insert(None);
    });
    core::signal(process, Signal::Exit { from: pid, reason: ExitReason::NoProcess });
}

/// Unties a process from another: from now on it hears nothing of that one's exit.
pub(crate) fn unlink(process: &StrandWith<Core>, other: Pid) {
    let tied = process.if_extras(|state| {
        state.news.forget_exit(other);
        state.links.remove(&other)
    });
    if let Some(Some(Some(other))) = tied {
        drop(other.if_extras(|state| state.links.remove(&process.pid())));
    }
}

/// Tells `process` that its link `exited` has exited.
pub(crate) fn tell(process: &StrandWith<Core>, exited: &StrandWith<Core>, reason: ExitReason) {
    faults::signal(process, exited, Signal::Exit { from: exited.pid(), reason });
}

/// The exit of a link is heard. False: there is no such link any more.
pub(crate) fn hear(process: &Core, exited: Pid) -> bool {
    let tied = process.if_extras(|state| state.links.remove(&exited));
    tied.flatten().is_some()
}
