//! How tasks and programs end: results, panics, dropped programs, stopped runtimes.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
};

use super::*;
use crate::{error::UnknownTask, id::TaskId, log::LogSink, trap::TrapKind};

/// Counts how many are left.
#[derive(Clone, Default)]
struct Left(Arc<AtomicUsize>);

impl Left {
    fn one(&self) -> Left {
        self.0.fetch_add(1, SeqCst);
        self.clone()
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// Given back by whoever was one.
struct Counted(Left);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

fn mix() -> Guests {
    Guests::new()
        .add("main", |g, _| async move {
            let channel = g.open(1).await;
            for function in [1, 2, 3, 4] {
                g.spawn(function, channel).await;
            }
            g.sleep(i64::MAX).await;
            0
        })
        .add(
            "receiver",
            |g, channel| async move { g.receive(channel, 8).await.unwrap().len() as i64 },
        )
        .add("hog", |g, _| async move { g.loop_for_ever().await })
        .add("talker", |g, _| async move {
            loop {
                g.yield_now().await;
            }
        })
        .add("awaiter", |g, _| async move { g.await_task(1).await.unwrap_err().into() })
}

#[test]
fn a_trap_fails_that_task_alone_and_says_where() {
    let guests = Guests::new()
        .add("main", |g, _| async move {
            let bad = g.spawn(1, 0).await;
            assert_eq!(g.await_task(bad).await, Err(3));
            7
        })
        .add("bad", |g, _| async move { g.trap().await });
    let (program, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 7);
    let TaskError::Trap(trap) = error(&results[1]) else { panic!("{:?}", results[1]) };
    assert_eq!(trap.kind, TrapKind::Unreachable);
    assert_eq!(trap.to_string(), "unreachable executed (in bad)");
    assert_eq!((program.stats().completed, program.stats().failed), (1, 1));
}

#[test]
fn a_panic_of_the_host_fails_that_task_alone() {
    let log = LogSink::new(|line| panic!("no room for {:?}", line.text));
    let options = Options { log, ..Options::default() };
    let guests = Guests::new()
        .add("main", |g, _| async move {
            let mutex = g.open_mutex(b"").await;
            let bad = g.spawn(1, mutex).await;
            assert_eq!(g.await_task(bad).await, Err(3));
            g.lock(mutex, 0).await.unwrap_err().into()
        })
        .add("bad", |g, mutex| async move {
            g.lock(mutex, 0).await.unwrap();
            g.log(0, b"it").await;
            0
        });
    let (_, results) = simulate(options, guests, 0);
    assert_eq!(value(&results[0]), 8, "what it held is poisoned");
    let expected = "the host panicked in its turn: no room for \"it\"";
    assert_eq!(error(&results[1]).to_string(), expected);
}

/// Whoever has got a message is woken a little later than the message is sent. A panic comes between.
#[test]
fn sends_then_panics_in_the_same_step_and_the_receiver_goes_on() {
    let guests = Guests::new()
        .add("main", |g, _| async move {
            let channel = g.open(0).await;
            let receiver = g.spawn(1, channel).await;
            g.yield_now().await; // it waits
            let sender = g.spawn(2, channel).await;
            assert_eq!(g.await_task(receiver).await, Ok(5));
            g.await_task(sender).await.unwrap_err().into()
        })
        .add(
            "receiver",
            |g, channel| async move { g.receive(channel, 8).await.unwrap().len() as i64 },
        )
        .add("sender", |g, channel| async move {
            assert_eq!(g.send(channel, b"hello").await, 0);
            g.log(0, b"sent").await;
            0
        });
    let log = LogSink::new(|_| panic!("no room"));
    let options = Options { log, ..Options::default() };
    let (program, results) = simulate(options, guests, 0);
    assert_eq!(value(&results[0]), 3, "the sender has failed");
    assert_eq!((program.stats().completed, program.stats().failed), (2, 1));
    assert_eq!(program.shared().commons.counts.busy(), 0);
}

#[test]
fn results_beyond_the_limit_are_forgotten_the_oldest_first() {
    let mut options = Options::default();
    options.limits.results = 3;
    let guests = Guests::new()
        .add("main", |g, _| async move {
            let mut tasks = Vec::new();
            for number in 0..6 {
                let task = g.spawn(1, number).await;
                assert_eq!(g.await_task(task).await, Ok(number));
                tasks.push(task);
            }
            for task in &tasks[..3] {
                assert_eq!(g.await_task(*task).await, Err(6));
            }
            for (number, task) in (3..6).zip(&tasks[3..]) {
                assert_eq!(g.await_task(*task).await, Ok(number));
            }
            0
        })
        .add("other", |_, number| async move { number });
    let (program, results) = simulate(options, guests, 0);
    let ids: Vec<u64> = results.iter().map(|result| result.id.get()).collect();
    assert_eq!(ids, [1, 6, 7]);
    assert_eq!(value(&results[0]), 0);
    assert_eq!(program.stats().spawned, 7);
}

/// Whoever waits when a task ends gets its result, even if none is kept.
#[test]
fn no_results_are_kept_and_those_who_wait_get_them() {
    let mut options = Options::default();
    options.limits.results = 0;
    let mut simulation = simulation(1, 0);
    let guests = Guests::new()
        .add("main", |g, _| async move {
            let other = g.spawn(1, 0).await;
            assert_eq!(g.await_task(other).await, Ok(7));
            assert_eq!(g.await_task(other).await, Err(6));
            8
        })
        .add("other", |g, _| async move {
            g.yield_now().await;
            7
        });
    let program = guests.load(&simulation, options);
    let main = program.spawn("main", [0]).unwrap();
    let mut end = pin!(program.task(main));
    let mut context = Context::from_waker(Waker::noop());
    assert!(end.as_mut().poll(&mut context).is_pending());
    simulation.run();
    let Poll::Ready(Ok(result)) = end.as_mut().poll(&mut context) else { panic!("it has ended") };
    assert_eq!(value(&result), 8);
    let later = simulation.block_on(program.task(main)).unwrap();
    assert_eq!(later, Err(UnknownTask(main)));
    assert_eq!(
        later.unwrap_err().to_string(),
        "there is no task 1, or its result has been forgotten"
    );
}

#[test]
fn a_future_for_one_task_is_ready_when_it_has_ended() {
    let runtime = runtime(2);
    let guests = Guests::new().add("main", |g, argument| async move {
        for _ in 0..argument {
            g.yield_now().await;
        }
        argument
    });
    let program = guests.load(&runtime, Options::default());
    for argument in 0..20 {
        let id = program.spawn("main", [argument]).unwrap();
        let end = program.task(id);
        let mut join = runtime.spawn(end).unwrap();
        assert_eq!(value(&join.join().unwrap().unwrap()), argument);
    }
    let nobody = program.task(TaskId::new(99));
    let mut join = runtime.spawn(nobody).unwrap();
    assert_eq!(join.join().unwrap(), Err(UnknownTask(TaskId::new(99))));
}

#[test]
fn a_future_that_is_dropped_leaves_nothing_behind() {
    let simulation = simulation(1, 0);
    let guests = Guests::new().add("main", |g, _| async move {
        g.sleep(1_000).await;
        0
    });
    let program = guests.load(&simulation, Options::default());
    let id = program.spawn("main", [0]).unwrap();
    let waker = Arc::new(Left::default());
    struct Wake(Arc<Left>);
    impl std::task::Wake for Wake {
        fn wake(self: Arc<Self>) {
            self.0.one();
        }
    }
    let mut simulation = simulation;
    {
        let wake = Waker::from(Arc::new(Wake(waker.clone())));
        let mut context = Context::from_waker(&wake);
        let mut end = pin!(program.task(id));
        let mut finished = pin!(program.finished());
        assert!(end.as_mut().poll(&mut context).is_pending());
        assert!(finished.as_mut().poll(&mut context).is_pending());
    }
    simulation.run();
    assert_eq!(waker.count(), 0, "nobody was woken");
}

#[test]
fn the_program_is_dropped_while_tasks_run_then_they_end() {
    let runtime = runtime(2);
    for _ in 0..RUNS {
        let left = Left::default();
        let guests = Guests::new().add("main", {
            let left = left.clone();
            move |g, argument| {
                let counted = Counted(left.one());
                async move {
                    let _counted = counted;
                    match argument % 4 {
                        0 => g.loop_for_ever().await,
                        1 => g.receive(g.open(0).await, 0).await.unwrap_err().into(),
                        2 => {
                            g.sleep(i64::MAX).await;
                            0
                        }
                        _ => loop {
                            g.yield_now().await;
                        },
                    }
                }
            }
        });
        let program = guests.load(&runtime, Options::default());
        for argument in 0..8 {
            program.spawn("main", [argument]).unwrap();
        }
        eventually(|| left.count() == 8);
        let clone = program.clone();
        drop(program);
        assert_eq!(clone.stats().live, 8, "a clone keeps it");
        let shared = Arc::downgrade(clone.shared());
        drop(clone);
        eventually(|| left.count() == 0);
        eventually(|| shared.strong_count() == 0);
    }
}

#[test]
fn the_runtime_stops_while_tasks_run_then_all_end_and_run_returns() {
    for drains in [false, true] {
        for _ in 0..RUNS {
            let runtime = runtime(2);
            let program = mix().load(&runtime, Options::default());
            program.spawn("main", [0]).unwrap();
            eventually(|| program.stats().spawned == 5 && program.stats().switches > 20);
            if drains {
                // What never pauses is still in its turn, or in line, when the time is over.
                let _ = runtime.shutdown_timeout(Duration::from_millis(1));
            } else {
                drop(runtime);
            }
            let results = program.run().unwrap();
            assert_eq!(results.len(), 5);
            for result in &results {
                match &result.outcome {
                    // It has heard of the end of the one it awaits, and still had a turn.
                    Ok(_) => assert_eq!((&*result.func, value(result)), ("awaiter", 3)),
                    Err(error) => assert_eq!(*error, TaskError::Stopped),
                }
            }
            assert!(matches!(program.spawn("main", [0]), Err(crate::SpawnError::ShutDown)));
        }
    }
}

#[test]
fn a_simulation_is_dropped_while_tasks_run_then_all_end() {
    for seed in 0..SEEDS {
        let mut simulation = simulation(2, seed);
        let program = mix().load(&simulation, Options::default());
        program.spawn("main", [0]).unwrap();
        simulation.run_for(Duration::from_micros(500));
        assert_eq!(program.stats().live, 5);
        drop(simulation);
        assert_eq!(program.stats().live, 0);
        for result in program.results() {
            assert_eq!(*error(&result), TaskError::Stopped);
        }
    }
}

#[test]
fn programs_on_one_runtime_know_nothing_of_each_other() {
    let runtime = runtime(2);
    let bad = mix().load(&runtime, Options::default());
    bad.spawn("main", [0]).unwrap();
    let good = Guests::new().add("main", |g, _| async move {
        assert_eq!(g.send((1 << 60) | 1, b"x").await, 6, "the other's channel");
        7
    });
    let good = good.load(&runtime, Options::default());
    good.spawn("main", [0]).unwrap();
    assert_eq!(value(&good.run().unwrap()[0]), 7);
    bad.shutdown();
    bad.run().unwrap();
}
