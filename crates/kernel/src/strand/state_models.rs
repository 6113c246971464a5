//! Models of the state word: all interleavings of two or three threads.
//!
//! [`Stage`] is a strand with everything around the word that the scheduler has: a queue that
//! takes at most one entry, a body that loom watches, and a header whose freeing it watches too.

use super::*;
use crate::sync::{Mutex, UnsafeCell};
use loom::{
    sync::atomic::{AtomicBool, AtomicUsize},
    thread,
};
use std::sync::Arc;

struct Stage {
    state: State,
    /// Entries in the queue.
    queue: Mutex<usize>,
    body: UnsafeCell<usize>,
    /// Read by whoever uses the header, written by whoever frees it.
    header: UnsafeCell<bool>,
    mail: AtomicUsize,
    seen: AtomicUsize,
    /// Written by whoever fills, read by turns. `full` is what a filler does last.
    slot: UnsafeCell<usize>,
    full: AtomicBool,
}

impl Stage {
    fn new(state: State) -> Arc<Stage> {
        let queued = usize::from(state.phase() == Phase::Queued);
        Arc::new(Stage {
            state,
            queue: Mutex::new(queued),
            body: UnsafeCell::new(0),
            header: UnsafeCell::new(false),
            mail: AtomicUsize::new(0),
            seen: AtomicUsize::new(0),
            slot: UnsafeCell::new(0),
            full: AtomicBool::new(false),
        })
    }

    /// Every step reads the header: freeing must come after.
    fn touch(&self) {
        self.header.with(|freed| {
            // SAFETY: loom checks that nobody frees at the same time.
            assert!(!unsafe { *freed }, "used after it was freed");
        });
    }

    fn free(&self) {
        self.header.with_mut(|freed| {
            // SAFETY: loom checks that nobody uses it at the same time.
            unsafe { assert!(!std::mem::replace(&mut *freed, true), "freed twice") };
        });
    }

    fn push(&self) {
        let mut queue = self.queue.lock();
        *queue += 1;
        assert_eq!(*queue, 1, "more than one entry");
    }

    fn wake(&self) {
        self.touch();
        if self.state.wake() == Wake::Push {
            self.push();
        }
    }

    /// `mail` is relaxed on purpose: only the state word orders it.
    fn send(&self) {
        self.mail.fetch_add(1, Relaxed);
        self.wake();
    }

    fn release(&self) {
        self.touch();
        if self.state.release() {
            self.free();
        }
    }

    /// Touches the body as a turn does: it keeps what was left in the slot. The mail is only looked
    /// at, since a step on it would see more than the state word orders.
    fn take_turn(&self) {
        let left = match self.full.load(Relaxed) {
            false => 0,
            true => self.slot.with_mut(|slot| {
                self.full.store(false, Relaxed);
                // SAFETY: loom checks that nobody fills it at the same time.
                std::mem::take(unsafe { &mut *slot })
            }),
        };
        let kept = self.body.with_mut(|body| {
            // SAFETY: loom checks that turns do not overlap.
            let body = unsafe { &mut *body };
            *body += left;
            *body
        });
        self.seen.store(self.mail.load(Relaxed) + kept, Relaxed);
    }

    /// Leaves one piece of mail in the slot.
    fn leave(&self) {
        // SAFETY: loom checks that nobody else touches it.
        self.slot.with_mut(|slot| unsafe { *slot += 1 });
        self.full.store(true, Release);
    }

    /// Sends by filling an idle strand; otherwise as `send`.
    fn fill(&self) {
        self.touch();
        if self.state.fill() {
            self.leave();
            self.push();
        } else {
            self.send();
        }
    }

    /// Sends by holding the strand's turn, which is taken at once; otherwise as `send`.
    fn hold(&self) {
        self.hold_with(0, State::pause);
    }

    /// As `hold`, and so many handles go: with the step that holds it, in the turn, or afterwards.
    fn hold_with(&self, handles: u64, end: fn(&State) -> Rest) {
        self.touch();
        let hold = self.state.hold(handles);
        let mut left = if hold == Hold::Held { 0 } else { handles };
        match hold {
            Hold::Filled if !self.full.load(Acquire) => {
                self.rest(self.state.give_back());
                self.send();
            }
            Hold::Held | Hold::Filled => {
                (0..std::mem::take(&mut left)).for_each(|_| self.release());
                if self.full.load(Relaxed) {
                    self.mail.fetch_add(1, Relaxed);
                } else {
                    self.leave();
                }
                self.take_turn();
                self.touch();
                self.rest(end(&self.state));
            }
            Hold::Refused => self.send(),
        }
        (0..left).for_each(|_| self.release());
    }

    fn rest(&self, rest: Rest) {
        match rest {
            Rest::Push => self.push(),
            Rest::Nothing => {}
            Rest::Free => self.free(),
        }
    }

