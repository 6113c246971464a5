//! The channels that a task used last, so that it finds them without a lock.

use std::sync::Arc;

use crate::object::channel::Channel;

const SLOTS: usize = 4;

/// A slot for each, by the last bits of its id: channels that were opened together do not meet. Who
/// uses one takes it out and puts it back, so that it is not counted up and down each time.
#[derive(Debug, Default)]
pub(crate) struct Recent([Option<Arc<Channel>>; SLOTS]);

impl Recent {
    #[inline]
    pub(crate) fn take(&mut self, id: u64) -> Option<Arc<Channel>> {
        self.0[id as usize % SLOTS].take_if(|channel| channel.id == id)
    }

    #[inline]
    pub(crate) fn put(&mut self, channel: Arc<Channel>) {
        let slot = &mut self.0[channel.id as usize % SLOTS];
        *slot = Some(channel);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_taken_until_another_takes_its_slot() {
        let mut recent = Recent::default();
        let channel = |id| Arc::new(Channel::new(id, 0));
        (0..SLOTS as u64).for_each(|id| recent.put(channel(id)));
        assert!((0..SLOTS as u64).all(|id| recent.take(id).is_some()));
        assert!(recent.take(1).is_none(), "it is taken out");
        recent.put(channel(1));
        recent.put(channel(1 + SLOTS as u64));
        assert!(recent.take(1).is_none());
        assert!(recent.take(1 + SLOTS as u64).is_some());
    }
}
