//! Is every wait ended once, and is a deadlock found exactly when there is one, in all interleavings?
//!
//! A channel is a list under a lock here, and a wake is a flag that is released; the wait word and
//! the counts are the real ones. What a task has noted about its wait is relaxed on purpose: only the
//! counts order it.

use loom::{
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread,
};

use super::*;
use crate::{
    program::counts::{Counts, Verdict},
    sync::Mutex,
};

/// One task that waits, those who could end its wait, and what they leave.
struct World {
    counts: Counts,
    wait: Wait,
    /// The line of the channel.
    line: Mutex<Option<u64>>,
    noted: AtomicU64,
    woken: AtomicBool,
    /// Deadlocks that were found.
    found: AtomicU64,
}

impl World {
    /// So many tasks, of which the first is the one that waits.
    fn new(tasks: usize) -> Arc<World> {
        let counts = Counts::new();
        (0..tasks).for_each(|_| assert!(counts.add(tasks).is_some()));
        Arc::new(World {
            counts,
            wait: Wait::default(),
            line: Mutex::default(),
            noted: AtomicU64::new(0),
            woken: AtomicBool::new(false),
            found: AtomicU64::new(0),
        })
    }

    /// The task waits for a message. False: it is cancelled.
    fn receive(&self) -> bool {
        let begun = {
            let mut line = self.line.lock();
            self.noted.store(7, Relaxed);
            *line = self.wait.begin(false);
            line.is_some()
        };
        if begun {
            self.act(self.counts.leave());
        }
        begun
    }

    /// Another task sends one, if the first waits for it.
    fn send(&self) -> bool {
        let epoch = self.line.lock().take();
        epoch.is_some_and(|epoch| self.answer(|| self.wait.claim(epoch), Outcome::Value(1)))
    }

    fn cancel(&self) -> bool {
        self.counts.enter();
        let claimed = self.answer(|| self.wait.cancel(), Outcome::Code(Code::Cancelled));
        self.act(self.counts.leave());
        claimed
    }

    fn answer(&self, claim: impl FnOnce() -> Option<Claim>, outcome: Outcome) -> bool {
        let claim = self.counts.claim(claim);
        if claim.is_some() {
            // SAFETY: the claim was ours.
            unsafe { self.wait.deliver(outcome, &[]) };
            self.woken.store(true, Release);
        }
        claim.is_some()
    }

    fn act(&self, verdict: Verdict) {
        if verdict == Verdict::Stuck && self.counts.take_charge() {
            assert_eq!(self.noted.load(Relaxed), 7, "it does not know what the task waits for");
            // Unless somebody has come from outside since, and has ended the wait. That one is counted.
            let claimed = self.answer(|| self.wait.doom(), Outcome::Value(2));
            self.found.fetch_add(claimed.into(), Relaxed);
            let verdict = self.counts.leave();
            assert!(
                claimed || verdict != Verdict::Stuck,
                "stuck, and nobody is there to be claimed"
            );
            self.act(verdict);
        }
    }

    /// The task is ended from outside while it waits. False: somebody has claimed its wait.
    fn give_up(&self) -> bool {
        self.counts.claim(|| self.wait.claim_own()).is_some()
    }

    /// How the wait has ended. Whoever was not woken has no outcome.
    fn outcome(&self) -> Option<Outcome> {
        let woken = self.woken.load(Acquire);
        let outcome = self.take();
        assert_eq!(woken, outcome.is_some());
        outcome
    }

    /// What the task finds when it looks, woken or not.
    fn take(&self) -> Option<Outcome> {
        // SAFETY: each model has one thread that plays the task, and only that one looks.
        unsafe { self.wait.take(|outcome, _| outcome) }
    }
}

/// A message that comes while the task begins to wait is delivered, and is no deadlock.
#[test]
fn sent_while_it_begins_to_wait_is_delivered() {
    loom::model(|| {
        let world = World::new(2);
        assert_eq!(world.counts.watch(), Verdict::GoesOn);
        let sender = thread::spawn({
            let world = world.clone();
            move || {
                let sent = world.send();
                if !sent {
                    // Nobody was there: it waits for ever, and the deadlock is for the last to find.
                    world.act(world.counts.end());
                }
                sent
            }
        });
        world.receive();
        let sent = sender.join().unwrap();
        let found = world.found.load(Relaxed);
        assert_eq!(found, u64::from(!sent));
        let expected = if sent { 1 } else { 2 };
        assert!(matches!(world.outcome(), Some(Outcome::Value(value)) if value == expected));
    });
}

/// The last two that could go on stop at the same time, and somebody begins to watch: one finds it.
#[test]
fn a_deadlock_is_found_once() {
    loom::model(|| {
        let world = World::new(2);
        let other = thread::spawn({
            let world = world.clone();
            move || world.act(world.counts.end())
        });
        let watcher = thread::spawn({
            let world = world.clone();
            move || world.act(world.counts.watch())
        });
        world.receive();
        other.join().unwrap();
        watcher.join().unwrap();
        assert_eq!(world.found.load(Relaxed), 1);
        assert!(matches!(world.outcome(), Some(Outcome::Value(2))));
        assert_eq!(world.counts.busy(), 1);
    });
}

