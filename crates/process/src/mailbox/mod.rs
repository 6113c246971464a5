//! A mailbox: who may put a message where, and in which order they are read.
//!
//! ```text
//!   idle process      sender ──► slot ─────────────┐
//!   any other state   senders ─► stack of nodes ───┤ at the start of a turn
//!                                                  ▼
//!                     turn:  slot, then backlog ──► receive
//! ```
//!
//! The **slot** holds one message in place. It is written by whoever queues the idle strand
//! (`wake_with`) or claims it (`hand_off_with`): that one owns it until the next turn begins. All
//! other messages are nodes on the **stack**. The **backlog** belongs to the turns.
//!
//! 1. Outside of turns of an idle strand the slot is empty: every turn ends with an empty slot.
//! 2. Every turn begins with [`settle`](Mailbox::settle), which moves all that was sent before into
//!    the order slot, backlog. Mid-turn nothing is put into the slot, since the strand runs.
//! 3. Who is first on an empty stack wakes the strand; who comes later need not (rule 2 of
//!    [`stack`]).
//!
//! **Order per pair.** Let one sender send `a`, then `b`. If `a` went to the slot, it is read before
//! the stack, and `b` can not go to the slot before the turn that reads `a` has begun: `a` first.
//! If `a` went to the stack and `b` to the stack, the stack keeps their order. If `a` went to the
//! stack and `b` would go to the slot, its sender owns the slot and looks at the stack first: if
//! `a` is still there it pushes `b` as well. If it is not, a turn has taken `a` to the backlog, and
//! since rule 2 puts what it finds in the slot behind an older backlog, `a` comes first. Whoever has
//! claimed the strand and sends once more puts the slot's message and its own behind the backlog,
//! unless something lies on the stack: then it goes there as well.
//!
//! Ordering: see [`stack`] for nodes. The slot is written before the strand's entry is pushed, or
//! under a claim, and read in the turn that follows. A claim may find a filler still at work:
//! `full` is released by it last, and acquired by the turn that reads the slot.

pub(crate) mod stack;

use std::{
    mem::{self, ManuallyDrop, MaybeUninit},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
};

use crossbeam_queue::ArrayQueue;

use crate::sync::{
    UnsafeCell,
    atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
};
use stack::{Chain, Node, Pushed, Refused, Stack};

/// The largest message, in bytes, that a mailbox holds in place while its process is idle.
pub(crate) const SLOT: usize = 32;

type Bytes = MaybeUninit<[u64; SLOT / 8]>;

/// The first and the last node of the backlog; its length is beside it.
struct Ends<M>(*mut Node<M>, *mut Node<M>);

/// Where messages lie. What is known of them is in a [`Gauge`] beside it.
pub(crate) struct Store<M> {
    slot: UnsafeCell<Bytes>,
    /// Where messages wait instead of on the stack, if the oldest is to be dropped when it is full.
    ring: Option<Box<Ring<M>>>,
    backlog: UnsafeCell<Ends<M>>,
    /// The length of the backlog; those who may not look at it may read this.
    waiting: AtomicU32,
    /// A moving average of the length of the process's turns; 0 before one was timed.
    pub(crate) average: AtomicU32,
}

/// What is known of a mailbox without the type of its messages, and the flags of its process.
pub(crate) struct Gauge {
    /// How many messages may wait; 0 for no bound.
    bound: u16,
    /// The slot holds a message.
    full: AtomicBool,
    pub(crate) flags: AtomicU8,
}

impl Gauge {
    /// For so many messages; 0 for no bound.
    pub(crate) fn new(bound: u16, flags: u8) -> Gauge {
        Gauge { bound, full: AtomicBool::new(false), flags: AtomicU8::new(flags) }
    }
}

/// The way in, before the type of messages is known.
#[repr(transparent)]
pub(crate) struct Inbox(ManuallyDrop<Stack<Untyped>>);

/// Stands for a type of messages.
pub(crate) struct Untyped;

impl Inbox {
    pub(crate) fn new() -> Inbox {
        Inbox(ManuallyDrop::new(Stack::new()))
    }

