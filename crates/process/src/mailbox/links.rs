//! Messages on their way into a mailbox together: what they are as long as nobody else has them.
//!
//! Each node points to the one before it, as on the stack, and each is from a box. Whoever lets them go
//! without pushing them drops them.

use std::mem::ManuallyDrop;

use super::{Mailbox, chain::Node, stack::Pushed};

pub(crate) struct Links<M> {
    newest: *mut Node<M>,
    oldest: *mut Node<M>,
    count: u32,
}

impl<M> Links<M> {
    pub(crate) fn of(first: M) -> Links<M> {
        let node = Node::alone(first);
        Links { newest: node, oldest: node, count: 1 }
    }

    pub(crate) fn push(&mut self, message: M) {
        let node = Node::alone(message);
        // SAFETY: the node is ours.
        unsafe { (*node).next = self.newest };
        self.newest = node;
        self.count += 1;
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Puts all of them into the mailbox.
    ///
    /// # Errors
    /// They come back, if there is no room or it is closed.
    pub(crate) fn push_on(self, mail: &Mailbox<'_, M>) -> Result<Pushed, Links<M>>
    where
        M: Send,
    {
        let links = ManuallyDrop::new(self);
        // SAFETY: the chain is ours, each node from a box; pushed, it is not used any more.
        let pushed = unsafe { mail.push_chain(links.newest, links.oldest, links.count) };
        pushed.map_err(|_| ManuallyDrop::into_inner(links))
    }

    /// The oldest first.
    #[cold]
    pub(crate) fn into_messages(mut self) -> Vec<M> {
        let mut messages = Vec::with_capacity(self.count as usize);
        messages.extend(std::iter::from_fn(|| self.pop()));
        messages.reverse();
        messages
    }

    /// The newest.
    fn pop(&mut self) -> Option<M> {
        self.count = self.count.checked_sub(1)?;
        // SAFETY: there are so many nodes, each ours and from a box.
        let node = unsafe { Box::from_raw(self.newest) };
        self.newest = node.next;
        Some(node.item)
    }
}

impl<M> Drop for Links<M> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
