//! The program as Rust sees it: spawning by name, waiting, looking.

use super::*;
use crate::{
    NO_ARGUMENTS, RunError, SpawnError,
    id::TaskId,
    program::inspect::TaskState,
    task::cell::BlockReason,
    value::ValueType::{F32, F64, I32, I64},
};

fn idle() -> Guests {
    Guests::new().add("main", |_, argument| async move { argument })
}

#[test]
fn arguments_are_converted_and_results_come_as_they_are() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new()
        .add_typed("echo", &[I32, I64, F32, F64], &[I32, I64, F32, F64], |_, values| async {
            values
        })
        .add_typed("none", &[], &[], |_, _| async { vec![] });
    let program = guests.load(&simulation, Options::default());
    program.spawn("echo", [1i64, 2, 3, 4]).unwrap();
    let mixed: [Value; 4] = [1.into(), 2.into(), 2.5.into(), 3.5f32.into()];
    program.spawn("echo", mixed).unwrap();
    program.spawn("none", NO_ARGUMENTS).unwrap();
    let results = simulation.block_on(program.finished()).unwrap();
    let values = |first, second: i64, third, fourth| {
        Ok(vec![Value::I32(first), Value::I64(second), Value::F32(third), Value::F64(fourth)])
    };
    assert_eq!(results[0].outcome, values(1, 2, 3.0, 4.0));
    assert_eq!(results[1].outcome, values(1, 2, 2.5, 3.5));
    assert_eq!(results[2].outcome, Ok(vec![]));
    assert_eq!(results[0].func, "echo");
}

#[test]
fn what_can_not_be_spawned_is_refused_and_says_why() {
    let simulation = simulation(1, 0);
    let guests = Guests::new()
        .add_typed("add", &[I32, F64], &[I32], |_, _| async { vec![] })
        .add("main", |_, _| async { 0 });
    let program = guests.load(&simulation, Options::default());
    let error = |func: &str, arguments: &[i64]| {
        program.spawn(func, arguments.iter().copied()).unwrap_err().to_string()
    };
    assert_eq!(error("mian", &[]), "there is no function \"mian\": the module exports add, main");
    assert_eq!(error("add", &[1]), "add takes (i32, f64), and 1 arguments were given");
    assert_eq!(
        error("add", &[1 << 40, 1]),
        "argument 1 of add is an i32, and 1099511627776 is an i64 that does not fit"
    );
    assert_eq!(error("main", &[]), "main takes (i64), and 0 arguments were given");
    assert!(matches!(
        program.spawn("main", [1.5]),
        Err(SpawnError::ArgumentType { at: 1, wanted: I64, given: Value::F64(1.5), .. })
    ));
    assert_eq!(program.stats().spawned, 0);
}

#[test]
fn nothing_was_spawned_then_run_returns_at_once() {
    let runtime = runtime(1);
    assert_eq!(idle().load(&runtime, Options::default()).run(), Ok(vec![]));
}

#[test]
fn run_inside_a_turn_is_refused() {
    let runtime = runtime(1);
    let program = idle().load(&runtime, Options::default());
    program.spawn("main", [0]).unwrap();
    let inside = program.clone();
    let mut refused = runtime.compute(move |_| inside.run()).unwrap();
    let error = refused.join().unwrap().unwrap_err();
    assert_eq!(error, RunError::InsideATurn);
    assert!(error.to_string().contains("`finished`"));
    assert_eq!(program.run().unwrap().len(), 1);
}

#[test]
fn run_on_a_simulation_is_refused() {
    let simulation = simulation(1, 0);
    let program = idle().load(&simulation, Options::default());
    program.spawn("main", [0]).unwrap();
    assert_eq!(program.run(), Err(RunError::Simulated));
}

#[test]
fn spawned_and_run_again_then_earlier_results_are_still_there() {
    let runtime = runtime(2);
    let program = idle().load(&runtime, Options::default());
    for round in 0..3 {
        program.spawn("main", [round]).unwrap();
        let results = program.run().unwrap();
        let values: Vec<i64> = results.iter().map(value).collect();
        assert_eq!(values, (0..=round).collect::<Vec<_>>());
    }
}

