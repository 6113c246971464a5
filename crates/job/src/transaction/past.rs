//! What transactions of earlier batches have touched, for as long as they have not ended.
//!
//! The last batch is looked into only if it has not ended when the next one comes: otherwise what it
//! touched is of no interest any more. So batches that come one after the other cost nothing here.

use std::{
    collections::VecDeque,
    hash::Hash,
    sync::{Arc, Weak},
};

use crate::{
    batch::node::{After, Outside},
    graph::Core,
    transaction::{conflict::Conflicts, edges::Edges, hash::SeededMap},
};

/// Below so many keys nobody looks for those that are of no interest any more.
const KEYS_MIN: usize = if cfg!(test) { 4 } else { 1024 };

/// A transaction of an earlier batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Place {
    pub(super) batch: u64,
    pub(super) index: u32,
}

pub(super) struct Past<K> {
    /// The number of the first of these batches. They are kept by those who hold their receipts,
    /// and by themselves until they end.
    first: u64,
    batches: VecDeque<Weak<Core>>,
    keys: SeededMap<K, Touched>,
    /// How many keys there were when we last looked which are of interest.
    keys_kept: usize,
    /// The last that ran alone.
    alone: Option<Place>,
    /// What the last batch touched is not entered yet.
    owes: bool,
}

#[derive(Default)]
struct Touched {
    writer: Option<Place>,
    /// Since then.
    readers: Vec<Place>,
}

/// Those of the earlier batches that have not ended.
#[derive(Default)]
pub(super) struct Live {
    first: u64,
    batches: VecDeque<Option<Arc<Core>>>,
}

impl Live {
    fn core(&self, batch: u64) -> Option<&Arc<Core>> {
        let at = usize::try_from(batch.checked_sub(self.first)?).ok()?;
        self.batches.get(at)?.as_ref()
    }

    /// Whether this one has not ended.
    pub(super) fn runs(&self, place: Place) -> bool {
        self.core(place.batch).is_some_and(|core| !core.word(place.index).is_done())
    }

    /// For the batch that waits for it.
    pub(super) fn name(&self, place: Place) -> After {
        let core = self.core(place.batch).expect("it had not ended").clone();
        After::Outside(Outside { core, index: place.index })
    }
}

impl<K: Copy + Eq + Hash> Past<K> {
    pub(super) fn new() -> Past<K> {
        Past {
            first: 0,
            batches: VecDeque::new(),
            keys: SeededMap::default(),
            keys_kept: 0,
            alone: None,
            owes: false,
        }
    }

    /// Forgets what has ended, and takes over what the last batch did.
    pub(super) fn open(&mut self, last: &Conflicts<K>) -> Live {
        let upgrade = |core: &Weak<Core>| core.upgrade().filter(|core| !core.has_ended());
        let mut batches: VecDeque<_> = self.batches.iter().map(upgrade).collect();
        while batches.front().is_some_and(Option::is_none) {
            batches.pop_front();
            self.batches.pop_front();
            self.first += 1;
        }
        let live = Live { first: self.first, batches };
        if live.batches.is_empty() {
            self.keys.clear();
            self.keys_kept = 0;
        } else if self.owes {
            self.enter(last, &live);
        }
        self.owes = false;
        self.alone = self.alone.filter(|alone| live.runs(*alone));
        if self.keys.len() > 2 * self.keys_kept + KEYS_MIN {
            self.keys.retain(|_, touched| {
                touched.forget(&live);
                touched.writer.is_some() || !touched.readers.is_empty()
            });
            self.keys_kept = self.keys.len();
        }
        live
    }

    /// The next batch was submitted. Returns its number.
    pub(super) fn push(&mut self, core: &Arc<Core>) -> u64 {
        self.batches.push_back(Arc::downgrade(core));
        self.owes = true;
        self.first + self.batches.len() as u64 - 1
    }

    /// Enters what the last batch has touched and has not ended.
    fn enter(&mut self, last: &Conflicts<K>, live: &Live) {
        let batch = self.first + self.batches.len() as u64 - 1;
        if let Some(index) = last.last_alone() {
            // All before it ended before it.
            self.keys.clear();
            self.alone = Some(Place { batch, index });
        }
        last.each(|key, writer, readers| {
            let place = |index| Place { batch, index };
            let touched = self.keys.entry(key).or_default();
            if let Some(index) = writer {
                touched.readers.clear();
                touched.writer = Some(place(index));
            }
            if touched.readers.len() >= 16 && touched.readers.len() == touched.readers.capacity() {
                touched.forget(live);
            }
            touched.readers.extend(readers.map(place).filter(|reader| live.runs(*reader)));
        });
    }

    /// Somebody reads a key that nobody of its batch wrote.
    #[inline]
    pub(super) fn before_read(&self, key: K, edges: &mut Edges<'_>) {
        if self.keys.is_empty() {
            return;
        }
        if let Some(writer) = self.keys.get(&key).and_then(|touched| touched.writer) {
            edges.after_place(writer);
        }
    }

    /// Somebody writes a key that nobody of its batch wrote; perhaps others of it have read it.
    #[inline]
    pub(super) fn before_write(&self, key: K, is_read: bool, edges: &mut Edges<'_>) {
        if self.keys.is_empty() {
            return;
        }
        let Some(touched) = self.keys.get(&key) else { return };
        for reader in &touched.readers {
            edges.after_place(*reader);
        }
        // Readers wait for the writer, those of the batch and those before it.
        if let (Some(writer), false) = (touched.writer, is_read || !touched.readers.is_empty()) {
            edges.after_place(writer);
        }
    }

    /// Somebody waits for no other of its batch.
    #[inline]
    pub(super) fn before_any(&self, edges: &mut Edges<'_>) {
        if let Some(alone) = self.alone {
            edges.after_place(alone);
        }
    }

    /// Somebody waits for all.
    pub(super) fn before_all(&self, edges: &mut Edges<'_>) {
        let live = edges.live();
        for (batch, core) in (live.first..).zip(&live.batches) {
            let Some(core) = core else { continue };
            // Every other one ends before one of those that nobody waits for.
            for index in (0..core.len() as u32).filter(|index| !core.has_successors(*index)) {
                edges.after_place(Place { batch, index });
            }
        }
    }
}

impl Touched {
    /// Forgets what has ended.
    fn forget(&mut self, live: &Live) {
        self.writer = self.writer.filter(|writer| live.runs(*writer));
        self.readers.retain(|reader| live.runs(*reader));
    }
}
