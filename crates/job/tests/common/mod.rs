//! What the tests share: pools, channels that do not wait for ever, and values that are counted.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{self, Receiver, Sender},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use job::{Pool, PoolBuilder, SimulatedPool, WorkerId};

/// Far more than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const MS: Duration = Duration::from_millis(1);

pub(crate) fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

/// A pool in virtual time.
pub(crate) fn simulated(workers: usize) -> SimulatedPool {
    Pool::builder().workers(workers).simulate(0).unwrap()
}

pub(crate) fn on_one() -> PoolBuilder {
    Pool::builder().workers(1)
}

pub(crate) fn worker(number: usize) -> WorkerId {
    WorkerId::new(number)
}

/// A sender to be moved into jobs, and what to read from.
pub(crate) fn channel<T>() -> (Sender<T>, Told<T>) {
    let (send, receive) = mpsc::channel();
    (send, Told(receive))
}

#[derive(Debug)]
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

/// What was written, in the order in which it was.
#[derive(Debug)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Log<T> {
    pub(crate) fn new() -> Log<T> {
        Log(Arc::default())
    }

    pub(crate) fn write(&self, entry: T) {
        self.0.lock().unwrap().push(entry);
    }

    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn count(&self, which: impl Fn(&T) -> bool) -> usize {
        self.0.lock().unwrap().iter().filter(|entry| which(entry)).count()
    }

    pub(crate) fn read(&self) -> Vec<T>
    where
        T: Clone,
    {
        self.0.lock().unwrap().clone()
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Log<T> {
        Log(self.0.clone())
    }
}

/// Counts how many of what it made are left.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

#[derive(Debug)]
pub(crate) struct Counted(Counter);

impl Counter {
    pub(crate) fn one(&self) -> Counted {
        self.0.fetch_add(1, SeqCst);
        Counted(self.clone())
    }

    pub(crate) fn left(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

/// Wakes a thread, and counts how often it was asked to.
#[derive(Debug)]
pub(crate) struct Alarm {
    thread: Thread,
    rung: AtomicUsize,
}

impl Alarm {
    pub(crate) fn new() -> Arc<Alarm> {
        Arc::new(Alarm { thread: thread::current(), rung: AtomicUsize::new(0) })
    }

    pub(crate) fn rung(&self) -> usize {
        self.rung.load(SeqCst)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rung.fetch_add(1, SeqCst);
        self.thread.unpark();
    }
}

/// Polls a future on this thread until it is ready.
#[track_caller]
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let alarm = Alarm::new();
    let waker = Waker::from(alarm.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        let before = alarm.rung();
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        // A thread may come out of parking for reasons of its own.
        #[allow(clippy::disallowed_methods, reason = "a test has to give up at some time")]
        let begun = std::time::Instant::now();
        while alarm.rung() == before {
            thread::park_timeout(PATIENCE);
            assert!(begun.elapsed() < PATIENCE, "nobody has woken the future");
        }
    }
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(holds: impl Fn() -> bool) {
    #[allow(clippy::disallowed_methods, reason = "a test has to give up at some time")]
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it should have come to this");
        thread::yield_now();
    }
}
