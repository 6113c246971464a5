//! Nodes in the order they are to be read: a list with both ends and its length.
//!
//! A chain that is not empty has a head and a tail, and the tail's `next` is null. Whoever has the
//! chain owns its nodes, each from a box; a chain that is simply let go leaks them.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

pub(crate) struct Node<T> {
    pub(crate) next: *mut Node<T>,
    pub(crate) item: T,
}

impl<T> Node<T> {
    /// A node that is in no list.
    pub(crate) fn alone(item: T) -> *mut Node<T> {
        Box::into_raw(Box::new(Node { next: ptr::null_mut(), item }))
    }
}

/// Nodes in the order they are to be read.
pub(crate) struct Chain<T> {
    pub(crate) head: *mut Node<T>,
    pub(crate) tail: *mut Node<T>,
    pub(crate) len: u32,
}

impl<T> Chain<T> {
    pub(crate) const EMPTY: Chain<T> =
        Chain { head: ptr::null_mut(), tail: ptr::null_mut(), len: 0 };

    /// The first item.
    pub(crate) fn pop(&mut self) -> Option<T> {
        // SAFETY: the nodes of a chain are its owner's, each from a box.
        self.pop_node().map(|node| unsafe { Box::from_raw(node) }.item)
    }

    /// The first node, which is the caller's from now on.
    #[inline]
    pub(crate) fn pop_node(&mut self) -> Option<*mut Node<T>> {
        if self.len == 0 {
            return None;
        }
        let node = self.head;
        // SAFETY: a chain that is not empty has a head, and it is ours.
        self.head = unsafe { (*node).next };
        self.len -= 1;
        Some(node)
    }

    /// Puts a node, which the caller gives away, before all others.
    pub(crate) fn push_front(&mut self, node: *mut Node<T>) {
        // SAFETY: the node is ours.
        unsafe { (*node).next = self.head };
        if self.len == 0 {
            self.tail = node;
        }
        self.head = node;
        self.len += 1;
    }

    /// Puts a node, which the caller gives away, behind all others.
    pub(crate) fn push_back(&mut self, node: *mut Node<T>) {
        // SAFETY: the node is ours. It may have been in another list.
        unsafe { (*node).next = ptr::null_mut() };
        self.append(Chain { head: node, tail: node, len: 1 });
    }

    /// Puts another chain behind this one.
    #[inline]
    pub(crate) fn append(&mut self, more: Chain<T>) {
        if more.len == 0 {
            return;
        }
        if self.len == 0 {
            *self = more;
            return;
        }
        // SAFETY: a chain that is not empty has a tail, and it is ours.
        unsafe { (*self.tail).next = more.head };
        self.tail = more.tail;
        self.len += more.len;
    }

    /// Takes out the first node whose item is `wanted`; it is the caller's from now on. The others
    /// stay, in order, also if `wanted` panics.
    pub(crate) fn take_first(
        &mut self,
        mut wanted: impl FnMut(&T) -> bool,
    ) -> Option<*mut Node<T>> {
        let mut before: *mut Node<T> = ptr::null_mut();
        let mut node = self.head;
        for _ in 0..self.len {
            // SAFETY: nodes of the chain are ours.
            let (fits, next) = unsafe { (wanted(&(*node).item), (*node).next) };
            if fits {
                self.unlink(before, node);
                return Some(node);
            }
            before = node;
            node = next;
        }
        None
    }

    /// Takes `node`, which follows `before` (or is the head), out of the chain.
    fn unlink(&mut self, before: *mut Node<T>, node: *mut Node<T>) {
        // SAFETY: both are nodes of the chain.
        let next = unsafe { (*node).next };
        if before.is_null() {
            self.head = next;
        } else {
            // SAFETY: as above.
            unsafe { (*before).next = next };
        }
        if next.is_null() {
            self.tail = before;
        }
        self.len -= 1;
    }

    /// Drops all items, and counts them. One whose drop panics must not keep the rest.
    pub(crate) fn drop_all(mut self) -> u32 {
        let mut count = 0;
        while let Some(node) = self.pop_node() {
            count += 1;
            // SAFETY: the node is ours, and from a box.
            let item = unsafe { Box::from_raw(node) };
            let _ = catch_unwind(AssertUnwindSafe(|| drop(item)));
        }
        count
    }
}
