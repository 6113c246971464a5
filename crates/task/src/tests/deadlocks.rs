//! Deadlocks: they are found, explained, and only they.

use super::*;
use crate::{
    id::TaskId,
    program::{counts::Verdict, deadlock},
    task::cell::BlockReason,
};

fn report(results: &[TaskResult]) -> String {
    match error(&results[0]) {
        TaskError::Deadlock(_, report) => report.to_string(),
        other => panic!("{other}"),
    }
}

/// Runs it on real workers and in simulations; the report is the same each time.
fn deadlocks(guests: impl Fn() -> Guests) -> String {
    let (_, results) = simulate(Options::default(), guests(), 0);
    let expected = report(&results);
    let runtime = runtime(2);
    for _ in 0..RUNS {
        let program = guests().load(&runtime, Options::default());
        program.spawn("main", [0]).unwrap();
        assert_eq!(report(&program.run().unwrap()), expected);
        assert_eq!(program.stats().live, 0);
    }
    for seed in 0..SEEDS {
        let mut simulation = simulation(2, seed);
        let program = guests().load(&simulation, Options::default());
        program.spawn("main", [0]).unwrap();
        let results = simulation.block_on(program.finished()).unwrap();
        assert_eq!(report(&results), expected);
    }
    expected
}

#[test]
fn one_task_that_waits_for_a_message_nobody_sends() {
    let report = deadlocks(|| {
        Guests::new().add("main", |g, _| async move {
            g.receive(g.open(0).await, 0).await.unwrap_err().into()
        })
    });
    assert_eq!(
        report,
        "deadlock: the only task left waits, and nothing can end its wait:\n  \
         task 1 (main) waits for a message from channel 1"
    );
}

#[test]
fn two_mutexes_in_opposite_order() {
    let report = deadlocks(|| {
        Guests::new()
            .add("main", |g, _| async move {
                let a = g.open_mutex(b"").await;
                let b = g.open_mutex(b"").await;
                g.lock(a, 0).await.unwrap();
                let met = g.open(0).await;
                let other = g.spawn(1, met).await;
                g.receive(met, 8).await.unwrap();
                g.lock(b, 0).await.unwrap();
                other
            })
            .add("other", |g, met| async move {
                let (a, b) = ((1 << 61) | 1, (1 << 61) | 2);
                g.lock(b, 0).await.unwrap();
                g.send(met, b"").await;
                g.lock(a, 0).await.unwrap();
                0
            })
    });
    assert_eq!(
        report,
        "deadlock: all 2 tasks wait, and nothing can end a wait:\n  \
         task 1 (main) waits for mutex 2, which task 2 holds\n  \
         task 2 (other) waits for mutex 1, which task 1 holds\n  \
         in a circle: task 1 -> task 2 -> task 1"
    );
}

#[test]
fn every_way_to_wait_is_explained() {
    let report = deadlocks(|| {
        Guests::new()
            .add("main", |g, _| async move {
                let (a, b) = (g.open(0).await, g.open(0).await);
                let mutex = g.open_mutex(b"").await;
                g.lock(mutex, 0).await.unwrap();
                let sender = g.spawn(1, g.open(0).await).await;
                g.spawn(2, a).await;
                g.spawn(3, mutex).await;
                let _ = b;
                g.await_task(sender).await.unwrap()
            })
            .add("sender", |g, channel| async move { g.send(channel, b"x").await.into() })
            .add("selector", |g, a| async move { g.select(&[a, a + 1], -1).await.into() })
            .add("locker", |g, mutex| async move { g.lock(mutex, 0).await.unwrap_err().into() })
    });
    assert_eq!(
        report,
        "deadlock: all 4 tasks wait, and nothing can end a wait:\n  \
         task 1 (main) waits for task 2\n  \
         task 2 (sender) waits to send to channel 3\n  \
         task 3 (selector) waits for a message from one of channel 1, channel 2\n  \
         task 4 (locker) waits for mutex 1, which task 1 holds"
    );
}

#[test]
fn each_task_fails_with_what_it_waited_for() {
    let guests = Guests::new()
        .add("main", |g, _| async move { g.await_task(g.spawn(1, 0).await).await.unwrap() })
        .add("other", |g, _| async move { g.await_task(1).await.unwrap() });
    let (_, results) = simulate(Options::default(), guests, 0);
    let waited: Vec<&BlockReason> = results
        .iter()
        .map(|result| match error(result) {
            TaskError::Deadlock(reason, report) => {
                assert_eq!(report.circle.len(), 2);
                reason
            }
            other => panic!("{other}"),
        })
        .collect();
    let task = |id| BlockReason::Task(TaskId::new(id));
    assert_eq!(waited, [&task(2), &task(1)]);
    assert_eq!(
        error(&results[0]).to_string(),
        "deadlock: it waits for task 2, and no task is left that could change that"
    );
}

