//! What does a subscriber hold, and how does it learn that there is more?
//!
//! An event is awaited with [`Subscription::next`] on any executor, or taken with
//! [`Subscription::try_next`] on none.

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use super::hub::{Event, Seats};

/// Why there are no more events. It is said after the last one, and again whenever it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Events came faster than they were read, and there was no room for the next one. Subscribe
    /// again, and read from the blocks what was missed.
    Lagged,
    /// The hub was closed.
    Closed,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ended::Lagged => {
                "the subscription was too slow and has ended: subscribe again and read what was missed"
            }
            Ended::Closed => "there will be no more events: the hub was closed",
        })
    }
}

impl std::error::Error for Ended {}

/// Events as they come. To drop it is to unsubscribe.
pub struct Subscription<E: Event> {
    seat: Arc<Seat<E>>,
    /// Where the seat is; `None` if the hub was closed already.
    place: Option<(Arc<Seats<E>>, usize)>,
}

/// Where a publisher leaves events for one subscriber.
pub(super) struct Seat<E: Event> {
    interest: E::Interest,
    room: usize,
    kept: Mutex<Kept<E>>,
}

struct Kept<E> {
    events: VecDeque<E>,
    ended: Option<Ended>,
    /// Of the one who waits for the next event.
    waker: Option<Waker>,
}

impl<E: Event> Subscription<E> {
    pub(super) fn new(
        seat: Arc<Seat<E>>,
        place: Option<(Arc<Seats<E>>, usize)>,
    ) -> Subscription<E> {
        Subscription { seat, place }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// After the last one: why it was the last.
    pub async fn next(&mut self) -> Result<E, Ended> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The next event if it is there.
    ///
    /// # Errors
    /// After the last one: why it was the last.
    pub fn try_next(&mut self) -> Result<Option<E>, Ended> {
        self.seat.lock().take()
    }

    /// As [`Subscription::next`], for those who write their own futures. The waker of the last
    /// call is the one that is woken.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<E, Ended>> {
        // Made and dropped without the lock: it is foreign code.
        let mut waker = Some(context.waker().clone());
        let mut kept = self.seat.lock();
        let next = kept.take().transpose();
        if next.is_none() {
            std::mem::swap(&mut kept.waker, &mut waker);
        }
        drop(kept);
        next.map_or(Poll::Pending, Poll::Ready)
    }
}

impl<E: Event> Drop for Subscription<E> {
    fn drop(&mut self) {
        if let Some((seats, place)) = &self.place {
            seats.give_up(*place, &self.seat);
        }
        // A publisher may have the seat in hand: what it holds must not wait for that one.
        let mut kept = self.seat.lock();
        kept.ended = Some(Ended::Closed);
        let (events, waker) = (std::mem::take(&mut kept.events), kept.waker.take());
        drop(kept);
        drop((events, waker));
    }
}

impl<E: Event> fmt::Debug for Subscription<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.seat.lock();
        let (events, ended) = (kept.events.len(), kept.ended);
        drop(kept);
        f.debug_struct("Subscription").field("events", &events).field("ended", &ended).finish()
    }
}

/// There was no room for the event, or nobody reads any more.
pub(super) struct NoRoom;

impl<E: Event> Seat<E> {
    pub(super) fn new(room: NonZeroUsize, interest: E::Interest) -> Seat<E> {
        let room = room.get();
        let events = VecDeque::with_capacity(room);
        Seat { interest, room, kept: Mutex::new(Kept { events, ended: None, waker: None }) }
    }

    pub(super) fn interest(&self) -> &E::Interest {
        &self.interest
    }

    /// Leaves an event, or ends the subscription if there is no room.
    pub(super) fn push(&self, event: &E) -> Result<(), NoRoom> {
        let event = event.clone();
        let mut kept = self.lock();
        // What the lock must not be held for: the event if it is not taken, and the waker.
        let (result, left) = if kept.ended.is_some() {
            (Err(NoRoom), Some(event))
        } else if kept.events.len() == self.room {
            kept.ended = Some(Ended::Lagged);
            (Err(NoRoom), Some(event))
        } else {
            kept.events.push_back(event);
            (Ok(()), None)
        };
        let waker = kept.waker.take();
        drop(kept);
        drop(left);
        wake(waker);
        result
    }

    /// No more events. The first reason stays.
    pub(super) fn end(&self, reason: Ended) {
        let mut kept = self.lock();
        kept.ended.get_or_insert(reason);
        let waker = kept.waker.take();
        drop(kept);
        wake(waker);
    }

    fn lock(&self) -> MutexGuard<'_, Kept<E>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes one who waits. A waker is foreign code and may panic: whoever publishes has others to tell.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    }
}

impl<E> Kept<E> {
    fn take(&mut self) -> Result<Option<E>, Ended> {
        match (self.events.pop_front(), self.ended) {
            (Some(event), _) => Ok(Some(event)),
            (None, Some(ended)) => Err(ended),
            (None, None) => Ok(None),
        }
    }
}
