//! Names and groups: how a process is found by those who have no address of it.

use std::sync::Arc;

use crate::{pid::Pid, system::System};

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

pub(crate) fn join(system: &System, group: Arc<str>, pid: Pid) {
    system.groups.lock().entry(group).or_default().insert(pid);
}

pub(crate) fn leave(system: &System, group: &str, pid: Pid) -> bool {
    let mut groups = system.groups.lock();
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
