//! Steps end, and what they used is counted.

use super::*;

const LOOPS: &str = r#"
    (module
        (import "shiftwork" "now" (func $now (result i64)))
        (memory 1)
        (func $tree (param i32)
            (if (local.get 0) (then
                (call $tree (i32.sub (local.get 0) (i32.const 1)))
                (call $tree (i32.sub (local.get 0) (i32.const 1))))))
        (func (export "branch") (loop $again (br $again)))
        (func (export "tree") (call $tree (i32.const 100)))
        (func (export "calls") (loop $again (drop (call $now)) (br $again)))
        (func (export "count") (param $n i64) (result i64) (local $sum i64)
            (loop $again
                (local.set $sum (i64.add (local.get $sum) (local.get $n)))
                (br_if $again (i64.ne (i64.const 0)
                    (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
            (local.get $sum))
        (func (export "fill") (param $rounds i32)
            (loop $again
                (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536))
                (br_if $again
                    (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1))))))
        (func (export "mixed") (param $rounds i32)
            (loop $again
                (memory.fill (i32.const 0) (i32.const 1) (local.get $rounds))
                (drop (call $now))
                (br_if $again
                    (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))))
"#;

#[test]
fn every_step_of_an_endless_loop_ends() {
    let program = Program::new(LOOPS);
    for function in ["branch", "tree", "calls"] {
        let mut task = program.spawn(function, &[], Script::new());
        for _ in 0..100 {
            let step = task.step(FUEL);
            assert_preempted(&step);
            assert_eq!(step.used, FUEL, "{function}");
        }
    }
}

#[test]
fn a_start_function_that_loops_is_preempted_too() {
    let program = Program::new(
        r#"(module
            (func $start (loop $again (br $again)))
            (start $start)
            (func (export "main")))"#,
    );
    let mut task = program.spawn("main", &[], Script::new());
    for _ in 0..100 {
        assert_preempted(&task.step(FUEL));
    }
}

/// What a task has used is the same however it was cut into steps.
#[test]
fn what_the_steps_used_adds_up_to_the_same() {
    fn all(function: &str, argument: Value, threshold: u64) -> (u64, u64) {
        let program = Program::with(LOOPS, |options| {
            options.preemption_threshold = Some(threshold);
        });
        let host = Script::new().cost(30);
        let mut task = program.spawn(function, &[argument], host);
        let (mut used, mut steps) = (0, 0);
        loop {
            let step = task.step(threshold);
            (used, steps) = (used + step.used, steps + 1);
            match step.end {
                Stepped::Preempted => assert!(step.used <= threshold),
                Stepped::Returned(_) => return (used, steps),
                other => panic!("{other:?}"),
            }
        }
    }
    for (function, argument) in
        [("count", Value::I64(20_000)), ("fill", Value::I32(20)), ("mixed", Value::I32(300))]
    {
        let (whole, steps) = all(function, argument, u64::MAX / 2);
        assert_eq!(steps, 1);
        for threshold in [1_000, 1_234, 50_000] {
            let (used, steps) = all(function, argument, threshold);
            assert_eq!(used, whole, "{function} in slices of {threshold}");
            assert!(steps > 1, "{function} was never preempted");
        }
    }
}

#[test]
fn calls_that_cost_end_a_step_as_operations_do() {
    let program = Program::new(LOOPS);
    let host = Script::new().cost(1_000);
    let said = host.asked();
    let mut task = program.spawn("calls", &[], host);
    for step in 1..=10 {
        assert_preempted(&task.step(FUEL));
        let calls = calls(&said).len();
        assert!(calls <= 10 * step, "{calls} calls of a tenth in {step} steps");
    }
}

#[test]
fn a_call_that_costs_many_steps_is_paid_before_the_guest_goes_on() {
    let program = Program::new(LOOPS);
    let host = Script::new().cost(10 * FUEL);
    let said = host.asked();
    let mut task = program.spawn("calls", &[], host);
    for steps in 1..=30 {
        let step = task.step(FUEL);
        assert_preempted(&step);
        assert_eq!(step.used, FUEL);
        // The first call in the first step, the second when ten steps were paid.
        assert_eq!(calls(&said).len(), 1 + (steps - 1) / 10);
    }
}

#[test]
fn a_task_ends_where_its_fuel_ends() {
    let program = Program::with(LOOPS, |options| options.fuel = Some(25_000));
    let mut task = program.spawn("branch", &[], Script::new());
    assert_preempted(&task.step(FUEL));
    assert_preempted(&task.step(FUEL));
    let step = task.step(FUEL);
    let Stepped::Trapped(trap) = step.end else { panic!("{:?} with no fuel left", step.end) };
    assert_eq!(trap.kind, TrapKind::OutOfFuel);
    assert_eq!(trap.function.as_deref(), Some("branch"));
    assert!((5_000..5_010).contains(&step.used), "{} used in the last step", step.used);
}

#[test]
fn calls_use_up_a_tasks_fuel() {
    let program = Program::with(LOOPS, |options| options.fuel = Some(100_000));
    let host = Script::new().cost(900);
    let said = host.asked();
    let trap = end(program.spawn("calls", &[], host)).unwrap_err();
    assert_eq!(trap.kind, TrapKind::OutOfFuel);
    let calls = calls(&said).len();
    // A hundred and ten would be exact; those of one interval may come late.
    assert!((100..=125).contains(&calls), "{calls} calls");
}

/// A step after a wait has its whole fuel, not what the step before it has left.
#[test]
fn a_step_after_a_wait_begins_afresh() {
    let program = Program::new(
        r#"(module
            (import "shiftwork" "yield_now" (func $yield_now))
            (func $work (param $n i32)
                (loop $again
                    (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
            (func (export "main")
                (call $work (i32.const 1500)) (call $yield_now)
                (call $work (i32.const 1500)) (call $yield_now)
                (call $work (i32.const 1500)) (call $yield_now)))"#,
    );
    let mut task = program.spawn("main", &[], waiting(vec![Answer::Return(0); 3]));
    for _ in 0..3 {
        let step = task.step(FUEL);
        assert_waits(&step);
        assert!((6_000..10_000).contains(&step.used), "{} used", step.used);
    }
    returned(task.step(FUEL));
}
