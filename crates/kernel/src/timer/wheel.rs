//! A hierarchical timer wheel: which timer is due next, with a million pending.
//!
//! ```text
//!   level 0   64 slots of 1 ns       deadlines that differ from `now` in the lowest 6 bits only
//!   level 1   64 slots of 64 ns      ... in the next 6 bits
//!   level 2   64 slots of 4 µs       ...
//!   ...
//!   level 10  the last 4 bits
//! ```
//!
//! A timer's level is that of the highest bit in which its deadline differs from `now`, its slot
//! the six bits of the deadline there. Within a level slots are due in order, from now's own
//! onwards. Adding and removing touch one list; when the earliest timer of a slot is due, the
//! others in it move down, each at most once per level.
//!
//! 1. Deadlines are exact: nothing fires early, and `next` is the earliest deadline (or an
//!    earlier one that has been removed, which costs a look and no more).
//! 2. Timers fire in order of deadline; equal ones in the order they were added.

use crate::world::Nanos;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 11;
const NONE: u32 = u32::MAX;

/// Names a pending timer. It goes stale when the timer has fired or was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

pub(crate) struct Wheel<T> {
    now: Nanos,
    levels: Vec<Level>,
    nodes: Vec<Node<T>>,
    /// The head of the list of free nodes.
    free: u32,
    len: usize,
    added: u64,
}

struct Level {
    /// Bit `i`: slot `i` has timers.
    occupied: u64,
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy)]
struct Slot {
    head: u32,
    /// No timer in the slot is due before this.
    earliest: Nanos,
}

struct Node<T> {
    /// `None`: free.
    value: Option<T>,
    deadline: Nanos,
    order: u64,
    generation: u32,
    level: u8,
    slot: u8,
    next: u32,
    prev: u32,
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Wheel<T> {
        let empty = Slot { head: NONE, earliest: Nanos::MAX };
        let level = || Level { occupied: 0, slots: [empty; SLOTS] };
        Wheel {
            now: 0,
            levels: (0..LEVELS).map(|_| level()).collect(),
            nodes: Vec::new(),
            free: NONE,
            len: 0,
            added: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a timer. One that is due already fires at the next [`Wheel::advance`].
    pub(crate) fn add(&mut self, deadline: Nanos, value: T) -> Key {
        let index = self.allocate();
        self.added += 1;
        self.len += 1;
        let node = &mut self.nodes[index as usize];
        node.value = Some(value);
        node.deadline = deadline;
        node.order = self.added;
        let generation = node.generation;
        self.link(index);
        Key { index, generation }
    }

    /// Takes a timer out. `None`: it has fired, or was removed before.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let node = self.nodes.get(key.index as usize)?;
        if node.generation != key.generation || node.value.is_none() {
            return None;
        }
        self.unlink(key.index);
        self.release(key.index)
    }

    /// The pending timer's value.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let node = self.nodes.get_mut(key.index as usize)?;
        if node.generation == key.generation { node.value.as_mut() } else { None }
    }

    /// When to look again.
    pub(crate) fn next(&self) -> Option<Nanos> {
        let (level, slot) = self.first()?;
        Some(self.levels[level].slots[slot].earliest.max(self.now))
    }

    /// Moves the time to `now`, and gives out what is due, in order.
    pub(crate) fn advance(&mut self, now: Nanos, mut fire: impl FnMut(T)) {
        let mut due = Vec::new();
        while let Some((level, slot)) = self.first() {
            let earliest = self.levels[level].slots[slot].earliest;
            if earliest > now {
                break;
            }
            // Nothing is due before, so the time can jump; the slot's timers move down from here.
            self.now = self.now.max(earliest);
            let mut index = self.take_slot(level, slot);
            while index != NONE {
                let node = &self.nodes[index as usize];
                let (next, deadline, order) = (node.next, node.deadline, node.order);
                if deadline <= now {
                    due.push((deadline, order, index));
                } else {
                    self.link(index);
                }
                index = next;
            }
        }
        self.now = self.now.max(now);
        due.sort_unstable();
        for (_, _, index) in due {
            fire(self.release(index).expect("a timer that is due has a value"));
        }
    }

    /// Takes out all timers.
    pub(crate) fn clear(&mut self) -> Vec<T> {
        let all = self.nodes.iter_mut().filter_map(|node| node.value.take()).collect();
        *self = Wheel { now: self.now, ..Wheel::new() };
        all
    }

    /// The slot that is due first: the first of some level, since time may have come to a slot of
    /// a higher level whose timers have not moved down yet.
    fn first(&self) -> Option<(usize, usize)> {
        let of_level = |(at, level): (usize, &Level)| {
            // Within a level the slots from now's own onwards come first.
            let here = (self.now >> (BITS * at as u32)) as u32 % SLOTS as u32;
            let rotated = level.occupied.rotate_right(here);
            let slot = (rotated.trailing_zeros() + here) as usize % SLOTS;
            (level.occupied != 0).then_some((at, slot))
        };
        let firsts = self.levels.iter().enumerate().filter_map(of_level);
        firsts.min_by_key(|(level, slot)| self.levels[*level].slots[*slot].earliest)
    }

    fn link(&mut self, index: u32) {
        let node = &mut self.nodes[index as usize];
        let deadline = node.deadline.max(self.now);
        let differs = 63 - ((deadline ^ self.now) | 1).leading_zeros();
        let level = (differs / BITS) as usize;
        let at = (deadline >> (BITS * level as u32)) as usize % SLOTS;
        (node.level, node.slot) = (level as u8, at as u8);
        let slot = &mut self.levels[level].slots[at];
        node.prev = NONE;
        node.next = slot.head;
        slot.earliest = slot.earliest.min(deadline);
        if slot.head != NONE {
            self.nodes[slot.head as usize].prev = index;
        }
        slot.head = index;
        self.levels[level].occupied |= 1 << at;
    }

    fn unlink(&mut self, index: u32) {
        let Node { level, slot, next, prev, .. } = self.nodes[index as usize];
        if next != NONE {
            self.nodes[next as usize].prev = prev;
        }
        if prev != NONE {
            self.nodes[prev as usize].next = next;
            return;
        }
        let level = &mut self.levels[level as usize];
        level.slots[slot as usize].head = next;
        if next == NONE {
            level.occupied &= !(1 << slot);
            level.slots[slot as usize].earliest = Nanos::MAX;
        }
    }

    /// Empties a slot, and returns the head of what was in it.
    fn take_slot(&mut self, level: usize, slot: usize) -> u32 {
        let level = &mut self.levels[level];
        level.occupied &= !(1 << slot);
        level.slots[slot].earliest = Nanos::MAX;
        std::mem::replace(&mut level.slots[slot].head, NONE)
    }

    fn allocate(&mut self) -> u32 {
        if self.free != NONE {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            return index;
        }
        let index = u32::try_from(self.nodes.len()).expect("fewer than four billion timers");
        self.nodes.push(Node {
            value: None,
            deadline: 0,
            order: 0,
            generation: 0,
            level: 0,
            slot: 0,
            next: NONE,
            prev: NONE,
        });
        index
    }

    fn release(&mut self, index: u32) -> Option<T> {
        let node = &mut self.nodes[index as usize];
        node.generation = node.generation.wrapping_add(1);
        node.next = self.free;
        self.free = index;
        self.len -= 1;
        node.value.take()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "wheel_tests.rs"]
mod tests;
