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
//! onwards. Adding and removing touch one slot; when the earliest timer of a slot is due, the
//! others in it move down, each at most once per level.
//!
//! A slot has what decides where its timers go side by side, and what they are for is elsewhere, in
//! a node each: a walk through nodes would wait for the memory at every one of them.
//!
//! 1. Deadlines are exact: nothing fires early, and `next` is the earliest deadline (or an
//!    earlier one that has been removed, which costs a look and no more).
//! 2. Timers fire in order of deadline; equal ones in the order they were added.
//! 3. A pending timer's node says where its entry is.

use crate::{prefetch::prefetch, world::Nanos};

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 11;
const NONE: u32 = u32::MAX;

/// A slot that has emptied keeps room for so many timers.
const ROOM: usize = 16;

/// So many timers ahead their nodes are asked for.
const AHEAD: usize = 8;

/// Names a pending timer. It goes stale when the timer has fired or was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
    /// It was not due yet when it was added.
    pub(super) ahead: bool,
}

pub(crate) struct Wheel<T> {
    now: Nanos,
    levels: Vec<Level>,
    nodes: Vec<Node<T>>,
    /// The head of the list of free nodes.
    free: u32,
    len: usize,
    added: u64,
    /// What is due, while it is gathered.
    due: Vec<Entry>,
}

struct Level {
    /// Bit `i`: slot `i` has timers.
    occupied: u64,
    slots: [Slot; SLOTS],
}

struct Slot {
    entries: Vec<Entry>,
    /// No timer in the slot is due before this.
    earliest: Nanos,
}

/// A timer in its slot. Sorted, they are in the order in which they fire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    deadline: Nanos,
    order: u64,
    index: u32,
}

struct Node<T> {
    /// `None`: free.
    value: Option<T>,
    generation: u32,
    level: u8,
    slot: u8,
    /// Its entry's place in the slot; if it is free, the next free node.
    place: u32,
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Wheel<T> {
        let slot = |_| Slot { entries: Vec::new(), earliest: Nanos::MAX };
        let level = || Level { occupied: 0, slots: std::array::from_fn(slot) };
        Wheel {
            now: 0,
            levels: (0..LEVELS).map(|_| level()).collect(),
            nodes: Vec::new(),
            free: NONE,
            len: 0,
            added: 0,
            due: Vec::new(),
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
        let generation = node.generation;
        self.link(Entry { deadline, order: self.added, index });
        Key { index, generation, ahead: deadline > self.now }
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

    /// What was due until then has been taken out.
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// When to look again.
    pub(crate) fn next(&self) -> Option<Nanos> {
        let (level, slot) = self.first()?;
        Some(self.levels[level].slots[slot].earliest.max(self.now))
    }

    /// Moves the time to `now`, and takes out what is due, in order.
    pub(crate) fn advance(&mut self, now: Nanos) -> Vec<T> {
        let mut due = std::mem::take(&mut self.due);
        while let Some((level, slot)) = self.first() {
            let earliest = self.levels[level].slots[slot].earliest;
            if earliest > now {
                break;
            }
            // Nothing is due before, so the time can jump; the slot's timers move down from here.
            self.now = self.now.max(earliest);
            let mut entries = self.take_slot(level, slot);
            for (at, entry) in entries.iter().enumerate() {
                self.ask_for(entries.get(at + AHEAD));
                if entry.deadline <= now {
                    due.push(*entry);
                } else {
                    self.link(*entry);
                }
            }
            if entries.capacity() <= ROOM {
                entries.clear();
                self.levels[level].slots[slot].entries = entries;
            }
        }
        self.now = self.now.max(now);
        due.sort_unstable();
        let mut fired = Vec::with_capacity(due.len());
        for (at, entry) in due.iter().enumerate() {
            self.ask_for(due.get(at + AHEAD));
            fired.push(self.release(entry.index).expect("a timer that is due has a value"));
        }
        due.clear();
        due.shrink_to(SLOTS * ROOM);
        self.due = due;
        fired
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

    fn link(&mut self, entry: Entry) {
        let deadline = entry.deadline.max(self.now);
        let differs = 63 - ((deadline ^ self.now) | 1).leading_zeros();
        let level = (differs / BITS) as usize;
        let at = (deadline >> (BITS * level as u32)) as usize % SLOTS;
        let slot = &mut self.levels[level].slots[at];
        let node = &mut self.nodes[entry.index as usize];
        (node.level, node.slot) = (level as u8, at as u8);
        node.place = slot.entries.len() as u32;
        slot.entries.push(entry);
        slot.earliest = slot.earliest.min(deadline);
        self.levels[level].occupied |= 1 << at;
    }

    fn unlink(&mut self, index: u32) {
        let Node { level, slot: at, place, .. } = self.nodes[index as usize];
        let level = &mut self.levels[level as usize];
        let slot = &mut level.slots[at as usize];
        slot.entries.swap_remove(place as usize);
        if let Some(moved) = slot.entries.get(place as usize) {
            self.nodes[moved.index as usize].place = place;
        } else if slot.entries.is_empty() {
            level.occupied &= !(1 << at);
            slot.earliest = Nanos::MAX;
            slot.entries.shrink_to(ROOM);
        }
    }

    /// Empties a slot, and returns what was in it.
    fn take_slot(&mut self, level: usize, slot: usize) -> Vec<Entry> {
        let level = &mut self.levels[level];
        level.occupied &= !(1 << slot);
        level.slots[slot].earliest = Nanos::MAX;
        std::mem::take(&mut level.slots[slot].entries)
    }

    /// A timer's node will be needed soon.
    fn ask_for(&self, entry: Option<&Entry>) {
        if let Some(node) = entry.and_then(|entry| self.nodes.get(entry.index as usize)) {
            prefetch(node);
        }
    }

    fn allocate(&mut self) -> u32 {
        if self.free != NONE {
            let index = self.free;
            self.free = self.nodes[index as usize].place;
            return index;
        }
        let index = u32::try_from(self.nodes.len()).expect("fewer than four billion timers");
        self.nodes.push(Node { value: None, generation: 0, level: 0, slot: 0, place: NONE });
        index
    }

    fn release(&mut self, index: u32) -> Option<T> {
        let node = &mut self.nodes[index as usize];
        node.generation = node.generation.wrapping_add(1);
        node.place = self.free;
        self.free = index;
        self.len -= 1;
        node.value.take()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "wheel_tests.rs"]
mod tests;
