//! Those who wait for something of a process: each has a seat with its waker, and gives it back.
//!
//! What is done with seats is done under a lock, and wakers are anybody's code: they are cloned
//! before, and woken or dropped afterwards. So whatever takes one out returns it.

use std::{collections::BTreeMap, task::Waker};

/// Names a seat. Never used twice in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seat(u64);

/// The seats that are taken, in the order they were.
#[derive(Default)]
pub(crate) struct Seats {
    taken: BTreeMap<Seat, Waker>,
    /// How many were ever taken.
    count: u64,
}

impl Seats {
    pub(crate) fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Takes a seat, or leaves another waker on the one that `seat` names, if it is still taken: then the
    /// waker that was there before comes back.
    #[must_use = "a waker is dropped when the lock is not held"]
    pub(crate) fn sit(&mut self, seat: &mut Option<Seat>, waker: Waker) -> Option<Waker> {
        if let Some(there) = seat.as_ref().and_then(|seat| self.taken.get_mut(seat)) {
            return Some(std::mem::replace(there, waker));
        }
        self.count += 1;
        let new = *seat.insert(Seat(self.count));
        self.taken.insert(new, waker)
    }

    /// Gives a seat back, if it is still taken.
    #[must_use = "a waker is dropped when the lock is not held"]
    pub(crate) fn leave(&mut self, seat: Seat) -> Option<Waker> {
        self.taken.remove(&seat)
    }

    /// All wakers, those who came first first. Their seats are free.
    #[must_use = "those who are not woken wait for ever"]
    pub(crate) fn call_all(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.taken).into_values()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::{sync::Arc, task::Wake};

    struct Nothing;

    impl Wake for Nothing {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn who_sits_again_keeps_the_seat_and_who_was_called_gets_a_new_one() {
        let nobody = Arc::new(Nothing);
        let waker = || Waker::from(nobody.clone());
        let (mut seats, mut seat) = (Seats::default(), None);
        assert!(seats.sit(&mut seat, waker()).is_none());
        let first = seat;
        assert!(seats.sit(&mut seat, waker()).is_some());
        assert_eq!((seat, seats.call_all().count()), (first, 1));
        assert!(seats.sit(&mut seat, waker()).is_none());
        assert_ne!(seat, first);
        assert!(seats.leave(first.unwrap()).is_none() && !seats.is_empty());
        assert!(seats.leave(seat.unwrap()).is_some() && seats.is_empty());
        assert_eq!(Arc::strong_count(&nobody), 1);
    }
}