    /// The stack of a mailbox for messages of type `M`.
    ///
    /// # Safety
    /// It is always called with the same `M`.
    #[inline]
    pub(crate) unsafe fn of<M>(&self) -> &Stack<M> {
        // SAFETY: a stack is one word, whatever it holds (`repr(transparent)`); all nodes on this
        // one are of the caller's type.
        unsafe { &*ptr::from_ref(self).cast::<Stack<M>>() }
    }
}

/// A mailbox: what senders write to, what is known, and where messages lie. Senders and the
/// reader write to different cache lines.
pub(crate) struct Mailbox<'a, M> {
    pub(crate) gauge: &'a Gauge,
    pub(crate) stack: &'a Stack<M>,
    pub(crate) store: &'a Store<M>,
}

/// A mailbox that drops its oldest message for a new one.
struct Ring<M> {
    messages: ArrayQueue<M>,
    dropped: AtomicU64,
}

// SAFETY: messages are moved from thread to thread; the slot and the backlog are each touched by
// one thread at a time, by rules 1 and 2 and the promises of those who call the unsafe functions.
unsafe impl<M: Send> Sync for Store<M> {}
// SAFETY: as above.
unsafe impl<M: Send> Send for Store<M> {}

impl<M> Store<M> {
    /// A store that drops the oldest of so many messages when it is full, or never drops any.
    pub(crate) fn new(drops_above: Option<usize>) -> Store<M> {
        let ring = |bound| {
            let messages = ArrayQueue::new(bound);
            Box::new(Ring { messages, dropped: AtomicU64::new(0) })
        };
        Store {
            slot: UnsafeCell::new(MaybeUninit::uninit()),
            ring: drops_above.map(ring),
            backlog: UnsafeCell::new(Ends(ptr::null_mut(), ptr::null_mut())),
            waiting: AtomicU32::new(0),
            average: AtomicU32::new(0),
        }
    }
}

