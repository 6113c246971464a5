//! Bytes that are on their way from one task to another, and how many there are.

use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// So many bytes need no memory of their own.
const INLINE_MAX: usize = 30;

/// What a message costs besides its bytes: so that a flood of empty ones is bounded too.
pub(crate) const OVERHEAD: usize = 32;

/// The bytes of a message.
#[derive(Debug)]
pub(crate) enum Message {
    Inline(u8, [u8; INLINE_MAX]),
    Boxed(Box<[u8]>),
}

impl Message {
    #[inline]
    pub(crate) fn new(bytes: &[u8]) -> Message {
        if bytes.len() > INLINE_MAX {
            return Message::Boxed(bytes.into());
        }
        let mut inline = [0; INLINE_MAX];
        inline[..bytes.len()].copy_from_slice(bytes);
        Message::Inline(bytes.len() as u8, inline)
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Message::Inline(len, bytes) => &bytes[..usize::from(*len)],
            Message::Boxed(bytes) => bytes,
        }
    }

    /// What it counts in the program's limit.
    #[inline]
    pub(crate) fn weight(&self) -> usize {
        self.bytes().len() + OVERHEAD
    }
}

/// So much of something a program may have; so much it has.
#[derive(Debug)]
pub(crate) struct Allowance {
    used: AtomicUsize,
    limit: usize,
}

impl Allowance {
    pub(crate) fn new(limit: usize) -> Allowance {
        Allowance { used: AtomicUsize::new(0), limit }
    }

    /// Takes so much. False: that would be too much, and nothing was taken.
    #[inline]
    #[must_use = "what was taken must be given back"]
    pub(crate) fn take(&self, amount: usize) -> bool {
        let mut used = self.used.load(Relaxed);
        loop {
            let Some(next) = used.checked_add(amount).filter(|next| *next <= self.limit) else {
                return false;
            };
            match self.used.compare_exchange_weak(used, next, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => used = now,
            }
        }
    }

    #[inline]
    pub(crate) fn give_back(&self, amount: usize) {
        let was = self.used.fetch_sub(amount, Relaxed);
        debug_assert!(was >= amount, "gave back more than was taken");
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_messages_keep_their_bytes() {
        let long: Vec<u8> = (0..200).collect();
        for len in [0, 1, INLINE_MAX, INLINE_MAX + 1, 200] {
            let message = Message::new(&long[..len]);
            assert_eq!(message.bytes(), &long[..len]);
            assert_eq!(matches!(message, Message::Inline(..)), len <= INLINE_MAX);
            assert_eq!(message.weight(), len + OVERHEAD);
        }
        assert_eq!(size_of::<Message>(), 32);
    }

    #[test]
    fn no_more_is_taken_than_there_is() {
        let allowance = Allowance::new(10);
        assert!(allowance.take(7));
        assert!(!allowance.take(4));
        assert!(!allowance.take(usize::MAX));
        assert!(allowance.take(3));
        allowance.give_back(10);
        assert_eq!(allowance.used(), 0);
    }
}
