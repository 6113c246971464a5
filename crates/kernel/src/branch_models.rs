//! Models of a branch's latch: a joiner that really sleeps, and whoever settles the branch.
//!
//! The frame is a cell that loom watches: the result in it, and whatever else is read of it.

use super::*;
use crate::{
    idle::{Idle, Parked},
    sync::thread::{self, Thread},
};
use std::sync::Arc;

struct Frame {
    latch: Latch,
    contents: UnsafeCell<u32>,
    /// As the worker's slot and the runtime, it outlives the frame.
    idle: Arc<Idle>,
    joiner: Thread,
}

// SAFETY: who may touch the contents is what the models check.
unsafe impl Sync for Frame {}
// SAFETY: as above.
unsafe impl Send for Frame {}

impl Frame {
    fn new() -> Arc<Frame> {
        Arc::new(Frame {
            latch: Latch::new(),
            contents: UnsafeCell::new(0),
            idle: Arc::new(Idle::new(2)),
            joiner: thread::current(),
        })
    }

    /// As `Head::settle`, whose bell is `Shared::bring_out`.
    fn settle(&self, how: u8) {
        let bell = || {
            let (idle, joiner) = (self.idle.clone(), self.joiner.clone());
            move || {
                idle.call(0);
                joiner.unpark();
            }
        };
        // SAFETY: the one caller has the entry.
        unsafe { Latch::settle(&self.latch, how, bell) };
    }

    /// As a worker that is asked to pause waits.
    fn wait_plainly(&self) -> Settled {
        loop {
            if let Some(settled) = self.latch.look() {
                return settled;
            }
            if self.latch.fall_asleep() {
                thread::park();
            }
        }
    }

    /// As a worker waits that would run something meanwhile.
    fn wait_among_the_idle(&self) -> Settled {
        let nothing = || false;
        let mut searching = self.idle.search();
        loop {
            if let Some(settled) = self.latch.look() {
                searching.give_up(nothing, || 0);
                return settled;
            }
            if self.latch.fall_asleep() {
                let found = || self.latch.look().is_some();
                match searching.park(0, found, nothing, || ()) {
                    Parked::Search(again) => searching = again,
                    Parked::Closed => unreachable!("nobody closes it"),
                }
            }
        }
    }
}

/// Rules 2 and 3: whoever runs the branch writes its result, the joiner sees it and leaves.
fn result_is_seen(wait: fn(&Frame) -> Settled) {
    loom::model(move || {
        let frame = Frame::new();
        let thief = loom::thread::spawn({
            let frame = frame.clone();
            move || {
                // SAFETY: the contents are the thief's until it settles.
                frame.contents.with_mut(|result| unsafe { *result = 7 });
                frame.settle(DONE);
            }
        });
        assert_eq!(wait(&frame), Settled::Done);
        // SAFETY: the branch is done, so they are the joiner's.
        frame.contents.with_mut(|result| assert_eq!(unsafe { *result }, 7));
        thief.join().unwrap();
    });
}

#[test]
fn result_is_seen_by_a_joiner_that_only_waits() {
    result_is_seen(Frame::wait_plainly);
}

#[test]
fn result_is_seen_by_a_joiner_among_the_idle() {
    result_is_seen(Frame::wait_among_the_idle);
}

/// Rule 2: the one who drops the entry has read the frame before the joiner uses it again.
#[test]
fn frame_is_the_joiners_again_once_the_branch_is_returned() {
    loom::model(|| {
        let frame = Frame::new();
        let dropper = loom::thread::spawn({
            let frame = frame.clone();
            move || {
                // SAFETY: as above.
                frame.contents.with_mut(|contents| assert_eq!(unsafe { *contents }, 0));
                frame.settle(RETURNED);
            }
        });
        assert_eq!(frame.wait_plainly(), Settled::Returned);
        // SAFETY: as above.
        frame.contents.with_mut(|contents| unsafe { *contents = 7 });
        dropper.join().unwrap();
    });
}
