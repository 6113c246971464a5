//! Who waits for whom, for batches that are alike.

use std::{fmt, sync::Arc};

use crate::{
    batch::{
        Batch, Content,
        layout::{Layout, lay_out_lists},
    },
    context::Context,
    error::Error,
    graph::typed::{Payloads, TypedCells},
    id::BATCH_MAX,
};

/// Who waits for whom in a batch: checked and laid out once, for any number of batches that differ
/// only in what is done. Dependencies on jobs of other batches are not part of it.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use job::{Batch, Job, Pool};
///
/// let mut batch = Batch::new();
/// let first = batch.add(Job::new(|_| ()));
/// batch.add(Job::new(|_| ()).after(&first));
/// let shape = batch.shape()?;
///
/// static RUNS: AtomicUsize = AtomicUsize::new(0);
/// let pool = Pool::new()?;
/// for _ in 0..10 {
///     let count = |(), _: &mut job::Context<'_, '_>| {
///         RUNS.fetch_add(1, Ordering::Relaxed);
///         Ok::<(), std::convert::Infallible>(())
///     };
///     pool.submit_batch(shape.batch(vec![(); 2], count))?.wait()?;
/// }
/// assert_eq!(RUNS.load(Ordering::Relaxed), 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Shape(Arc<Layout>);

impl Shape {
    pub(super) fn new(layout: Arc<Layout>) -> Shape {
        Shape(layout)
    }

    /// The shape of so many jobs, of which each waits for those that `predecessors` names by their
    /// place: the fastest way to one. It is asked twice about each, and answers the same.
    ///
    /// ```
    /// use job::{Context, Pool, Shape};
    ///
    /// // A diamond: the last waits for two that wait for the first.
    /// let before: [&[u32]; 4] = [&[], &[0], &[0], &[1, 2]];
    /// let shape = Shape::from_predecessors(4, |job| before[job as usize])?;
    /// let pool = Pool::new()?;
    /// let print = |what: &str, _: &mut Context<'_, '_>| {
    ///     println!("{what}");
    ///     Ok::<(), std::convert::Infallible>(())
    /// };
    /// pool.submit_batch(shape.batch(vec!["dig", "lay pipes", "lay wires", "fill"], print))?.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If jobs wait for each other, or there are too many jobs or dependencies.
    ///
    /// # Panics
    /// If a place is named at which there is no job, or `predecessors` changes its mind.
    pub fn from_predecessors<'a>(
        jobs: usize,
        predecessors: impl Fn(u32) -> &'a [u32],
    ) -> Result<Shape, Error> {
        if jobs > BATCH_MAX {
            return Err(Error::TooLarge { size: jobs, max: BATCH_MAX });
        }
        Ok(Shape(Arc::new(lay_out_lists(jobs, predecessors)?)))
    }

    /// How many jobs it has.
    pub fn len(&self) -> usize {
        self.0.starts.len() - 1
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds out now which jobs are of which level, for batches of it that run
    /// [level by level](Batch::by_levels). It is done with the first of them otherwise.
    pub fn find_levels(&self) {
        self.0.levels();
    }

    /// A batch of this shape, with a payload for each job, in their order.
    ///
    /// # Panics
    /// If there are not as many payloads as jobs.
    pub fn batch<T, R, E, F>(&self, payloads: Vec<T>, execute: F) -> Batch
    where
        T: Send + 'static,
        F: Fn(T, &mut Context<'_, '_>) -> Result<R, E> + Send + Sync + 'static,
        R: Send + Sync + 'static,
        E: fmt::Display + Send + Sync + 'static,
    {
        assert_eq!(payloads.len(), self.len(), "a shape needs a payload for each of its jobs");
        let cells = Box::new(TypedCells::<T, R, E, F>::new(execute, payloads));
        Batch::shaped(&self.0, Content::Typed(Payloads::new(cells)))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape")
            .field("jobs", &self.len())
            .field("dependencies", &self.0.edges.len())
            .finish()
    }
}
