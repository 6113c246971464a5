//! Are roots the same, whoever made which part of them?

use std::thread;

use super::*;
use crate::{
    config::Rules,
    execute::{sequential::Executor, testing::*},
};

/// What a block of so many transactions holds, of several kinds.
fn included(len: usize) -> Included {
    let mut rules = Rules::default();
    (rules.block_gas_limit, rules.block_transactions_max) = (u64::MAX, len);
    let mut executor = Executor::new(&rules, SHARD, Maps::new(&rules, &zoo()), 1_000);
    let batch = (0..len as u64).map(|n| {
        let (sender, nonce) = ((n % 8) as u8, n / 8);
        match n % 3 {
            0 => call(&rules, sender, nonce, TOKEN, token_input(user((n % 7) as u8), n)),
            1 => call(&rules, sender, nonce, REVERTER, vec![n as u8; n as usize % 50]),
            _ => legacy(&rules, sender, nonce, user(0)),
        }
    });
    let batch = batch.collect();
    let executed = executor.execute(&context(1), batch, &mut || true).expect("it can be read");
    assert_eq!(executed.included.len(), len);
    executed.included
}

#[test]
fn parts_of_every_length_come_to_the_same_as_the_whole() {
    let all = included(260);
    for len in (0..20).chain(120..140).chain(250..=all.len()) {
        let own = all[..len].to_vec();
        let parts = Parts::new(own.clone());
        parts.work();
        assert_eq!(parts.finish(), (own.clone(), Some(ListRoots::of(&own))), "of {len}");
    }
}

#[test]
fn several_threads_come_to_the_same_as_one() {
    let all = included(50 * PART as usize);
    let expected = Some(ListRoots::of(&all));
    for _ in 0..50 {
        let parts = Parts::new(all.clone());
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| parts.work());
            }
        });
        assert_eq!(parts.finish().1, expected);
    }
}

#[test]
fn without_one_part_there_are_no_roots() {
    let all = included(2 * PART as usize);
    for lost in 0..=2 {
        let parts = Parts::new(all.clone());
        for part in 0..=lost {
            assert_eq!(parts.take(), Some(part));
            if part < lost {
                parts.make(part);
            }
        }
        parts.work();
        assert_eq!(parts.finish().1, None);
    }
}
