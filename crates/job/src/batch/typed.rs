//! A batch whose jobs all do the same to payloads of one type.

use std::{fmt, marker::PhantomData};

use crate::{
    batch::{
        Batch, Content, OnFailure,
        node::{Node, Predecessor},
        shape::Shape,
    },
    context::Context,
    error::Error,
    graph::typed::{Payloads, TypedCells},
};

/// Jobs that all do the same, each to a payload of its own: the cheapest kind of batch. Payloads
/// and results lie in dense arrays, so that a job takes what these take and a dozen bytes.
///
/// ```
/// use job::{Pool, TypedBatch};
///
/// let pool = Pool::new()?;
/// let mut batch = TypedBatch::new(|text: &str, _| text.parse::<u32>());
/// let one = batch.add("1");
/// let two = batch.add("2");
/// batch.depend(&two, &one); // the second waits for the first
/// let handle = pool.submit_batch(batch.into())?;
/// assert_eq!(handle.job(one).join()? + handle.job(two).join()?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "its jobs are done once the batch is submitted"]
pub struct TypedBatch<T, R, E, F> {
    batch: Batch,
    payloads: Vec<T>,
    execute: F,
    outcome: PhantomData<fn() -> (R, E)>,
}

impl<T, R, E, F> TypedBatch<T, R, E, F>
where
    T: Send + 'static,
    F: Fn(T, &mut Context<'_, '_>) -> Result<R, E> + Send + Sync + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    /// A batch without jobs, and what each of them is to do.
    pub fn new(execute: F) -> TypedBatch<T, R, E, F> {
        TypedBatch::with_capacity(0, execute)
    }

    /// The same, with room for so many jobs.
    pub fn with_capacity(jobs: usize, execute: F) -> TypedBatch<T, R, E, F> {
        let mut batch = Batch::new();
        batch.words.reserve_exact(jobs);
        TypedBatch { batch, payloads: Vec::with_capacity(jobs), execute, outcome: PhantomData }
    }

    /// Adds a job.
    #[inline]
    pub fn add(&mut self, payload: T) -> Node<R, E> {
        self.payloads.push(payload);
        Node::new(self.batch.ticket, self.batch.push_word())
    }

    /// As [`Batch::depend`].
    ///
    /// # Panics
    /// If `job` is of another batch.
    #[inline]
    pub fn depend<A, B>(&mut self, job: &Node<A, B>, on: &impl Predecessor) {
        self.batch.depend(job, on);
    }

    /// As [`Batch::on_failure`].
    pub fn on_failure(mut self, on_failure: OnFailure) -> TypedBatch<T, R, E, F> {
        self.batch = self.batch.on_failure(on_failure);
        self
    }

    /// As [`Batch::timed`].
    pub fn timed(mut self) -> TypedBatch<T, R, E, F> {
        self.batch = self.batch.timed();
        self
    }

    /// As [`Batch::seal`].
    ///
    /// # Errors
    /// As there.
    pub fn seal(&mut self) -> Result<(), Error> {
        self.batch.seal()
    }

    /// As [`Batch::shape`].
    ///
    /// # Errors
    /// As there.
    pub fn shape(&mut self) -> Result<Shape, Error> {
        self.batch.shape()
    }

    /// How many jobs it has.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }
}

impl<T, R, E, F> From<TypedBatch<T, R, E, F>> for Batch
where
    T: Send + 'static,
    F: Fn(T, &mut Context<'_, '_>) -> Result<R, E> + Send + Sync + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    fn from(typed: TypedBatch<T, R, E, F>) -> Batch {
        let TypedBatch { mut batch, payloads, execute, .. } = typed;
        let cells = Box::new(TypedCells::<T, R, E, F>::new(execute, payloads));
        batch.cells = Content::Typed(Payloads::new(cells));
        batch
    }
}

impl<T, R, E, F> fmt::Debug for TypedBatch<T, R, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedBatch").field("batch", &self.batch).finish_non_exhaustive()
    }
}
