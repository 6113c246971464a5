//! The end of all processes: asked first, then killed, and counted.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::{Poll, Waker},
    time::Duration,
};

use kernel::Handle;

use crate::{
    core,
    exit::ExitReason,
    monitor::{self, Watcher},
    signal::Signal,
    sync::Mutex,
    system,
};

/// How long processes are waited for when nothing else is said, before they are killed.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one that is killed may take to end its turn.
const GRACE: Duration = Duration::from_secs(1);

/// How the processes of a runtime ended. From
/// [`Processes::stop_processes`](crate::Processes::stop_processes).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopReport {
    /// Ended by themselves, done or since they were asked to.
    pub orderly: usize,
    /// Ended with an error or a panic.
    pub failed: usize,
    /// Did not end in time, and were killed.
    pub killed: usize,
    /// Killed, and a second later still in the turn they were in.
    pub left: usize,
}

#[derive(Default)]
struct Progress {
    report: StopReport,
    waiting: usize,
    waker: Option<Waker>,
}

/// Stops all processes. New ones are refused from now on.
pub(crate) async fn stop(runtime: Handle, timeout: Duration) -> StopReport {
    let system = system::of(&runtime);
    system.stop();
    let progress = Arc::new(Mutex::new(Progress::default()));
    let asked = async {
        // Again and again: one that was being spawned may have been missed.
        while watch_all(&runtime, &progress) {
            none_waits(&progress).await;
        }
    };
    let in_time = runtime.timeout(timeout, pin!(asked)).await.is_ok();
    if !in_time {
        let own = runtime.current_strand();
        system.table.each(|process| {
            if Some(process.strand().id()) != own {
                process.strand().abort();
            }
        });
        let _ = runtime.timeout(GRACE, pin!(none_waits(&progress))).await;
    }
    let progress = progress.lock();
    StopReport { left: progress.waiting, ..progress.report }
}

/// Asks every process to end, and watches it. False: there is none.
fn watch_all(runtime: &Handle, progress: &Arc<Mutex<Progress>>) -> bool {
    let mut processes = Vec::new();
    let own = runtime.current_strand();
    system::of(runtime).table.each(|process| {
        // The one that stops the others does not wait for itself.
        if Some(process.strand().id()) != own {
            processes.push(process.clone());
        }
    });
    for process in &processes {
        progress.lock().waiting += 1;
        let progress = progress.clone();
        let note = move |reason| {
            let waker = note(&mut progress.lock(), &reason);
            waker.into_iter().for_each(Waker::wake);
        };
        monitor::watch(process, Watcher::Call(Box::new(note)));
        core::signal(process, Signal::Cancel);
    }
    !processes.is_empty()
}

fn note(progress: &mut Progress, reason: &ExitReason) -> Option<Waker> {
    match reason {
        ExitReason::Killed => progress.report.killed += 1,
        ExitReason::Normal | ExitReason::Shutdown => progress.report.orderly += 1,
        _ => progress.report.failed += 1,
    }
    progress.waiting -= 1;
    if progress.waiting == 0 { progress.waker.take() } else { None }
}

fn none_waits(progress: &Mutex<Progress>) -> impl Future<Output = ()> {
    poll_fn(|task| {
        // Cloned before, and dropped after: a waker is anybody's code.
        let waker = task.waker().clone();
        let (old, waiting) = {
            let mut progress = progress.lock();
            (progress.waker.replace(waker), progress.waiting)
        };
        drop(old);
        if waiting == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
}
