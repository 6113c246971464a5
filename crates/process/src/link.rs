//! Processes that are tied to each other: when one exits, the others are told or exit too.
//!
//! Both sides keep the link, each under its own lock, one after the other. A side that exits
//! meanwhile has marked itself before it reads its links: whoever makes the link looks at that
//! mark when both entries are made, and takes back what the other side would never hear of.

use kernel::StrandWith;

use crate::{
    core::{self, Core},
    exit::ExitReason,
    signal::Signal,
};

/// Adds `other` to the links of `process`. The reason, if it has exited.
fn add(process: &StrandWith<Core>, other: &StrandWith<Core>) -> Result<(), ExitReason> {
    let added = process.with_extras(|state| match &state.exit {
        Some(reason) => Err(reason.clone()),
        None => {
            state.links.entry(other.pid()).or_insert_with(|| other.clone());
            Ok(())
        }
    });
    added.unwrap_or(Err(ExitReason::Normal))
}

/// Removes `other` from the links of `process`. False: it was not there.
pub(crate) fn remove(process: &StrandWith<Core>, other: &StrandWith<Core>) -> bool {
    let removed = process.if_extras(|state| state.links.remove(&other.pid()));
    removed.flatten().is_some()
}

/// Ties two processes together. One that has exited already counts as exiting now.
pub(crate) fn link(one: &StrandWith<Core>, other: &StrandWith<Core>) {
    if one == other {
        return;
    }
    if let Err(reason) = add(one, other) {
        tell(other, one, reason);
        return;
    }
    if let Err(reason) = add(other, one) {
        // If it is gone from ours, `one` has exited meanwhile and nobody is left to be told.
        if remove(one, other) {
            tell(one, other, reason);
        }
        return;
    }
    // `one` may have exited after the first step, and read its links before the second: then it
    // has told `other`, and what we added is left over.
    if one.exit_reason().is_some() {
        remove(other, one);
    }
}

/// Unties two processes.
pub(crate) fn unlink(one: &StrandWith<Core>, other: &StrandWith<Core>) {
    remove(one, other);
    remove(other, one);
}

/// Tells `process` that its link `exited` has exited.
pub(crate) fn tell(process: &StrandWith<Core>, exited: &StrandWith<Core>, reason: ExitReason) {
    core::signal(process, Signal::Exit { from: exited.pid(), reason });
}
