//! What a job does: a closure that runs once, one that takes several turns, or a payload for an
//! executor.

use std::{convert::Infallible, fmt, sync::Arc};

use crate::context::Context;

/// What a job does in its turns. Made by the constructors of [`Job`](crate::Job).
pub trait Body: Send + Sized + 'static {
    /// What it leaves behind when it completes. Dependents and handles on other threads read it.
    type Output: Send + Sync + 'static;
    /// Why it fails.
    type Error: fmt::Display + Send + Sync + 'static;
    /// Whether it may want more than one turn, and so needs a strand.
    #[doc(hidden)]
    const RESUMABLE: bool;

    /// Takes a turn.
    #[doc(hidden)]
    fn turn(self, context: &mut Context<'_, '_>) -> Turned<Self>;
}

/// What a turn led to.
#[doc(hidden)]
pub enum Turned<B: Body> {
    Continue(B),
    Done(Result<B::Output, B::Error>),
}

/// What a resumable job says at the end of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<T> {
    /// It wants another turn.
    Continue,
    /// It has ended.
    Done(T),
}

/// A closure that can not fail.
#[derive(Debug)]
pub struct Sure<F>(pub(crate) F);

impl<F, R> Body for Sure<F>
where
    F: FnOnce(&mut Context<'_, '_>) -> R + Send + 'static,
    R: Send + Sync + 'static,
{
    type Output = R;
    type Error = Infallible;
    const RESUMABLE: bool = false;

    #[inline]
    fn turn(self, context: &mut Context<'_, '_>) -> Turned<Self> {
        Turned::Done(Ok((self.0)(context)))
    }
}

/// A closure that may fail.
#[derive(Debug)]
pub struct Fallible<F>(pub(crate) F);

impl<F, R, E> Body for Fallible<F>
where
    F: FnOnce(&mut Context<'_, '_>) -> Result<R, E> + Send + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    type Output = R;
    type Error = E;
    const RESUMABLE: bool = false;

    #[inline]
    fn turn(self, context: &mut Context<'_, '_>) -> Turned<Self> {
        Turned::Done((self.0)(context))
    }
}

/// A closure that takes several turns.
#[derive(Debug)]
pub struct Resumable<F>(pub(crate) F);

impl<F, R, E> Body for Resumable<F>
where
    F: FnMut(&mut Context<'_, '_>) -> Progress<Result<R, E>> + Send + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    type Output = R;
    type Error = E;
    const RESUMABLE: bool = true;

    fn turn(mut self, context: &mut Context<'_, '_>) -> Turned<Self> {
        match (self.0)(context) {
            Progress::Continue => Turned::Continue(self),
            Progress::Done(result) => Turned::Done(result),
        }
    }
}

/// A payload, and the executor that knows what to do with it.
#[derive(Debug)]
pub struct Payload<T, F> {
    pub(crate) payload: T,
    pub(crate) executor: Arc<F>,
}

impl<T, F, R, E> Body for Payload<T, F>
where
    T: Send + 'static,
    F: Fn(T) -> Result<R, E> + Send + Sync + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    type Output = R;
    type Error = E;
    const RESUMABLE: bool = false;

    fn turn(self, _: &mut Context<'_, '_>) -> Turned<Self> {
        Turned::Done((self.executor)(self.payload))
    }
}
