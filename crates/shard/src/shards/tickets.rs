//! How many shards are before one that waits for its turn?
//!
//! A shard draws a ticket when it is queued and hands it in when its turn begins. The order of the
//! tickets is that of the queue, so those before it are the tickets that were drawn before its own,
//! without those that were handed in. Several workers, and wakes that cross, make it off by a few:
//! it is for people to look at, and nothing waits for it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// All tickets of a runtime.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    drawn: AtomicU64,
    handed_in: AtomicU64,
}

/// A shard's own; 0: none.
#[derive(Debug, Default)]
pub(crate) struct Ticket(AtomicU64);

impl Ticket {
    /// It is queued, or will be. One that has a ticket keeps it.
    pub(crate) fn draw(&self, tickets: &Tickets) {
        if self.0.load(Relaxed) != 0 {
            return;
        }
        let number = tickets.drawn.fetch_add(1, Relaxed) + 1;
        if self.0.compare_exchange(0, number, Relaxed, Relaxed).is_err() {
            // Somebody else was sooner.
            tickets.handed_in.fetch_add(1, Relaxed);
        }
    }

    /// Its turn begins, or it will have none.
    pub(crate) fn hand_in(&self, tickets: &Tickets) {
        if self.0.swap(0, Relaxed) != 0 {
            tickets.handed_in.fetch_add(1, Relaxed);
        }
    }

    /// How many are before it. Without a ticket: at the end.
    pub(crate) fn before(&self, tickets: &Tickets) -> usize {
        let handed_in = tickets.handed_in.load(Relaxed);
        let before = match self.0.load(Relaxed) {
            0 => tickets.drawn.load(Relaxed),
            number => number - 1,
        };
        usize::try_from(before.saturating_sub(handed_in)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_before_it_go_and_those_behind_it_do_not_count() {
        let tickets = Tickets::default();
        let line: [Ticket; 3] = Default::default();
        line.iter().for_each(|ticket| ticket.draw(&tickets));
        line[2].draw(&tickets);
        assert_eq!(line.each_ref().map(|ticket| ticket.before(&tickets)), [0, 1, 2]);
        line[0].hand_in(&tickets);
        line[0].hand_in(&tickets);
        assert_eq!([1, 2].map(|at| line[at].before(&tickets)), [0, 1]);
        line[0].draw(&tickets);
        assert_eq!([1, 2, 0].map(|at| line[at].before(&tickets)), [0, 1, 2]);
    }
}
