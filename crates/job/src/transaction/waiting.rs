//! Where transactions wait until they are submitted.

use crate::transaction::terms::{Terms, Transaction};

/// A transaction that waits.
pub(super) struct Waiting<T, K> {
    pub(super) terms: Terms<K>,
    pub(super) id: u64,
    /// Its sender's.
    pub(super) chain: u32,
    /// Elsewhere for as long as its batch is put together.
    pub(super) payload: Option<T>,
}

impl<T, K> Waiting<T, K> {
    pub(super) fn into_transaction(self) -> Transaction<T, K> {
        let payload = self.payload.expect("no batch is being put together");
        Transaction { terms: self.terms, payload }
    }
}

/// Those that wait, by slot.
pub(super) struct Slots<T, K> {
    slots: Vec<Option<Waiting<T, K>>>,
    free: Vec<u32>,
}

impl<T, K> Slots<T, K> {
    pub(super) fn new() -> Slots<T, K> {
        Slots { slots: Vec::new(), free: Vec::new() }
    }

    pub(super) fn reserve(&mut self, more: usize) {
        self.slots.reserve(more.saturating_sub(self.free.len()));
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(super) fn insert(&mut self, waiting: Waiting<T, K>) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(waiting);
                slot
            }
            None => {
                self.slots.push(Some(waiting));
                self.slots.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Waiting<T, K> {
        self.slots[slot as usize].as_ref().expect("one waits there")
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Waiting<T, K> {
        self.slots[slot as usize].as_mut().expect("one waits there")
    }

    pub(super) fn remove(&mut self, slot: u32) -> Waiting<T, K> {
        let waiting = self.slots[slot as usize].take().expect("one waits there");
        self.free.push(slot);
        waiting
    }

    /// Removes these, of which each is there once.
    pub(super) fn remove_all(&mut self, slots: &[u32]) {
        if slots.len() == self.len() {
            self.slots.clear();
            self.free.clear();
            return;
        }
        for slot in slots {
            self.remove(*slot);
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Waiting<T, K>> {
        self.slots.iter_mut().flatten()
    }
}
