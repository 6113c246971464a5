//! Cancellation and shutdown: whoever waits is told, whoever does not end is ended.

use super::*;
use crate::{
    id::TaskId,
    program::{
        inspect::TaskState,
        spawn::{self, Arguments, Birth},
    },
};

/// One that waits in each way there is, and says what it was answered.
fn waiters() -> Guests {
    Guests::new()
        .add("await", |g, _| async move {
            let other = g.spawn(6, 0).await;
            g.await_task(other).await.unwrap_err().into()
        })
        .add(
            "receive",
            |g, _| async move { g.receive(g.open(0).await, 0).await.unwrap_err().into() },
        )
        .add("send", |g, _| async move { g.send(g.open(0).await, b"message").await.into() })
        .add("select", |g, _| async move { (-g.select(&[g.open(0).await], -1).await).into() })
        .add("timed select", |g, _| async move {
            (-g.select(&[g.open(0).await], i64::MAX).await).into()
        })
        .add("lock", |g, _| async move {
            let locked = g.open(1).await;
            g.spawn(7, locked).await;
            match g.receive(locked, 8).await {
                Ok(mutex) => {
                    let mutex = i64::from_le_bytes(mutex.try_into().unwrap());
                    g.lock(mutex, 0).await.unwrap_err().into()
                }
                Err(code) => code.into(),
            }
        })
        .add("sleep", |g, _| async move {
            g.sleep(i64::MAX).await;
            4
        })
        .add("holder", |g, locked| async move {
            let mutex = g.open_mutex(b"").await;
            if g.lock(mutex, 0).await.is_ok() {
                g.send(locked, &mutex.to_le_bytes()).await;
            }
            g.sleep(i64::MAX).await;
            g.unlock(mutex, b"").await;
            4
        })
}

const WAITERS: [&str; 7] = ["await", "receive", "send", "select", "timed select", "lock", "sleep"];

#[test]
fn cancelled_while_it_waits_then_it_is_answered_and_goes_on() {
    for workers in [1, 3] {
        let mut simulation = simulation(workers, 0);
        let program = waiters().load(&simulation, Options::default());
        let ids: Vec<TaskId> =
            WAITERS.iter().map(|name| program.spawn(name, [0]).unwrap()).collect();
        simulation.run_for(Duration::from_millis(1));
        assert!(program.tasks().iter().all(|task| matches!(task.state, TaskState::Blocked(_))));
        for (id, name) in ids.iter().zip(WAITERS) {
            assert!(program.cancel(*id), "{name}");
            let result = simulation.block_on(program.task(*id)).unwrap().unwrap();
            assert_eq!((value(&result), name), (4, name));
        }
        program.shutdown();
        simulation.block_on(program.finished()).unwrap();
        assert_eq!(program.stats().bytes_in_flight, 32, "the mutex's cell");
    }
}

#[test]
fn cancelled_before_it_waits_then_no_call_waits() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new()
        .add("main", |g, _| async move {
            let (full, buffered) = (g.open(0).await, g.open(1).await);
            let mutex = g.open_mutex(b"").await;
            g.send(buffered, b"x").await;
            let child = g.spawn(1, 0).await;
            g.work(50_000).await;
            assert_eq!(g.receive(full, 0).await, Err(4));
            assert_eq!(g.receive(buffered, 8).await, Err(4), "though there is a message");
            assert_eq!(g.send(full, b"").await, 4);
            assert_eq!(g.send(buffered, b"").await, 4);
            assert_eq!(g.select(&[buffered], -1).await, -4);
            assert_eq!(g.select(&[full], 0).await, -4);
            assert_eq!(g.await_task(child).await, Err(4));
            assert_eq!(g.lock(mutex, 0).await, Err(4));
            assert_eq!(g.spawn(1, 0).await, -4);
            assert_eq!(g.spawn_with(1, b"x").await, -4);
            g.sleep(i64::MAX).await;
            g.yield_now().await;
            assert_eq!(g.close(full).await, 0, "what does not wait is done");
            7
        })
        .add("child", |_, _| async { 0 });
    let program = guests.load(&simulation, Options::default());
    let id = program.spawn("main", [0]).unwrap();
    simulation.run_for(Duration::from_micros(20));
    assert!(program.cancel(id));
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!(value(&results[0]), 7);
}