/// Cancelled at any moment: the task knows before it waits, or its wait is ended. That is no deadlock,
/// unless it was one before.
#[test]
fn cancelled_while_it_begins_to_wait_is_noticed() {
    loom::model(|| {
        let world = World::new(1);
        assert_eq!(world.counts.watch(), Verdict::GoesOn);
        let canceller = thread::spawn({
            let world = world.clone();
            move || world.cancel()
        });
        let waits = world.receive();
        let claimed = canceller.join().unwrap();
        let found = world.found.load(Relaxed) == 1;
        assert!(world.wait.is_cancelled());
        match world.outcome() {
            Some(Outcome::Code(Code::Cancelled)) => assert!(waits && claimed && !found),
            Some(_) => assert!(waits && !claimed && found),
            None => assert!(!waits && !claimed && !found),
        }
        assert_eq!(world.counts.busy(), 1);
    });
}

/// A task that is ended while it waits is no deadlock for whoever looks for one, unless it was found
/// before.
#[test]
fn ended_from_outside_while_somebody_looks_for_a_deadlock() {
    loom::model(|| {
        let world = World::new(1);
        world.receive();
        let ended = thread::spawn({
            let world = world.clone();
            move || {
                let given_up = world.give_up();
                (given_up, world.counts.end())
            }
        });
        world.act(world.counts.watch());
        let (given_up, verdict) = ended.join().unwrap();
        assert_eq!(world.found.load(Relaxed), u64::from(!given_up));
        assert_eq!((verdict, world.counts.busy()), (Verdict::Finished, 0));
    });
}

/// A task is ended while another one claims its wait. The other goes on, so that is no deadlock.
#[test]
fn ended_from_outside_while_another_claims_the_wait() {
    loom::model(|| {
        let world = World::new(2);
        world.receive();
        assert_eq!(world.counts.watch(), Verdict::GoesOn);
        let ended = thread::spawn({
            let world = world.clone();
            move || {
                world.give_up();
                world.counts.end()
            }
        });
        world.send();
        assert_eq!(ended.join().unwrap(), Verdict::GoesOn);
        assert_eq!(world.found.load(Relaxed), 0);
        assert_eq!(world.counts.busy(), 1);
    });
}

/// Looks before it is woken: it finds the whole outcome or none. Then it waits again, and is cancelled
/// by somebody who has seen no lock.
#[test]
fn looked_before_it_was_woken_then_waits_again() {
    loom::model(|| {
        let world = World::new(2);
        world.receive();
        let sender = thread::spawn({
            let world = world.clone();
            move || world.send()
        });
        let canceller = thread::spawn({
            let world = world.clone();
            move || world.cancel()
        });
        let mut over = match world.take() {
            Some(Outcome::Value(1)) => !world.receive() || world.take().is_some(),
            Some(outcome) => matches!(outcome, Outcome::Code(Code::Cancelled)),
            None => false,
        };
        sender.join().unwrap();
        canceller.join().unwrap();
        over |= world.take().is_some();
        assert!(over && world.wait.is_cancelled());
    });
}

/// Whoever dooms a wait may have begun to look for a deadlock before the wait began, and comes by no
/// lock of the task's: the claim itself orders the delivery behind what the task did with its last one.
#[test]
fn doomed_after_it_has_looked_and_waits_again() {
    loom::model(|| {
        let world = World::new(2);
        world.receive();
        let sender = thread::spawn({
            let world = world.clone();
            move || world.send()
        });
        let doomer = thread::spawn({
            let world = world.clone();
            move || world.answer(|| world.wait.doom(), Outcome::Value(2))
        });
        let mut taken = 0;
        if world.take().is_some() {
            taken += 1;
            world.receive();
        }
        let ended = usize::from(sender.join().unwrap()) + usize::from(doomer.join().unwrap());
        taken += usize::from(world.take().is_some());
        assert_eq!(taken, ended, "each claim brings one outcome");
    });
}

/// Two who could end the wait: one does.
#[test]
fn a_wait_is_ended_once() {
    loom::model(|| {
        let world = World::new(2);
        let begun = world.wait.begin(true).unwrap();
        let other = thread::spawn({
            let world = world.clone();
            move || world.wait.claim(begun).is_some()
        });
        let given_up = world.wait.claim_own().is_some();
        assert_ne!(other.join().unwrap(), given_up);
    });
}

/// Whoever sees that all have ended sees what they have left.
#[test]
fn the_end_of_all_shows_their_results() {
    loom::model(|| {
        let world = World::new(2);
        let results = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let tasks: Vec<_> = (0..2)
            .map(|at| {
                let (world, results) = (world.clone(), results.clone());
                thread::spawn(move || {
                    results[at].store(1, Relaxed);
                    world.counts.end()
                })
            })
            .collect();
        if world.counts.is_finished() {
            assert!(results.iter().all(|result| result.load(Relaxed) == 1));
        }
        let verdicts: Vec<Verdict> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Finished).count(), 1);
    });
}
