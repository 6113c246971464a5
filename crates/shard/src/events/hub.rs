//! How does an event reach all whom it concerns, when nobody may hold up the publisher?
//!
//! 1. A publisher never waits for a subscriber to read. Each has room for a fixed number of
//!    events, made when it subscribes; publishing puts a clone there.
//! 2. One without room is ended: what it has it can still read, then it is told
//!    [`Ended::Lagged`].
//! 3. No foreign code runs under a lock: not wakers, not [`Event::concerns`], not the drop of an
//!    event. So it may publish, subscribe and drop subscriptions itself. A waker that panics takes
//!    neither the publisher nor another subscriber with it.
//! 4. A subscriber sees the events of one publisher in the order of their publishing.
//! 5. It sees nothing that began to be published before it subscribed, not even if the publisher has
//!    not come to its place yet.
//!
//! Plain mutexes guard everything, and each is taken for a few instructions with no other lock
//! held. There are no orderings to model, so there are no models for loom or shuttle here.
//!
//! The seats keep their places while others come and go. That lets a publisher walk along them
//! and take the lock for each step only: a seat that is given up meanwhile is an empty place, and
//! none is passed over.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::subscription::{Ended, Seat, Subscription};

/// What is published. Its clone should cost no more than that of an `Arc`.
pub trait Event: Clone {
    /// What a subscriber says when it subscribes.
    type Interest;

    /// Whether a subscriber with this interest is told.
    fn concerns(&self, interest: &Self::Interest) -> bool;
}

/// Where events are published and subscribed to. Clones are the same hub. When the last one is
/// dropped, subscriptions end with [`Ended::Closed`].
pub struct Hub<E: Event>(Arc<Inner<E>>);

struct Inner<E: Event> {
    seats: Arc<Seats<E>>,
}

/// The seats of a hub: what subscriptions know of it.
pub(super) struct Seats<E: Event>(Mutex<Places<E>>);

struct Places<E: Event> {
    /// Each with the number of the last event before it.
    places: Vec<Option<(u64, Arc<Seat<E>>)>>,
    /// Places that are empty.
    free: Vec<usize>,
    /// Events that were published, or are being published.
    events: u64,
    closed: bool,
}

impl<E: Event> Hub<E> {
    /// Without subscribers.
    pub fn new() -> Hub<E> {
        let places = Places { places: Vec::new(), free: Vec::new(), events: 0, closed: false };
        Hub(Arc::new(Inner { seats: Arc::new(Seats(Mutex::new(places))) }))
    }

    /// From now on, events that concern this interest are kept until they are read: as many as
    /// there is `room` for.
    pub fn subscribe(&self, room: NonZeroUsize, interest: E::Interest) -> Subscription<E> {
        let seats = &self.0.seats;
        let seat = Arc::new(Seat::new(room, interest));
        let place = seats.take_place(&seat);
        if place.is_none() {
            seat.end(Ended::Closed);
        }
        Subscription::new(seat, place.map(|place| (seats.clone(), place)))
    }

    /// Tells all whom it concerns. Waits for none of them, and ends those that have no room.
    pub fn publish(&self, event: &E) {
        let seats = &self.0.seats;
        let number = seats.number();
        let mut place = 0;
        while let Some(seat) = seats.at(place, number) {
            if let Some(seat) = seat
                && event.concerns(seat.interest())
                && seat.push(event).is_err()
            {
                seats.give_up(place, &seat);
            }
            place += 1;
        }
    }

    /// How many subscriptions there are that have not ended.
    pub fn subscribers(&self) -> usize {
        let seats = self.0.seats.lock();
        seats.places.len() - seats.free.len()
    }

    /// Ends all subscriptions, and those to come, with [`Ended::Closed`].
    pub fn close(&self) {
        self.0.close();
    }
}

impl<E: Event> Inner<E> {
    fn close(&self) {
        let places = {
            let mut seats = self.seats.lock();
            seats.closed = true;
            seats.free.clear();
            std::mem::take(&mut seats.places)
        };
        for (_, seat) in places.into_iter().flatten() {
            seat.end(Ended::Closed);
        }
    }
}

impl<E: Event> Drop for Inner<E> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<E: Event> Seats<E> {
    fn lock(&self) -> MutexGuard<'_, Places<E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` if the hub is closed.
    fn take_place(&self, seat: &Arc<Seat<E>>) -> Option<usize> {
        let mut seats = self.lock();
        if seats.closed {
            return None;
        }
        let seat = Some((seats.events, seat.clone()));
        if let Some(place) = seats.free.pop() {
            seats.places[place] = seat;
            Some(place)
        } else {
            seats.places.push(seat);
            Some(seats.places.len() - 1)
        }
    }

    /// The number of an event that is to be published.
    fn number(&self) -> u64 {
        let mut seats = self.lock();
        seats.events += 1;
        seats.events
    }

    /// Who sits at this place, and did so before this event. `None` after the last place.
    fn at(&self, place: usize, event: u64) -> Option<Option<Arc<Seat<E>>>> {
        let seats = self.lock();
        let at = seats.places.get(place)?.as_ref().filter(|(before, _)| *before < event);
        Some(at.map(|(_, seat)| seat.clone()))
    }

    /// Empties a place, if it is still this one's.
    pub(super) fn give_up(&self, place: usize, seat: &Arc<Seat<E>>) {
        let mut seats = self.lock();
        let found = seats.places.get_mut(place);
        let found = found.filter(|at| at.as_ref().is_some_and(|(_, at)| Arc::ptr_eq(at, seat)));
        let given_up = found.and_then(Option::take);
        if given_up.is_some() {
            seats.free.push(place);
        }
        // The caller has the seat too, so nothing but a count is dropped here.
        drop(given_up);
    }
}

impl<E: Event> Clone for Hub<E> {
    fn clone(&self) -> Hub<E> {
        Hub(self.0.clone())
    }
}

impl<E: Event> Default for Hub<E> {
    fn default() -> Hub<E> {
        Hub::new()
    }
}

impl<E: Event> fmt::Debug for Hub<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("subscribers", &self.subscribers()).finish()
    }
}
