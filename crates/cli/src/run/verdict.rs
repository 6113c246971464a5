//! Which exit code says what came of a program.

use std::process::ExitCode;

use shiftwork::task::{TaskError, TaskResult, TrapKind};

use super::{Report, watch::End};

/// What came of it. The number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Verdict {
    Success = 0,
    /// Main failed, or another task did and nobody awaited it.
    Failed = 1,
    /// Nothing was run.
    Usage = 2,
    Deadlock = 3,
    Timeout = 4,
    Limit = 5,
    /// As shells have it for a program that ended by Ctrl-C.
    Interrupted = 130,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> ExitCode {
        ExitCode::from(verdict as u8)
    }
}

impl Verdict {
    pub(crate) fn of(report: &Report) -> Verdict {
        match report.end {
            End::Timeout => return Verdict::Timeout,
            End::Interrupted => return Verdict::Interrupted,
            End::Finished | End::Main => {}
        }
        let failures = failures_that_count(report).map(Verdict::of_failure);
        // A deadlock explains other failures, and main's failure comes before those of others.
        let (mut first, mut deadlock) = (Verdict::Success, false);
        for verdict in failures {
            deadlock |= verdict == Verdict::Deadlock;
            first = if first == Verdict::Success { verdict } else { first };
        }
        if deadlock { Verdict::Deadlock } else { first }
    }

    fn of_failure(error: &TaskError) -> Verdict {
        match error {
            TaskError::Deadlock(..) => Verdict::Deadlock,
            TaskError::Trap(trap) => match trap.kind {
                TrapKind::Limit | TrapKind::OutOfFuel | TrapKind::StackOverflow => Verdict::Limit,
                _ => Verdict::Failed,
            },
            _ => Verdict::Failed,
        }
    }
}

/// The failures that are not somebody's in the program to deal with: main's, which comes first, and
/// those that nobody awaited.
fn failures_that_count(report: &Report) -> impl Iterator<Item = &TaskError> {
    let main = report.main.as_ref();
    let others = report.results.iter().filter(move |result| {
        let is_main = main.is_some_and(|main| main.id == result.id);
        !report.only_main && !is_main && counts_unawaited(result)
    });
    main.into_iter().chain(others).filter_map(|result| result.outcome.as_ref().err())
}

/// Whether a failure of this task counts. In a deadlock all are concerned.
fn counts_unawaited(result: &TaskResult) -> bool {
    !result.awaited || matches!(result.outcome, Err(TaskError::Deadlock(..)))
}
