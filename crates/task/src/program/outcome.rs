//! What a task ended with.

use std::{fmt, sync::Arc};

use crate::{
    id::TaskId, program::deadlock::Deadlock, task::cell::BlockReason, trap::Trap, value::Value,
};

/// What became of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskResult {
    /// The task.
    pub id: TaskId,
    /// The function it began with.
    pub func: String,
    /// What its function returned, or why it did not.
    pub outcome: Result<Vec<Value>, TaskError>,
    /// Whether anybody has awaited it, in a guest or in Rust.
    pub awaited: bool,
    /// Operations it has used.
    pub fuel: u64,
}

/// Why a task did not return.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TaskError {
    /// It trapped.
    Trap(Trap),
    /// No task of the program could go on, and this is what it waited for.
    Deadlock(BlockReason, Arc<Deadlock>),
    /// It was asked to end, and did not within the operations it had left.
    Cancelled,
    /// The engine or a function of the host panicked in its turn. Other tasks are not concerned.
    Panicked(String),
    /// The runtime stopped before it had ended.
    Stopped,
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::Trap(trap) => trap.fmt(f),
            TaskError::Deadlock(reason, _) => {
                write!(f, "deadlock: it {reason}, and no task is left that could change that")
            }
            TaskError::Cancelled => f.write_str("it was cancelled"),
            TaskError::Panicked(text) => write!(f, "the host panicked in its turn: {text}"),
            TaskError::Stopped => f.write_str("the runtime stopped before it had ended"),
        }
    }
}

impl std::error::Error for TaskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TaskError::Trap(trap) => Some(trap),
            _ => None,
        }
    }
}

/// A result as it is kept: there may be a million.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) function: u32,
    pub(crate) awaited: bool,
    pub(crate) fuel: u64,
    outcome: Compact,
}

#[derive(Debug, Clone)]
enum Compact {
    Nothing,
    One(Value),
    Many(Box<[Value]>),
    Failed(Box<TaskError>),
}

impl Ended {
    pub(crate) fn new(function: u32, fuel: u64, outcome: Result<Vec<Value>, TaskError>) -> Ended {
        let outcome = match outcome {
            Ok(values) => match *values {
                [] => Compact::Nothing,
                [value] => Compact::One(value),
                _ => Compact::Many(values.into()),
            },
            Err(error) => Compact::Failed(Box::new(error)),
        };
        Ended { function, awaited: false, fuel, outcome }
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.outcome, Compact::Failed(_))
    }

    pub(crate) fn outcome(&self) -> Result<Vec<Value>, TaskError> {
        match &self.outcome {
            Compact::Nothing => Ok(Vec::new()),
            Compact::One(value) => Ok(vec![*value]),
            Compact::Many(values) => Ok(values.to_vec()),
            Compact::Failed(error) => Err((**error).clone()),
        }
    }

    /// What a guest gets that awaits the task: the first value in 64 bits. `None`: it failed.
    pub(crate) fn for_guests(&self) -> Option<i64> {
        let first = match &self.outcome {
            Compact::Nothing => return Some(0),
            Compact::One(value) => *value,
            Compact::Many(values) => values[0],
            Compact::Failed(_) => return None,
        };
        Some(match first {
            Value::I32(value) => value.into(),
            Value::I64(value) => value,
            Value::F32(value) => value.to_bits().into(),
            Value::F64(value) => value.to_bits() as i64,
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_kept_small_and_comes_back_whole() {
        for values in [vec![], vec![Value::I64(7)], vec![Value::I32(1), Value::F64(2.5)]] {
            let ended = Ended::new(0, 0, Ok(values.clone()));
            assert_eq!(ended.outcome(), Ok(values));
        }
        let failed = Ended::new(0, 0, Err(TaskError::Cancelled));
        assert_eq!(failed.outcome(), Err(TaskError::Cancelled));
        assert!(size_of::<Ended>() <= 40);
    }

    #[test]
    fn guests_get_the_first_value_in_64_bits() {
        let get = |values: Vec<Value>| Ended::new(0, 0, Ok(values)).for_guests();
        assert_eq!(get(vec![]), Some(0));
        assert_eq!(get(vec![Value::I32(-1)]), Some(-1));
        assert_eq!(get(vec![Value::I64(i64::MIN), Value::I64(1)]), Some(i64::MIN));
        assert_eq!(get(vec![Value::F64(1.5)]), Some(1.5f64.to_bits() as i64));
        assert_eq!(Ended::new(0, 0, Err(TaskError::Stopped)).for_guests(), None);
    }
}
