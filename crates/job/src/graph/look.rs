//! How far jobs have come, and what they left behind: for those who look.
//!
//! Nothing is written for them while jobs run. That a job runs is seen at the seat of its worker;
//! whether one that has not started is ready, at those it waits for.

use crate::{
    error::JobError,
    graph::{
        Core,
        cell::{Fate, Outcome},
        word::Ended,
    },
    pool::shared::Shared,
};

/// How far a job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Created,
    Ready,
    Running,
    Ended(Ended),
}

impl Core {
    pub(crate) fn phase(&self, index: u32) -> Phase {
        let ended = || self.word(index).ended().map(Phase::Ended);
        let runs = || self.look(|shared| shared.runs(self.id_of(index)));
        ended().unwrap_or_else(|| match runs() {
            Some(true) => Phase::Running,
            Some(false) if self.is_ready(index) => Phase::Ready,
            Some(false) => Phase::Created,
            None => ended().expect("the batch has ended"),
        })
    }

    /// Whether all that a job waits for has ended.
    fn is_ready(&self, index: u32) -> bool {
        let word = self.word(index);
        match word.count() {
            0 => true,
            // The last predecessor is not taken off, nor any where nobody counts: have they ended?
            count if self.runs_by_levels() || count == 1 && !word.is_exact() => {
                (0..self.len() as u32).all(|before| {
                    let edges = self.successors(before);
                    let waits =
                        self.edges()[edges.start as usize..edges.end as usize].contains(&index);
                    !waits || self.word(before).is_done()
                })
            }
            _ => false,
        }
    }

    /// The phases of all jobs, in one go.
    pub(crate) fn phases(&self) -> Vec<Phase> {
        let running = self.look(Shared::all_running).unwrap_or_default();
        let mut phases: Vec<Phase> = (0..self.len() as u32)
            .map(|index| match self.word(index).ended() {
                Some(ended) => Phase::Ended(ended),
                None if running.contains(&self.id_of(index)) => Phase::Running,
                None if self.word(index).is_exact() && self.word(index).count() > 0 => {
                    Phase::Created
                }
                None => Phase::Ready,
            })
            .collect();
        // What waits for one that has not ended is not ready.
        for index in 0..self.len() as u32 {
            if matches!(phases[index as usize], Phase::Ended(_)) {
                continue;
            }
            for at in self.successors(index) {
                phases[self.edges()[at as usize] as usize] = Phase::Created;
            }
        }
        phases
    }

    /// How each job ended that has.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Ended> + '_ {
        (0..self.len() as u32).filter_map(|index| self.word(index).ended())
    }

    /// The result or the error of a job that has ended, if nobody took it.
    ///
    /// # Safety
    /// The job's outcome is of these types, and is not taken while the reference lives.
    pub(crate) unsafe fn outcome<R, E>(&self, index: u32) -> Option<Result<&R, &JobError<E>>> {
        let ended = self.word(index).ended()?;
        if self.word(index).is_taken() {
            return None;
        }
        let completed = ended == Ended::Completed;
        // SAFETY: it has ended like this, and the types are the caller's promise.
        unsafe {
            let value = self.at(index).value(completed);
            Some(if completed { Ok(value.cast().as_ref()) } else { Err(value.cast().as_ref()) })
        }
    }

    /// Moves the outcome out.
    ///
    /// # Safety
    /// The job has ended, its outcome is of these types, and nobody else reads or takes it.
    pub(crate) unsafe fn take<R, E>(&self, index: u32) -> Outcome<R, E> {
        let completed = self.word(index).ended() == Some(Ended::Completed);
        self.word(index).take();
        // SAFETY: by the caller's promise.
        unsafe { self.at(index).take(completed) }
    }

    /// What dependents are told of a job that has ended, but did not complete. It does not look at
    /// the outcome, which may be taken meanwhile.
    pub(crate) fn fate(&self, index: u32) -> Option<Fate> {
        match self.word(index).ended()? {
            Ended::Completed => None,
            Ended::Failed => Some(self.failure(index)),
            Ended::Cancelled => Some(Fate::Cancelled.as_predecessor(self.id_of(index))),
            Ended::Stopped => Some(Fate::Stopped),
        }
    }
}
