//! A queue that one may leave from the middle: who waits longest is first, and who gives up is gone.
//!
//! Places are numbered. Who leaves is found by number, and an empty place is left; when half of the
//! places are empty they are closed up. So leaving costs little, and whoever left takes no memory.

use std::collections::VecDeque;

/// A place in a [`Line`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// Somebody who was first in line and has kept the number of the place.
#[derive(Debug)]
pub(crate) struct SteppedOut<T> {
    number: u64,
    pub(crate) who: T,
}

/// A queue with room for this many keeps it.
const KEPT_MIN: usize = 64;

/// Gives back what a queue needed when it was longer. No limit counts it, and a guest can have
/// many queues. Half of it at a time, so that one that comes and goes does not do so each time.
#[inline]
pub(crate) fn shrink<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > KEPT_MIN && queue.len() < queue.capacity() / 4 {
        queue.shrink_to(queue.capacity() / 2);
    }
}

#[derive(Debug)]
pub(crate) struct Line<T> {
    places: VecDeque<(u64, Option<T>)>,
    next: u64,
    empty: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line { places: VecDeque::new(), next: 0, empty: 0 }
    }
}

impl<T> Line<T> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, who: T) -> Ticket {
        let number = self.next;
        self.next += 1;
        self.places.push_back((number, Some(who)));
        Ticket(number)
    }

    /// The first in line, taken out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let (_, who) = self.places.pop_front()?;
        self.advance();
        shrink(&mut self.places);
        debug_assert!(who.is_some(), "the first place of a line is not empty");
        who
    }

    /// The same, if the first is such a one.
    #[inline]
    pub(crate) fn pop_if(&mut self, fits: impl FnOnce(&T) -> bool) -> Option<T> {
        if fits(self.first()?) { self.pop() } else { None }
    }

    /// The first in line, who keeps the number of the place for [`Line::step_in`].
    pub(crate) fn step_out(&mut self) -> Option<SteppedOut<T>> {
        let &(number, _) = self.places.front()?;
        Some(SteppedOut { number, who: self.pop()? })
    }

    /// Puts back those who have stepped out, in that order, where they were. Nobody else has been
    /// taken from before the first who is left.
    pub(crate) fn step_in(&mut self, all: Vec<SteppedOut<T>>) {
        for SteppedOut { number, who } in all.into_iter().rev() {
            debug_assert!(self.places.front().is_none_or(|(first, _)| number < *first));
            self.places.push_front((number, Some(who)));
        }
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.places.front()?.1.as_ref()
    }

    /// Those who wait, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|(_, who)| who.as_ref())
    }

    /// Takes out whoever has this place, if it is still in line.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Option<T> {
        let at = self.places.binary_search_by_key(&ticket.0, |(number, _)| *number).ok()?;
        let who = self.places[at].1.take()?;
        self.empty += 1;
        self.advance();
        if self.empty * 2 > self.places.len() {
            self.places.retain(|(_, who)| who.is_some());
            self.empty = 0;
        }
        shrink(&mut self.places);
        Some(who)
    }

    /// Lets the first place be one that is taken.
    #[inline]
    fn advance(&mut self) {
        while let Some((_, None)) = self.places.front() {
            self.places.pop_front();
            self.empty -= 1;
        }
    }

    /// All who wait, in order; nobody is left.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.empty = 0;
        std::mem::take(&mut self.places).into_iter().filter_map(|(_, who)| who)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn whoever_leaves_from_the_middle_is_not_served() {
        let mut line = Line::default();
        let tickets: Vec<Ticket> = (0..5).map(|who| line.push(who)).collect();
        assert_eq!(line.leave(tickets[0]), Some(0));
        assert_eq!(line.leave(tickets[2]), Some(2));
        assert_eq!(line.leave(tickets[2]), None);
        assert_eq!(line.first(), Some(&1));
        assert_eq!(line.iter().collect::<Vec<_>>(), [&1, &3, &4]);
        assert_eq!(
            [line.pop(), line.pop(), line.pop(), line.pop()],
            [Some(1), Some(3), Some(4), None]
        );
        assert!(line.is_empty());
    }

    #[test]
    fn whoever_steps_out_and_in_has_the_same_place() {
        let mut line = Line::default();
        let tickets: Vec<Ticket> = (0..5).map(|who| line.push(who)).collect();
        assert_eq!(line.leave(tickets[1]), Some(1));
        let out: Vec<SteppedOut<i32>> = (0..2).filter_map(|_| line.step_out()).collect();
        assert_eq!(out.iter().map(|out| out.who).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(line.leave(tickets[0]), None);
        assert_eq!(line.pop(), Some(3));
        line.step_in(out);
        assert_eq!(line.iter().collect::<Vec<_>>(), [&0, &2, &4]);
        assert_eq!(line.leave(tickets[2]), Some(2));
        assert_eq!((line.pop(), line.pop(), line.pop()), (Some(0), Some(4), None));
    }

    #[test]
    fn those_who_come_and_leave_behind_one_who_stays_take_no_memory() {
        let mut line = Line::default();
        line.push(0);
        for who in 1..10_000 {
            let ticket = line.push(who);
            assert_eq!(line.leave(ticket), Some(who));
            assert!(line.places.len() <= 3);
        }
        assert_eq!(line.pop(), Some(0));
    }

    #[test]
    fn a_long_line_gives_its_memory_back_when_it_is_short_again() {
        let mut line = Line::default();
        for who in 0..10_000 {
            line.push(who);
        }
        while line.pop().is_some() {}
        assert!(line.places.capacity() < 100, "room for {}", line.places.capacity());
        let tickets: Vec<Ticket> = (0..10_000).map(|who| line.push(who)).collect();
        for ticket in tickets.into_iter().rev() {
            line.leave(ticket);
        }
        assert!(line.places.capacity() < 100, "room for {}", line.places.capacity());
    }

    #[test]
    fn leaving_after_the_line_was_emptied_finds_nobody() {
        let mut line = Line::default();
        let ticket = line.push(1);
        line.push(2);
        assert_eq!(line.take_all().collect::<Vec<_>>(), [1, 2]);
        line.push(3);
        assert_eq!(line.leave(ticket), None);
        assert_eq!(line.pop(), Some(3));
    }
}
