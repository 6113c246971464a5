//! Does every task go on or end, and is everybody told, in thousands of random schedules?
//!
//! Each schedule builds a runtime of two workers and a program of scripted guests. A wake that is lost
//! shows as a deadlock of the threads, which shuttle reports with the schedule; a deadlock of the tasks
//! that is none shows as a task that failed. `SHIFTWORK_SCHEDULES` sets the number of schedules per test
//! and scheduler.
#![cfg(shuttle)]

use kernel::Runtime;
use shuttle::{
    Config, MaxSteps, Runner,
    scheduler::{PctScheduler, RandomScheduler},
    thread,
};
use task::{Options, Program, TaskError, TaskId, TaskResult, Value, scripted::Guests};

const DEPTH: usize = 4;
const STEPS_MAX: usize = 100_000;

fn check(world: impl Fn() + Send + Sync + Copy + 'static) {
    let text = std::env::var("SHIFTWORK_SCHEDULES");
    let schedules = text.map_or(1000, |text| text.parse().expect("SHIFTWORK_SCHEDULES: a number"));
    let mut config = Config::new();
    config.stack_size = 0x40000;
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    Runner::new(RandomScheduler::new(schedules), config.clone()).run(world);
    Runner::new(PctScheduler::new(DEPTH, schedules), config).run(world);
}

fn runtime() -> Runtime {
    Runtime::builder().workers(2).on_report(|_| {}).build().unwrap()
}

fn value(result: &TaskResult) -> i64 {
    match result.outcome.as_deref() {
        Ok([Value::I64(value)]) => *value,
        other => panic!("{} gave {other:?}", result.id),
    }
}

fn load(runtime: &Runtime, guests: Guests) -> Program {
    guests.load(runtime, Options::default())
}

/// The first task returns this.
fn expect(guests: Guests, expected: i64) {
    let runtime = runtime();
    let program = load(&runtime, guests);
    program.spawn("main", [0]).unwrap();
    assert_eq!(value(&program.run().unwrap()[0]), expected);
    runtime.shutdown();
}

#[test]
fn a_message_that_is_sent_while_the_receiver_begins_to_wait_arrives() {
    check(|| {
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(0).await;
                let sender = g.spawn(1, channel).await;
                let first = g.receive(channel, 8).await.unwrap().len();
                let second = g.receive(channel, 8).await.unwrap().len();
                assert_eq!(g.await_task(sender).await, Ok(0));
                (first + 10 * second) as i64
            })
            .add("sender", |g, channel| async move {
                assert_eq!(g.send(channel, &[0; 1]).await, 0);
                g.send(channel, &[0; 2]).await.into()
            });
        expect(guests, 21);
    });
}

#[test]
fn two_receivers_and_two_senders_lose_nothing() {
    check(|| {
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(1).await;
                let tasks = [
                    g.spawn(1, channel).await,
                    g.spawn(2, channel).await,
                    g.spawn(1, channel).await,
                    g.spawn(2, channel).await,
                ];
                let mut sum = 0;
                for task in tasks {
                    sum += g.await_task(task).await.unwrap();
                }
                sum
            })
            .add("receiver", |g, channel| async move {
                g.receive(channel, 8).await.unwrap().len() as i64
            })
            .add("sender", |g, channel| async move { g.send(channel, &[0; 7]).await.into() });
        expect(guests, 14);
    });
}

#[test]
fn a_select_is_told_of_one_of_two_messages_and_both_are_there() {
    check(|| {
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let channels = [g.open(0).await, g.open(1).await];
                for channel in channels {
                    g.spawn(1, channel).await;
                }
                let first = g.select(&channels, -1).await as usize;
                assert!(g.receive(channels[first], 8).await.is_ok());
                assert_eq!(g.select(&channels[1 - first..2 - first], -1).await, 0);
                assert!(g.receive(channels[1 - first], 8).await.is_ok());
                7
            })
            .add("sender", |g, channel| async move { g.send(channel, b"x").await.into() });
        expect(guests, 7);
    });
}

