//! How a process ends, and how its own code says so.

use std::{fmt, sync::Arc};

/// Why a process exited.
///
/// Links and monitors are told. A link ends with the one it is linked to unless the reason is
/// [`Normal`](ExitReason::Normal) or it traps exits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitReason {
    /// It was done.
    Normal,
    /// It was asked to end and did, or its runtime stopped.
    Shutdown,
    /// It was killed.
    Killed,
    /// It failed, with this text.
    Error(Arc<str>),
    /// It panicked, with this text.
    Panic(Arc<str>),
    /// There was no such process, or not any more.
    NoProcess,
}

impl ExitReason {
    /// An error with this text.
    pub fn error(text: impl fmt::Display) -> ExitReason {
        ExitReason::Error(text.to_string().into())
    }

    /// Whether it was done: a link goes on then.
    pub fn is_normal(&self) -> bool {
        *self == ExitReason::Normal
    }

    /// Whether it ended as it should: done, or asked to. A transient child is restarted otherwise.
    pub fn is_orderly(&self) -> bool {
        matches!(self, ExitReason::Normal | ExitReason::Shutdown)
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitReason::Normal => f.write_str("normal"),
            ExitReason::Shutdown => f.write_str("shutdown"),
            ExitReason::Killed => f.write_str("killed"),
            ExitReason::Error(text) => write!(f, "error: {text}"),
            ExitReason::Panic(text) => write!(f, "panic: {text}"),
            ExitReason::NoProcess => f.write_str("no such process"),
        }
    }
}

/// What an `async` process may return: nothing, a [`Result`], or its [`ExitReason`]. One that ends well
/// after it was asked to end exits with [`ExitReason::Shutdown`].
pub trait Outcome {
    /// The reason it stands for.
    fn into_reason(self) -> ExitReason;
}

impl Outcome for () {
    #[inline]
    fn into_reason(self) -> ExitReason {
        ExitReason::Normal
    }
}

impl Outcome for ExitReason {
    fn into_reason(self) -> ExitReason {
        self
    }
}

impl<E: fmt::Display> Outcome for Result<(), E> {
    fn into_reason(self) -> ExitReason {
        match self {
            Ok(()) => ExitReason::Normal,
            Err(error) => ExitReason::error(error),
        }
    }
}