#[test]
fn one_that_does_not_end_is_ended_after_a_million_operations() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new().add("main", |g, _| async move { g.loop_for_ever().await });
    let program = guests.load(&simulation, Options::default());
    let id = program.spawn("main", [0]).unwrap();
    simulation.run_for(Duration::from_millis(5));
    let before = program.tasks()[0].fuel;
    assert!(before > 1_000_000);
    assert!(program.cancel(id));
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!(*error(&results[0]), TaskError::Cancelled);
    let after = results[0].fuel - before;
    assert!((1_000_000..=1_020_000).contains(&after), "{after}");
}

#[test]
fn one_that_asks_again_and_again_is_ended_too() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new().add("main", |g, _| async move {
        let channel = g.open(0).await;
        loop {
            let _ = g.receive(channel, 0).await;
            g.yield_now().await;
        }
    });
    let program = guests.load(&simulation, Options::default());
    program.spawn("main", [0]).unwrap();
    simulation.run();
    program.shutdown();
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!(*error(&results[0]), TaskError::Cancelled);
}

#[test]
fn cancelled_before_its_first_turn_then_it_never_begins() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new().add("main", |_, _| async { panic!("it began") });
    let program = guests.load(&simulation, Options::default());
    let id = program.spawn("main", [0]).unwrap();
    assert!(program.cancel(id));
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!(*error(&results[0]), TaskError::Cancelled);
    assert!(!program.cancel(id), "it has ended");
    assert!(!program.cancel(TaskId::new(99)), "it was never there");
}

#[test]
fn shut_down_then_all_end_and_none_begins() {
    for workers in [1, 2] {
        let runtime = runtime(workers);
        for _ in 0..RUNS {
            let program = waiters().load(&runtime, Options::default());
            for name in WAITERS {
                program.spawn(name, [0]).unwrap();
            }
            program.shutdown();
            let results = program.run().unwrap();
            assert!(results.len() >= WAITERS.len());
            for result in &results {
                match &result.outcome {
                    // A child may have ended, or never have been there.
                    Ok(_) => assert!([4, 3, 6, 0, -4, -6].contains(&value(result)), "{result:?}"),
                    Err(error) => assert_eq!(*error, TaskError::Cancelled),
                }
            }
            assert_eq!(program.spawn("sleep", [0]), Err(crate::SpawnError::ShutDown));
        }
    }
}

/// The program is shut down after the spawn has looked, and before its task is entered.
#[test]
fn shut_down_in_the_middle_of_a_spawn_then_the_task_never_begins() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new().add("main", |_, _| async { panic!("it began") });
    let program = guests.load(&simulation, Options::default());
    program.shutdown();
    let arguments = Arguments::One(0);
    let birth = Birth { function: 0, arguments, input: None };
    let id = spawn::launch(program.shared(), birth).unwrap();
    let result = simulation.block_on(program.task(id)).unwrap().unwrap();
    assert_eq!(*error(&result), TaskError::Cancelled);
}

/// One spawns without end while the program is shut down: whoever came too late for the list ends too.
#[test]
fn shut_down_while_tasks_are_spawned_then_all_end() {
    let runtime = runtime(2);
    for _ in 0..RUNS {
        let (tell, told) = channel();
        let guests = Guests::new()
            .add("main", move |g, _| {
                let tell = tell.clone();
                async move {
                    let mut count = 0;
                    while g.spawn(1, 0).await > 0 {
                        count += 1;
                        if count == 10 {
                            tell.send(()).unwrap();
                        }
                    }
                    count
                }
            })
            .add("sleeper", |g, _| async move {
                g.sleep(i64::MAX).await;
                0
            });
        let program = guests.load(&runtime, Options::default());
        program.spawn("main", [0]).unwrap();
        told.next();
        program.shutdown();
        let results = program.run().unwrap();
        assert_eq!(results.len() as i64, 1 + value(&results[0]));
    }
}