#[test]
fn a_mutex_has_one_owner_at_a_time() {
    check(|| {
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let mutex = g.open_mutex(&[0]).await;
                let tasks = [g.spawn(1, mutex).await, g.spawn(1, mutex).await];
                for task in tasks {
                    g.await_task(task).await.unwrap();
                }
                g.lock(mutex, 1).await.unwrap()[0].into()
            })
            .add("other", |g, mutex| async move {
                let cell = g.lock(mutex, 1).await.unwrap();
                g.yield_now().await;
                g.unlock(mutex, &[cell[0] + 1]).await.into()
            });
        expect(guests, 2);
    });
}

#[test]
fn a_mutex_is_closed_while_others_lock_it_and_wait_then_all_are_told() {
    check(|| {
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let mutex = g.open_mutex(&[0]).await;
                let tasks = [g.spawn(1, mutex).await, g.spawn(1, mutex).await];
                assert_eq!(g.close_mutex(mutex).await, 0);
                for task in tasks {
                    let code = g.await_task(task).await.unwrap();
                    assert!([0, 1].contains(&code), "{code}");
                }
                g.lock(mutex, 1).await.unwrap_err().into()
            })
            .add("other", |g, mutex| async move {
                match g.lock(mutex, 1).await {
                    Ok(cell) => {
                        g.yield_now().await;
                        g.unlock(mutex, &cell).await.into()
                    }
                    Err(code) => code.into(),
                }
            });
        expect(guests, 1);
    });
}

#[test]
fn closed_while_others_come_and_wait_then_all_are_told() {
    check(|| {
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(0).await;
                let tasks = [1, 2, 3].map(|function| (function, channel));
                let mut spawned = Vec::new();
                for (function, channel) in tasks {
                    spawned.push(g.spawn(function, channel).await);
                }
                g.close(channel).await;
                let mut sum = 0;
                for task in spawned {
                    sum += g.await_task(task).await.unwrap();
                }
                // A message may have gone from one to the other before.
                assert!([0, 2].contains(&sum), "{sum}");
                7
            })
            .add("sender", |g, channel| async move { g.send(channel, b"").await.into() })
            .add("receiver", |g, channel| async move {
                g.receive(channel, 0).await.err().unwrap_or(0).into()
            })
            .add("selector", |g, channel| async move { g.select(&[channel], -1).await.into() });
        expect(guests, 7);
    });
}

#[test]
fn a_deadlock_is_found_by_whoever_stops_last() {
    check(|| {
        let runtime = runtime();
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(0).await;
                g.spawn(1, channel).await;
                g.spawn(2, 0).await;
                g.receive(channel, 0).await.unwrap_err().into()
            })
            .add(
                "receiver",
                |g, channel| async move { g.receive(channel, 0).await.unwrap_err().into() },
            )
            .add("last", |_, _| async { 0 });
        let program = load(&runtime, guests);
        program.spawn("main", [0]).unwrap();
        let results = program.run().unwrap();
        for result in &results[..2] {
            let Err(TaskError::Deadlock(_, report)) = &result.outcome else { panic!("{result:?}") };
            assert_eq!(report.tasks.len(), 2);
        }
        assert_eq!(value(&results[2]), 0);
        runtime.shutdown();
    });
}

#[test]
fn cancelled_from_outside_while_it_begins_to_wait_then_it_ends() {
    check(|| {
        let runtime = runtime();
        let guests = Guests::new().add("main", |g, _| async move {
            let channel = g.open(0).await;
            let mutex = g.open_mutex(b"").await;
            g.lock(mutex, 0).await.err();
            g.receive(channel, 0).await.unwrap_err().into()
        });
        let program = load(&runtime, guests);
        let id = program.spawn("main", [0]).unwrap();
        let canceller = {
            let program = program.clone();
            thread::spawn(move || program.cancel(id))
        };
        let results = program.run().unwrap();
        canceller.join().unwrap();
        match &results[0].outcome {
            Ok(_) => assert_eq!(value(&results[0]), 4),
            Err(TaskError::Cancelled) => {}
            // It was cancelled too late.
            Err(TaskError::Deadlock(_, report)) => assert_eq!(report.tasks.len(), 1),
            Err(error) => panic!("{error}"),
        }
        runtime.shutdown();
    });
}