impl<M: Send> Mailbox<'_, M> {
    const FITS: bool = mem::size_of::<M>() <= SLOT && mem::align_of::<M>() <= 8;

    pub(crate) fn is_closed(&self) -> bool {
        self.stack.is_closed()
    }

    /// Whether messages go to the slot and the stack.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.store.ring.is_none()
    }

    /// How many messages were dropped for newer ones.
    pub(crate) fn dropped(&self) -> u64 {
        self.store.ring.as_ref().map_or(0, |ring| ring.dropped.load(Relaxed))
    }

    /// How many messages may wait; `u32::MAX` for no bound.
    #[inline]
    pub(crate) fn bound(&self) -> u32 {
        if self.gauge.bound == 0 { u32::MAX } else { self.gauge.bound.into() }
    }

    /// How many messages wait; it may be another number the next moment.
    pub(crate) fn len(&self) -> u32 {
        let slot = u32::from(self.gauge.full.load(Relaxed));
        let ring = self.store.ring.as_ref().map_or(0, |ring| ring.messages.len() as u32);
        self.stack.len() + self.store.waiting.load(Relaxed) + slot + ring
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether anything has come since the last turn.
    pub(crate) fn has_arrivals(&self) -> bool {
        self.gauge.full.load(Relaxed)
            || !self.stack.is_empty()
            || self.store.ring.as_ref().is_some_and(|ring| !ring.messages.is_empty())
    }

    /// How many more nodes the stack may have than it may have now.
    #[inline]
    fn room(&self) -> u32 {
        match self.bound() {
            // Not even looked at: the reader writes to it.
            u32::MAX => u32::MAX,
            bound => {
                let slot = u32::from(self.gauge.full.load(Relaxed));
                bound.saturating_sub(self.store.waiting.load(Relaxed) + slot)
            }
        }
    }

    /// Whether a sender would be refused.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.stack.len() >= self.room()
    }

    /// Puts a message on the stack.
    ///
    /// # Errors
    /// Why not, and the message.
    #[inline]
    pub(crate) fn push(&self, message: M) -> Result<Pushed, (Refused, M)> {
        match &self.store.ring {
            None => self.stack.push(message, self.room()),
            Some(ring) => self.push_on_ring(ring, message),
        }
    }

    /// Puts a message in whatever the bound says. False: it is closed, and the message dropped.
    pub(crate) fn push_late(&self, message: M) -> bool {
        match &self.store.ring {
            None => self.stack.push(message, u32::MAX).is_ok(),
            Some(ring) => self.push_on_ring(ring, message).is_ok(),
        }
    }

    #[cold]
    fn push_on_ring(&self, ring: &Ring<M>, message: M) -> Result<Pushed, (Refused, M)> {
        if self.stack.is_closed() {
            return Err((Refused::Closed, message));
        }
        let oldest = ring.messages.force_push(message);
        if oldest.is_some() {
            ring.dropped.fetch_add(1, Relaxed);
        }
        // Pairs with the fence in `close`: it finds the message, or we find it closed.
        fence(SeqCst);
        if self.stack.is_closed() {
            while ring.messages.pop().is_some() {}
        }
        // The reader takes from the ring one by one, so each push calls for a turn.
        Ok(Pushed::First)
    }

    /// Puts a chain on the stack, from `newest` to `oldest`.
    ///
    /// # Safety
    /// As for [`Stack::push_chain`].
    pub(crate) unsafe fn push_chain(
        &self,
        newest: *mut Node<M>,
        oldest: *mut Node<M>,
        count: u32,
    ) -> Result<Pushed, Refused> {
        // SAFETY: by the caller's promise.
        unsafe { self.stack.push_chain(newest, oldest, count, self.room()) }
    }

    /// How many messages a sender may push at once.
    pub(crate) fn free(&self) -> u32 {
        self.room().saturating_sub(self.stack.len())
    }

    /// Whether whoever was putting something into the slot is done. The turn that reads it acquires.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.gauge.full.load(Relaxed)
    }

    /// Leaves a message where the next turn finds it, whatever the bound says: the caller has asked
    /// before. No wake is owed.
    ///
    /// # Safety
    /// The caller has just queued or claimed the strand, and is in `wake_with` or
    /// `hand_off_with`.
    #[inline]
    pub(crate) unsafe fn leave(&self, message: M) {
        if Self::FITS && !self.gauge.full.load(Relaxed) && self.stack.is_empty() {
            self.store.slot.with_mut(|slot| {
                // SAFETY: the slot is ours by the caller's promise, it is empty, and `M` fits.
                unsafe { slot.cast::<M>().write(message) };
            });
            self.gauge.full.store(true, Release);
        } else {
            // A process that is queued or claimed has not exited, so its stack is open.
            let _ = self.stack.push(message, u32::MAX);
        }
    }

    /// Leaves a further message with a strand that the caller has claimed: behind what is there.
    ///
    /// # Safety
    /// The caller has claimed the strand, and its turn has not begun.
    #[inline]
    pub(crate) unsafe fn leave_more(&self, message: M) {
        if !self.stack.is_empty() {
            // Some of ours may be among them.
            let _ = self.stack.push(message, u32::MAX);
            return;
        }
        let full = Self::FITS && self.gauge.full.load(Acquire);
        // SAFETY: by the caller's promise nobody else touches the slot and the backlog.
        unsafe {
            self.with_backlog(|backlog| {
                if full {
                    push_back(backlog, new_node(self.empty_slot()));
                }
                push_back(backlog, new_node(message));
            });
        }
    }

    /// The start of a turn: everything into its order.
    ///
    /// # Safety
    /// The caller holds the strand's turn, here and for all functions below.
    #[inline]
    pub(crate) unsafe fn settle(&self) {
        let spill = self.store.waiting.load(Relaxed) != 0 && self.gauge.full.load(Acquire);
        if !spill && self.stack.is_empty() {
            return;
        }
        // SAFETY: by the caller's promise, also that the slot is full.
        unsafe {
            self.with_backlog(|backlog| {
                if spill {
                    push_back(backlog, new_node(self.empty_slot()));
                }
                append(backlog, self.stack.take());
            });
        }
    }

    /// Calls `user` with the backlog.
    ///
    /// # Safety
    /// As for `settle`.
    #[inline]
    unsafe fn with_backlog<R>(&self, user: impl FnOnce(&mut Chain<M>) -> R) -> R {
        self.store.backlog.with_mut(|ends| {
            // SAFETY: by the caller's promise nobody else touches it.
            let ends = unsafe { &mut *ends };
            let mut chain =
                Chain { head: ends.0, tail: ends.1, len: self.store.waiting.load(Relaxed) };
            let result = user(&mut chain);
            *ends = Ends(chain.head, chain.tail);
            self.store.waiting.store(chain.len, Relaxed);
            result
        })
    }

    /// The next message.
    ///
    /// # Safety
    /// As for `settle`.
    #[inline]
    pub(crate) unsafe fn take(&self) -> Option<M> {
        if Self::FITS && self.gauge.full.load(Acquire) {
            // SAFETY: by the caller's promise, and the slot is full.
            return Some(unsafe { self.empty_slot() });
        }
        if self.store.waiting.load(Relaxed) == 0 && self.stack.is_empty() {
            return self.store.ring.as_ref().and_then(|ring| ring.messages.pop());
        }
        let take = |backlog: &mut Chain<M>| {
            if backlog.len == 0 {
                *backlog = self.stack.take();
            }
            pop_front(backlog)
        };
        // SAFETY: by the caller's promise; a node of the backlog is ours, and from a box.
        unsafe { Some(Box::from_raw(self.with_backlog(take)?).item) }
    }

    /// The first message that `wanted` gives something for; the others stay, in order.
    ///
    /// # Safety
    /// As for `settle`.
    pub(crate) unsafe fn take_if(&self, mut wanted: impl FnMut(&M) -> bool) -> Option<M> {
        // SAFETY: by the caller's promise.
        unsafe { self.unsettle() };
        let mut excess = Chain::EMPTY;
        let mut find = |backlog: &mut Chain<M>| {
            append(backlog, self.stack.take());
            if let Some(ring) = &self.store.ring {
                while let Some(message) = ring.messages.pop() {
                    push_back(backlog, new_node(message));
                }
                while backlog.len > self.bound() {
                    ring.dropped.fetch_add(1, Relaxed);
                    if let Some(node) = pop_front(backlog) {
                        // SAFETY: it is in no list any more, and ours.
                        unsafe { (*node).next = ptr::null_mut() };
                        push_back(&mut excess, node);
                    }
                }
            }
            let mut before: *mut Node<M> = ptr::null_mut();
            let mut node = backlog.head;
            while !node.is_null() {
                // SAFETY: nodes of the backlog are ours.
                let (fits, next) = unsafe { (wanted(&(*node).item), (*node).next) };
                if fits {
                    unlink(backlog, before, node);
                    return Some(node);
                }
                before = node;
                node = next;
            }
            None
        };
        // What `wanted` does is the user's: if it panics, the backlog must be whole.
        // SAFETY: by the caller's promise.
        let found = unsafe {
            self.with_backlog(|backlog| catch_unwind(AssertUnwindSafe(|| find(backlog))))
        };
        drop_chain(excess);
        match found {
            // SAFETY: it is in no list any more, and from a box.
            Ok(node) => node.map(|node| unsafe { Box::from_raw(node) }.item),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The end of a turn: the slot must be empty for whoever comes.
    ///
    /// # Safety
    /// As for `settle`.
    #[inline]
    pub(crate) unsafe fn unsettle(&self) {
        if !Self::FITS || !self.gauge.full.load(Relaxed) {
            return;
        }
        // SAFETY: by the caller's promise, and the slot is full.
        let node = new_node(unsafe { self.empty_slot() });
        // SAFETY: by the caller's promise.
        unsafe { self.with_backlog(|backlog| push_front(backlog, node)) };
    }

    /// Lets nothing more in, and drops what is there. Returns how many there were.
    ///
    /// # Safety
    /// As for `settle`.
    pub(crate) unsafe fn close(&self) -> u32 {
        // SAFETY: by the caller's promise.
        unsafe { self.unsettle() };
        let last = self.stack.close();
        fence(SeqCst);
        // SAFETY: by the caller's promise.
        let backlog = unsafe { self.with_backlog(|chain| mem::replace(chain, Chain::EMPTY)) };
        let mut count = drop_chain(backlog) + drop_chain(last);
        while let Some(message) = self.store.ring.as_ref().and_then(|ring| ring.messages.pop()) {
            count += 1;
            let _ = catch_unwind(AssertUnwindSafe(|| drop(message)));
        }
        count
    }

    /// # Safety
    /// As for `settle`, and the slot is full.
    #[inline]
    unsafe fn empty_slot(&self) -> M {
        let message = self.store.slot.with_mut(|slot| {
            // SAFETY: by the caller's promise there is a message, and nobody else touches it.
            unsafe { slot.cast::<M>().read() }
        });
        self.gauge.full.store(false, Relaxed);
        message
    }
}

impl<M> Mailbox<'_, M> {
    /// Drops what is left in a mailbox that was never closed: its process never ran.
    ///
    /// # Safety
    /// Nobody else touches it any more, and nobody does afterwards.
    pub(crate) unsafe fn empty(&self) {
        let mut left = self.stack.take();
        while left.pop().is_some() {}
        let mut node = self.store.backlog.with_mut(|ends| {
            // SAFETY: by the caller's promise.
            unsafe { (*ends).0 }
        });
        while !node.is_null() {
            // SAFETY: nodes of the backlog are ours, each from a box.
            let boxed = unsafe { Box::from_raw(node) };
            node = boxed.next;
        }
        if self.gauge.full.load(Relaxed) {
            // SAFETY: the slot is full, and we are the last.
            self.store.slot.with_mut(|slot| unsafe { slot.cast::<M>().drop_in_place() });
        }
    }
}