#[test]
fn several_wait_for_all_tasks() {
    let runtime = runtime(2);
    for _ in 0..RUNS {
        let guests = Guests::new().add("main", |g, argument| async move {
            g.yield_now().await;
            argument
        });
        let program = guests.load(&runtime, Options::default());
        for argument in 0..10 {
            program.spawn("main", [argument]).unwrap();
        }
        let mut others: Vec<_> =
            (0..3).map(|_| runtime.spawn(program.finished()).unwrap()).collect();
        assert_eq!(program.run().unwrap().len(), 10);
        for other in &mut others {
            assert_eq!(other.join().unwrap().len(), 10);
        }
    }
}

#[test]
fn tasks_are_shown_with_what_they_do() {
    let mut simulation = simulation(1, 0);
    let guests = Guests::new()
        .add("ends", |_, _| async { 7 })
        .add("traps", |g, _| async move { g.trap().await })
        .add("waits", |g, _| async move { g.await_task(4).await.unwrap() })
        .add("sleeps", |g, _| async move {
            g.sleep(i64::MAX).await;
            0
        });
    let program = guests.load(&simulation, Options::default());
    for name in ["ends", "traps", "waits", "sleeps"] {
        program.spawn(name, [0]).unwrap();
    }
    assert!(program.tasks().iter().all(|task| task.state == TaskState::Ready));
    simulation.run_for(Duration::from_millis(1));
    program.spawn("ends", [0]).unwrap();
    let tasks = program.tasks();
    let shown: Vec<(u64, &str, &TaskState)> =
        tasks.iter().map(|task| (task.id.get(), &*task.func, &task.state)).collect();
    assert_eq!(
        shown,
        [
            (1, "ends", &TaskState::Complete),
            (2, "traps", &TaskState::Failed),
            (3, "waits", &TaskState::Blocked(BlockReason::Task(TaskId::new(4)))),
            (4, "sleeps", &TaskState::Blocked(BlockReason::Timer)),
            (5, "ends", &TaskState::Ready),
        ]
    );
    assert!(tasks[2].fuel > 0);
}

#[test]
fn a_task_in_its_turn_is_shown_as_running() {
    let runtime = runtime(1);
    let (tell, told) = channel();
    let (go_on, waits) = std::sync::mpsc::channel();
    let waits = std::sync::Arc::new(std::sync::Mutex::new(waits));
    let guests = Guests::new().add("main", move |_, _| {
        let (tell, waits) = (tell.clone(), waits.clone());
        async move {
            tell.send(()).unwrap();
            waits.lock().unwrap().recv().unwrap();
            0
        }
    });
    let program = guests.load(&runtime, Options::default());
    program.spawn("main", [0]).unwrap();
    told.next();
    assert_eq!(program.tasks()[0].state, TaskState::Running);
    go_on.send(()).unwrap();
    assert_eq!(program.run().unwrap().len(), 1);
}

#[test]
fn what_was_done_is_counted() {
    let guests = Guests::new()
        .add("main", |g, _| async move {
            let channel = g.open(2).await;
            g.send(channel, &[0; 10]).await;
            g.open_mutex(&[0; 10]).await;
            let (good, bad) = (g.spawn(1, 0).await, g.spawn(2, 0).await);
            g.await_task(good).await.unwrap();
            g.await_task(bad).await.unwrap_err();
            0
        })
        .add("good", |_, _| async { 0 })
        .add("bad", |g, _| async move { g.trap().await });
    let (program, _) = simulate(Options::default(), guests, 0);
    let stats = program.stats();
    assert_eq!((stats.spawned, stats.completed, stats.failed), (3, 2, 1));
    assert_eq!((stats.live, stats.live_max), (0, 3));
    assert_eq!((stats.channels, stats.mutexes), (1, 1));
    assert_eq!(stats.bytes_in_flight, 2 * (32 + 10));
    assert_eq!(stats.host_calls, 7);
    assert!(stats.switches >= 4 && stats.fuel > 1_500, "{stats:?}");
    assert_eq!(stats.memory, 0);
}

/// A program that is loaded for long does not hold the file that it came from, let alone twice.
#[test]
fn loaded_then_nothing_of_the_file_is_kept() {
    let text = r#"(module (memory 1) (data (i32.const 0) "data") (func (export "main")))"#;
    let simulation = simulation(1, 0);
    let program =
        Program::load(&simulation, wat::parse_str(text).unwrap(), Options::default()).unwrap();
    let module = &program.shared().module;
    assert_eq!((module.exports.len(), module.data_bytes), (1, 4), "what is asked of it later");
    assert!(module.code.bytes.is_empty() && module.code.with_imported_memory.is_empty());
    assert!(module.code.renewal.data.is_empty());
}
