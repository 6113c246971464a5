//! What happens when no task can go on: who waited for what, and that they end.
//!
//! Whoever has taken charge (see [`counts`](super::counts)) claims the wait of every task first, so
//! that nobody hears of another's failure before its own, then writes the report, and then wakes
//! them. Each fails with it.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    id::TaskId,
    object::table::Lookup,
    program::shared::Shared,
    task::{cell::BlockReason, wait::Outcome, waiter::Ready},
};

/// So many tasks are named when it is printed, at most.
const NAMED_MAX: usize = 20;

/// All tasks of a program waited, and nothing could end their waits.
///
/// Printed, it says who waited for what.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlock {
    /// Every task, the oldest first.
    pub tasks: Vec<DeadlockedTask>,
    /// Tasks that wait for each other in a circle, if there is one: each for the next, and the last
    /// for the first.
    pub circle: Vec<TaskId>,
}

/// A task that waited when its program was deadlocked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadlockedTask {
    /// The task.
    pub id: TaskId,
    /// The function it began with.
    pub func: String,
    /// What it waited for.
    pub reason: BlockReason,
    /// The task that would have had to act: the one that is awaited, or that holds the mutex.
    pub on: Option<TaskId>,
}

impl Deadlock {
    fn new(tasks: Vec<DeadlockedTask>) -> Deadlock {
        let circle = circle(&tasks);
        Deadlock { tasks, circle }
    }
}

/// Each task waits for one other at most, so to follow them leads to an end or into a circle.
fn circle(tasks: &[DeadlockedTask]) -> Vec<TaskId> {
    let next: BTreeMap<TaskId, Option<TaskId>> =
        tasks.iter().map(|task| (task.id, task.on)).collect();
    // By whose path each was first come by.
    let mut seen: BTreeMap<TaskId, TaskId> = BTreeMap::new();
    for start in tasks {
        let mut path = Vec::new();
        let mut at = Some(start.id);
        while let Some(id) = at {
            match seen.insert(id, start.id) {
                Some(by) if by == start.id => {
                    let first = path.iter().position(|other| *other == id);
                    return path.split_off(first.expect("it is on this path"));
                }
                Some(_) => break,
                None => path.push(id),
            }
            at = next.get(&id).copied().flatten();
        }
    }
    Vec::new()
}

/// Whoever has this deals with a deadlock. It is counted as busy until it has.
#[derive(Debug)]
#[must_use = "who takes charge is counted as busy until all have failed"]
pub(crate) struct Charge {
    /// So many tasks had been spawned. Those who came later are no part of it.
    spawned: u64,
}

/// Fails every task that waits, if the program is still stuck.
#[cold]
pub(crate) fn resolve(shared: &Shared) {
    if let Some(charge) = take_charge(shared) {
        fail_all(shared, charge);
    }
}

/// `None`: the program is not stuck any more, or somebody else deals with it.
pub(crate) fn take_charge(shared: &Shared) -> Option<Charge> {
    // Counted before, when nobody can have come who is no part of it.
    let spawned = shared.registry.given_out();
    shared.commons.counts.take_charge().then_some(Charge { spawned })
}

/// Fails all that are part of the deadlock, and lets go of the charge.
pub(crate) fn fail_all(shared: &Shared, charge: Charge) {
    let counts = &shared.commons.counts;
    let mut claimed = shared.registry.live();
    // Somebody may have come from outside since, and have ended waits: then it is no deadlock of all.
    claimed.retain(|task| {
        task.id.get() <= charge.spawned && counts.claim(|| task.wait.doom()).is_some()
    });
    let tasks = claimed.iter().map(|task| {
        let reason = task.reason();
        let on = match &reason {
            BlockReason::Task(id) => Some(*id),
            BlockReason::Mutex(mutex) => match shared.mutexes.find(mutex.get()) {
                Lookup::There(mutex) => mutex.owner(),
                Lookup::Gone | Lookup::Never => None,
            },
            _ => None,
        };
        DeadlockedTask { id: task.id, func: shared.function_name(task.function), reason, on }
    });
    let report = Arc::new(Deadlock::new(tasks.collect()));
    for task in &claimed {
        // SAFETY: those that are left were claimed above.
        unsafe { task.wait.deliver(Outcome::Deadlock(report.clone()), &[]) };
    }
    claimed.into_iter().for_each(|task| Ready(task).wake());
    shared.act(counts.leave());
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tasks.len() {
            1 => write!(f, "deadlock: the only task left waits, and nothing can end its wait:")?,
            count => write!(f, "deadlock: all {count} tasks wait, and nothing can end a wait:")?,
        }
        for task in self.tasks.iter().take(NAMED_MAX) {
            write!(f, "\n  {} ({}) {}", task.id, task.func, task.reason)?;
            match (&task.reason, task.on) {
                (BlockReason::Mutex(_), Some(owner)) => write!(f, ", which {owner} holds")?,
                (BlockReason::Mutex(_), None) => write!(f, ", which nobody holds")?,
                _ => {}
            }
        }
        if self.tasks.len() > NAMED_MAX {
            write!(f, "\n  and {} more", self.tasks.len() - NAMED_MAX)?;
        }
        if !self.circle.is_empty() {
            let count = self.circle.len();
            let mut ids: Vec<String> =
                self.circle.iter().take(NAMED_MAX).map(TaskId::to_string).collect();
            if count > NAMED_MAX {
                ids.push(format!("{} more", count - NAMED_MAX));
            }
            ids.push(self.circle[0].to_string());
            write!(f, "\n  in a circle: {}", ids.join(" -> "))?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::id::{CHANNEL, ChannelId, MUTEX, MutexId};

    fn task(id: u64, reason: BlockReason, on: Option<u64>) -> DeadlockedTask {
        DeadlockedTask { id: TaskId::new(id), func: "f".into(), reason, on: on.map(TaskId::new) }
    }

    #[test]
    fn a_circle_is_found_wherever_one_begins_to_look() {
        let mutex = |number| BlockReason::Mutex(MutexId::of(MUTEX | number));
        let report = Deadlock::new(vec![
            task(1, BlockReason::Task(TaskId::new(2)), Some(2)),
            task(2, mutex(1), Some(4)),
            task(3, BlockReason::Receive(ChannelId::of(CHANNEL | 1)), None),
            task(4, mutex(2), Some(2)),
        ]);
        assert_eq!(report.circle, [TaskId::new(2), TaskId::new(4)]);
        assert_eq!(
            report.to_string(),
            "deadlock: all 4 tasks wait, and nothing can end a wait:\n  \
             task 1 (f) waits for task 2\n  \
             task 2 (f) waits for mutex 1, which task 4 holds\n  \
             task 3 (f) waits for a message from channel 1\n  \
             task 4 (f) waits for mutex 2, which task 2 holds\n  \
             in a circle: task 2 -> task 4 -> task 2"
        );
    }

    #[test]
    fn a_chain_that_ends_is_no_circle() {
        let receive = BlockReason::Receive(ChannelId::of(CHANNEL | 1));
        let report = Deadlock::new(vec![
            task(1, BlockReason::Task(TaskId::new(2)), Some(2)),
            task(2, BlockReason::Task(TaskId::new(3)), Some(3)),
            task(3, receive, None),
        ]);
        assert_eq!(report.circle, []);
    }

    #[test]
    fn a_long_list_is_cut() {
        let receive = || BlockReason::Receive(ChannelId::of(CHANNEL | 1));
        let report = Deadlock::new((1..=1_000).map(|id| task(id, receive(), None)).collect());
        let text = report.to_string();
        assert!(text.ends_with("and 980 more"), "{text}");
    }
}
