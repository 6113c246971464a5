//! The transactions of one sender: which nonce comes next, which wait for their turn, which for
//! another that is missing.
//!
//! ```text
//!   nonces   base ........ next ........ next + due ...
//!            put in line   due           a gap, and held ones
//! ```
//!
//! 1. What is due follows without a gap on what was put in line.
//! 2. The first that is held does not follow on what is due.

use crate::transaction::past::Place;

/// No slot, no index.
pub(super) const NONE: u32 = u32::MAX;

/// What is remembered of a sender. Its transactions are named by the slots in which they wait.
pub(super) struct Chain {
    base: u64,
    next: u64,
    /// The last that was put in line.
    pub(super) last: Option<Place>,
    /// The first that is due.
    first: u32,
    /// For whoever goes over what is due: the place of the one before.
    pub(super) at: u32,
    more: Option<Box<More>>,
}

/// What few senders have.
#[derive(Default)]
struct More {
    /// Those that are due after the first.
    due: Vec<u32>,
    /// Those behind a gap, by nonce.
    held: Vec<(u64, u32)>,
}

/// Where a nonce belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// Before all that this ledger knows of.
    Past,
    /// Where one has been put in line.
    InLine,
    /// Where one waits, in this slot.
    Taken(u32),
    /// Directly after what is due.
    Next,
    /// Behind a gap.
    Gap,
}

impl Chain {
    pub(super) fn new(next: u64) -> Chain {
        Chain { base: next, next, last: None, first: NONE, at: NONE, more: None }
    }

    /// The nonce of the next to be put in line.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The nonce that follows on what is due: the one that is missing, if others are held.
    pub(super) fn missing(&self) -> u64 {
        self.next + self.due_len() as u64
    }

    pub(super) fn due_len(&self) -> usize {
        usize::from(self.first != NONE) + self.more.as_ref().map_or(0, |more| more.due.len())
    }

    pub(super) fn held_len(&self) -> usize {
        self.more.as_ref().map_or(0, |more| more.held.len())
    }

    #[inline]
    pub(super) fn seek(&self, nonce: u64) -> Spot {
        let Some(offset) = nonce.checked_sub(self.next) else {
            return if nonce < self.base { Spot::Past } else { Spot::InLine };
        };
        let due = self.due_len() as u64;
        if offset == due {
            return Spot::Next;
        }
        if offset == 0 {
            return Spot::Taken(self.first);
        }
        let Some(more) = &self.more else { return Spot::Gap };
        if offset < due {
            return Spot::Taken(more.due[offset as usize - 1]);
        }
        match more.held.binary_search_by_key(&nonce, |(nonce, _)| *nonce) {
            Ok(at) => Spot::Taken(more.held[at].1),
            Err(_) => Spot::Gap,
        }
    }

    /// The next one has come; tells which are due with it.
    #[inline]
    pub(super) fn push(&mut self, slot: u32, mut now_due: impl FnMut(u32)) {
        now_due(slot);
        if self.first == NONE {
            self.first = slot;
        } else {
            self.more.get_or_insert_default().due.push(slot);
        }
        let missing = self.missing();
        let Some(more) = &mut self.more else { return };
        let follow = more.held.iter().zip(missing..).take_while(|((nonce, _), n)| nonce == n);
        let follow = follow.count();
        for (_, slot) in more.held.drain(..follow) {
            now_due(slot);
            more.due.push(slot);
        }
    }

    /// One behind a gap has come.
    pub(super) fn hold(&mut self, nonce: u64, slot: u32) {
        let held = &mut self.more.get_or_insert_default().held;
        let at = held.partition_point(|(other, _)| *other < nonce);
        held.insert(at, (nonce, slot));
    }

    /// All that is due was put in line, the last of it there.
    #[inline]
    pub(super) fn advance(&mut self, last: Place) {
        self.next = self.missing();
        self.last = Some(last);
        self.first = NONE;
        if let Some(more) = &mut self.more {
            more.due.clear();
        }
    }

    /// Nothing waits any more. Returns what did, by nonce.
    pub(super) fn take_back(&mut self) -> Vec<u32> {
        let mut slots = Vec::from_iter(Some(self.first).filter(|slot| *slot != NONE));
        self.first = NONE;
        if let Some(more) = self.more.take() {
            slots.extend(more.due);
            slots.extend(more.held.into_iter().map(|(_, slot)| slot));
        }
        slots
    }

    /// Whether something of it is due or held.
    pub(super) fn is_waiting(&self) -> bool {
        self.due_len() + self.held_len() > 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn push(chain: &mut Chain, slot: u32) -> Vec<u32> {
        let mut due = Vec::new();
        chain.push(slot, |slot| due.push(slot));
        due
    }

    #[test]
    fn each_nonce_has_its_spot() {
        let mut chain = Chain::new(5);
        push(&mut chain, 0);
        chain.advance(Place::default());
        push(&mut chain, 1);
        push(&mut chain, 2);
        chain.hold(10, 3);
        let spots = [4, 5, 6, 7, 8, 9, 10, 11].map(|nonce| chain.seek(nonce));
        let taken = Spot::Taken;
        let expected = [
            Spot::Past,
            Spot::InLine,
            taken(1),
            taken(2),
            Spot::Next,
            Spot::Gap,
            taken(3),
            Spot::Gap,
        ];
        assert_eq!(spots, expected);
    }

    #[test]
    fn what_follows_on_the_missing_one_is_due_with_it() {
        let mut chain = Chain::new(0);
        chain.hold(4, 4);
        chain.hold(1, 1);
        chain.hold(2, 2);
        assert_eq!(push(&mut chain, 0), [0, 1, 2]);
        assert_eq!((chain.due_len(), chain.held_len(), chain.missing()), (3, 1, 3));
        assert_eq!(push(&mut chain, 3), [3, 4]);
        assert_eq!(chain.take_back(), [0, 1, 2, 3, 4]);
        assert!(!chain.is_waiting());
    }
}
