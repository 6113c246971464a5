//! Whom is it meant for, what lies on a worker's own deque?
//!
//! ```text
//!   0: as usual     1: for others     2 and more: for its owner, who counts up while it comes to it
//! ```
//!
//! What its owner keeps others do not take, nor do they stay awake for it. That is for work in very
//! small pieces, where to fetch one takes longer than to run it. It would strand what waits there if
//! the owner were stuck in one of them; so the owner says it again with each piece, and where the
//! monitor has not seen that since its last look, it is as usual again, and somebody is called.
//!
//! One that pauses comes to nothing, so it keeps nothing.
//!
//! Ordering: all accesses are relaxed. Nothing relies on them for being right but by the monitor's
//! looks, which come for as long as a worker is in a turn and something waits. Where workers have
//! inboxes the monitor may nap for longer beside a turn, and nothing is kept.

use crate::sync::atomic::{AtomicU32, Ordering::Relaxed};

const USUAL: u32 = 0;
const EAGER: u32 = 1;
const KEPT: u32 = 2;

/// Whom what a worker leaves on its own deque is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Share {
    /// For whoever has nothing to do; a few entries that were made a moment ago are left alone for some
    /// microseconds, since they come cheaper as part of more.
    Usual,
    /// For others: whoever has nothing to do takes it at once.
    Eager,
    /// For this worker alone, as long as it says so again and again.
    Kept,
}

#[derive(Default)]
pub(crate) struct Sharing(AtomicU32);

impl Sharing {
    /// For the worker itself.
    #[inline]
    pub(crate) fn set(&self, share: Share) {
        let was = self.0.load(Relaxed);
        let now = match share {
            Share::Usual => USUAL,
            Share::Eager => EAGER,
            Share::Kept => was.wrapping_add(1).max(KEPT),
        };
        if was != now {
            self.0.store(now, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_eager(&self) -> bool {
        self.0.load(Relaxed) == EAGER
    }

    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.0.load(Relaxed) >= KEPT
    }

    /// For the monitor: as usual again, if nothing was said since it last looked.
    pub(crate) fn look(&self, seen: &mut u32) {
        let now = self.0.load(Relaxed);
        if now >= KEPT && now == *seen {
            // The owner may say it again at this moment: then it is not stuck.
            let _ = self.0.compare_exchange(now, USUAL, Relaxed, Relaxed);
        }
        *seen = now;
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn kept_as_long_as_it_is_said_again_between_two_looks() {
        let (sharing, mut seen) = (Sharing::default(), 0);
        sharing.set(Share::Kept);
        sharing.look(&mut seen);
        assert!(sharing.is_kept());
        sharing.set(Share::Kept);
        sharing.look(&mut seen);
        assert!(sharing.is_kept());
        sharing.look(&mut seen);
        assert!(!sharing.is_kept() && !sharing.is_eager());
        sharing.set(Share::Kept);
        assert!(sharing.is_kept());
    }

    #[test]
    fn said_very_often_it_is_still_kept() {
        let sharing = Sharing::default();
        sharing.0.store(u32::MAX, Relaxed);
        sharing.set(Share::Kept);
        assert!(sharing.is_kept());
    }
}
