//! How Rust waits: for one task, or for all of them.

use std::{
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use crate::{
    error::UnknownTask,
    id::TaskId,
    object::line::{Line, Ticket},
    program::{
        Program,
        outcome::{Ended, TaskResult},
        registry::{Awaiter, Known, Place},
    },
    sync::{Mutex, thread},
};

/// Those who wait for all tasks of a program.
#[derive(Debug, Default)]
pub(crate) struct Seats(Mutex<Seated>);

#[derive(Debug, Default)]
struct Seated {
    /// How many are there, with a waker or without.
    watchers: usize,
    wakers: Line<Waker>,
}

impl Seats {
    /// No task is left.
    pub(crate) fn call_all(&self) {
        let wakers = self.0.lock().wakers.take_all();
        wakers.for_each(wake);
    }
}

/// Wakes by anybody's waker: its panic is not ours.
pub(crate) fn wake(waker: Waker) {
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}

/// The end of all tasks. From [`Program::finished`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Finished {
    program: Program,
    watches: bool,
    seat: Option<Ticket>,
}

impl Finished {
    pub(crate) fn new(program: Program) -> Finished {
        Finished { program, watches: false, seat: None }
    }

    /// From now on a deadlock is noticed.
    fn watch(&mut self) {
        let shared = self.program.shared();
        let verdict = {
            let mut seated = shared.seats.0.lock();
            seated.watchers += 1;
            shared.commons.counts.watch()
        };
        self.watches = true;
        shared.act(verdict);
    }

    fn leave(&mut self) {
        let left = self
            .seat
            .take()
            .and_then(|seat| self.program.shared().seats.0.lock().wakers.leave(seat));
        drop(left);
    }
}

impl Future for Finished {
    type Output = Vec<TaskResult>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Vec<TaskResult>> {
        let this = &mut *self;
        if !this.watches {
            this.watch();
        }
        this.leave();
        let shared = this.program.shared();
        if !shared.commons.counts.is_finished() {
            let waker = task.waker().clone();
            this.seat = Some(shared.seats.0.lock().wakers.push(waker));
            // The last one may have ended before we were seated.
            if !shared.commons.counts.is_finished() {
                return Poll::Pending;
            }
            this.leave();
        }
        Poll::Ready(this.program.results())
    }
}

impl Drop for Finished {
    fn drop(&mut self) {
        self.leave();
        if self.watches {
            let shared = self.program.shared();
            let mut seated = shared.seats.0.lock();
            seated.watchers -= 1;
            if seated.watchers == 0 {
                shared.commons.counts.unwatch();
            }
        }
    }
}

impl fmt::Debug for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finished").finish_non_exhaustive()
    }
}

/// Where the result of a task is left for a [`TaskEnd`] that waits: it may be forgotten elsewhere by
/// the time that one looks.
#[derive(Debug, Default)]
pub(crate) struct Post(Mutex<Posted>);

#[derive(Debug, Default)]
struct Posted {
    ended: Option<Ended>,
    waker: Option<Waker>,
}

impl Post {
    /// The task has ended, and this is its result. The waker is to be woken when no lock is held.
    #[must_use = "whoever waits for the task sleeps until the waker is woken"]
    pub(crate) fn leave(&self, ended: Ended) -> Option<Waker> {
        let mut posted = self.0.lock();
        posted.ended = Some(ended);
        posted.waker.take()
    }
}

/// The end of one task. From [`Program::task`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct TaskEnd {
    program: Program,
    id: TaskId,
    post: Arc<Post>,
    place: Option<Place>,
}

impl TaskEnd {
    pub(crate) fn new(program: Program, id: TaskId) -> TaskEnd {
        TaskEnd { program, id, post: Arc::default(), place: None }
    }
}

impl Future for TaskEnd {
    type Output = Result<TaskResult, UnknownTask>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // Cloned before, and dropped after: a waker is anybody's code.
        let waker = task.waker().clone();
        let (old, ended) = {
            let mut posted = this.post.0.lock();
            (posted.waker.replace(waker), posted.ended.take())
        };
        drop(old);
        let ended = match ended {
            None if this.place.is_some() => return Poll::Pending,
            None => {
                let awaiter = || Some(Awaiter::Rust(this.post.clone()));
                let registry = &this.program.shared().registry;
                match registry.await_task(this.id, awaiter, Ended::clone) {
                    Known::Live(place) => {
                        this.place = place;
                        return Poll::Pending;
                    }
                    Known::Ended(ended) => ended,
                    Known::Nothing => return Poll::Ready(Err(UnknownTask(this.id))),
                }
            }
            Some(ended) => ended,
        };
        this.place = None;
        Poll::Ready(Ok(this.program.result(this.id, &ended)))
    }
}

impl Drop for TaskEnd {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.program.shared().registry.leave(self.id, place);
        }
    }
}

impl fmt::Debug for TaskEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskEnd").field(&self.id).finish()
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on an ordinary thread, which parks meanwhile.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut task = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut task) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
