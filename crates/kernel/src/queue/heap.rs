//! A heap of keys with four children to a node, the highest key on top, equal ones in order of
//! arrival.
//!
//! ```text
//!   group 0   [ -  -  -  root ]      positions 0 to 3; the first three stay empty
//!   group 1   [ children of 3 ]      4 to 7
//!   group 2   [ children of 4 ]      8 to 11
//!   group n   [ children of n + 2 ]
//! ```
//!
//! A node is one number of 128 bits: the key, then the arrival (the earlier the higher), then what
//! it is the key of. An empty place is 0, which is lower than any node.

use crate::prefetch::prefetch;

/// A finite number, or an infinite one, as bits in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

const SIGN: u64 = 1 << 63;

impl Key {
    #[inline]
    pub(crate) fn new(key: f64) -> Key {
        // Adding 0.0 turns −0.0 into 0.0, so that the two are ties.
        let bits = (key + 0.0).to_bits();
        Key(if bits & SIGN == 0 { bits | SIGN } else { !bits })
    }
}

/// Arrivals are numbered anew when so many more have come than wait, or as many as there can be.
const ARRIVALS: u32 = if cfg!(test) { 64 } else { u32::MAX };

const ROOT: usize = 3;

type Node = u128;
const EMPTY: Node = 0;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Group([Node; 4]);

#[derive(Default)]
pub(crate) struct Heap {
    groups: Vec<Group>,
    len: usize,
    arrivals: u32,
    /// At this number they are numbered anew.
    arrivals_max: u32,
}

#[inline]
fn node(key: Key, arrival: u32, item: u32) -> Node {
    Node::from(key.0) << 64 | Node::from(!arrival) << 32 | Node::from(item)
}

impl Heap {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, key: Key, item: u32) {
        if self.arrivals == self.arrivals_max {
            self.number_anew();
        }
        let new = node(key, self.arrivals, item);
        self.arrivals += 1;
        let at = ROOT + self.len;
        self.len += 1;
        if at / 4 == self.groups.len() {
            self.groups.push(Group([EMPTY; 4]));
        }
        self.rise(at, new);
    }

    /// The highest.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u32> {
        (self.len > 0).then(|| self.get(ROOT) as u32)
    }

    /// Takes the highest.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let top = self.get(ROOT);
        self.len -= 1;
        let end = ROOT + self.len;
        let last = self.get(end);
        self.set(end, EMPTY);
        if self.len > 0 {
            // The last one belongs far down: the way there is cleared first, by the highest child
            // of each, and then it rises, seldom by much.
            let at = self.clear(ROOT);
            self.rise(at, last);
        }
        Some(top as u32)
    }

    #[inline(always)]
    fn get(&self, at: usize) -> Node {
        self.groups[at / 4].0[at % 4]
    }

    #[inline(always)]
    fn set(&mut self, at: usize, node: Node) {
        self.groups[at / 4].0[at % 4] = node;
    }

    /// Puts a node where there is a hole, or further up.
    #[inline]
    fn rise(&mut self, mut at: usize, node: Node) {
        while at > ROOT {
            let parent = at / 4 + 2;
            let above = self.get(parent);
            if above > node {
                break;
            }
            self.set(at, above);
            at = parent;
        }
        self.set(at, node);
    }

    /// Fills a hole with the highest child, and so on. Returns where the hole is then: it has no
    /// children.
    #[inline]
    fn clear(&mut self, mut at: usize) -> usize {
        while let Some(Group([a, b, c, d])) = self.groups.get(at - 2) {
            // One of their children comes next: four groups, side by side.
            let below = self.groups.as_ptr().wrapping_add(4 * (at - 2) - 2);
            (0..4).for_each(|group| prefetch(below.wrapping_add(group)));
            let (first, low) = if b > a { (1, *b) } else { (0, *a) };
            let (second, high) = if d > c { (3, *d) } else { (2, *c) };
            let (child, highest) = if high > low { (second, high) } else { (first, low) };
            if highest == EMPTY {
                break;
            }
            self.set(at, highest);
            at = 4 * (at - 2) + child;
        }
        at
    }

    /// Numbers the arrivals of those that are left from 0, in the same order, which changes nothing
    /// between any two of them.
    #[cold]
    fn number_anew(&mut self) {
        let places = ROOT..ROOT + self.len;
        let mut order: Vec<(u32, usize)> =
            places.map(|at| (!((self.get(at) >> 32) as u32), at)).collect();
        order.sort_unstable();
        for (arrival, (_, at)) in (0u32..).zip(&order) {
            let (key, item) = (Key((self.get(*at) >> 64) as u64), self.get(*at) as u32);
            self.set(*at, node(key, arrival, item));
        }
        self.arrivals = order.len() as u32;
        self.arrivals_max = self.arrivals.saturating_mul(2).saturating_add(ARRIVALS);
        assert!(self.arrivals < self.arrivals_max, "a queue has fewer than 2^32 entries");
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::{cmp::Reverse, collections::BTreeSet};

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    /// Against a set in that order: few different keys, so many ties, and the arrivals are numbered
    /// anew many times.
    #[test]
    fn highest_first_and_among_equals_the_one_that_came_first() {
        for seed in 0..20 {
            let mut state = seed;
            let (mut heap, mut model) = (Heap::default(), BTreeSet::new());
            for arrival in 0..5_000u32 {
                let key = [-3.5, -0.0, 0.0, 1e-300, 7.0, f64::NEG_INFINITY, f64::MAX]
                    [random(&mut state) as usize % 7];
                heap.push(Key::new(key), arrival);
                model.insert((Reverse(Key::new(key)), arrival));
                while random(&mut state) % 100 < 49 || model.len() > 60 {
                    let expected = model.pop_first().map(|(_, arrival)| arrival);
                    assert_eq!(heap.pop(), expected);
                    assert_eq!(heap.len(), model.len());
                    if expected.is_none() {
                        break;
                    }
                }
            }
            while let Some((_, arrival)) = model.pop_first() {
                assert_eq!(heap.pop(), Some(arrival));
            }
            assert_eq!(heap.pop(), None);
        }
    }

    #[test]
    fn many_come_out_sorted() {
        let (mut heap, mut state) = (Heap::default(), 1);
        let keys: Vec<u64> = (0..40_000).map(|_| random(&mut state)).collect();
        for (item, key) in (0u32..).zip(&keys) {
            heap.push(Key::new(*key as f64), item);
        }
        let out: Vec<u64> =
            std::iter::from_fn(|| heap.pop()).map(|item| keys[item as usize]).collect();
        assert_eq!(out.len(), keys.len());
        assert!(out.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn keys_are_in_the_order_of_their_numbers() {
        let numbers = [f64::NEG_INFINITY, f64::MIN, -1.0, -1e-300, 0.0, 1e-300, 1.0, f64::MAX];
        assert!(numbers.map(Key::new).is_sorted_by(|a, b| a < b));
        assert_eq!(Key::new(-0.0), Key::new(0.0));
        assert!(node(Key::new(f64::NEG_INFINITY), u32::MAX, 0) > EMPTY);
    }
}
