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
        match first {
            _ if deadlock => Verdict::Deadlock,
            // That of main is remembered in any case.
            Verdict::Success if !report.only_main && report.stats.forgotten_failures > 0 => {
                Verdict::Failed
            }
            first => first,
        }
    }

    fn of_failure(error: &TaskError) -> Verdict {
        match error {
            TaskError::Deadlock(..) => Verdict::Deadlock,
            TaskError::Trap(trap) => match trap.kind {
                TrapKind::Limit | TrapKind::OutOfFuel | TrapKind::StackOverflow => Verdict::Limit,
                // The guest gave up, and this is why.
                _ if trap.refused.is_some() => Verdict::Limit,
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shiftwork::{Metrics, task::Stats};

    use super::*;

    #[test]
    fn failures_that_nobody_awaited_count_also_if_they_are_forgotten() {
        let of = |forgotten_failures: u64, only_main: bool| {
            let mut stats = Stats::default();
            stats.forgotten_failures = forgotten_failures;
            Verdict::of(&Report {
                end: End::Finished,
                main: None,
                results: Vec::new(),
                unfinished: Vec::new(),
                stats,
                metrics: Metrics::default(),
                elapsed: Duration::ZERO,
                only_main,
            })
        };
        assert_eq!(of(0, false), Verdict::Success);
        assert_eq!(of(1, false), Verdict::Failed);
        assert_eq!(of(1, true), Verdict::Success);
    }
}
