//! Channels: who gets a message, who waits, and what a close does.

use super::*;
use crate::{program::inspect::TaskState, task::cell::BlockReason};

const MAIN: &str = "main";
const OTHER: u32 = 1;

#[test]
fn messages_arrive_in_the_order_in_which_they_were_sent() {
    for capacity in [0, 1, 3, 100] {
        check(move || {
            Guests::new()
                .add(MAIN, move |g, _| async move {
                    let channel = g.open(capacity).await;
                    let sender = g.spawn(OTHER, channel).await;
                    for number in 0..50u8 {
                        assert_eq!(
                            g.receive(channel, 8).await,
                            Ok(vec![number; number as usize % 8])
                        );
                    }
                    g.await_task(sender).await.unwrap()
                })
                .add("other", |g, channel| async move {
                    for number in 0..50u8 {
                        assert_eq!(g.send(channel, &vec![number; number as usize % 8]).await, 0);
                    }
                    0
                })
        });
    }
}

#[test]
fn many_senders_and_receivers_lose_nothing() {
    for capacity in [0, 2] {
        check(move || {
            Guests::new()
                .add(MAIN, move |g, _| async move {
                    let channel = g.open(capacity).await;
                    let mut senders = Vec::new();
                    let mut receivers = Vec::new();
                    for _ in 0..4 {
                        receivers.push(g.spawn(2, channel).await);
                        senders.push(g.spawn(1, channel).await);
                    }
                    for sender in senders {
                        assert_eq!(g.await_task(sender).await, Ok(0));
                    }
                    assert_eq!(g.close(channel).await, 0);
                    let mut sum = 0;
                    for receiver in receivers {
                        sum += g.await_task(receiver).await.unwrap();
                    }
                    assert_eq!(sum, 4 * (1..=25).sum::<i64>());
                    0
                })
                .add("sender", |g, channel| async move {
                    for number in 1..=25i64 {
                        assert_eq!(g.send(channel, &number.to_le_bytes()).await, 0);
                    }
                    0
                })
                .add("receiver", |g, channel| async move {
                    let mut sum = 0;
                    loop {
                        match g.receive(channel, 8).await {
                            Ok(bytes) => sum += i64::from_le_bytes(bytes.try_into().unwrap()),
                            Err(code) => {
                                assert_eq!(code, 1);
                                return sum;
                            }
                        }
                    }
                })
        });
    }
}

#[test]
fn a_message_that_does_not_fit_stays_and_its_length_is_told() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let channel = g.open(2).await;
            assert_eq!(g.send(channel, b"hello").await, 0);
            assert_eq!(g.send(channel, b"").await, 0);
            assert_eq!(g.receive(channel, 4).await, Err(5));
            assert_eq!(g.needed(), 5);
            assert_eq!(g.receive(channel, 5).await, Ok(b"hello".to_vec()));
            assert_eq!(g.receive(channel, 0).await, Ok(vec![]));
            0
        })
    });
}

#[test]
fn a_message_of_a_waiting_sender_that_does_not_fit_stays_with_it() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let channel = g.open(0).await;
                let sender = g.spawn(OTHER, channel).await;
                assert_eq!(g.select(&[channel], -1).await, 0);
                assert_eq!(g.receive(channel, 4).await, Err(5));
                assert_eq!(g.needed(), 5);
                assert_eq!(g.receive(channel, 5).await, Ok(b"hello".to_vec()));
                g.await_task(sender).await.unwrap()
            })
            .add("other", |g, channel| async move { g.send(channel, b"hello").await.into() })
    });
}

/// The receiver with the small buffer waits first; the message goes to the next.
#[test]
fn a_receiver_that_waits_with_too_small_a_buffer_is_told_and_the_next_gets_the_message() {
    let guests = Guests::new()
        .add(MAIN, |g, _| async move {
            let channel = g.open(0).await;
            let small = g.spawn(OTHER, channel).await;
            g.yield_now().await;
            let large = g.spawn(2, channel).await;
            g.yield_now().await;
            assert_eq!(g.send(channel, b"hello").await, 0);
            assert_eq!(g.await_task(small).await, Ok(5));
            g.await_task(large).await.unwrap()
        })
        .add("small", |g, channel| async move {
            assert_eq!(g.receive(channel, 4).await, Err(5));
            g.needed().into()
        })
        .add("large", |g, channel| async move {
            assert_eq!(g.receive(channel, 5).await, Ok(b"hello".to_vec()));
            7
        });
    let (_, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 7);
}

/// It is told of a message that is there, and not of one that was refused. Main has a mutex whose cell
/// takes all but 50 of the bytes in flight.
#[test]
fn a_send_is_refused_and_a_receiver_with_too_small_a_buffer_waits_on() {
    for capacity in [0, 1] {
        let guests = Guests::new()
            .add(MAIN, move |g, _| async move {
                let channel = g.open(capacity).await;
                assert!(g.open_mutex(&[0; 918]).await > 0);
                let mut receivers = Vec::new();
                for _ in 0..2 {
                    receivers.push(g.spawn(OTHER, channel).await);
                    g.yield_now().await; // it waits
                }
                assert_eq!(g.send(channel, &[0; 19]).await, 7);
                assert_eq!(g.send(channel, &[1]).await, 0);
                assert_eq!(g.send(channel, &[2]).await, 0);
                // In the order in which they came.
                assert_eq!(g.await_task(receivers[0]).await, Ok(1));
                g.await_task(receivers[1]).await.unwrap()
            })
            .add("small", |g, channel| async move {
                i64::from(g.receive(channel, 4).await.unwrap()[0])
            });
        let mut options = Options::default();
        options.limits.bytes_in_flight = 1_000;
        let (_, results) = simulate(options, guests, 0);
        assert_eq!(value(&results[0]), 2);
    }
}

