//! The wheel against a plain list.

use super::*;
use crate::world::Dice;

#[test]
fn nothing_fires_before_its_deadline() {
    let mut wheel = Wheel::new();
    wheel.add(1_000, "a");
    assert_eq!(wheel.next(), Some(1_000));
    assert!(wheel.advance(999).is_empty());
    assert_eq!(wheel.advance(1_000), ["a"]);
    assert_eq!(wheel.next(), None);
}

#[test]
fn equal_deadlines_fire_in_the_order_they_were_added() {
    let mut wheel = Wheel::new();
    for value in 0..10 {
        wheel.add(1 << 40, value);
    }
    assert_eq!(wheel.advance(1 << 41), (0..10).collect::<Vec<_>>());
}

#[test]
fn deadline_that_has_passed_fires_at_once() {
    let mut wheel = Wheel::new();
    wheel.advance(5_000);
    wheel.add(10, "late");
    assert_eq!(wheel.next(), Some(5_000));
    assert_eq!(wheel.advance(5_000), ["late"]);
}

#[test]
fn removed_timer_does_not_fire_and_its_key_goes_stale() {
    let mut wheel = Wheel::new();
    let key = wheel.add(100, "a");
    assert_eq!(wheel.remove(key), Some("a"));
    assert_eq!(wheel.remove(key), None);
    let other = wheel.add(100, "b");
    assert_eq!(wheel.remove(key), None, "the node was reused, the key was not");
    assert_eq!(wheel.advance(100), ["b"]);
    assert_eq!(wheel.remove(other), None);
}

#[test]
fn farthest_deadline_is_held() {
    let mut wheel = Wheel::new();
    wheel.add(Nanos::MAX, "end of time");
    assert_eq!(wheel.next(), Some(Nanos::MAX));
    assert!(wheel.advance(Nanos::MAX - 1).is_empty());
    assert_eq!(wheel.len(), 1);
}

#[test]
fn random_timers_fire_as_from_a_sorted_list() {
    for seed in 0..200 {
        let mut dice = Dice::seeded(seed);
        let mut wheel = Wheel::new();
        let mut list: Vec<(Nanos, u64, Key)> = Vec::new();
        let mut now = 0;
        for number in 0..400 {
            match dice.below(4) {
                0 | 1 => {
                    let far = 1u64 << dice.below(45);
                    let deadline = now + dice.next() % far;
                    list.push((deadline, number, wheel.add(deadline, number)));
                }
                2 if !list.is_empty() => {
                    let (_, number, key) = list.swap_remove(dice.below(list.len()));
                    assert_eq!(wheel.remove(key), Some(number));
                }
                _ => {
                    let far = 1u64 << dice.below(45);
                    now += dice.next() % far;
                    list.sort_unstable_by_key(|(deadline, number, _)| (*deadline, *number));
                    let due = list.iter().take_while(|(at, ..)| *at <= now).count();
                    let expected: Vec<u64> = list.drain(..due).map(|(_, n, _)| n).collect();
                    assert_eq!(wheel.advance(now), expected, "seed {seed}");
                }
            }
            assert_eq!(wheel.len(), list.len());
            let earliest = list.iter().map(|(at, ..)| *at).min();
            assert!(wheel.next() <= earliest.map(|at| at.max(now)) || earliest.is_none());
        }
    }
}
