//! Places in the pool: taken, refused, given back.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    thread,
};

use super::*;
use crate::engine::Engine;

const WAITS: &str = r#"
    (module
        (import "shiftwork" "self" (func $self (result i64)))
        (memory 1)
        (table 1 funcref)
        (func $inner (result i64) (i64.add (call $self) (call $self)))
        (func (export "waits") (result i64) (call $inner))
        (func (export "loops") (loop $again (br $again)))
        (func (export "ends")))
"#;

fn two_places() -> Program {
    Program::with(WAITS, |options| options.limits.jit_tasks = 2)
}

fn host() -> Script {
    waiting([Answer::Return(1), Answer::Return(2)])
}

#[test]
fn one_task_too_many_is_told_so() {
    let program = two_places();
    let mut first = program.spawn("waits", &[], host());
    assert_waits(&first.step(FUEL));
    let _second = program.spawn("waits", &[], host());
    let trap = program.try_spawn("waits", &[], host()).err().expect("there are two places");
    assert_eq!(trap.kind, TrapKind::Limit);
    assert_eq!(
        trap.to_string(),
        "limit reached: all 2 places that wasmtime has for this program's tasks are taken \
         (limit `jit_tasks`); wasmi has no such limit"
    );
}

#[test]
fn a_place_is_free_again_when_the_task_has_ended() {
    let program = two_places();
    let mut kept = Vec::new();
    for _ in 0..10 {
        let mut task = program.spawn("ends", &[], Script::new());
        returned(task.step(FUEL));
        kept.push(task); // its result may be looked at later
    }
}

#[test]
fn dropped_at_any_time_a_task_gives_back_its_place() {
    let program = two_places();
    for round in 0..20 {
        let unborn = program.spawn("waits", &[], host());
        let mut task = program.spawn("waits", &[], host());
        drop(unborn);
        assert_waits(&task.step(FUEL));
        if round % 2 == 0 {
            assert_waits(&task.step(FUEL));
        }
        let mut looping = program.spawn("loops", &[], Script::new());
        assert_preempted(&looping.step(FUEL));
        drop(task);
        drop(looping);
    }
}

#[test]
fn what_a_suspended_task_was_lent_is_dropped_with_its_owner_only() {
    let program = two_places();
    let kept = Arc::new(());
    let lent = kept.clone();
    let host = Script::new().on_call(move |_, _, _| {
        let _ = &lent;
        Answer::Wait
    });
    let entry = Entry::Export("waits".to_owned());
    let (calls, instance) = program.0.instantiate(&entry, &[], Box::new(host));
    let mut instance = instance.expect("there is a place");
    let fuel = Fuel { slice: FUEL, left: u64::MAX };
    let (calls, step) = instance.step(fuel, calls);
    assert_waits(&step);
    drop(instance);
    assert_eq!(Arc::strong_count(&kept), 2, "the host's side outlives the instance");
    drop(calls);
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[test]
fn limits_on_tasks_are_limits_on_places() {
    let program = Program::with(WAITS, |options| options.limits.tasks = 1);
    let _first = program.spawn("waits", &[], host());
    assert!(program.try_spawn("waits", &[], host()).is_err());
}

#[test]
fn a_panic_in_a_call_fails_that_step_alone() {
    let program = two_places();
    for _ in 0..5 {
        let mut task = program.spawn(
            "waits",
            &[],
            Script::new().on_call(|_, _, _| panic!("the host is at fault")),
        );
        let unwound = panic::catch_unwind(AssertUnwindSafe(|| task.step(FUEL)));
        let payload = unwound.expect_err("the panic comes out of the step");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"the host is at fault"));
        drop(task);
        returned(program.spawn("ends", &[], Script::new()).step(FUEL));
    }
}

/// A task is stepped by whichever worker is free.
#[test]
fn steps_may_come_from_different_threads() {
    let program = two_places();
    let mut task = program.spawn("waits", &[], host());
    let mut looping = program.spawn("loops", &[], Script::new());
    for _ in 0..2 {
        thread::scope(|scope| {
            scope.spawn(|| assert_waits(&task.step(FUEL)));
            scope.spawn(|| assert_preempted(&looping.step(FUEL)));
        });
    }
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(returned(task.step(FUEL)), [Value::I64(3)]));
    });
}

#[test]
fn a_program_without_room_says_what_to_do() {
    let limits = Limits { tasks: usize::MAX, jit_tasks: 4_000_000_000, ..Limits::default() };
    let module = read(WAITS, &limits);
    let options = Options { engine: EngineKind::Wasmtime, limits, ..Options::default() };
    let error = prepare(&module, &options).err().expect("no machine has so much address space");
    let error = error.to_string();
    assert!(error.contains("lower the limit `jit_tasks`"), "{error}");
}
