//! Models of the deque: an owner and thieves that want the same entries, in a ring of two.

use super::*;
use crate::{
    idle::{Idle, Parked},
    queue::line::Line,
};
use loom::thread;
use std::collections::BTreeSet;

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

fn thief<T: Send + 'static>(deque: &Deque<T>, times: usize) -> thread::JoinHandle<Vec<T>> {
    let stealer = deque.stealer();
    thread::spawn(move || (0..times).filter_map(|_| stealer.steal()).collect())
}

/// Every number up to `n` is there once.
fn complete(n: usize, parts: impl IntoIterator<Item = usize>) {
    let all: Vec<usize> = parts.into_iter().collect();
    assert_eq!(all.len(), n, "lost or doubled: {all:?}");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), n, "doubled: {all:?}");
}

/// Rule 1: the last entry goes to its owner or to a thief, never to both, never to nobody.
#[test]
fn last_entry_is_taken_once() {
    loom::model(|| {
        let deque = Deque::new();
        deque.push(1);
        let thief = thief(&deque, 1);
        let own = deque.pop();
        complete(1, thief.join().unwrap().into_iter().chain(own));
    });
}

/// Rule 1: the owner takes one after the other while a thief comes from the other end.
#[test]
fn entries_taken_from_both_ends_are_taken_once() {
    check(4, || {
        let deque = Deque::new();
        deque.push(1);
        deque.push(2);
        let thief = thief(&deque, 2);
        let own = [deque.pop(), deque.pop()];
        let rest = deque.pop();
        complete(2, thief.join().unwrap().into_iter().chain(own.into_iter().flatten()).chain(rest));
    });
}

/// Rule 2: a thief sees the whole entry, also by a bottom that a take has stored.
#[test]
fn stolen_entry_is_whole() {
    loom::model(|| {
        let deque = Deque::new();
        let thief = thief(&deque, 1);
        deque.push(Box::new(1));
        deque.push(Box::new(2));
        let own = deque.pop();
        let stolen = thief.join().unwrap();
        let rest = std::iter::from_fn(|| deque.pop());
        complete(2, stolen.into_iter().chain(own).chain(rest).map(|entry| *entry));
    });
}

/// Rule 2, for a thief that has seen another entry before.
#[test]
fn stolen_entry_is_whole_though_it_is_not_the_one_that_was_seen() {
    loom::model(|| {
        let deque = Deque::new();
        deque.push(Box::new(1));
        let thief = thief(&deque, 1);
        let own = deque.pop();
        deque.push(Box::new(2));
        let stolen = thief.join().unwrap();
        complete(2, stolen.into_iter().chain(own).chain(deque.pop()).map(|entry| *entry));
    });
}

/// Rule 3: the owner goes around its ring while a thief reads.
#[test]
fn slot_is_not_written_over_while_a_thief_reads_it() {
    check(3, || {
        let deque = Deque::new();
        deque.push(1);
        deque.push(2);
        let thief = thief(&deque, 1);
        deque.push(3);
        let stolen = thief.join().unwrap();
        let own = std::iter::from_fn(|| deque.pop());
        complete(3, stolen.into_iter().chain(own));
    });
}

/// Rule 3, where the limit moves up because entries were stolen.
#[test]
fn slot_of_a_stolen_entry_is_used_again() {
    check(3, || {
        let deque = Deque::new();
        deque.push(1);
        let thief = thief(&deque, 1);
        deque.push(2);
        let mut own = Vec::from_iter(deque.pop());
        deque.push(3);
        deque.push(4);
        own.extend(std::iter::from_fn(|| deque.pop()));
        let stolen = thief.join().unwrap();
        own.extend(std::iter::from_fn(|| deque.pop()));
        complete(4, stolen.into_iter().chain(own));
    });
}

/// Two thieves, one of which takes half into a deque of its own.
#[test]
fn thieves_do_not_share_an_entry() {
    check(2, || {
        let deque = Deque::new();
        deque.push(1);
        deque.push(2);
        deque.push(3);
        let one = thief(&deque, 1);
        let stealer = deque.stealer();
        let other = thread::spawn(move || {
            let own = Deque::new();
            let oldest = stealer.steal_half(&own, |_| false);
            oldest.into_iter().chain(std::iter::from_fn(|| own.pop())).collect::<Vec<_>>()
        });
        let own = Vec::from_iter(deque.pop());
        let stolen = [one.join().unwrap(), other.join().unwrap()].concat();
        let rest = std::iter::from_fn(|| deque.pop());
        complete(3, stolen.into_iter().chain(own).chain(rest));
    });
}

