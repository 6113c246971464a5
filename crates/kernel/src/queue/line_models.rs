//! Models of the line: pushers that compete for slots, takers that follow them, blocks of two.

use super::*;
use crate::idle::Idle;
use loom::thread;
use std::sync::Arc;

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

fn pusher(line: &Arc<Line<Box<u32>>>, entries: impl IntoIterator<Item = u32>) -> impl FnOnce() {
    let entries: Vec<u32> = entries.into_iter().collect();
    let line = line.clone();
    let thread = thread::spawn(move || entries.into_iter().for_each(|e| line.push(Box::new(e))));
    move || thread.join().unwrap()
}

fn drain(line: &Line<Box<u32>>) -> Vec<u32> {
    std::iter::from_fn(|| line.pop()).map(|entry| *entry).collect()
}

/// Rules 1 and 4: two who push across the border of a block.
#[test]
fn two_pushers_get_slots_of_their_own_across_blocks() {
    check(3, || {
        let line = Arc::new(Line::new(1));
        line.push(Box::new(0));
        let other = pusher(&line, [10, 11]);
        line.push(Box::new(1));
        line.push(Box::new(2));
        other();
        let all = drain(&line);
        let of = |decade: u32| all.iter().copied().filter(|e| e / 10 == decade).collect::<Vec<_>>();
        assert_eq!((of(0), of(1)), (vec![0, 1, 2], vec![10, 11]), "in order for each pusher");
        assert_eq!(line.len(), 0);
    });
}

/// Rules 2 and 3: a taker follows close behind a pusher, over a border.
#[test]
fn taker_behind_a_pusher_gets_whole_entries_in_order() {
    check(4, || {
        let line = Arc::new(Line::new(1));
        let other = pusher(&line, [1, 2, 3]);
        let mut all: Vec<u32> = (0..3).filter_map(|_| line.pop()).map(|entry| *entry).collect();
        other();
        all.extend(drain(&line));
        assert_eq!(all, [1, 2, 3]);
    });
}

/// Rule 4: the taker leaves blocks that the pusher then uses again.
#[test]
fn block_that_was_left_is_used_again() {
    check(3, || {
        let line = Arc::new(Line::new(1));
        line.push(Box::new(1));
        line.push(Box::new(2));
        let other = pusher(&line, [3, 4, 5, 6]);
        let mut all: Vec<u32> = (0..4).filter_map(|_| line.pop()).map(|entry| *entry).collect();
        other();
        all.extend(drain(&line));
        assert_eq!(all, [1, 2, 3, 4, 5, 6]);
    });
}

fn take_two(line: &Line<Box<u32>>) -> Vec<u32> {
    let all = |batch: &mut Batch<'_, Box<u32>>| std::iter::from_fn(|| batch.next()).collect();
    let taken: Vec<Box<u32>> = line.take(2, all).unwrap_or_default();
    taken.into_iter().map(|entry| *entry).collect()
}

/// Two takers, each with a batch: nothing is taken twice or left.
#[test]
fn two_takers_do_not_share_an_entry() {
    check(3, || {
        let line = Arc::new(Line::new(1));
        (1..4).for_each(|e| line.push(Box::new(e)));
        let other = thread::spawn({
            let line = line.clone();
            move || take_two(&line)
        });
        let mut all = [take_two(&line), other.join().unwrap(), drain(&line)].concat();
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    });
}

/// A runtime closes while somebody pushes, who may have looked before. Then whoever closes takes back
/// also what is claimed and not yet filled.
#[test]
fn claimed_while_closing_is_taken_back() {
    loom::model(|| {
        let pool = Arc::new((Line::new(1), Idle::new(1)));
        let pusher = thread::spawn({
            let pool = pool.clone();
            move || {
                let (line, idle) = &*pool;
                let spot = line.claim();
                let call = idle.claimed();
                spot.fill(Box::new(1));
                if call && idle.call_for_help(|| 0) {
                    drop(line.pop_surely());
                }
            }
        });
        let (line, idle) = &*pool;
        idle.close();
        drop(line.pop_surely());
        pusher.join().unwrap();
        assert!(line.is_empty(), "left in a line that nobody serves");
    });
}

/// Entries that are left when the line goes are dropped, each once.
#[test]
fn line_dropped_with_entries_drops_them() {
    loom::model(|| {
        let entry = loom::sync::Arc::new(());
        let line = Arc::new(Line::new(1));
        let pusher = thread::spawn({
            let (line, entry) = (line.clone(), entry.clone());
            move || (0..3).for_each(|_| line.push(entry.clone()))
        });
        pusher.join().unwrap();
        assert!(!line.is_empty());
        assert_eq!((line.len(), loom::sync::Arc::strong_count(&entry)), (3, 4));
        drop(line);
        assert_eq!(loom::sync::Arc::strong_count(&entry), 1);
    });
}

/// Rule 2, for whoever only looks.
#[test]
fn entry_that_is_looked_at_is_whole() {
    loom::model(|| {
        let line = Arc::new(Line::new(1));
        let pusher = thread::spawn({
            let line = line.clone();
            move || line.push(Box::new(7))
        });
        if let Some(seen) = line.peek(|entry| **entry) {
            assert_eq!(seen, 7);
        }
        pusher.join().unwrap();
        assert_eq!(line.peek(|entry| **entry), Some(7), "looking takes nothing");
    });
}
