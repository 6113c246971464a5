//! The jobs with chosen ids: those that have not ended, and the last of those that have.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use crate::{
    graph::{Core, cell::Fate},
    id::JobId,
};

/// So many jobs with chosen ids are remembered after their end.
pub const REMEMBERED_MAX: usize = 65_536;

#[derive(Default)]
pub(crate) struct Registry {
    live: HashMap<JobId, (Arc<Core>, u32)>,
    /// Ids of a batch that is just being submitted.
    reserved: HashSet<JobId>,
    /// Those that ended: how, if not well.
    ended: HashMap<JobId, Option<Fate>>,
    /// In the order in which they ended.
    order: VecDeque<JobId>,
}

/// What a chosen id names.
pub(crate) enum Known {
    Live(Arc<Core>, u32),
    Ended(Option<Fate>),
}

impl Registry {
    pub(crate) fn find(&self, id: JobId) -> Option<Known> {
        if let Some((core, index)) = self.live.get(&id) {
            return Some(Known::Live(core.clone(), *index));
        }
        self.ended.get(&id).cloned().map(Known::Ended)
    }

    /// Reserves ids for a batch, unless one of them is taken: that one is returned.
    pub(crate) fn reserve(&mut self, ids: &[(u32, JobId)]) -> Result<(), JobId> {
        let taken = |id: &JobId| {
            self.live.contains_key(id) || self.ended.contains_key(id) || self.reserved.contains(id)
        };
        if let Some((_, id)) = ids.iter().find(|(_, id)| taken(id)) {
            return Err(*id);
        }
        self.reserved.extend(ids.iter().map(|(_, id)| *id));
        Ok(())
    }

    pub(crate) fn enter(&mut self, core: &Arc<Core>) {
        for (index, id) in core.chosen() {
            self.reserved.remove(id);
            self.live.insert(*id, (core.clone(), *index));
        }
    }

    /// The batch has ended. Returns what it was known by, to be dropped without the lock.
    pub(crate) fn retire(&mut self, core: &Core) -> Vec<Arc<Core>> {
        let mut left = Vec::new();
        for (index, id) in core.chosen() {
            left.extend(self.live.remove(id).map(|(core, _)| core));
            self.ended.insert(*id, core.fate(*index));
            self.order.push_back(*id);
            if self.order.len() > REMEMBERED_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.ended.remove(&oldest);
            }
        }
        left
    }
}
