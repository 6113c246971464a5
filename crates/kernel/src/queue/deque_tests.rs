//! The deque on one thread and on real ones: order, growth, and nothing lost.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::*;
use crate::queue::line::Line;

#[test]
fn owner_takes_newest_first_and_thieves_oldest_first() {
    let deque = Deque::new();
    (0..6).for_each(|i| deque.push(i));
    let stealer = deque.stealer();
    assert_eq!((stealer.steal(), deque.pop(), deque.len()), (Some(0), Some(5), 4));
    let thief = Deque::new();
    assert_eq!(stealer.steal_half(&thief, |_| false), Some(1), "half of four, the oldest first");
    assert_eq!((thief.pop(), thief.pop(), deque.len()), (Some(2), None, 2));
}

#[test]
fn deque_grows_keeps_its_order_and_gives_the_memory_back() {
    let deque = Deque::new();
    let many = 40 * RING_MIN;
    (0..many).for_each(|i| deque.push(Box::new(i)));
    assert_eq!(deque.len(), many);
    assert_eq!(deque.stealer().steal().as_deref(), Some(&0));
    assert!((1..many).rev().all(|i| deque.pop().as_deref() == Some(&i)));
    assert!(deque.mask.get() >= many);
    deque.tidy();
    assert_eq!(deque.mask.get(), RING_MIN - 1);
    deque.push(Box::new(7));
    assert_eq!(deque.pop().as_deref(), Some(&7));
}

#[test]
fn batch_from_a_line_is_taken_oldest_first() {
    let (line, deque) = (Line::new(1), Deque::new());
    (0..100).for_each(|i| line.push(i));
    let mut all = Vec::new();
    while let Some(first) = line.take_batch(&deque, BATCH) {
        all.push(first);
        assert!(deque.len() <= BATCH);
        all.extend(std::iter::from_fn(|| deque.pop()));
    }
    assert_eq!(all, Vec::from_iter(0..100));
}

/// The tail is looked at only after some have found nothing: before that and after it, what is
/// there is found.
#[test]
fn line_gives_what_is_pushed_after_any_number_of_takers_found_nothing() {
    let line = Line::new(1);
    for misses in 0..10 {
        assert!((0..misses).all(|_| line.pop().is_none()));
        line.push(misses);
        assert_eq!((line.pop(), line.pop()), (Some(misses), None));
    }
}

#[test]
fn line_gives_one_after_the_other_over_many_blocks() {
    let line = Line::new(1);
    (0..500).for_each(|i| line.push(Box::new(i)));
    assert_eq!(line.len(), 500);
    let all = std::iter::from_fn(|| line.pop()).map(|entry| *entry);
    assert!(all.eq(0..500));
    assert!(line.is_empty());
}

#[test]
fn dropped_deque_drops_its_entries() {
    let one = std::sync::Arc::new(());
    let deque = Deque::new();
    (0..10).for_each(|_| deque.push(one.clone()));
    let stealer = deque.stealer();
    drop(deque);
    assert_eq!(stealer.len(), 10);
    drop(stealer);
    assert_eq!(std::sync::Arc::strong_count(&one), 1);
}

/// Pushed by one thread in bursts, taken by it and by two thieves: every number once.
#[test]
fn nothing_is_lost_or_doubled_between_real_threads() {
    const N: usize = 200_000;
    let deque = Deque::new();
    let done = AtomicBool::new(false);
    let all: Vec<Vec<Box<usize>>> = thread::scope(|scope| {
        let thieves: Vec<_> = (0..2)
            .map(|half| {
                let (stealer, done) = (deque.stealer(), &done);
                scope.spawn(move || {
                    let (mut got, mine) = (Vec::new(), Deque::new());
                    while !done.load(Ordering::Acquire) || !stealer.is_empty() {
                        got.extend(if half == 0 {
                            stealer.steal()
                        } else {
                            stealer.steal_half(&mine, |_| false)
                        });
                        got.extend(std::iter::from_fn(|| mine.pop()));
                        if stealer.is_empty() {
                            thread::yield_now();
                        }
                    }
                    got
                })
            })
            .collect();
        let mut own = Vec::new();
        for i in 0..N {
            deque.push(Box::new(i));
            if i % 3 == 0 {
                own.extend(deque.pop());
            }
            if i % 1000 == 0 {
                own.extend(std::iter::from_fn(|| deque.pop()));
            }
        }
        done.store(true, Ordering::Release);
        let stolen = thieves.into_iter().map(|thief| thief.join().unwrap());
        stolen.chain([own]).collect()
    });
    let all: Vec<usize> = all.into_iter().flatten().map(|entry| *entry).collect();
    assert_eq!(all.len(), N);
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), N);
}