#[test]
fn one_that_sleeps_is_no_deadlock() {
    check(|| {
        Guests::new()
            .add("main", |g, _| async move {
                let channel = g.open(0).await;
                g.spawn(1, channel).await;
                g.receive(channel, 0).await.unwrap();
                0
            })
            .add("other", |g, channel| async move {
                g.sleep(10_000).await;
                g.send(channel, b"").await.into()
            })
    });
}

#[test]
fn a_select_with_a_time_limit_is_no_deadlock() {
    check(|| {
        Guests::new().add("main", |g, _| async move {
            assert_eq!(g.select(&[g.open(0).await], 10_000).await, -2);
            0
        })
    });
}

/// Nobody waits for the end of all: Rust may yet spawn somebody who sends.
#[test]
fn nobody_runs_the_program_then_tasks_wait_for_what_rust_does() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new()
        .add(
            "receiver",
            |g, _| async move { g.receive(g.open(1).await, 8).await.unwrap().len() as i64 },
        )
        .add("sender", |g, channel| async move { g.send(channel, b"hello").await.into() });
    let program = guests.load(&simulation, Options::default());
    let receiver = program.spawn("receiver", [0]).unwrap();
    simulation.run();
    assert_eq!(program.stats().live, 1);
    program.spawn("sender", [(1i64 << 60) | 1]).unwrap();
    let result = simulation.block_on(program.task(receiver)).unwrap().unwrap();
    assert_eq!(value(&result), 5);
    // And when somebody does wait for all, it is found at once.
    program.spawn("receiver", [0]).unwrap();
    simulation.run();
    let results = simulation.block_on(program.finished()).unwrap();
    assert!(matches!(error(&results[2]), TaskError::Deadlock(..)));
}

/// The last one that could do something ends while others wait.
#[test]
fn the_last_one_ends_and_those_who_wait_are_found() {
    for _ in 0..3 {
        let report = deadlocks(|| {
            Guests::new()
                .add("main", |g, _| async move {
                    let channel = g.open(0).await;
                    for _ in 0..3 {
                        g.spawn(1, channel).await;
                    }
                    g.spawn(2, 0).await;
                    g.receive(channel, 0).await.unwrap_err().into()
                })
                .add("receiver", |g, channel| async move {
                    g.receive(channel, 0).await.unwrap_err().into()
                })
                .add("last", |g, _| async move {
                    for _ in 0..10 {
                        g.yield_now().await;
                    }
                    0
                })
        });
        assert!(report.starts_with("deadlock: all 4 tasks wait"), "{report}");
    }
}

/// A mutex that is held by a task that is deadlocked is poisoned by its end, and everybody hears of
/// the deadlock all the same, not of the poison.
#[test]
fn nobody_hears_of_the_end_of_another_first() {
    let runtime = runtime(2);
    for _ in 0..RUNS {
        let guests = Guests::new()
            .add("main", |g, _| async move {
                let mutex = g.open_mutex(b"").await;
                g.lock(mutex, 0).await.unwrap();
                for _ in 0..5 {
                    g.spawn(1, mutex).await;
                }
                g.receive(g.open(0).await, 0).await.unwrap_err().into()
            })
            .add("locker", |g, mutex| async move { g.lock(mutex, 0).await.unwrap_err().into() });
        let program = guests.load(&runtime, Options::default());
        program.spawn("main", [0]).unwrap();
        for result in program.run().unwrap() {
            assert!(matches!(error(&result), TaskError::Deadlock(..)), "{result:?}");
        }
    }
}

/// Rust spawns tasks while somebody already deals with a deadlock: they are no part of it.
#[test]
fn those_who_come_while_a_deadlock_is_dealt_with_are_no_part_of_it() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new()
        .add("stuck", |g, _| async move { g.receive(g.open(0).await, 0).await.unwrap_err().into() })
        .add("sleeper", |g, _| async move {
            g.sleep(1_000_000).await;
            7
        })
        .add("awaiter", |g, task| async move { g.await_task(task).await.unwrap() });
    let program = guests.load(&simulation, Options::default());
    program.spawn("stuck", [0]).unwrap();
    simulation.run();
    let shared = program.shared();
    assert_eq!(shared.commons.counts.watch(), Verdict::Stuck);
    let charge = deadlock::take_charge(shared).expect("nobody else takes charge");
    let sleeper = program.spawn("sleeper", [0]).unwrap();
    program.spawn("awaiter", [sleeper.get() as i64]).unwrap();
    simulation.run_for(Duration::from_micros(500));
    deadlock::fail_all(shared, charge);
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!(report(&results[..1]).lines().count(), 2);
    assert_eq!((value(&results[1]), value(&results[2])), (7, 7));
    assert_eq!(shared.commons.counts.busy(), 0);
}