/// Takes half into a deque of its own, up to the first entry that is `last`.
fn half_thief(deque: &Deque<usize>, last: usize) -> thread::JoinHandle<Vec<usize>> {
    let stealer = deque.stealer();
    thread::spawn(move || {
        let own = Deque::new();
        let first = stealer.steal_half(&own, |entry| *entry == last);
        first.into_iter().chain(std::iter::from_fn(|| own.pop())).collect()
    })
}

/// Rule 1: the owner takes all that it has while a thief claims two at once.
#[test]
fn owner_takes_down_into_a_claim_of_several() {
    check(4, || {
        let deque = Deque::new();
        (1..=3).for_each(|i| deque.push(i));
        let thief = half_thief(&deque, 0);
        let own: Vec<usize> = std::iter::from_fn(|| deque.pop()).collect();
        complete(3, thief.join().unwrap().into_iter().chain(own));
    });
}

/// Rule 1: what a thief has claimed and left is the owner's.
#[test]
fn owner_takes_what_a_thief_has_claimed_and_left() {
    check(4, || {
        let deque = Deque::new();
        (1..=3).for_each(|i| deque.push(i));
        let thief = half_thief(&deque, 1);
        let own: Vec<usize> = std::iter::from_fn(|| deque.pop()).collect();
        complete(3, thief.join().unwrap().into_iter().chain(own));
    });
}

/// Rule 1: of two claims of several and an owner that takes all, each gets its own.
#[test]
fn owner_takes_down_into_the_claims_of_two_thieves() {
    check(2, || {
        let deque = Deque::new();
        (1..=4).for_each(|i| deque.push(i));
        let thieves = [half_thief(&deque, 0), half_thief(&deque, 0)];
        let own: Vec<usize> = std::iter::from_fn(|| deque.pop()).collect();
        let stolen = thieves.into_iter().flat_map(|thief| thief.join().unwrap());
        complete(4, stolen.chain(own));
    });
}

/// Rule 3: the ring grows beside a claim of several, and the owner takes all of it.
#[test]
fn ring_grows_beside_a_claim_of_several() {
    check(3, || {
        let deque = Deque::new();
        (1..=4).for_each(|i| deque.push(i));
        let thief = half_thief(&deque, 0);
        deque.push(5);
        let own: Vec<usize> = std::iter::from_fn(|| deque.pop()).collect();
        complete(5, thief.join().unwrap().into_iter().chain(own));
    });
}

/// Rule 1, by place: the owner takes back what it has pushed, or a thief has it; what was pushed
/// later does not pass for it.
#[test]
fn entry_is_taken_back_by_its_place_or_stolen() {
    check(4, || {
        let deque = Deque::new();
        let place = deque.next_place();
        deque.push(1);
        let thief = thief(&deque, 1);
        deque.push(2);
        let mut own = Vec::from_iter(deque.pop());
        let back = deque.take_back(place);
        deque.push(3);
        if back {
            own.push(1);
        } else {
            assert!(!deque.take_back(place), "another lies there");
        }
        own.extend(std::iter::from_fn(|| deque.pop()));
        complete(3, thief.join().unwrap().into_iter().chain(own).chain(deque.pop()));
    });
}

struct Pool {
    idle: Idle,
    global: Line<u8>,
    stealer: Stealer<u8>,
    ran: AtomicUsize,
}

/// The hand-over from the global queue to a worker's deque: while the batch is in nobody's queue,
/// another worker may look and park. The one that moved it must call.
#[test]
fn batch_moved_while_another_parks_is_seen_by_it() {
    check(3, || {
        let deque = Deque::new();
        let pool = Arc::new(Pool {
            idle: Idle::new(2),
            global: Line::new(1),
            stealer: deque.stealer(),
            ran: AtomicUsize::new(0),
        });
        pool.global.push(1);
        pool.global.push(2);
        let other = thread::spawn({
            let pool = pool.clone();
            move || {
                let anything = || !pool.global.is_empty() || !pool.stealer.is_empty();
                let mine = Deque::new();
                let mut searching = pool.idle.search();
                loop {
                    let found = pool
                        .global
                        .take_batch(&mine, BATCH)
                        .or_else(|| pool.stealer.steal_half(&mine, |_| false));
                    if found.is_some() {
                        searching.found_work(anything, || 0);
                        return pool.ran.fetch_add(1 + mine.len(), Relaxed);
                    }
                    let Parked::Search(again) = searching.park(1, anything, anything, || ()) else {
                        return 0;
                    };
                    searching = again;
                }
            }
        });
        // This worker moves a batch, then is busy for ever with the first of it.
        if pool.global.take_batch(&deque, BATCH).is_some() {
            pool.ran.fetch_add(1, Relaxed);
            let _ = pool.idle.placed(|| 0);
            other.join().unwrap();
            assert_eq!(pool.ran.load(Relaxed), 2, "an entry was left behind a busy worker");
        } else {
            other.join().unwrap();
        }
    });
}
