//! What happens in a pool, as a stream for whoever wants to know.
//!
//! Each listener has a queue of its own with a bound; what does not fit is counted, and the pool
//! never waits for a listener.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Condvar, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use kernel::{WorkerChange, WorkerId};

use crate::{
    graph::cell::contain,
    id::JobId,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

/// So many events wait for a listener.
pub const EVENTS_MAX: usize = 65_536;

/// Something that happened in a pool.
///
/// What is told of a job is told just before it ends: whoever has waited for the job finds its event
/// there, and whoever has read the event may find for a moment that there is no result yet. To have it,
/// wait for the job.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A job completed.
    JobCompleted {
        /// Which.
        job: JobId,
        /// Where it ran.
        worker: WorkerId,
        /// How long it took.
        execution: Duration,
    },
    /// A job failed.
    JobFailed {
        /// Which.
        job: JobId,
        /// Where it ran.
        worker: WorkerId,
        /// What went wrong.
        reason: Arc<str>,
        /// How long it took.
        execution: Duration,
    },
    /// A job failed without having run, since another did.
    JobNotRun {
        /// Which.
        job: JobId,
        /// Which other, and why.
        fate: String,
    },
    /// A job was cancelled, or stopped with the pool.
    JobCancelled {
        /// Which.
        job: JobId,
    },
    /// A job had not ended at its deadline.
    DeadlineMissed {
        /// Which.
        job: JobId,
    },
    /// A worker takes jobs: it has started, or was resumed.
    WorkerReady(WorkerId),
    /// A worker takes nothing until it is resumed.
    WorkerPaused(WorkerId),
    /// A worker ends, or was shut down. It is the last that is told of it.
    WorkerShuttingDown(WorkerId),
}

/// The pool's side.
#[derive(Default)]
pub(crate) struct Hub {
    /// How many listen: looked at for each job.
    listeners: AtomicUsize,
    queues: Mutex<Queues>,
    /// Nothing more is said of workers.
    deserted: AtomicBool,
}

#[derive(Default)]
struct Queues {
    open: Vec<Weak<Queue>>,
    /// Workers that were shut down: that is told, and nothing of them after it.
    shut_down: Vec<WorkerId>,
    /// Nothing happens any more.
    closed: bool,
}

#[derive(Default)]
struct Queue {
    /// Not one of the facade's, which has no condition to wait for. Nothing of it is touched while
    /// this is held.
    state: std::sync::Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    dropped: u64,
    waker: Option<Waker>,
    closed: bool,
}

impl State {
    fn add(&mut self, event: &Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event.clone());
        } else {
            self.dropped += 1;
        }
    }
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No foreign code runs while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    #[inline(always)]
    pub(crate) fn is_listened(&self) -> bool {
        self.listeners.load(Relaxed) > 0
    }

    pub(crate) fn listen(&self) -> Events {
        let queue = Arc::new(Queue::default());
        let mut queues = self.queues.lock();
        lock(&queue.state).closed = queues.closed;
        queues.open.push(Arc::downgrade(&queue));
        self.listeners.store(queues.open.len(), Relaxed);
        Events { queue }
    }

    /// A worker is shut down, which the caller tells after this.
    pub(crate) fn worker_shut_down(&self, worker: WorkerId) {
        self.queues.lock().shut_down.push(worker);
    }

    /// The kernel says this of a worker.
    pub(crate) fn worker_changed(&self, worker: WorkerId, change: WorkerChange) {
        let event = match change {
            WorkerChange::Ready => Event::WorkerReady(worker),
            WorkerChange::Paused => Event::WorkerPaused(worker),
            _ => Event::WorkerShuttingDown(worker),
        };
        // Looked up and sent in one step: what is told of it comes before its shutdown, or not at all.
        let queues = self.queues.lock();
        if !queues.shut_down.contains(&worker) {
            self.each_of(queues, |state| state.add(&event));
        }
    }

    /// The last worker has ended.
    pub(crate) fn desert(&self) {
        self.deserted.store(true, Relaxed);
    }

    pub(crate) fn is_deserted(&self) -> bool {
        self.deserted.load(Relaxed)
    }

    pub(crate) fn send(&self, event: impl FnOnce() -> Event) {
        if self.is_listened() {
            self.send_to_all(&event());
        }
    }

    #[cold]
    fn send_to_all(&self, event: &Event) {
        self.each_of(self.queues.lock(), |state| state.add(event));
    }

    /// Nothing happens any more.
    pub(crate) fn close(&self) {
        let mut queues = self.queues.lock();
        queues.closed = true;
        self.each_of(queues, |state| state.closed = true);
    }

    fn each_of(&self, mut queues: MutexGuard<'_, Queues>, mut change: impl FnMut(&mut State)) {
        let mut wakers = Vec::new();
        queues.open.retain(|queue| {
            let Some(queue) = queue.upgrade() else { return false };
            let mut state = lock(&queue.state);
            change(&mut state);
            wakers.extend(state.waker.take());
            queue.arrived.notify_all();
            true
        });
        self.listeners.store(queues.open.len(), Relaxed);
        drop(queues);
        for waker in wakers {
            contain(|| waker.wake());
        }
    }
}

/// What happens in a pool from now on: an iterator that waits, or [`recv`](Events::recv)`.await`.
/// Up to [`EVENTS_MAX`] events wait to be read.
///
/// ```
/// use job::{Event, Job, Pool};
///
/// let pool = Pool::builder().workers(1).build()?;
/// let mut events = pool.events();
/// let job = pool.submit(Job::new(|_| ()))?;
/// let id = job.id();
/// job.join()?;
/// assert!(events.any(|event| matches!(event, Event::JobCompleted { job, .. } if job == id)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Events {
    queue: Arc<Queue>,
}

impl Events {
    /// The next event, if there is one now.
    pub fn try_next(&mut self) -> Option<Event> {
        lock(&self.queue.state).events.pop_front()
    }

    /// The next event; `None` once the pool has stopped and all is read.
    pub fn recv(&mut self) -> NextEvent<'_> {
        NextEvent { queue: &self.queue }
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.queue.state).closed
    }

    /// How many events were not kept, since nobody read them.
    pub fn dropped(&self) -> u64 {
        lock(&self.queue.state).dropped
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut state = lock(&self.queue.state);
        loop {
            if let Some(event) = state.events.pop_front() {
                return Some(event);
            }
            if state.closed {
                return None;
            }
            state = self.queue.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A future of the next event.
#[must_use = "a future does nothing unless it is awaited"]
pub struct NextEvent<'a> {
    queue: &'a Queue,
}

impl Future for NextEvent<'_> {
    type Output = Option<Event>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let waker = context.waker().clone();
        let mut state = lock(&self.queue.state);
        let next = state.events.pop_front();
        let old = match next {
            None if !state.closed => state.waker.replace(waker),
            next => return Poll::Ready(next),
        };
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl fmt::Debug for NextEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextEvent").finish_non_exhaustive()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.queue.state);
        f.debug_struct("Events")
            .field("waiting", &state.events.len())
            .field("dropped", &state.dropped)
            .finish()
    }
}
