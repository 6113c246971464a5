//! Cancellation for groups: one token, many who listen.
//!
//! A single strand is cancelled by its handle (see [`Strand::cancel`](crate::Strand::cancel)). A
//! token is for everything that belongs together: it is asked, awaited, or handed down as a
//! child, and cancelled once.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
};

use crate::{panics, sync::Mutex};

/// Asks everyone who holds a clone of it to stop.
///
/// ```
/// use kernel::{CancelToken, Runtime};
///
/// let runtime = Runtime::new()?;
/// let token = CancelToken::new();
/// let child = token.child();
/// let mut join = runtime.spawn(async move {
///     child.cancelled().await;
///     "stopped in good order"
/// })?;
/// token.cancel();
/// assert_eq!(join.join()?, "stopped in good order");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CancelToken(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    cancelled: bool,
    next: u64,
    waiting: BTreeMap<u64, Waker>,
    children: Vec<Weak<Mutex<State>>>,
    /// Held so that what cancels the parent reaches this one, even if nobody else holds it.
    _parent: Option<CancelToken>,
}

impl CancelToken {
    /// A token of its own.
    pub fn new() -> CancelToken {
        CancelToken(Arc::new(Mutex::new(State::default())))
    }

    /// A token that is cancelled with this one, or alone.
    pub fn child(&self) -> CancelToken {
        let state = State { _parent: Some(self.clone()), ..State::default() };
        let child = CancelToken(Arc::new(Mutex::new(state)));
        let mut state = self.0.lock();
        if state.cancelled {
            drop(state);
            child.cancel();
        } else {
            if state.children.len() == state.children.capacity() {
                // Those that are gone make room. It is looked for again after as many more as stay.
                state.children.retain(|child| child.strong_count() > 0);
                let alive = state.children.len();
                state.children.reserve(alive + 1);
            }
            state.children.push(Arc::downgrade(&child.0));
        }
        child
    }

    /// Cancels it, and all its children. Doing it again changes nothing.
    pub fn cancel(&self) {
        let mut tokens = vec![self.clone()];
        while let Some(token) = tokens.pop() {
            let (waiting, children) = {
                let mut state = token.0.lock();
                state.cancelled = true;
                (std::mem::take(&mut state.waiting), std::mem::take(&mut state.children))
            };
            // A waker that panics is nothing to those who come after it.
            waiting.into_values().for_each(|waker| panics::contain(|| waker.wake()));
            tokens.extend(children.iter().filter_map(Weak::upgrade).map(CancelToken));
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().cancelled
    }

    /// Ready when it is cancelled.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { token: self.clone(), seat: None }
    }
}

impl Default for CancelToken {
    fn default() -> CancelToken {
        CancelToken::new()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// Ready when its token is cancelled. Made by [`CancelToken::cancelled`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Cancelled {
    token: CancelToken,
    seat: Option<u64>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let token = self.token.clone();
        let mut state = token.0.lock();
        if state.cancelled {
            self.seat = None;
            return Poll::Ready(());
        }
        let seat = *self.seat.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        let old = state.waiting.insert(seat, context.waker().clone());
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(seat) = self.seat {
            let waker = self.token.0.lock().waiting.remove(&seat);
            drop(waker);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::{
        sync::atomic::{AtomicU32, Ordering::Relaxed},
        task::Wake,
    };

    #[test]
    fn children_that_are_gone_take_no_room_and_those_that_are_not_stay() {
        let root = CancelToken::new();
        let kept: Vec<CancelToken> = (0..100)
            .map(|_| {
                (0..100).for_each(|_| drop(root.child()));
                root.child()
            })
            .collect();
        assert!(root.0.lock().children.capacity() < 1000);
        root.cancel();
        assert!(kept.iter().all(CancelToken::is_cancelled));
    }

    /// Counts its calls, and panics if it is told to.
    struct Called(AtomicU32, bool);

    impl Wake for Called {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
            assert!(!self.1, "on purpose");
        }
    }

    #[test]
    fn waker_that_panics_keeps_the_others_and_the_children_from_nothing() {
        let root = CancelToken::new();
        let child = root.child();
        let wakers = [true, false, false].map(|bad| Arc::new(Called(AtomicU32::new(0), bad)));
        let mut waiting = [root.cancelled(), root.cancelled(), child.cancelled()];
        for (waiting, waker) in waiting.iter_mut().zip(&wakers) {
            let waker = Waker::from(waker.clone());
            assert!(Pin::new(waiting).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        root.cancel();
        assert!(child.is_cancelled());
        assert_eq!(wakers.map(|waker| waker.0.load(Relaxed)), [1, 1, 1]);
    }
}
