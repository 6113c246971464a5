//! How somebody waits for the request that a process end.
//!
//! A request brings a turn, and a turn polls the process's future with the strand's waker. A future
//! that is polled with another waker, by a set of futures say, takes a seat with it. Whoever hears
//! the request first raises the flag and then calls all seats; whoever sits looks at the flag once
//! more. The lock of the seats orders the two, so one sees the other.

use std::task::{Poll, Waker};

use crate::{
    core::{CANCELLED, Core},
    ending,
    seats::Seat,
};

/// One who waits, and its seat, if it has one.
pub(crate) struct Wait<'a> {
    core: &'a Core,
    seat: Option<Seat>,
}

impl<'a> Wait<'a> {
    pub(crate) fn new(core: &'a Core) -> Wait<'a> {
        Wait { core, seat: None }
    }

    /// `foreign`: the waker, if it is not the strand's.
    pub(crate) fn poll(&mut self, foreign: Option<&Waker>) -> Poll<()> {
        if let Some(waker) = foreign
            && !self.core.has(CANCELLED)
        {
            self.sit(waker);
        }
        if self.core.has(CANCELLED) { Poll::Ready(()) } else { Poll::Pending }
    }

    #[cold]
    fn sit(&mut self, waker: &Waker) {
        // Cloned before, and dropped after: a waker is anybody's code.
        let waker = waker.clone();
        let seat = &mut self.seat;
        let before = self.core.with_extras(|state| state.asked.sit(seat, waker));
        drop(before);
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let Some(seat) = self.seat else { return };
        let left = self.core.if_extras(|state| state.asked.leave(seat));
        drop(left);
    }
}

/// The process is asked to end. For its own turn.
#[cold]
pub(crate) fn hear(core: &Core) {
    core.set(CANCELLED, true);
    let seats = core.if_extras(|state| state.asked.call_all());
    seats.into_iter().flatten().for_each(ending::wake);
}
