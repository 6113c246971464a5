//! Names and groups: how a process is found by those who have no address of it.
//!
//! A process keeps the names of its groups, and the system their members. Who joins or leaves holds
//! the lock of the members while it changes both, so that they agree. Who exits takes the names, and
//! once more when it marks the exit, and leaves each group afterwards: all that was joined before
//! the mark is left, and nothing is joined after it.

use std::sync::Arc;

use kernel::StrandWith;

use crate::{
    core::Core,
    pid::Pid,
    system::{self, Groups, System},
};

/// Gives a name. The pid that has it, if it is taken.
pub(crate) fn take(system: &System, name: Arc<str>, pid: Pid) -> Result<(), Pid> {
    let mut names = system.names.lock();
    match names.get(&name) {
        Some(holder) => Err(*holder),
        None => {
            names.insert(name, pid);
            Ok(())
        }
    }
}

pub(crate) fn find(system: &System, name: &str) -> Option<Pid> {
    system.names.lock().get(name).copied()
}

pub(crate) fn release(system: &System, name: &str, pid: Pid) {
    let mut names = system.names.lock();
    if names.get(name) == Some(&pid) {
        names.remove(name);
    }
}

/// Joins a group, unless the process has exited.
pub(crate) fn join(process: &StrandWith<Core>, group: &str) {
    let group: Arc<str> = group.into();
    let mut groups = system::of(process.runtime()).groups.lock();
    let joined = process.with_extras(|state| {
        let joins = state.exit.is_none() && !state.groups.contains(&group);
        if joins {
            state.groups.push(group.clone());
        }
        joins
    });
    if joined == Some(true) {
        groups.entry(group).or_default().insert(process.pid());
    }
}

/// Leaves a group. False: it was not in it.
pub(crate) fn leave(process: &StrandWith<Core>, group: &str) -> bool {
    let mut groups = system::of(process.runtime()).groups.lock();
    process.if_extras(|state| state.groups.retain(|other| **other != *group));
    remove(&mut groups, group, process.pid())
}

/// Takes a process that exits out of a group.
pub(crate) fn give_up(system: &System, group: &str, pid: Pid) {
    remove(&mut system.groups.lock(), group, pid);
}

fn remove(groups: &mut Groups, group: &str, pid: Pid) -> bool {
    let Some(members) = groups.get_mut(group) else { return false };
    let was = members.remove(&pid);
    if members.is_empty() {
        groups.remove(group);
    }
    was
}

pub(crate) fn members(system: &System, group: &str) -> Vec<Pid> {
    system
        .groups
        .lock()
        .get(group)
        .map_or_else(Vec::new, |members| members.iter().copied().collect())
}
