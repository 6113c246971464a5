//! What each worker does, and how it is paused, resumed and shut down.

use std::time::Duration;

use kernel::{WorkerId, WorkerState};

use crate::{
    error::Error,
    event::Event,
    id::JobId,
    pool::{Pool, shared::Post},
};

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerStatus {
    /// It has nothing to do, or looks for something.
    Idle,
    /// It runs a job.
    Busy {
        /// Which; if it lets others run inside of its turn, in [`Turn::join`](kernel::Turn::join), the
        /// innermost of these.
        job: JobId,
        /// Since when, counted from the start of the runtime. `None` if the job is not timed: see
        /// [`Batch::timed`](crate::Batch::timed).
        since: Option<Duration>,
    },
    /// It is paused, was shut down, or the pool has stopped.
    Unavailable,
}

impl Pool {
    /// What each worker does. It may do something else the next moment.
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let posts = self.shared().workers.lock().clone();
        let states = self.handle.workers();
        let status = |(index, (post, state)): (usize, (Post, WorkerState))| match self
            .shared()
            .running(WorkerId::new(index))
        {
            Some((job, since)) => WorkerStatus::Busy { job, since },
            None if post == Post::Manned && !matches!(state, WorkerState::Stopped) => {
                WorkerStatus::Idle
            }
            None => WorkerStatus::Unavailable,
        };
        posts.into_iter().zip(states).enumerate().map(status).collect()
    }

    /// The jobs that run.
    pub(crate) fn running(&self) -> Vec<JobId> {
        self.shared().all_running()
    }

    /// Asks a worker to take nothing more. The job it runs ends first; then comes the event
    /// [`WorkerPaused`](crate::Event::WorkerPaused). What waits for it is left to the others.
    ///
    /// # Errors
    /// If there is no such worker, or it was shut down.
    pub fn pause_worker(&self, worker: WorkerId) -> Result<(), Error> {
        self.post(worker, Post::Paused)
    }

    /// Lets a paused worker go on.
    ///
    /// # Errors
    /// If there is no such worker, or it was shut down.
    pub fn resume_worker(&self, worker: WorkerId) -> Result<(), Error> {
        self.post(worker, Post::Manned)?;
        // Who waits with a submission may go on.
        self.shared().room.call();
        Ok(())
    }

    /// Takes a worker out of service for good: the job it runs ends first, and what waits for it is
    /// left to the others. Its thread sleeps until the pool ends; [`shutdown`](Pool::shutdown) wakes
    /// it, and it may take a part of what is left then. The event is
    /// [`WorkerShuttingDown`](crate::Event::WorkerShuttingDown), and nothing more is told of it.
    ///
    /// ```
    /// use job::{Error, Job, Pool, WorkerId};
    ///
    /// let pool = Pool::builder().workers(2).build()?;
    /// let (first, second) = (WorkerId::new(0), WorkerId::new(1));
    /// pool.shutdown_worker(first)?;
    /// assert_eq!(pool.submit(Job::new(|cx| cx.worker()))?.join()?, second);
    /// // What waits would wait for ever.
    /// assert_eq!(pool.shutdown_worker(second), Err(Error::LastWorker(second)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such worker, or it was shut down before, or all others were: then shut the
    /// pool down.
    pub fn shutdown_worker(&self, worker: WorkerId) -> Result<(), Error> {
        self.post(worker, Post::Closed)?;
        self.shared().events.send(|| Event::WorkerShuttingDown(worker));
        Ok(())
    }

    /// Pauses all workers that were not shut down.
    pub fn pause(&self) {
        self.each_worker(Pool::pause_worker);
    }

    /// Resumes all workers that were not shut down.
    pub fn resume(&self) {
        self.each_worker(Pool::resume_worker);
    }

    fn each_worker(&self, change: fn(&Pool, WorkerId) -> Result<(), Error>) {
        for worker in 0..self.handle.worker_count() {
            // One that was shut down stays so.
            let _ = change(self, WorkerId::new(worker));
        }
    }

    /// Asks it of the worker, and notes it, in one step: of two who ask at the same moment, the
    /// second is obeyed and noted.
    fn post(&self, worker: WorkerId, post: Post) -> Result<(), Error> {
        self.shared().man(|posts| {
            let workers = posts.len();
            let open = posts.iter().filter(|post| **post != Post::Closed).count();
            match posts.get_mut(worker.get()) {
                None => Err(Error::InvalidWorkerId { worker, workers }),
                Some(Post::Closed) => Err(Error::WorkerShutDown(worker)),
                Some(_) if post == Post::Closed && open == 1 => Err(Error::LastWorker(worker)),
                Some(was) => {
                    *was = post;
                    if post == Post::Closed {
                        // Before it is asked to pause, which it would tell.
                        self.shared().events.worker_shut_down(worker);
                    }
                    let asked = match post {
                        Post::Manned => self.handle.resume_worker(worker),
                        Post::Paused | Post::Closed => self.handle.pause_worker(worker),
                    };
                    asked.expect("it was checked");
                    Ok(())
                }
            }
        })
    }
}