    /// Pops one entry, and runs what it stands for.
    fn work(&self, end: impl Fn(&State) -> Rest) -> bool {
        {
            let mut queue = self.queue.lock();
            if *queue == 0 {
                return false;
            }
            *queue -= 1;
        }
        self.touch();
        match self.state.pop() {
            Pop::Run => {
                self.take_turn();
                self.touch();
                self.rest(end(&self.state));
            }
            Pop::Requeue => self.push(),
            Pop::Stale => {}
            Pop::Free => self.free(),
        }
        true
    }

    fn claim(&self, end: impl Fn(&State) -> Rest) {
        self.touch();
        if self.state.claim() == Claim::Run {
            self.take_turn();
            self.touch();
            self.rest(end(&self.state));
        }
    }

    fn drain(&self) {
        while self.work(State::pause) {}
    }
}

/// Runs each closure on a thread of its own, the last on this one.
fn at_once(stage: &Arc<Stage>, others: Vec<fn(&Stage)>, here: fn(&Stage)) {
    let threads: Vec<_> = others
        .into_iter()
        .map(|act| {
            let stage = stage.clone();
            thread::spawn(move || act(&stage))
        })
        .collect();
    here(stage);
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Invariant 3: a turn sees the mail that a wake announced, or one more turn is owed.
#[test]
fn turn_sees_the_mail_or_one_more_turn_is_owed() {
    loom::model(|| {
        let stage = Stage::new(State::queued(1));
        at_once(&stage, vec![Stage::send], Stage::drain);
        stage.drain();
        assert_eq!(stage.seen.load(Relaxed), 1, "the mail was never seen");
    });
}

/// Invariant 3, for a wake that finds the strand queued already and changes nothing.
#[test]
fn turn_sees_the_mail_of_a_wake_that_changed_nothing() {
    loom::model(|| {
        let stage = Stage::new(State::idle(1));
        at_once(&stage, vec![Stage::send, Stage::send], |stage| {
            stage.work(State::pause);
        });
        stage.drain();
        assert_eq!(stage.seen.load(Relaxed), 2, "some mail was never seen");
    });
}

/// Invariant 3, for a wake that turns a stale entry into a good one.
#[test]
fn turn_sees_the_mail_of_a_wake_that_finds_a_stale_entry() {
    loom::model(|| {
        let stage = Stage::new(State::queued(1));
        stage.claim(State::pause);
        at_once(&stage, vec![Stage::send], |stage| {
            stage.work(State::pause);
        });
        stage.drain();
        assert_eq!(stage.seen.load(Relaxed), 1, "the mail was never seen");
    });
}

/// Invariant 3, for claims: one that runs sees the mail, one that finds it running is a wake.
#[test]
fn claimed_turn_sees_the_mail_or_one_more_turn_is_owed() {
    loom::model(|| {
        let stage = Stage::new(State::idle(1));
        let handing = |stage: &Stage| {
            stage.mail.fetch_add(1, Relaxed);
            stage.claim(State::pause);
        };
        at_once(&stage, vec![handing], |stage| {
            stage.send();
            stage.drain();
        });
        stage.drain();
        assert_eq!(stage.seen.load(Relaxed), 2, "some mail was never seen");
    });
}

/// Invariant 5: what is left in the slot is read by one turn, also when a hold comes between.
#[test]
fn what_is_left_in_the_slot_is_read_by_one_turn() {
    let acts: [fn(&Stage); 3] = [Stage::fill, Stage::hold, Stage::send];
    for first in acts {
        for second in acts {
            loom::model(move || {
                let stage = Stage::new(State::idle(1));
                at_once(&stage, vec![first, second], |stage| {
                    stage.work(State::pause);
                });
                stage.drain();
                assert_eq!(stage.seen.load(Relaxed), 2, "some mail was never seen");
            });
        }
    }
}

/// Invariant 3, for a claim that finds somebody filling, and is a wake.
#[test]
fn turn_sees_the_mail_of_a_claim_that_finds_it_being_filled() {
    loom::model(|| {
        let stage = Stage::new(State::idle(1));
        let filling = |stage: &Stage| {
            stage.fill();
            stage.drain();
        };
        at_once(&stage, vec![filling], |stage| {
            stage.mail.fetch_add(1, Relaxed);
            stage.claim(State::pause);
        });
        stage.drain();
        assert_eq!(stage.seen.load(Relaxed), 2, "some mail was never seen");
    });
}

/// Invariant 5, from one turn to the next: who fills comes after the turn that read before.
#[test]
fn slot_passes_from_turn_to_turn() {
    loom::model(|| {
        let stage = Stage::new(State::idle(1));
        stage.fill();
        at_once(&stage, vec![Stage::drain], Stage::fill);
        stage.drain();
        assert_eq!(stage.seen.load(Relaxed), 2, "some mail was never seen");
    });
}

/// Invariant 2: the body passes from turn to turn, by pops and by claims.
#[test]
fn body_passes_from_worker_to_worker() {
    for end in [State::pause, State::requeue] {
        loom::model(move || {
            let stage = Stage::new(State::queued(1));
            let other = thread::spawn({
                let stage = stage.clone();
                move || stage.work(end)
            });
            stage.claim(end);
            stage.wake();
            other.join().unwrap();
            stage.drain();
        });
    }
}

/// Invariant 1: hand-offs, wakes and yields at once never make a second entry.
#[test]
fn handed_to_woken_and_yielding_at_once_has_one_entry_at_most() {
    loom::model(|| {
        let stage = Stage::new(State::queued(1));
        at_once(&stage, vec![|stage| stage.claim(State::requeue), Stage::wake], |stage| {
            stage.work(State::requeue);
        });
        let entries = *stage.queue.lock();
        assert_eq!(entries, 1, "a yielding strand is in line once");
    });
}

/// Invariant 4: the last of turn, entry and handles frees, once, after all others.
#[test]
fn freed_once_whoever_is_last() {
    for end in [State::pause, |state: &State| state.end(0)] {
        loom::model(move || {
            let stage = Stage::new(State::queued(2));
            let other = thread::spawn({
                let stage = stage.clone();
                move || stage.release()
            });
            let worker = thread::spawn({
                let stage = stage.clone();
                move || stage.work(end)
            });
            stage.release();
            other.join().unwrap();
            worker.join().unwrap();
            // SAFETY: the others have ended.
            assert!(stage.header.with(|freed| unsafe { *freed }), "never freed");
        });
    }
}

/// Invariant 4, where the end gives back a handle: if it was the last, nothing is stepped, and it
/// still comes after whoever gave up the others.
#[test]
fn freed_once_by_an_end_that_gives_back_a_handle() {
    loom::model(|| {
        let stage = Stage::new(State::queued(3));
        at_once(&stage, vec![Stage::release, Stage::release], |stage| {
            stage.work(|state| state.end(1));
        });
        // SAFETY: the others have ended.
        assert!(stage.header.with(|freed| unsafe { *freed }), "never freed");
    });
}

/// Invariant 4, where a hold gives back the handle by which it was made.
#[test]
fn freed_once_by_a_hold_that_gives_back_its_handle() {
    let others: [fn(&Stage); 4] = [
        Stage::release,
        |stage| stage.hold_with(1, State::pause),
        |stage| {
            stage.fill();
            stage.release();
        },
        // Whoever runs it next, if it is let go.
        |stage| {
            stage.work(State::pause);
            stage.release();
        },
    ];
    for end in [State::pause, State::requeue, |state: &State| state.end(0)] {
        for other in others {
            for start in [State::idle, State::queued] {
                loom::model(move || {
                    let stage = Stage::new(start(2));
                    let others = thread::spawn({
                        let stage = stage.clone();
                        move || other(&stage)
                    });
                    stage.hold_with(1, end);
                    others.join().unwrap();
                    stage.drain();
                    // SAFETY: the others have ended.
                    assert!(stage.header.with(|freed| unsafe { *freed }), "never freed");
                });
            }
        }
    }
}

/// Invariant 4 with a claim: the stale entry is a hold of its own.
#[test]
fn freed_once_with_a_stale_entry_left_behind() {
    for end in [State::pause, |state: &State| state.end(0)] {
        loom::model(move || {
            let stage = Stage::new(State::queued(1));
            let worker = thread::spawn({
                let stage = stage.clone();
                move || stage.work(end)
            });
            stage.claim(end);
            stage.release();
            worker.join().unwrap();
            stage.drain();
            // SAFETY: the others have ended.
            assert!(stage.header.with(|freed| unsafe { *freed }), "never freed");
        });
    }
}

/// All pairs of operations at once, from all states that an outsider can meet.
#[test]
fn all_pairs_from_all_states_keep_the_invariants() {
    let acts: [fn(&Stage); 7] = [
        |stage| stage.send(),
        |stage| stage.fill(),
        |stage| stage.hold(),
        |stage| stage.claim(State::pause),
        |stage| stage.claim(State::requeue),
        |stage| {
            stage.work(State::pause);
        },
        |stage| {
            stage.work(|state| state.end(0));
        },
    ];
    let starts: [fn() -> Arc<Stage>; 3] = [
        || Stage::new(State::idle(1)),
        || Stage::new(State::queued(1)),
        || {
            // Idle with a stale entry.
            let stage = Stage::new(State::queued(1));
            stage.claim(State::pause);
            stage
        },
    ];
    for start in starts {
        for first in acts {
            for second in acts {
                loom::model(move || {
                    let stage = start();
                    at_once(&stage, vec![first], second);
                    stage.drain();
                    // SAFETY: the others have ended.
                    let kept = stage.body.with(|body| unsafe { *body });
                    let mail = stage.mail.load(Relaxed) + kept;
                    let ended = stage.state.phase() == Phase::Done;
                    let seen = stage.seen.load(Relaxed) == mail && !stage.full.load(Relaxed);
                    assert!(ended || seen, "mail was never seen");
                });
            }
        }
    }
}
