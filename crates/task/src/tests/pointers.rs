//! Pointers outside of the memory, and lengths that are none, in every call: nothing happens.

use super::*;
use crate::{
    abi::{Call, Type},
    scripted::{Guest, MEMORY},
};

/// What a guest may give as a pointer and a length, of which none is a part of its memory.
const OUTSIDE: [(i32, i32); 12] = [
    (0, MEMORY as i32 + 1),
    (MEMORY as i32, 1),
    (MEMORY as i32 + 1, 0),
    (1, MEMORY as i32),
    (-1, 1),
    (-1, 2),
    (-8, 100),
    (0, -1),
    (100, -50),
    (i32::MIN, 0),
    (i32::MAX, i32::MAX),
    (-1, -1),
];

fn i32(value: i32) -> u64 {
    u64::from(value as u32)
}

fn plain(answer: u64) -> i64 {
    i64::from(answer as i32)
}

/// Every call with every pair of `OUTSIDE` where it takes a pointer and a length.
async fn refuses(g: &Guest, channel: u64, mutex: u64, other: u64) {
    for (pointer, len) in OUTSIDE.map(|(pointer, len)| (i32(pointer), i32(len))) {
        let id = |answer: u64| answer as i64;
        assert_eq!(id(g.call(Call::SpawnWith, [1, pointer, len, 0]).await), -9);
        assert_eq!(plain(g.call(Call::Input, [pointer, len, 0, 0]).await), -9);
        assert_eq!(plain(g.call(Call::ChanSend, [channel, pointer, len, 0]).await), 9);
        assert_eq!(plain(g.call(Call::ChanRecv, [channel, pointer, len, 0]).await), 9);
        assert_eq!(id(g.call(Call::MutexOpen, [pointer, len, 0, 0]).await), -9);
        assert_eq!(plain(g.call(Call::Lock, [mutex, pointer, len, 0]).await), 9);
        assert_eq!(plain(g.call(Call::Unlock, [mutex, pointer, len, 0]).await), 9);
        // Those say nothing, and do nothing.
        g.call(Call::Log, [0, pointer, len, 0]).await;
        g.call(Call::Random, [pointer, len, 0, 0]).await;
    }
    // Where a number goes, or comes from.
    for end in [MEMORY as i32 - 3, MEMORY as i32, -1, -4, i32::MIN, i32::MAX].map(i32) {
        assert_eq!(plain(g.call(Call::ChanRecv, [channel, 0, 8, end]).await), 9);
        assert_eq!(plain(g.call(Call::Lock, [mutex, 0, 8, end]).await), 9);
        assert_eq!(plain(g.call(Call::Await, [other, end, 0, 0]).await), 9);
        assert_eq!(plain(g.call(Call::Select, [end, 1, 0, 0]).await), -9);
    }
    for (list, count) in [(0, -1), (0, i32::MIN), (MEMORY as i32 - 7, 1), (-16, 2)] {
        assert_eq!(plain(g.call(Call::Select, [i32(list), i32(count), 0, 0]).await), -9);
    }
}

#[test]
fn every_call_refuses_them_and_nothing_has_happened() {
    let lines = channel();
    let mut options = Options::default();
    let tell = lines.0;
    options.log = crate::LogSink::new(move |line| tell.send(line.text.to_owned()).unwrap());
    let guests = Guests::new()
        .add("main", |g, _| async move {
            let channel = g.open(5).await as u64;
            let mutex = g.open_mutex(b"cell").await as u64;
            let other = g.spawn(1, 0).await as u64;
            assert_eq!(g.send(channel as i64, b"message").await, 0);
            refuses(&g, channel, mutex, other).await;
            assert_eq!(g.lock(mutex as i64, 8).await, Ok(b"cell".to_vec()), "it was not locked");
            assert_eq!(plain(g.call(Call::Unlock, [mutex, 0, i32(-1), 0]).await), 9);
            assert_eq!(g.unlock(mutex as i64, b"new").await, 0, "it was still locked");
            assert_eq!(g.receive(channel as i64, 8).await, Ok(b"message".to_vec()));
            assert_eq!(g.select(&[channel as i64], 0).await, -2, "nothing was sent");
            g.await_task(other as i64).await.unwrap()
        })
        .add("other", |_, _| async { 0 });
    let (program, results) = simulate(options, guests, 0);
    assert_eq!(value(&results[0]), 0);
    assert_eq!(program.stats().spawned, 2);
    assert_eq!((program.stats().mutexes, program.stats().channels), (1, 1));
    assert_eq!(lines.1.all(), Vec::<String>::new());
}

/// A guest that grew its memory in between: what was checked is still inside.
#[test]
fn the_memory_grows_while_others_run() {
    check(|| {
        Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(0).await;
                let sender = g.spawn(1, channel).await;
                assert!(g.grow_memory(2 * MEMORY).await);
                let last = 2 * MEMORY as u64 - 8;
                let code = g.call(Call::ChanRecv, [channel as u64, last, 4, last + 4]).await;
                assert_eq!(code, 0);
                let end = g.with_memory(|memory| memory[last as usize..].to_vec());
                assert_eq!(end, [b'a', b'b', b'c', b'd', 4, 0, 0, 0]);
                g.await_task(sender).await.unwrap()
            })
            .add("other", |g, channel| async move { g.send(channel, b"abcd").await.into() })
    });
}

/// The test above names each call that takes a pointer; this one sees to it that none is forgotten.
#[test]
fn calls_with_pointers_are_those_that_are_tried() {
    let with_pointers: Vec<&str> = crate::abi::IMPORTS
        .iter()
        .filter(|import| import.parameters.iter().filter(|kind| **kind == Type::I32).count() > 0)
        .map(|import| import.name)
        .collect();
    assert_eq!(
        with_pointers,
        [
            "spawn",
            "spawn_with",
            "input",
            "await",
            "chan_open",
            "chan_send",
            "chan_recv",
            "select",
            "mutex_open",
            "lock",
            "unlock",
            "log",
            "random"
        ],
        "spawn and chan_open take no pointer"
    );
}
