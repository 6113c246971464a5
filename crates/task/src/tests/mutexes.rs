//! Mutexes: who is next, what comes with the lock, and what an owner that ends leaves behind.

use std::sync::{Arc, Mutex};

use super::*;
use crate::id::TaskId;

const MAIN: &str = "main";
const OTHER: u32 = 1;

#[test]
fn the_cell_comes_with_the_lock_and_goes_back_with_the_unlock() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let mutex = g.open_mutex(b"first").await;
            assert_eq!(g.lock(mutex, 100).await, Ok(b"first".to_vec()));
            assert_eq!(g.unlock(mutex, b"the second is longer than thirty bytes").await, 0);
            assert_eq!(g.lock(mutex, 100).await.unwrap().len(), 38);
            assert_eq!(g.unlock(mutex, b"").await, 0);
            assert_eq!(g.lock(mutex, 0).await, Ok(vec![]));
            assert_eq!(g.unlock(mutex, b"").await, 0);
            0
        })
    });
}

#[test]
fn what_many_count_under_the_lock_is_counted_once() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let mutex = g.open_mutex(&0i64.to_le_bytes()).await;
                let mut tasks = Vec::new();
                for _ in 0..8 {
                    tasks.push(g.spawn(OTHER, mutex).await);
                }
                for task in tasks {
                    assert_eq!(g.await_task(task).await, Ok(0));
                }
                let count = g.lock(mutex, 8).await.unwrap();
                assert_eq!(i64::from_le_bytes(count.clone().try_into().unwrap()), 8 * 25);
                g.unlock(mutex, &count).await.into()
            })
            .add("other", |g, mutex| async move {
                for _ in 0..25 {
                    let count =
                        i64::from_le_bytes(g.lock(mutex, 8).await.unwrap().try_into().unwrap());
                    g.yield_now().await;
                    assert_eq!(g.unlock(mutex, &(count + 1).to_le_bytes()).await, 0);
                }
                0
            })
    });
}

#[test]
fn the_longest_waiter_is_next() {
    let (tell, told) = channel();
    let guests = Guests::new()
        .add(MAIN, |g, _| async move {
            let mutex = g.open_mutex(b"").await;
            g.lock(mutex, 0).await.unwrap();
            let mut tasks = Vec::new();
            for _ in 0..5 {
                tasks.push(g.spawn(OTHER, mutex).await);
                g.yield_now().await;
            }
            g.unlock(mutex, b"").await;
            for task in tasks {
                g.await_task(task).await.unwrap();
            }
            0
        })
        .add("other", move |g, mutex| {
            let tell = tell.clone();
            async move {
                g.lock(mutex, 0).await.unwrap();
                tell.send(g.id().await).unwrap();
                g.yield_now().await;
                g.unlock(mutex, b"").await.into()
            }
        });
    let (_, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 0);
    assert_eq!(told.all(), [2, 3, 4, 5, 6]);
}

/// The first in line has too little room. It owns nothing, and the next gets the lock.
#[test]
fn a_waiter_whose_buffer_is_too_small_is_told_and_the_next_owns_it() {
    let guests = Guests::new()
        .add(MAIN, |g, _| async move {
            let mutex = g.open_mutex(b"").await;
            g.lock(mutex, 0).await.unwrap();
            let small = g.spawn(1, mutex).await;
            g.yield_now().await;
            let large = g.spawn(2, mutex).await;
            g.yield_now().await;
            assert_eq!(g.unlock(mutex, b"hello").await, 0);
            assert_eq!(g.await_task(small).await, Ok(5));
            g.await_task(large).await.unwrap()
        })
        .add("small", |g, mutex| async move {
            assert_eq!(g.lock(mutex, 4).await, Err(5));
            assert_eq!(g.needed(), 5);
            assert_eq!(g.unlock(mutex, b"").await, 9, "it does not own it");
            g.needed().into()
        })
        .add("large", |g, mutex| async move {
            assert_eq!(g.lock(mutex, 5).await, Ok(b"hello".to_vec()));
            g.unlock(mutex, b"").await.into()
        });
    let (_, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 0);
}

#[test]
fn a_cell_that_does_not_fit_is_not_locked() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let mutex = g.open_mutex(b"hello").await;
            assert_eq!(g.lock(mutex, 4).await, Err(5));
            assert_eq!(g.needed(), 5);
            assert_eq!(g.unlock(mutex, b"").await, 9);
            assert_eq!(g.lock(mutex, 5).await, Ok(b"hello".to_vec()));
            g.unlock(mutex, b"").await.into()
        })
    });
}

#[test]
fn locked_twice_or_unlocked_by_another_is_a_bad_argument() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let mutex = g.open_mutex(b"").await;
                assert_eq!(g.unlock(mutex, b"").await, 9);
                g.lock(mutex, 0).await.unwrap();
                assert_eq!(g.lock(mutex, 0).await, Err(9));
                let other = g.spawn(OTHER, mutex).await;
                assert_eq!(g.await_task(other).await, Ok(9));
                assert_eq!(g.unlock(mutex, b"").await, 0);
                assert_eq!(g.unlock(mutex, b"").await, 9);
                0
            })
            .add("other", |g, mutex| async move { g.unlock(mutex, b"").await.into() })
    });
}

