//! Spawning and awaiting: arguments, inputs, results, and tasks that are none.

use std::{
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
};

use super::*;
use crate::{TaskEnd, abi::Call};

const MAIN: &str = "main";
const OTHER: u32 = 1;

#[test]
fn a_task_gets_its_argument_and_its_result_is_awaited() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let tasks = [g.spawn(OTHER, 20).await, g.spawn(OTHER, i64::MIN / 2).await];
                assert_eq!(tasks, [2, 3], "ids count from 1");
                assert_eq!(g.await_task(tasks[1]).await, Ok(i64::MIN));
                assert_eq!(g.await_task(tasks[0]).await, Ok(40));
                assert_eq!(g.await_task(tasks[0]).await, Ok(40), "as often as one likes");
                0
            })
            .add("double", |_, argument| async move { argument * 2 })
    });
}

#[test]
fn many_await_the_same_task() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let slow = g.spawn(1, 0).await;
                let mut others = Vec::new();
                for _ in 0..5 {
                    others.push(g.spawn(2, slow).await);
                }
                for other in others {
                    assert_eq!(g.await_task(other).await, Ok(8));
                }
                assert_eq!(g.await_task(slow).await, Ok(7));
                0
            })
            .add("slow", |g, _| async move {
                for _ in 0..5 {
                    g.yield_now().await;
                }
                7
            })
            .add("other", |g, slow| async move { g.await_task(slow).await.unwrap() + 1 })
    });
}

#[test]
fn awaiting_oneself_or_nobody_is_refused() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let own = g.id().await;
            assert_eq!(g.await_task(own).await, Err(9));
            let channel = g.open(0).await;
            for nobody in [0, -1, own + 1, i64::MAX, i64::MIN, channel] {
                assert_eq!(g.await_task(nobody).await, Err(6), "{nobody}");
            }
            0
        })
    });
}

#[test]
fn a_task_that_fails_gives_its_failure_to_those_who_await_it_and_to_nobody_else() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let bad = g.spawn(1, 0).await;
                let good = g.spawn(2, 0).await;
                assert_eq!(g.await_task(bad).await, Err(3));
                assert_eq!(g.await_task(bad).await, Err(3));
                g.await_task(good).await.unwrap()
            })
            .add("bad", |g, _| async move { g.trap().await })
            .add("good", |g, _| async move {
                for _ in 0..10 {
                    g.yield_now().await;
                }
                0
            })
    });
}

#[test]
fn input_comes_as_bytes_and_its_length_as_the_argument() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let with = g.spawn_with(1, b"some bytes").await;
                assert_eq!(g.await_task(with).await, Ok(10));
                let without = g.spawn(2, 10).await;
                assert_eq!(g.await_task(without).await, Ok(0));
                0
            })
            .add("with", |g, len| async move {
                assert_eq!(len, 10);
                assert_eq!(g.input(9).await, (10, vec![]), "it does not fit");
                for _ in 0..2 {
                    assert_eq!(g.input(100).await, (10, b"some bytes".to_vec()));
                }
                len
            })
            .add("without", |g, _| async move { g.input(10).await.0.into() })
    });
}

#[test]
fn input_is_no_longer_counted_when_its_task_has_ended() {
    let guests = Guests::new()
        .add(MAIN, |g, _| async move {
            for _ in 0..10 {
                let task = g.spawn_with(1, &[7; 1000]).await;
                g.await_task(task).await.unwrap();
            }
            0
        })
        .add("other", |_, len| async move { len });
    let (program, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 0);
    assert_eq!(program.stats().bytes_in_flight, 0);
}

#[test]
fn only_functions_from_an_i64_to_one_or_nothing_can_be_spawned() {
    use crate::value::ValueType::{I32, I64};
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                for bad in [1, 2, 3, 4, 6, u32::MAX] {
                    assert_eq!(g.spawn(bad, 0).await, -9, "{bad}");
                    assert_eq!(g.spawn_with(bad, b"x").await, -9, "{bad}");
                }
                let silent = g.spawn(5, 7).await;
                assert_eq!(g.await_task(silent).await, Ok(0), "a task that returns nothing");
                0
            })
            .add_typed("none", &[], &[], |_, _| async { vec![] })
            .add_typed("i32", &[I32], &[I64], |_, _| async { vec![Value::I64(0)] })
            .add_typed("two", &[I64, I64], &[I64], |_, _| async { vec![Value::I64(0)] })
            .add_typed("to i32", &[I64], &[I32], |_, _| async { vec![Value::I32(0)] })
            .add_typed("silent", &[I64], &[], |_, _| async { vec![] })
    });
}

#[test]
fn the_version_of_the_interface_is_told() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            assert_eq!(g.call(Call::AbiVersion, [0; 4]).await, 1);
            0
        })
    });
}

#[test]
fn who_has_awaited_is_told_to_rust() {
    let guests = Guests::new()
        .add(MAIN, |g, _| async move {
            let awaited = g.spawn(1, 0).await;
            g.spawn(1, 0).await;
            g.await_task(awaited).await.unwrap()
        })
        .add("other", |_, _| async { 0 });
    let (_, results) = simulate(Options::default(), guests, 0);
    let awaited: Vec<bool> = results.iter().map(|result| result.awaited).collect();
    assert_eq!(awaited, [false, true, false]);
}

/// Polls the end of a task at the very moment at which it hears that all have ended.
struct AskAtTheEnd {
    end: Mutex<Option<TaskEnd>>,
    tell: Sender<bool>,
}

impl Wake for AskAtTheEnd {
    fn wake(self: Arc<Self>) {
        let mut end = self.end.lock().unwrap().take().expect("it hears of it once");
        self.tell.send(poll(&mut end).is_ready()).unwrap();
    }
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// The second promise of `task::body`.
#[test]
fn all_tasks_have_ended_then_one_that_is_awaited_has_its_result() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new().add(MAIN, |_, argument| async move { argument });
    let program = guests.load(&simulation, Options::default());
    let task = program.spawn(MAIN, [7]).unwrap();
    let mut end = program.task(task);
    assert!(poll(&mut end).is_pending());
    let (tell, told) = channel();
    let asks = Waker::from(Arc::new(AskAtTheEnd { end: Mutex::new(Some(end)), tell }));
    let mut finished = pin!(program.finished());
    assert!(finished.as_mut().poll(&mut Context::from_waker(&asks)).is_pending());
    simulation.run();
    assert_eq!(told.all(), [true], "the result was there when all had ended");
}

#[test]
fn no_result_is_kept_then_whoever_waits_gets_it_and_nobody_else() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new().add(MAIN, |_, argument| async move { argument });
    let mut options = Options::default();
    options.limits.results = 0;
    let program = guests.load(&simulation, options);
    let task = program.spawn(MAIN, [7]).unwrap();
    let end = simulation.block_on(program.task(task)).unwrap();
    assert_eq!(value(&end.expect("it waited")), 7);
    assert_eq!(program.results(), []);
    assert!(simulation.block_on(program.task(task)).unwrap().is_err());
}
