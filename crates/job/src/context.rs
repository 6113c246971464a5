//! What a job may know and do while it runs.

use std::{fmt, time::Duration};

use kernel::{Turn, WorkerId};

use crate::{batch::node::Dep, graph::Core, id::JobId};

/// What a job is given: its turn, and the results of its predecessors.
pub struct Context<'a, 't> {
    core: &'a Core,
    index: u32,
    turn: &'a mut Turn<'t>,
}

impl<'a, 't> Context<'a, 't> {
    #[inline]
    pub(crate) fn new(core: &'a Core, index: u32, turn: &'a mut Turn<'t>) -> Context<'a, 't> {
        Context { core, index, turn }
    }

    /// The name of this job.
    pub fn id(&self) -> JobId {
        self.core.id_of(self.index)
    }

    /// Its number in its batch, in the order in which jobs were added.
    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The result of a predecessor in the same batch, also of one that is waited for only through
    /// others. `None` if that one has not completed: it failed, and the batch lets its dependents
    /// run. Of a job that is no predecessor at all it is a matter of chance whether there is one.
    ///
    /// ```
    /// use job::{Batch, Job, Pool};
    ///
    /// let pool = Pool::new()?;
    /// let mut batch = Batch::new();
    /// let six = batch.add(Job::new(|_| 6));
    /// let seven = batch.add(Job::new(|_| 7));
    /// let (a, b) = (six.dep(), seven.dep());
    /// let product = batch.add(
    ///     Job::new(move |cx| cx.get(a).unwrap() * cx.get(b).unwrap()).after(&six).after(&seven),
    /// );
    /// let handle = pool.submit_batch(batch)?;
    /// assert_eq!(handle.job(product).join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If it is of another batch.
    pub fn get<R: 'static, E: 'static>(&self, dep: Dep<R, E>) -> Option<&'a R> {
        assert_eq!(
            dep.batch(),
            self.core.ticket(),
            "a job can only read results of its own batch; share the handle for others"
        );
        if !self.core.has_successors(dep.index()) {
            // Nobody's predecessor: its owner may take the result at any time.
            return None;
        }
        // SAFETY: a `Dep` is made with the types of the job it names, and its batch is ours. A
        // result with dependents stays until the batch has ended, and this job of it has not.
        unsafe { self.core.outcome::<R, E>(dep.index()) }?.ok()
    }

    /// Which worker this is.
    pub fn worker(&self) -> WorkerId {
        self.turn.worker()
    }

    /// Whether others wait and the quantum is over: a resumable job should continue later.
    #[inline]
    pub fn expired(&self) -> bool {
        self.turn.expired()
    }

    /// Whether the job, or its batch, was cancelled meanwhile.
    pub fn cancelled(&self) -> bool {
        self.core.is_cancelled(self.index)
    }

    /// The time since the pool's runtime started; in a simulation, virtual time.
    pub fn now(&self) -> Duration {
        self.turn.now()
    }

    /// In a simulation, lets virtual time pass, as if this job had worked for so long. On real
    /// threads it does nothing.
    pub fn simulate(&mut self, work: Duration) {
        self.turn.simulate(work);
    }

    /// The kernel's turn.
    pub fn turn(&mut self) -> &mut Turn<'t> {
        self.turn
    }
}

impl fmt::Debug for Context<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("id", &self.id()).field("turn", &self.turn).finish()
    }
}