#[test]
fn an_owner_that_ends_poisons_it_for_those_who_wait_and_those_who_come() {
    for fails in [0, 1] {
        check(move || {
            Guests::new()
                .add(MAIN, move |g, _| async move {
                    let mutex = g.open_mutex(b"cell").await;
                    let owner = g.spawn(1, mutex * 2 + fails).await;
                    let mut others = Vec::new();
                    for _ in 0..3 {
                        others.push(g.spawn(2, mutex).await);
                    }
                    let ended = g.await_task(owner).await;
                    assert_eq!(ended, if fails == 0 { Ok(0) } else { Err(3) });
                    assert_eq!(g.lock(mutex, 100).await, Err(8), "poisoned before anyone is told");
                    for other in others {
                        assert_eq!(g.await_task(other).await, Ok(0));
                    }
                    assert_eq!(g.unlock(mutex, b"").await, 9);
                    0
                })
                .add("owner", |g, argument| async move {
                    if g.lock(argument / 2, 100).await.is_err() {
                        return 0;
                    }
                    for _ in 0..5 {
                        g.yield_now().await;
                    }
                    if argument % 2 == 0 { 0 } else { g.trap().await }
                })
                .add("other", |g, mutex| async move {
                    match g.lock(mutex, 100).await {
                        // It was before the owner.
                        Ok(cell) => g.unlock(mutex, &cell).await.into(),
                        Err(code) => i64::from(code) - 8,
                    }
                })
        });
    }
}

/// Ended after the lock was passed to it, and before it had a turn to learn of it.
#[test]
fn a_waiter_that_is_ended_poisons_what_it_was_given() {
    let slot: Arc<Mutex<Option<Program>>> = Arc::default();
    let mut simulation = simulation(1, 0);
    let guests = Guests::new()
        .add(MAIN, {
            let slot = slot.clone();
            move |g, _| {
                let slot = slot.clone();
                async move {
                    let mutex = g.open_mutex(b"").await;
                    g.lock(mutex, 0).await.unwrap();
                    let other = g.spawn(OTHER, mutex).await;
                    g.yield_now().await;
                    assert_eq!(g.unlock(mutex, b"").await, 0);
                    let program = slot.lock().unwrap().take().unwrap();
                    let other_task = program.shared().registry.find(TaskId::new(other as u64));
                    other_task.unwrap().strand().abort();
                    assert_eq!(g.await_task(other).await, Err(3));
                    g.lock(mutex, 0).await.unwrap_err().into()
                }
            }
        })
        .add("other", |g, mutex| async move {
            let _ = g.lock(mutex, 0).await;
            panic!("it was ended before");
        });
    let program = guests.load(&simulation, Options::default());
    *slot.lock().unwrap() = Some(program.clone());
    program.spawn(MAIN, [0]).unwrap();
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!(*error(&results[1]), TaskError::Cancelled);
    assert_eq!(value(&results[0]), 8);
}

#[test]
fn handles_that_are_no_mutexes_are_none() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let mutex = g.open_mutex(b"").await;
            let channel = g.open(0).await;
            let own = g.id().await;
            for no_mutex in [0, -1, i64::MAX, i64::MIN, own, channel, mutex + 1] {
                assert_eq!(g.lock(no_mutex, 8).await, Err(6), "{no_mutex:#x}");
                assert_eq!(g.unlock(no_mutex, b"").await, 6, "{no_mutex:#x}");
                assert_eq!(g.close_mutex(no_mutex).await, 6, "{no_mutex:#x}");
            }
            0
        })
    });
}

#[test]
fn a_closed_mutex_is_closed_for_those_who_wait_and_those_who_come() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let mutex = g.open_mutex(b"a cell that is longer than thirty bytes").await;
                g.lock(mutex, 100).await.unwrap();
                let mut others = Vec::new();
                for _ in 0..3 {
                    others.push(g.spawn(OTHER, mutex).await);
                }
                g.yield_now().await;
                assert_eq!(g.close_mutex(mutex).await, 0);
                for other in others {
                    assert_eq!(g.await_task(other).await, Ok(1));
                }
                assert_eq!(g.lock(mutex, 100).await, Err(1));
                assert_eq!(g.unlock(mutex, b"").await, 1);
                assert_eq!(g.close_mutex(mutex).await, 1);
                0
            })
            .add("other", |g, mutex| async move { g.lock(mutex, 100).await.unwrap_err().into() })
    });
}

/// Whether it unlocks what is gone, or ends without.
#[test]
fn another_closes_a_mutex_then_its_owner_poisons_nothing_and_nothing_is_left() {
    for unlocks in [false, true] {
        let guests = Guests::new()
            .add(MAIN, move |g, _| async move {
                let mutex = g.open_mutex(b"cell").await;
                g.lock(mutex, 100).await.unwrap();
                let other = g.spawn(OTHER, mutex).await;
                assert_eq!(g.await_task(other).await, Ok(0));
                if unlocks {
                    assert_eq!(g.unlock(mutex, b"a longer cell").await, 1);
                    assert_eq!(g.unlock(mutex, b"").await, 1);
                }
                0
            })
            .add("other", |g, mutex| async move { g.close_mutex(mutex).await.into() });
        let (program, results) = simulate(Options::default(), guests, 0);
        assert_eq!(value(&results[0]), 0);
        let stats = program.stats();
        assert_eq!((stats.mutexes, stats.bytes_in_flight), (0, 0));
    }
}

#[test]
fn a_poisoned_mutex_can_be_closed() {
    let guests = Guests::new()
        .add(MAIN, |g, _| async move {
            let mutex = g.open_mutex(b"cell").await;
            let other = g.spawn(OTHER, mutex).await;
            assert_eq!(g.await_task(other).await, Ok(0));
            assert_eq!(g.lock(mutex, 100).await, Err(8));
            assert_eq!(g.close_mutex(mutex).await, 0);
            assert_eq!(g.lock(mutex, 100).await, Err(1));
            0
        })
        .add("other", |g, mutex| async move {
            g.lock(mutex, 100).await.unwrap();
            0
        });
    let (program, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 0);
    let stats = program.stats();
    assert_eq!((stats.mutexes, stats.bytes_in_flight), (0, 0));
}
