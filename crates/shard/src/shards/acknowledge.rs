//! How does somebody wait for what the committer will say?

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// A value that somebody else will give. It can be awaited, or waited for by a thread of one's own.
#[derive(Debug)]
#[must_use = "what is to be acknowledged may still fail"]
pub struct Acknowledgement<T>(Arc<Slot<T>>);

/// Gives the value. Dropped without, the other side would wait for ever: so it is consumed.
pub(crate) struct Acknowledge<T>(Arc<Slot<T>>);

#[derive(Debug)]
struct Slot<T> {
    state: Mutex<State<T>>,
    given: Condvar,
}

#[derive(Debug)]
enum State<T> {
    Waiting(Option<Waker>),
    /// A thread waits, and nobody else can.
    Blocked,
    Given(T),
    Taken,
}

pub(crate) fn pair<T>() -> (Acknowledge<T>, Acknowledgement<T>) {
    let slot = Arc::new(Slot { state: Mutex::new(State::Waiting(None)), given: Condvar::new() });
    (Acknowledge(slot.clone()), Acknowledgement(slot))
}

impl<T> Slot<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Acknowledge<T> {
    pub(crate) fn give(self, value: T) {
        let was = std::mem::replace(&mut *self.0.state(), State::Given(value));
        match was {
            // To tell a thread asks the system for it, whether there is one or not.
            State::Blocked => self.0.given.notify_all(),
            State::Waiting(Some(waker)) => waker.wake(),
            State::Waiting(None) | State::Given(_) | State::Taken => {}
        }
    }
}

impl<T> Acknowledgement<T> {
    /// Blocks this thread until it is there. Not for a turn: that would block a worker.
    pub fn wait(self) -> T {
        let mut state = self.0.state();
        loop {
            match std::mem::replace(&mut *state, State::Blocked) {
                State::Given(value) => return value,
                State::Waiting(_) | State::Blocked | State::Taken => {}
            }
            state = self.0.given.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Future for Acknowledgement<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.0.state();
        match &mut *state {
            State::Waiting(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
            State::Given(_) => match std::mem::replace(&mut *state, State::Taken) {
                State::Given(value) => Poll::Ready(value),
                _ => unreachable!("it was given a line above"),
            },
            State::Blocked => unreachable!("who waits has consumed it"),
            State::Taken => panic!("an acknowledgement was polled after it was ready"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_before_or_after_it_is_waited_for() {
        let (give, wait) = pair();
        give.give(1);
        assert_eq!(wait.wait(), 1);

        let (give, wait) = pair();
        std::thread::scope(|scope| {
            scope.spawn(|| give.give(2));
            assert_eq!(wait.wait(), 2);
        });
    }

    #[test]
    fn a_poll_before_it_is_given_is_woken() {
        let runtime = kernel::Runtime::new().unwrap();
        let (give, wait) = pair();
        let mut waiting = runtime.spawn(wait).unwrap();
        give.give(3);
        assert_eq!(waiting.join().unwrap(), 3);
    }
}
