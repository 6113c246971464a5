//! The way into a mailbox: a stack of nodes that many push on, and one takes as a whole.
//!
//! ```text
//!   word   63........16 15.....0        EMPTY   0 | 0
//!          newest node  how many        CLOSED  1 | 0
//! ```
//!
//! 1. Whoever takes gets all nodes at once, and turns them round: the order in which they were
//!    pushed.
//! 2. Pushing on a stack that was not empty needs no wake: whoever pushed the first node of those
//!    that lie there wakes, and the turn it asks for takes them all.
//! 3. Once CLOSED nothing is pushed any more; who tries gets it back.
//!
//! Ordering: a push releases, a take acquires. Both are read-modify-writes of one word, so a take
//! sees all that was written before each of the pushes it takes. The count shares the word so that
//! a bound needs no counter of its own; it stops at its maximum, for boxes without a bound.

use std::{marker::PhantomData, ptr};

use super::chain::{Chain, Node};
use crate::sync::{
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    back_off,
};

const COUNT_BITS: u32 = 16;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const EMPTY: u64 = 0;
const CLOSED: u64 = 1 << COUNT_BITS;

/// Why something was not pushed.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Refused {
    Full,
    Closed,
}

/// Whether the pusher must see to it that the stack is looked at.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use = "a stack that nobody is told of is never looked at"]
pub(crate) enum Pushed {
    First,
    Later,
}

#[repr(transparent)]
pub(crate) struct Stack<T> {
    word: AtomicU64,
    items: PhantomData<T>,
}

// SAFETY: items are moved from thread to thread, and never shared.
unsafe impl<T: Send> Send for Stack<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Stack<T> {}

fn node_of<T>(word: u64) -> *mut Node<T> {
    ptr::with_exposed_provenance_mut((word >> COUNT_BITS) as usize)
}

fn word_of<T>(node: *mut Node<T>, count: u64) -> u64 {
    (node.expose_provenance() as u64) << COUNT_BITS | count.min(COUNT)
}

impl<T> Stack<T> {
    pub(crate) fn new() -> Stack<T> {
        Stack { word: AtomicU64::new(EMPTY), items: PhantomData }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.word.load(Relaxed) == EMPTY
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.word.load(Relaxed) == CLOSED
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        (self.word.load(Relaxed) & COUNT) as u32
    }

    /// Pushes one item, if there are fewer than `room` on the stack.
    ///
    /// # Errors
    /// Why not, and the item.
    #[inline]
    pub(crate) fn push(&self, item: T, room: u32) -> Result<Pushed, (Refused, T)> {
        let word = self.word.load(Relaxed);
        if let Some(refused) = refuses(word, 1, room) {
            return Err((refused, item));
        }
        let node = Node::alone(item);
        // SAFETY: the node is ours until it is pushed.
        unsafe { self.push_chain(node, node, 1, room) }.map_err(|refused| {
            // SAFETY: it was not pushed, so it is still ours, and from a box.
            (refused, unsafe { Box::from_raw(node) }.item)
        })
    }

    /// Pushes nodes that are linked from `newest` to `oldest`, if there is room for all.
    ///
    /// # Safety
    /// The nodes are the caller's, each from a box; they stay so if they are refused.
    #[inline]
    pub(crate) unsafe fn push_chain(
        &self,
        newest: *mut Node<T>,
        oldest: *mut Node<T>,
        count: u32,
        room: u32,
    ) -> Result<Pushed, Refused> {
        let mut word = self.word.load(Relaxed);
        loop {
            if let Some(refused) = refuses(word, count, room) {
                return Err(refused);
            }
            // SAFETY: by the caller's promise; nobody else sees it before the exchange below.
            unsafe { (*oldest).next = node_of(word) };
            let to = word_of(newest, (word & COUNT) + u64::from(count));
            match self.word.compare_exchange_weak(word, to, Release, Relaxed) {
                Ok(EMPTY) => return Ok(Pushed::First),
                Ok(_) => return Ok(Pushed::Later),
                Err(_) => {
                    back_off();
                    word = self.word.load(Relaxed);
                }
            }
        }
    }

    /// Takes all there is, the oldest first. For the one who reads.
    #[inline]
    pub(crate) fn take(&self) -> Chain<T> {
        if self.is_empty() || self.is_closed() {
            return Chain::EMPTY;
        }
        turned(self.word.swap(EMPTY, Acquire))
    }

    /// Takes all there is, and lets nothing more in. For the one who reads.
    pub(crate) fn close(&self) -> Chain<T> {
        match self.word.swap(CLOSED, Acquire) {
            EMPTY | CLOSED => Chain::EMPTY,
            word => turned(word),
        }
    }
}

#[inline]
fn refuses(word: u64, count: u32, room: u32) -> Option<Refused> {
    if word == CLOSED {
        Some(Refused::Closed)
    } else if (word & COUNT) as u32 + count > room {
        Some(Refused::Full)
    } else {
        None
    }
}

/// The nodes of a word that was taken, the oldest first.
#[inline]
fn turned<T>(word: u64) -> Chain<T> {
    let tail = node_of::<T>(word);
    let mut head = ptr::null_mut();
    let mut node = tail;
    let mut len = 0;
    while !node.is_null() {
        // SAFETY: whoever took the word owns its nodes, and the take acquired what is in them.
        let next = unsafe { (*node).next };
        // SAFETY: as above.
        unsafe { (*node).next = head };
        head = node;
        node = next;
        len += 1;
    }
    Chain { head, tail, len }
}

impl<T> Drop for Stack<T> {
    fn drop(&mut self) {
        let mut node = self.take().head;
        while !node.is_null() {
            // SAFETY: taken, so ours, and from a box.
            let boxed = unsafe { Box::from_raw(node) };
            node = boxed.next;
        }
    }
}
