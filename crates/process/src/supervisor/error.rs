//! What a supervisor can not do, and why.

use std::fmt;

use crate::{
    error::{CallError, SpawnError},
    exit::ExitReason,
};

/// Why a supervisor did not do what was asked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SupervisorError {
    /// It was not spawned.
    Spawn(SpawnError),
    /// It can not be configured so, for this reason.
    Config(&'static str),
    /// There is a child of this id already.
    DuplicateChild(String),
    /// There is no child of this id.
    UnknownChild(String),
    /// The child runs, or is about to: it must be terminated first.
    ChildRuns(String),
    /// The child could not be started, for this reason.
    ChildStart(String, ExitReason),
    /// The supervisor has exited, for this reason.
    Exited(ExitReason),
    /// The supervisor could not be asked, or gave no answer.
    Call(CallError),
}

impl fmt::Display for SupervisorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SupervisorError::Spawn(error) => write!(f, "the supervisor was not spawned: {error}"),
            SupervisorError::Config(why) => write!(f, "no supervisor can be like this: {why}"),
            SupervisorError::DuplicateChild(id) => {
                write!(f, "the supervisor has a child {id:?} already")
            }
            SupervisorError::UnknownChild(id) => write!(f, "the supervisor has no child {id:?}"),
            SupervisorError::ChildRuns(id) => {
                write!(f, "child {id:?} runs or is about to; terminate it first")
            }
            SupervisorError::ChildStart(id, reason) => {
                write!(f, "child {id:?} could not be started: {reason}")
            }
            SupervisorError::Exited(reason) => write!(f, "the supervisor has exited: {reason}"),
            SupervisorError::Call(error) => write!(f, "the supervisor did not answer: {error}"),
        }
    }
}

impl std::error::Error for SupervisorError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SupervisorError::Spawn(error) => Some(error),
            SupervisorError::Call(error) => Some(error),
            _ => None,
        }
    }
}

impl From<SpawnError> for SupervisorError {
    fn from(error: SpawnError) -> SupervisorError {
        SupervisorError::Spawn(error)
    }
}
