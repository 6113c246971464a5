//! What is waited for: the end of all tasks, or of main, or of patience.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use shiftwork::task::{Program, TaskId, TaskInfo, TaskResult, TaskState};

/// How the waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// No task is left.
    Finished,
    /// Main has ended, and the others do not matter.
    Main,
    /// The time is over.
    Timeout,
    /// Tasks were asked to end, by Ctrl-C.
    Interrupted,
}

/// Waits for the end, and returns what became of main if it has ended.
pub(crate) async fn until_the_end(
    program: &Program,
    main: TaskId,
    timeout: Option<Duration>,
    only_main: bool,
) -> (End, Option<TaskResult>) {
    let mut all = pin!(program.finished());
    // Asked for from the start: of a million tasks the first may be forgotten by the end.
    let mut first = pin!(program.task(main));
    let mut patience = pin!(timeout.map(|timeout| program.runtime().sleep(timeout)));
    let (mut is_finished, mut result) = (false, None);
    poll_fn(|task| {
        // Before the time is looked at: a program that has just come to its end has done so in time.
        is_finished = is_finished || all.as_mut().poll(task).is_ready();
        if result.is_none()
            && let Poll::Ready(ended) = first.as_mut().poll(task)
        {
            result = ended.ok();
        }
        match patience.as_mut().as_pin_mut() {
            // The last one to end may be main, and its own end be told a moment later.
            _ if is_finished && result.is_some() => Poll::Ready((End::Finished, result.take())),
            _ if only_main && result.is_some() => Poll::Ready((End::Main, result.take())),
            Some(patience) if !is_finished => {
                patience.poll(task).map(|()| (End::Timeout, result.take()))
            }
            _ => Poll::Pending,
        }
    })
    .await
}

/// Whether a task had not ended.
pub(crate) fn is_unfinished(task: &TaskInfo) -> bool {
    !matches!(task.state, TaskState::Complete | TaskState::Failed)
}
