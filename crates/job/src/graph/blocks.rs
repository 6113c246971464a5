//! Who is the last of a batch's jobs to end?
//!
//! ```text
//!   counts  [ jobs of block 0 that have not ended ][ of block 1 ][ … ]      left: blocks with such jobs
//! ```
//!
//! Only jobs without successors are counted, since every other one ended before one of these. They
//! are counted in blocks of 64, so that the workers seldom share a counter.
//!
//! 1. One job of all is told that it is the last.
//! 2. It sees what the others did.
//!
//! Ordering: each step releases what its caller did, and acquires what those before it in the same
//! block did. The last of a block passes that on with its step of `left`, so the last of all sees
//! everything.

use crate::sync::atomic::{AtomicU32, Ordering::AcqRel};

/// So many jobs share a counter.
pub(crate) const BLOCK: usize = 64;

pub(super) struct Blocks {
    counts: Box<[AtomicU32]>,
    left: AtomicU32,
}

impl Blocks {
    /// With so many jobs to count in each block.
    pub(super) fn new(ends: &[u32]) -> Blocks {
        let with_ends = ends.iter().filter(|ends| **ends > 0).count();
        Blocks {
            counts: ends.iter().map(|ends| AtomicU32::new(*ends)).collect(),
            left: AtomicU32::new(with_ends as u32),
        }
    }

    /// A job without successors has ended. True: it was the last.
    #[inline(always)]
    #[must_use = "the last one ends the batch"]
    pub(super) fn end(&self, index: u32) -> bool {
        self.counts[index as usize / BLOCK].fetch_sub(1, AcqRel) == 1
            && self.left.fetch_sub(1, AcqRel) == 1
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::UnsafeCell;
    use loom::{sync::Arc, thread};

    /// Both rules, for jobs with these numbers, each ended by a thread of its own.
    fn the_last_sees_what_the_others_did(ends: &'static [u32], jobs: [u32; 3]) {
        loom::model(move || {
            let both = Arc::new((Blocks::new(ends), [const { 0 }; 3].map(UnsafeCell::new)));
            let job = |at: usize| {
                let both = both.clone();
                move || {
                    let (blocks, outcomes) = &*both;
                    // SAFETY: each writes its own, before it ends.
                    outcomes[at].with_mut(|outcome| unsafe { *outcome = at + 1 });
                    let last = blocks.end(jobs[at]);
                    if last {
                        for (at, outcome) in outcomes.iter().enumerate() {
                            // SAFETY: all have ended; the model checks it.
                            outcome.with_mut(|outcome| unsafe { assert_eq!(*outcome, at + 1) });
                        }
                    }
                    last
                }
            };
            let (first, second) = (thread::spawn(job(0)), thread::spawn(job(1)));
            let third = job(2)();
            let lasts = [first.join().unwrap(), second.join().unwrap(), third];
            assert_eq!(lasts.iter().filter(|last| **last).count(), 1);
        });
    }

    #[test]
    fn last_of_one_block_sees_what_the_others_did() {
        the_last_sees_what_the_others_did(&[3], [0, 1, 2]);
    }

    #[test]
    fn last_of_two_blocks_sees_what_the_others_did() {
        the_last_sees_what_the_others_did(&[2, 1], [0, 1, 64]);
    }
}