/// Drops all messages of a chain, and counts them. One whose drop panics must not keep the rest.
fn drop_chain<M>(mut chain: Chain<M>) -> u32 {
    let mut count = 0;
    while let Some(node) = pop_front(&mut chain) {
        count += 1;
        // SAFETY: the chain is the caller's, each node from a box.
        let message = unsafe { Box::from_raw(node) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(message)));
    }
    count
}

pub(crate) fn new_node<M>(item: M) -> *mut Node<M> {
    Box::into_raw(Box::new(Node { next: ptr::null_mut(), item }))
}

fn push_back<M>(chain: &mut Chain<M>, node: *mut Node<M>) {
    append(chain, Chain { head: node, tail: node, len: 1 });
}

fn append<M>(chain: &mut Chain<M>, more: Chain<M>) {
    if more.len == 0 {
        return;
    }
    if chain.len == 0 {
        *chain = more;
        return;
    }
    // SAFETY: a chain that is not empty has a tail, and it is the caller's.
    unsafe { (*chain.tail).next = more.head };
    chain.tail = more.tail;
    chain.len += more.len;
}

fn push_front<M>(chain: &mut Chain<M>, node: *mut Node<M>) {
    // SAFETY: the node is the caller's.
    unsafe { (*node).next = chain.head };
    if chain.len == 0 {
        chain.tail = node;
    }
    chain.head = node;
    chain.len += 1;
}

#[inline]
fn pop_front<M>(chain: &mut Chain<M>) -> Option<*mut Node<M>> {
    if chain.len == 0 {
        return None;
    }
    let node = chain.head;
    // SAFETY: a chain that is not empty has a head, and it is the caller's.
    chain.head = unsafe { (*node).next };
    chain.len -= 1;
    if chain.len == 0 {
        chain.head = ptr::null_mut();
    }
    Some(node)
}

/// Takes `node`, which follows `before` (or is the head), out of the chain.
fn unlink<M>(chain: &mut Chain<M>, before: *mut Node<M>, node: *mut Node<M>) {
    // SAFETY: both are nodes of the caller's chain.
    let next = unsafe { (*node).next };
    if before.is_null() {
        chain.head = next;
    } else {
        // SAFETY: as above.
        unsafe { (*before).next = next };
    }
    if next.is_null() {
        chain.tail = before;
    }
    chain.len -= 1;
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

#[cfg(all(test, loom))]
mod models;
