//! What the submitter of a batch holds: how far it is, its end, and the handles of its jobs.

use std::{fmt, sync::Arc};

use crate::{
    batch::node::Node,
    error::Error,
    graph::{Core, cell::Fate, look::Phase, word::Ended},
    handle::{Done, JobHandle, block_on, may_block},
    id::JobId,
};

/// A batch that was submitted. It runs all the same when the handle is dropped.
#[must_use = "drop it if nobody waits for the batch; it runs all the same"]
pub struct BatchHandle {
    core: Arc<Core>,
}

/// How many jobs of a batch have come how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BatchProgress {
    /// All jobs of the batch.
    pub total: usize,
    /// Those that wait for others.
    pub created: usize,
    /// Those that wait for a worker.
    pub ready: usize,
    /// Those that run.
    pub running: usize,
    /// Those that have completed.
    pub completed: usize,
    /// Those that have failed.
    pub failed: usize,
    /// Those that were cancelled, or stopped with the pool.
    pub cancelled: usize,
}

impl BatchProgress {
    /// Those that have ended.
    pub fn ended(&self) -> usize {
        self.completed + self.failed + self.cancelled
    }
}

impl BatchHandle {
    pub(crate) fn new(core: Arc<Core>) -> BatchHandle {
        BatchHandle { core }
    }

    /// The handle of one of its jobs.
    ///
    /// # Panics
    /// If the job is of another batch.
    pub fn job<R: 'static, E: 'static>(&self, node: Node<R, E>) -> JobHandle<R, E> {
        assert_eq!(node.dep().batch(), self.core.ticket(), "the job is of another batch");
        // There is one `Node` for each job, and it is used up here.
        JobHandle::new(self.core.clone(), node.dep().index())
    }

    /// How many jobs it has.
    pub fn len(&self) -> usize {
        self.core.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of its jobs have come how far. It looks at each of them, unless all have completed.
    pub fn progress(&self) -> BatchProgress {
        let mut progress = BatchProgress { total: self.len(), ..BatchProgress::default() };
        if self.core.has_completed() {
            return BatchProgress { completed: progress.total, ..progress };
        }
        let mut count = |phase| {
            *match phase {
                Phase::Created => &mut progress.created,
                Phase::Ready => &mut progress.ready,
                Phase::Running => &mut progress.running,
                Phase::Ended(Ended::Completed) => &mut progress.completed,
                Phase::Ended(Ended::Failed) => &mut progress.failed,
                Phase::Ended(Ended::Cancelled | Ended::Stopped) => &mut progress.cancelled,
            } += 1;
        };
        if self.is_done() {
            self.core.ends().for_each(|ended| count(Phase::Ended(ended)));
        } else {
            self.core.phases().into_iter().for_each(count);
        }
        progress
    }

    /// The jobs that failed or were cancelled so far, and why.
    pub fn failures(&self) -> Vec<(JobId, Arc<str>)> {
        (0..self.len() as u32)
            .filter_map(|index| {
                let reason = match self.core.fate(index)? {
                    Fate::Predecessor { reason, .. } => reason,
                    Fate::Cancelled | Fate::Stopped => Fate::Stopped.to_string().into(),
                };
                Some((self.core.id_of(index), reason))
            })
            .collect()
    }

    /// Asks that none of its jobs runs that has not started. Those that run are not interrupted;
    /// resumable ones get no further turn.
    pub fn cancel(&self) {
        self.core.cancel();
    }

    /// Whether all of its jobs have ended.
    pub fn is_done(&self) -> bool {
        self.core.has_ended()
    }

    /// Waits until all of its jobs have ended, and says how; [`done`](BatchHandle::done) for tasks.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] inside a job of the same pool, and in a simulation.
    pub fn wait(&self) -> Result<BatchProgress, Error> {
        if !self.is_done() {
            may_block(&self.core)?;
            block_on(self.done());
        }
        Ok(self.progress())
    }

    /// Ready when all of its jobs have ended.
    pub fn done(&self) -> Done<'_> {
        Done::batch(&self.core)
    }
}

impl fmt::Debug for BatchHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchHandle").field("progress", &self.progress()).finish()
    }
}
