//! A job before it is submitted: what it does, and what is said about it.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use kernel::WorkerId;

use crate::{
    about::About,
    batch::node::{After, Predecessor},
    body::{Body, Fallible, Payload, Progress, Resumable, Sure},
    context::Context,
    id::{Class, JobId},
};

/// Something to be done once, after all that it depends on.
///
/// ```
/// use job::{Job, Pool};
///
/// let pool = Pool::new()?;
/// let sure = pool.submit(Job::new(|_| 6 * 7))?;
/// let may_fail = pool.submit(Job::fallible(|_| "7".parse::<i32>()).priority(2.0))?;
/// assert_eq!(sure.join()?, 42);
/// assert_eq!(may_fail.join()?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a job is done once it is submitted"]
pub struct Job<B> {
    pub(crate) body: B,
    pub(crate) about: Option<About>,
    pub(crate) after: Vec<After>,
}

impl<F, R> Job<Sure<F>>
where
    F: FnOnce(&mut Context<'_, '_>) -> R + Send + 'static,
    R: Send + Sync + 'static,
{
    /// A closure that can not fail. If it panics, the job has failed.
    #[inline]
    pub fn new(run: F) -> Job<Sure<F>> {
        Job::of(Sure(run))
    }
}

impl<F, R, E> Job<Fallible<F>>
where
    F: FnOnce(&mut Context<'_, '_>) -> Result<R, E> + Send + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    /// A closure that completes or fails.
    #[inline]
    pub fn fallible(run: F) -> Job<Fallible<F>> {
        Job::of(Fallible(run))
    }
}

impl<F, R, E> Job<Resumable<F>>
where
    F: FnMut(&mut Context<'_, '_>) -> Progress<Result<R, E>> + Send + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    /// A closure that is called again and again until it says that it has ended. Between its turns
    /// others get theirs, in the order of the pool's policy.
    ///
    /// ```
    /// use job::{Job, Pool, Progress};
    ///
    /// let pool = Pool::new()?;
    /// let (mut sum, mut next) = (0u64, 1u64);
    /// let total = pool.submit(Job::resumable(move |cx| {
    ///     while next <= 1_000_000 {
    ///         sum += next;
    ///         next += 1;
    ///         if cx.expired() {
    ///             return Progress::Continue;
    ///         }
    ///     }
    ///     Progress::Done(Ok::<_, std::convert::Infallible>(sum))
    /// }))?;
    /// assert_eq!(total.join()?, 500_000_500_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resumable(turn: F) -> Job<Resumable<F>> {
        Job::of(Resumable(turn))
    }
}

impl<B: Body> Job<B> {
    #[inline]
    fn of(body: B) -> Job<B> {
        Job { body, about: None, after: Vec::new() }
    }

    fn about(&mut self) -> &mut About {
        self.about.get_or_insert_default()
    }

    /// Whether it waits for nobody, takes one turn, and nobody can know of it but by its handle.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        let named = |about: &About| about.id.is_some() || about.deadline.is_some();
        !B::RESUMABLE && self.after.is_empty() && !self.about.as_ref().is_some_and(named)
    }

    /// A name of your own choice; see [`JobId`].
    pub fn id(mut self, id: JobId) -> Job<B> {
        self.about().id = Some(id);
        self
    }

    /// Higher runs first under [`Policy::HighestPriority`](crate::Policy::HighestPriority). Finite;
    /// 0 unless said otherwise.
    pub fn priority(mut self, priority: f64) -> Job<B> {
        self.about().priority = priority;
        self
    }

    /// How long it should take; what is shorter runs first under
    /// [`Policy::ShortestFirst`](crate::Policy::ShortestFirst), and what is unknown last.
    pub fn estimate(mut self, estimate: Duration) -> Job<B> {
        self.about().estimate = Some(estimate);
        self
    }

    /// What others it resembles: what they took is then its estimate.
    pub fn class(mut self, class: Class) -> Job<B> {
        self.about().class = Some(class);
        self
    }

    /// The worker that should run it, under [`Balancer::Affinity`](crate::Balancer::Affinity).
    pub fn affinity(mut self, worker: WorkerId) -> Job<B> {
        self.about().affinity = Some(worker);
        self
    }

    /// When it should have ended, counted from its submission. If it has not, that is reported as
    /// an event and counted; the job goes on.
    pub fn deadline(mut self, after: Duration) -> Job<B> {
        self.about().deadline = Some(after);
        self
    }

    /// Runs after this one: a job of the same batch, or one that was submitted before.
    pub fn after(mut self, predecessor: &impl Predecessor) -> Job<B> {
        self.after.push(predecessor.to_after());
        self
    }

    /// Runs after the job with this chosen id: one of the same batch, also one that is added
    /// later, or one that was submitted before.
    pub fn after_id(mut self, id: JobId) -> Job<B> {
        self.after.push(After::Id(id));
        self
    }
}

impl<B> fmt::Debug for Job<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("about", &self.about)
            .field("predecessors", &self.after.len())
            .finish_non_exhaustive()
    }
}

/// Makes jobs of payloads: what is done is said once, and each job carries only what it is done to.
///
/// ```
/// use job::{Executor, Pool};
///
/// let pool = Pool::new()?;
/// let parse = Executor::new(|text: &'static str| text.parse::<u32>());
/// let good = pool.submit(parse.job("42"))?;
/// let bad = pool.submit(parse.job("forty-two"))?;
/// assert_eq!(good.join()?, 42);
/// assert!(bad.join().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Executor<T, F> {
    pub(crate) execute: Arc<F>,
    takes: PhantomData<fn(T)>,
}

impl<T, F, R, E> Executor<T, F>
where
    T: Send + 'static,
    F: Fn(T) -> Result<R, E> + Send + Sync + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    /// An executor of payloads of type `T`.
    pub fn new(execute: F) -> Executor<T, F> {
        Executor { execute: Arc::new(execute), takes: PhantomData }
    }

    /// A job that does it to `payload`.
    pub fn job(&self, payload: T) -> Job<Payload<T, F>> {
        Job::of(Payload { payload, executor: self.execute.clone() })
    }
}

impl<T, F> Clone for Executor<T, F> {
    fn clone(&self) -> Executor<T, F> {
        Executor { execute: self.execute.clone(), takes: PhantomData }
    }
}

impl<T, F> fmt::Debug for Executor<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").finish_non_exhaustive()
    }
}