#[test]
fn shut_down_while_tasks_spawn_and_wait_then_all_end() {
    check(|| {
        let runtime = runtime();
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(0).await;
                let child = g.spawn(1, channel).await;
                if child > 0 { g.await_task(child).await.err().unwrap_or(0).into() } else { child }
            })
            .add(
                "child",
                |g, channel| async move { g.receive(channel, 0).await.unwrap_err().into() },
            );
        let program = load(&runtime, guests);
        program.spawn("main", [0]).unwrap();
        program.shutdown();
        for result in program.run().unwrap() {
            match &result.outcome {
                Ok(_) => assert!([4, 3, 0, -4].contains(&value(&result)), "{result:?}"),
                Err(error) => assert_eq!(*error, TaskError::Cancelled),
            }
        }
        runtime.shutdown();
    });
}

#[test]
fn a_task_is_awaited_from_rust_and_from_a_guest_while_it_ends() {
    check(|| {
        let runtime = runtime();
        let guests = Guests::new()
            .add("main", |g, _| async move { g.await_task(2).await.err().unwrap_or(7).into() })
            .add("other", |_, _| async { 8 });
        let program = load(&runtime, guests);
        program.spawn("main", [0]).unwrap();
        program.spawn("other", [0]).unwrap();
        let mut end = runtime.spawn(program.task(TaskId::new(2))).unwrap();
        let results = program.run().unwrap();
        // Awaited before it was there.
        assert!([6, 7].contains(&value(&results[0])));
        assert_eq!(value(&end.join().unwrap().unwrap()), 8);
        runtime.shutdown();
    });
}

#[test]
fn the_runtime_stops_while_tasks_wait_then_run_returns() {
    check(|| {
        let runtime = runtime();
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(0).await;
                let child = g.spawn(1, channel).await;
                g.await_task(child).await.unwrap_err().into()
            })
            .add(
                "child",
                |g, channel| async move { g.receive(channel, 0).await.unwrap_err().into() },
            );
        let program = load(&runtime, guests);
        program.spawn("main", [0]).unwrap();
        drop(runtime);
        for result in program.run().unwrap() {
            match &result.outcome {
                // It has heard of its child's end, or could spawn none.
                Ok(_) => assert!([3, 6].contains(&value(&result)), "{result:?}"),
                Err(TaskError::Stopped | TaskError::Deadlock(..)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
}

#[test]
fn the_program_is_dropped_while_tasks_talk_then_its_runtime_stops() {
    check(|| {
        let runtime = runtime();
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(0).await;
                g.spawn(1, channel).await;
                loop {
                    let _ = g.receive(channel, 0).await;
                    g.yield_now().await;
                }
            })
            .add("other", |g, channel| async move { g.send(channel, b"").await.into() });
        let program = load(&runtime, guests);
        program.spawn("main", [0]).unwrap();
        drop(program);
        runtime.shutdown();
    });
}

/// The last two end at about the same time. What `run` returns is what there is from then on.
#[test]
fn all_tasks_have_ended_then_as_many_results_are_there_as_are_kept() {
    check(|| {
        let runtime = runtime();
        let guests = Guests::new().add("main", |_, argument| async move { argument });
        let mut options = Options::default();
        options.limits.results = 1;
        let program = guests.load(&runtime, options);
        for argument in 0..3 {
            program.spawn("main", [argument]).unwrap();
        }
        let results = program.run().unwrap();
        assert_eq!(results.len(), 1);
        assert_eq!(results, program.results());
        runtime.shutdown();
    });
}