#[test]
fn a_rendezvous_returns_when_a_receiver_has_the_message() {
    let (told, heard) = channel();
    let guests = Guests::new()
        .add(MAIN, {
            let told = told.clone();
            move |g, _| {
                let told = told.clone();
                async move {
                    let channel = g.open(0).await;
                    let sender = g.spawn(OTHER, channel).await;
                    g.yield_now().await;
                    g.yield_now().await;
                    told.send("receives").unwrap();
                    g.receive(channel, 8).await.unwrap();
                    g.await_task(sender).await.unwrap()
                }
            }
        })
        .add("sender", move |g, channel| {
            let told = told.clone();
            async move {
                told.send("sends").unwrap();
                assert_eq!(g.send(channel, b"x").await, 0);
                told.send("has sent").unwrap();
                0
            }
        });
    simulate(Options::default(), guests, 0);
    assert_eq!(heard.all(), ["sends", "receives", "has sent"]);
}

#[test]
fn closed_then_receivers_get_what_is_buffered_and_senders_nothing() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let channel = g.open(4).await;
            g.send(channel, b"one").await;
            g.send(channel, b"two").await;
            assert_eq!(g.close(channel).await, 0);
            assert_eq!(g.close(channel).await, 1);
            assert_eq!(g.send(channel, b"three").await, 1);
            assert_eq!(g.receive(channel, 8).await, Ok(b"one".to_vec()));
            assert_eq!(g.receive(channel, 8).await, Ok(b"two".to_vec()));
            for _ in 0..2 {
                assert_eq!(g.receive(channel, 8).await, Err(1));
                assert_eq!(g.send(channel, b"").await, 1);
                assert_eq!(g.close(channel).await, 1);
                assert_eq!(g.select(&[channel], -1).await, 0);
            }
            0
        })
    });
}

#[test]
fn closed_while_others_wait_then_all_are_told() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let full = g.open(0).await;
                let empty = g.open(1).await;
                let mut waiting = Vec::new();
                for _ in 0..3 {
                    waiting.push(g.spawn(1, full).await);
                    waiting.push(g.spawn(2, empty).await);
                    waiting.push(g.spawn(3, empty).await);
                }
                for _ in 0..5 {
                    g.yield_now().await;
                }
                assert_eq!(g.close(full).await, 0);
                assert_eq!(g.close(empty).await, 0);
                for task in waiting {
                    assert_eq!(g.await_task(task).await, Ok(0));
                }
                0
            })
            .add("sender", |g, channel| async move {
                assert_eq!(g.send(channel, b"dropped").await, 1);
                0
            })
            .add("receiver", |g, channel| async move {
                assert_eq!(g.receive(channel, 8).await, Err(1));
                0
            })
            .add("selector", |g, channel| async move {
                assert_eq!(g.select(&[channel], -1).await, 0);
                0
            })
    });
}

#[test]
fn closed_and_drained_then_it_leaves_the_table() {
    let guests = Guests::new().add(MAIN, |g, _| async move {
        for _ in 0..100 {
            let channel = g.open(1).await;
            g.send(channel, b"x").await;
            g.close(channel).await;
            g.receive(channel, 1).await.unwrap();
            assert_eq!(g.receive(channel, 1).await, Err(1));
            g.close(g.open(0).await).await;
        }
        0
    });
    let (program, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 0);
    assert_eq!((program.stats().channels, program.stats().bytes_in_flight), (0, 0));
}

#[test]
fn handles_that_are_no_channels_are_none() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let channel = g.open(1).await;
            let mutex = g.open_mutex(b"").await;
            let own = g.id().await;
            let mistaken = mutex ^ (3 << 60);
            for no_channel in [0, -1, i64::MAX, i64::MIN, own, mutex, channel + 1] {
                assert_eq!(g.send(no_channel, b"x").await, 6, "{no_channel:#x}");
                assert_eq!(g.receive(no_channel, 1).await, Err(6), "{no_channel:#x}");
                assert_eq!(g.close(no_channel).await, 6, "{no_channel:#x}");
                assert_eq!(g.select(&[channel, no_channel], 0).await, -6, "{no_channel:#x}");
            }
            assert_eq!(mistaken, channel, "the two differ in their kind only");
            0
        })
    });
}

#[test]
fn what_a_blocked_task_waits_for_is_recorded() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new()
        .add(
            "receiver",
            |g, _| async move { g.receive(g.open(0).await, 1).await.unwrap_err().into() },
        )
        .add("sender", |g, _| async move { g.send(g.open(0).await, b"").await.into() });
    let program = guests.load(&simulation, Options::default());
    program.spawn("receiver", [0]).unwrap();
    program.spawn("sender", [0]).unwrap();
    simulation.run();
    let states: Vec<TaskState> = program.tasks().into_iter().map(|task| task.state).collect();
    assert!(matches!(states[0], TaskState::Blocked(BlockReason::Receive(_))), "{states:?}");
    assert!(matches!(states[1], TaskState::Blocked(BlockReason::Send(_))), "{states:?}");
    program.shutdown();
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!((value(&results[0]), value(&results[1])), (4, 4));
}
