//! What the tests share: runtimes, and channels that do not wait for ever.
#![allow(dead_code, reason = "no test file uses all of it")]

pub(crate) mod ledger;
pub(crate) mod scripted;
pub(crate) mod tree;

use std::{
    sync::mpsc::{self, Receiver, Sender},
    time::Duration,
};

use kernel::Runtime;
use process::{Addr, Context, Processes};

/// Far more than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).on_report(|_| {}).build().unwrap()
}

/// A sender to be moved into processes, and what to read from.
pub(crate) fn channel<T>() -> (Sender<T>, Told<T>) {
    let (send, receive) = mpsc::channel();
    (send, Told(receive))
}

pub(crate) struct Told<T>(Receiver<T>);

impl<T> Told<T> {
    #[track_caller]
    pub(crate) fn next(&self) -> T {
        self.0.recv_timeout(PATIENCE).expect("it should have been told")
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.try_iter().collect()
    }
}

/// A process that passes on what it receives, until it is asked to end.
pub(crate) fn echo<M: Send + 'static>(runtime: &kernel::Handle, to: Sender<M>) -> Addr<M> {
    let echo = runtime.spawn_process(move |mut ctx: Context<M>| async move {
        while let Some(message) = ctx.receive().await {
            if to.send(message).is_err() {
                break;
            }
        }
    });
    echo.unwrap()
}

/// A process that waits for ever.
pub(crate) fn idler(runtime: &kernel::Handle) -> Addr<()> {
    let idler = runtime.spawn_process(|mut ctx: Context<()>| async move {
        while ctx.receive().await.is_some() {}
    });
    idler.unwrap()
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(holds: impl Fn() -> bool) {
    #[allow(clippy::disallowed_methods, reason = "a test has to give up at some time")]
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it should have come to this");
        std::thread::yield_now();
    }
}
