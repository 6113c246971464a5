//! Futures as strands: an `async` block takes turns like everything else.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    panics,
    shared::Shared,
    strand::{
        join::{Completer, Failure},
        run::{After, Run},
    },
    turn::Turn,
};

/// A strand's body that polls a future once per turn. Its waker is the strand's own.
pub(crate) struct Async<F: Future> {
    /// Never moved once polled: a body stays where its strand was made, and is dropped there.
    future: Option<F>,
    completer: Completer<F::Output>,
}

impl<F: Future> Async<F> {
    pub(crate) fn new(future: F, completer: Completer<F::Output>) -> Async<F> {
        Async { future: Some(future), completer }
    }
}

impl<F> Run for Async<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn run(&mut self, turn: &mut Turn<'_>) -> After {
        if turn.cancelled() {
            self.fail(&(), turn.shared(), Failure::Cancelled);
            return After::End;
        }
        let strand = turn.strand_ref().expect("a future runs as a strand");
        let future = self.future.as_mut().expect("a future that has ended runs no more");
        // SAFETY: the field's promise; `fail` and the end of this function drop it in place.
        let future = unsafe { Pin::new_unchecked(future) };
        match strand.with_waker(|waker| future.poll(&mut Context::from_waker(waker))) {
            Poll::Ready(output) => {
                self.future = None;
                self.completer.complete(Ok(output));
                After::End
            }
            Poll::Pending => After::Pause,
        }
    }

    fn fail(&mut self, (): &(), _: &Arc<Shared>, why: Failure) {
        let dropped = panics::catch(|| self.future = None);
        self.completer.complete(Err(match dropped {
            Ok(()) => why,
            Err(payload) => Failure::Panicked(payload),
        }));
    }
}

/// Lets everyone else who waits run first. See [`yield_now`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug, Default)]
pub struct YieldNow(bool);

/// Goes to the back of the line once, from inside a future.
///
/// ```
/// use kernel::{Runtime, yield_now};
///
/// let runtime = Runtime::new()?;
/// let mut join = runtime.spawn(async {
///     for _ in 0..3 {
///         yield_now().await;
///     }
///     "polite"
/// })?;
/// assert_eq!(join.join()?, "polite");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow(false)
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
