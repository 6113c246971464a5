//! Who of a batch waits for whom, each of whom is named once.

use crate::transaction::{
    chain::NONE,
    hash::SeededMap,
    past::{Live, Place},
};

pub(super) struct Edges<'a> {
    /// Within the batch: the second waits for the first, which comes before it.
    pub(super) inside: Vec<(u32, u32)>,
    /// The first waits for one of an earlier batch.
    pub(super) outside: Vec<(u32, Place)>,
    live: &'a Live,
    /// The one that is looked at.
    now: u32,
    /// One more than the last of its batch that it waits for; 0 if it waits for none.
    reach: u32,
    /// Where its edges begin.
    from: usize,
    /// For each, who was the last to wait for it.
    waited: Vec<u32>,
    waited_outside: SeededMap<Place, u32>,
}

impl<'a> Edges<'a> {
    pub(super) fn new(transactions: usize, live: &'a Live) -> Edges<'a> {
        Edges {
            inside: Vec::with_capacity(transactions),
            outside: Vec::new(),
            live,
            now: 0,
            reach: 0,
            from: 0,
            waited: vec![NONE; transactions],
            waited_outside: SeededMap::default(),
        }
    }

    pub(super) fn live(&self) -> &'a Live {
        self.live
    }

    /// From now on this one is looked at.
    #[inline]
    pub(super) fn begin(&mut self, index: u32) {
        self.now = index;
        self.reach = 0;
        self.from = self.inside.len();
    }

    /// It waits for this one.
    #[inline]
    pub(super) fn after(&mut self, before: u32) {
        let waited = &mut self.waited[before as usize];
        if *waited != self.now {
            *waited = self.now;
            self.inside.push((before, self.now));
            self.reach = self.reach.max(before + 1);
        }
    }

    /// It waits for this one of an earlier batch, unless that has ended.
    pub(super) fn after_place(&mut self, before: Place) {
        if self.live.runs(before) && self.waited_outside.insert(before, self.now) != Some(self.now)
        {
            self.outside.push((self.now, before));
        }
    }

    /// How many of its batch it waits for.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        (self.inside.len() - self.from) as u32
    }

    /// Whether it waits for this one of its batch, or for one after it.
    #[inline]
    pub(super) fn reaches(&self, index: u32) -> bool {
        self.reach > index
    }

    /// Whether somebody waits for this one.
    pub(super) fn is_awaited(&self, index: u32) -> bool {
        self.waited[index as usize] != NONE
    }
}
