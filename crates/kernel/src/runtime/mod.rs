//! A runtime: the threads, and how they start and stop.

pub(crate) mod builder;
pub(crate) mod handle;
pub(crate) mod strand_builder;

use std::{fmt, ops::Deref, time::Duration};

use crate::{
    error::{BuildError, ShutdownTimeout},
    runtime::{builder::Builder, handle::Handle},
    slot::{PAUSE, STOP},
    sync::{Condvar, Mutex, atomic::Ordering::Relaxed, thread},
    worker::Worker,
    world,
};

/// Owns the worker threads. Everything else is done through its [`Handle`], to which it derefs.
///
/// Dropping a runtime stops it without waiting: turns in progress finish on their own, what is
/// queued is dropped. [`shutdown`](Runtime::shutdown) runs what is queued first.
///
/// ```
/// use kernel::Runtime;
///
/// let runtime = Runtime::new()?;
/// let mut answer = runtime.compute(|_| 6 * 7)?;
/// assert_eq!(answer.join()?, 42);
/// runtime.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Runtime {
    handle: Handle,
    crew: std::sync::Arc<Crew>,
    threads: Vec<thread::JoinHandle<()>>,
    /// Whether it is still to be stopped when it is dropped.
    running: bool,
}

/// What a shutdown found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shutdown {
    /// Turns taken over the runtime's life.
    pub turns: u64,
    /// What was queued and dropped without a turn: after a deadline, or submitted just as the
    /// runtime closed.
    pub dropped: u64,
}

/// The workers that are still there.
pub(crate) struct Crew {
    present: Mutex<usize>,
    gone: Condvar,
}

impl Crew {
    pub(crate) fn new(workers: usize) -> Crew {
        Crew { present: Mutex::new(workers), gone: Condvar::new() }
    }

    /// True: that was the last.
    fn leave(&self) -> bool {
        let mut present = self.present.lock();
        *present -= 1;
        self.gone.notify_all();
        *present == 0
    }
}

/// The life of a worker's thread.
pub(crate) fn worker_main(worker: Worker, crew: &Crew) {
    let slot = worker.slot();
    *slot.thread.lock() = Some(thread::current());
    slot.cpu_clock.store(world::cpu::own_clock(), Relaxed);
    worker.work();
    worker.clear();
    let shared = worker.shared.clone();
    drop(worker);
    if crew.leave() {
        shared.tenants.desert();
        // Nobody is left to run what came in last.
        shared.joiners.close();
        shared.tenants.close();
        shared.drop_all();
    }
}

impl Runtime {
    /// A runtime with all defaults: stealing, any worker, a quantum of one millisecond.
    ///
    /// # Errors
    /// See [`Builder::build`].
    pub fn new() -> Result<Runtime, BuildError> {
        Runtime::builder().build()
    }

    /// Chooses what is not to be the default.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn assemble(
        handle: Handle,
        crew: std::sync::Arc<Crew>,
        threads: Vec<thread::JoinHandle<()>>,
    ) -> Runtime {
        Runtime { handle, crew, threads, running: true }
    }

    /// A handle, for other threads and for strands.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Stops when all is done: from now on nothing is taken from outside, everything queued runs,
    /// and all that these turns wake or submit. Pending timers are dropped then. Strands that are
    /// idle get no further turn, and go with their last handle or waker; whoever waits for one is
    /// told. Paused workers are resumed for it.
    ///
    /// It waits for as long as that takes; called from inside one of its own turns it does not
    /// wait. See [`shutdown_timeout`](Runtime::shutdown_timeout) for a deadline.
    pub fn shutdown(mut self) -> Shutdown {
        self.drain();
        // Inside a turn of its own the drain goes on by itself.
        self.running = false;
        if !self.handle.shared.on_worker() {
            let mut present = self.crew.present.lock();
            while *present > 0 {
                present = self.crew.gone.wait(present);
            }
            drop(present);
            self.join_threads();
        }
        self.report()
    }

    /// As [`shutdown`](Runtime::shutdown), for `timeout` at most: then what is queued is dropped,
    /// and turns in progress are asked to end.
    ///
    /// Called from inside one of its own turns it does not wait, and stops at once.
    ///
    /// # Errors
    /// If a turn still runs at the deadline, or a thread has not ended yet, as may be with a timeout of
    /// zero. A thread ends by itself when its turn does.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Result<Shutdown, ShutdownTimeout> {
        self.drain();
        let shared = self.handle.shared.clone();
        let deadline = shared.clock.now().saturating_add(world::nanos(timeout));
        let mut present = self.crew.present.lock();
        while *present > 0 && !shared.on_worker() {
            let now = shared.clock.now();
            if now >= deadline {
                break;
            }
            present = self.crew.gone.wait_for(present, Duration::from_nanos(deadline - now));
        }
        let all_gone = *present == 0;
        drop(present);
        if all_gone {
            self.join_threads();
            return Ok(self.report());
        }
        let running = self.handle.running();
        self.stop();
        Err(ShutdownTimeout { timeout, running, report: self.report() })
    }

    /// Stops without waiting: turns in progress finish on their own, what is queued is dropped.
    pub fn shutdown_background(self) {
        drop(self);
    }

    fn drain(&self) {
        let shared = &self.handle.shared;
        shared.refuse();
        for slot in &shared.slots {
            slot.drain();
        }
        self.handle.resume();
        shared.idle.drain(|| !shared.queues.all_empty());
        if shared.idle.is_closed() {
            self.stop();
        }
    }

    /// Closes the queues, and asks every worker to end after its turn.
    fn stop(&self) {
        let shared = &self.handle.shared;
        shared.refuse();
        shared.idle.close();
        for slot in &shared.slots {
            slot.ask(STOP);
            slot.unask(PAUSE);
            if let Some(thread) = &*slot.thread.lock() {
                thread.unpark();
            }
        }
        // Those who wait are told first: what is dropped then may wait itself.
        shared.joiners.close();
        shared.tenants.close();
        shared.drop_all();
        shared.timers.close();
    }

    fn join_threads(&mut self) {
        for thread in self.threads.drain(..) {
            // A worker does not panic: the guard in its main would have aborted.
            let _ = thread.join();
        }
    }

    fn report(&self) -> Shutdown {
        let metrics = self.handle.metrics();
        Shutdown { turns: metrics.total().turns, dropped: metrics.dropped }
    }
}

impl Deref for Runtime {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if self.running {
            self.stop();
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("handle", &self.handle).finish_non_exhaustive()
    }
}
