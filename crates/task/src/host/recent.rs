//! The channels that a task used last, so that it finds them without a lock.

use std::sync::Arc;

use crate::object::channel::Channel;

const SLOTS: usize = 4;

/// A slot for each, by the last bits of its id: channels that were opened together do not meet.
#[derive(Debug, Default)]
pub(crate) struct Recent([Option<Arc<Channel>>; SLOTS]);

impl Recent {
    #[inline]
    fn slot(id: u64) -> usize {
        id as usize % SLOTS
    }

    #[inline]
    pub(crate) fn find(&self, id: u64) -> Option<&Arc<Channel>> {
        self.0[Recent::slot(id)].as_ref().filter(|channel| channel.id == id)
    }

    pub(crate) fn keep(&mut self, channel: &Arc<Channel>) {
        self.0[Recent::slot(channel.id)] = Some(channel.clone());
    }

    /// It is of no use any more.
    pub(crate) fn forget(&mut self, id: u64) {
        self.0[Recent::slot(id)].take_if(|channel| channel.id == id);
    }
}
