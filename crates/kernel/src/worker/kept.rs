//! What happens to entries whose worker is kept from them, by a pause or by a turn that does not end.
//!
//! They lie on its deque, in its back line or in its inbox, and whoever runs dry comes for them. A
//! worker that never runs dry would not, and what has been waiting for longer than anything in its own
//! line would never start. So every few times that it goes to the line it looks at another worker, and if
//! that one is still kept the next time, it takes from there first. Those who have yielded do so on the new
//! worker from then on, and whoever is woken is woken there: each is fetched once. But a placement may
//! deal to the same inbox again and again, so there one is taken at a time, from each such worker in turn.

use crate::{entry::Entry, worker::Worker};

/// A worker that goes to the line looks at another one every so many times.
const ASIDE_EVERY: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 4 };

impl Worker {
    /// Another worker that is kept from what waits for it, if this is the time to look. It was so
    /// when we looked before: most that should end their turns are just about to.
    fn one_who_is_kept(&self) -> Option<usize> {
        let asides = self.asides.get();
        self.asides.set(asides.wrapping_add(1));
        let slots = &self.shared.slots;
        if slots.len() < 2 || !asides.is_multiple_of(ASIDE_EVERY) {
            return None;
        }
        if let Some((other, window)) = self.kept.get()
            && slots[other].kept_since() == Some(window)
        {
            return Some(other);
        }
        self.look_at_the_next();
        None
    }

    /// Looks at a worker that we may help the next time.
    fn look_at_the_next(&self) {
        let slots = &self.shared.slots;
        let other = (self.id + 1 + self.dice.borrow_mut().below(slots.len() - 1)) % slots.len();
        self.kept.set(slots[other].kept_since().map(|window| (other, window)));
    }

    /// A batch of what waits for such a worker. Our own deque is empty.
    pub(super) fn batch_of_one_who_is_kept(&self) -> Option<Entry> {
        let (queues, other) = (&self.shared.queues, self.one_who_is_kept()?);
        self.help(other, || {
            let back = queues.backs.get(other).and_then(|back| self.take_batch(back, usize::MAX));
            back.or_else(|| self.take_half(queues.stealers.get(other)?))
        })
    }

    /// The first of what waits for such a worker. Something may lie on our own deque.
    pub(super) fn entry_of_one_who_is_kept(&self) -> Option<Entry> {
        let (queues, other) = (&self.shared.queues, self.one_who_is_kept()?);
        self.help(other, || {
            let back = queues.backs.get(other).and_then(|back| back.pop());
            back.or_else(|| queues.stealers.get(other)?.steal())
        })
    }

    /// Takes what is `near` that worker, or the first of its inbox: now the one goes first, now the
    /// other, since either may be filled for ever.
    fn help(&self, other: usize, near: impl FnOnce() -> Option<Entry>) -> Option<Entry> {
        let inboxes = &self.shared.queues.inboxes;
        let inbox = || inboxes.get(other)?.pop();
        let near_first = (self.asides.get() / ASIDE_EVERY).is_multiple_of(2);
        let entry = if near_first { near().or_else(inbox) } else { inbox().or_else(near) };
        if let Some(entry) = &entry {
            self.note_steal(other, entry);
        }
        if entry.is_none() || !inboxes.is_empty() {
            self.look_at_the_next();
        }
        entry
    }
}
