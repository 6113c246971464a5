//! How a strand is made: what is said about it, then its body.

use crate::{
    attributes::{Attributes, Rank},
    error::ScheduleError,
    future::Async,
    runtime::handle::Handle,
    shared::Place,
    strand::{
        Strand, StrandRef,
        body::{Body, Step},
        join::{self, JoinHandle},
        run::{Joined, Run},
    },
    turn::Turn,
    worker,
};

/// Makes a strand. From [`Handle::strand`].
#[must_use = "a strand is made by `start` or `idle`"]
#[derive(Debug)]
pub struct StrandBuilder<'a> {
    handle: &'a Handle,
    attributes: Attributes,
}

impl<'a> StrandBuilder<'a> {
    pub(crate) fn new(handle: &'a Handle) -> StrandBuilder<'a> {
        StrandBuilder { handle, attributes: Attributes::default() }
    }

    /// A name, for reports and recordings.
    pub fn name(mut self, name: impl Into<String>) -> StrandBuilder<'a> {
        self.attributes.name = Some(name.into());
        self
    }

    /// Its priority under `Priority`: higher runs first.
    pub fn priority(mut self, priority: f64) -> StrandBuilder<'a> {
        self.attributes.priority = priority;
        self
    }

    /// Its key for the function of `Placement::Affinity`.
    pub fn key(mut self, key: u64) -> StrandBuilder<'a> {
        self.attributes.key = Some(key);
        self
    }

    /// All of its attributes at once.
    pub fn attributes(mut self, attributes: Attributes) -> StrandBuilder<'a> {
        self.attributes = attributes;
        self
    }

    /// Makes the strand from a closure, and puts it in line for its first turn.
    ///
    /// # Errors
    /// If the runtime has stopped, the priority is not finite, or the affinity names no worker.
    pub fn start<R, F>(self, body: F) -> Made<R>
    where
        R: Send + 'static,
        F: FnMut(&mut Turn<'_>) -> Step<R> + Send + 'static,
    {
        self.joined(body, true)
    }

    /// Makes the strand from a closure; it waits for its first wake.
    ///
    /// # Errors
    /// As for [`start`](StrandBuilder::start).
    pub fn idle<R, F>(self, body: F) -> Made<R>
    where
        R: Send + 'static,
        F: FnMut(&mut Turn<'_>) -> Step<R> + Send + 'static,
    {
        self.joined(body, false)
    }

    /// As [`start`](StrandBuilder::start), with a [`Body`] of your own type.
    ///
    /// # Errors
    /// As for [`start`](StrandBuilder::start).
    pub fn start_body<B: Body>(self, body: B) -> Made<B::Output> {
        self.joined(body, true)
    }

    /// As [`idle`](StrandBuilder::idle), with a [`Body`] of your own type.
    ///
    /// # Errors
    /// As for [`start`](StrandBuilder::start).
    pub fn idle_body<B: Body>(self, body: B) -> Made<B::Output> {
        self.joined(body, false)
    }

    /// Makes the strand from a future, as [`Handle::spawn`] does, with these attributes.
    ///
    /// # Errors
    /// As for [`start`](StrandBuilder::start).
    pub fn spawn<F>(self, future: F) -> Result<JoinHandle<F::Output>, ScheduleError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (completer, join) = join::pair(&self.handle.shared);
        let body = Async::new(future, completer);
        let strand = make(self.handle, &self.attributes, body, true)?;
        Ok(join.of(&strand))
    }

    fn joined<B: Body>(self, body: B, queued: bool) -> Made<B::Output> {
        let (completer, join) = join::pair(&self.handle.shared);
        let strand = make(self.handle, &self.attributes, Joined::new(body, completer), queued)?;
        let join = join.of(&strand);
        Ok((strand, join))
    }
}

/// A strand, and whoever waits for its end.
pub type Made<R> = Result<(Strand, JoinHandle<R>), ScheduleError>;

/// Makes a strand of any body, queued or idle.
pub(crate) fn make<B: Run>(
    handle: &Handle,
    attributes: &Attributes,
    body: B,
    queued: bool,
) -> Result<Strand, ScheduleError> {
    let strand = make_open(handle, attributes, queued, 1, || ((), body))?;
    if queued {
        let shared = &handle.shared;
        worker::with_current(shared, |worker| shared.queue(worker, strand, Place::New));
    }
    Ok(Strand(strand))
}

/// Makes a strand with an open part, and with so many handles. If it is to be queued, its first
/// entry is owed by the caller.
#[inline(always)]
pub(crate) fn make_open<P, B: Run<P>>(
    handle: &Handle,
    attributes: &Attributes,
    queued: bool,
    handles: u64,
    make: impl FnOnce() -> (P, B),
) -> Result<StrandRef, ScheduleError> {
    let shared = &handle.shared;
    shared.accepts()?;
    let rank: Rank = shared.rank(attributes)?;
    let id = shared.enlist(attributes.name.as_deref());
    Ok(StrandRef::new(shared, id, attributes, rank, queued, handles, make))
}
