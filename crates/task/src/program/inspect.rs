//! What each task is doing.

use kernel::Phase;

use crate::{
    id::TaskId,
    program::{Program, registry::Known, shared::Shared},
    task::cell::{BlockReason, Task},
};

/// What a task is doing. It may do something else the next moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskState {
    /// It waits for its turn.
    Ready,
    /// It is in its turn.
    Running,
    /// It waits for something else.
    Blocked(BlockReason),
    /// It has returned.
    Complete,
    /// It has failed.
    Failed,
}

/// What is known of a task. From [`Program::tasks`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskInfo {
    /// The task.
    pub id: TaskId,
    /// The function it began with.
    pub func: String,
    /// What it is doing.
    pub state: TaskState,
    /// Operations it has used.
    pub fuel: u64,
}

fn state_of(task: &Task) -> TaskState {
    match task.strand().phase() {
        Phase::Running => TaskState::Running,
        _ if task.wait.is_waiting() => TaskState::Blocked(task.reason()),
        _ => TaskState::Ready,
    }
}

impl Program {
    /// What is known of each task: those that have not ended, and those whose results are kept. The
    /// oldest first.
    pub fn tasks(&self) -> Vec<TaskInfo> {
        let shared: &Shared = self.shared();
        let mut tasks = Vec::new();
        shared.registry.each(|id, known| {
            let (function, state, fuel) = match known {
                Known::Live(task) => (task.function, state_of(task), task.fuel()),
                Known::Ended(ended) if ended.has_failed() => {
                    (ended.function, TaskState::Failed, ended.fuel)
                }
                Known::Ended(ended) => (ended.function, TaskState::Complete, ended.fuel),
                Known::Nothing => return,
            };
            tasks.push(TaskInfo { id, func: shared.function_name(function), state, fuel });
        });
        tasks.sort_by_key(|task| task.id);
        tasks
    }
}
