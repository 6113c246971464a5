//! Every step ends, and what it used is told.

use super::{program, task};
use crate::{
    abi::Call,
    engine::{
        Fuel, Stepped,
        script::{self, Script, Task},
    },
    options::Options,
    trap::TrapKind,
    value::Value,
};

/// A task that has returned, and what that took.
#[derive(Debug, PartialEq)]
struct Run {
    values: Vec<Value>,
    used: u64,
    steps: u64,
    /// What the dearest step used that did not end the task, and what the last one used: that pays
    /// what is still owed.
    largest: u64,
    last: u64,
}

/// Runs a task to its end, in slices of so much fuel.
#[track_caller]
fn run(task: &mut Task, slice: u64) -> Run {
    let (mut used, mut largest) = (0, 0);
    for steps in 1..100_000 {
        let step = task.step(slice);
        used += step.used;
        match step.end {
            Stepped::Preempted => largest = step.used.max(largest),
            Stepped::Returned(values) => {
                return Run { values, used, steps, largest, last: step.used };
            }
            end => panic!("the task did not return: {end:?}"),
        }
    }
    panic!("the task does not end in slices of {slice}")
}

const ENDLESS: &str = r#"(module (func (export "main") (loop (br 0))))"#;

#[test]
fn endless_loop_is_preempted_in_each_step() {
    let program = program(ENDLESS);
    let mut task = task(&*program, "main", &[]);
    for _ in 0..1_000 {
        let step = task.step(1_000);
        assert!(matches!(step.end, Stepped::Preempted), "{step:?}");
        assert!((900..=1_000).contains(&step.used), "used {}", step.used);
    }
}

#[test]
fn step_without_fuel_does_nothing() {
    let program = program(r#"(module (func (export "main") (result i64) (i64.const 3)))"#);
    let mut task = task(&*program, "main", &[]);
    let step = task.step(0);
    assert!(matches!(step.end, Stepped::Preempted));
    assert_eq!(step.used, 0);
    assert_eq!(task.returned(), [Value::I64(3)]);
}

const SUM: &str = r#"(module
    (func $add (param i64 i64) (result i64) (i64.add (local.get 0) (local.get 1)))
    (func (export "main") (param $n i64) (result i64) (local $sum i64)
        (loop $next
            (local.set $sum (call $add (local.get $sum) (local.get $n)))
            (local.set $n (i64.sub (local.get $n) (i64.const 1)))
            (br_if $next (i64.ne (local.get $n) (i64.const 0))))
        (local.get $sum)))"#;

#[test]
fn slices_of_any_size_give_the_same_result_for_the_same_fuel() {
    let program = program(SUM);
    let cost = |slice: u64| {
        let run = run(&mut task(&*program, "main", &[Value::I64(1_000)]), slice);
        (run.values, run.used)
    };
    let whole = cost(u64::MAX);
    assert_eq!(whole.0, [Value::I64(500_500)]);
    // Slices below the price of a block get the block's price: see `required_fuel`.
    for slice in [1, 2, 3, 7, 50, 999, 10_000] {
        assert_eq!(cost(slice), whole, "slices of {slice}");
    }
}

/// wasmi compiles functions on their first call unless it is told otherwise. That costs fuel, and to run
/// out of fuel there is an error that can not be resumed: the task would fail with "out of fuel".
#[test]
fn functions_that_are_called_first_with_hardly_any_fuel_run_all_the_same() {
    let functions: String = (0..200)
        .map(|number| {
            format!(
                "(func $f{number} (result i64) (i64.add (i64.const {number}) (call $f{})))",
                number + 1
            )
        })
        .collect();
    let text = format!(
        r#"(module {functions} (func $f200 (result i64) (i64.const 0))
            (func (export "main") (result i64) (call $f0)))"#
    );
    let program = program(&text);
    let run = run(&mut task(&*program, "main", &[]), 1);
    assert_eq!(run.values, [Value::I64(199 * 200 / 2)]);
}

#[test]
fn operation_that_costs_more_than_a_slice_runs_whole() {
    let functions = " $f".repeat(5_000);
    let bytes = r"\05".repeat(20_000);
    let program = program(&format!(
        r#"(module
            (memory 16)
            (data $data "{bytes}")
            (table $a 5000 funcref)
            (table $b 5000 funcref)
            (elem $elem func {functions})
            (func $f)
            (func $is_null (result i64)
                (i64.extend_i32_u (ref.is_null (table.get $a (i32.const 4999)))))
            (func (export "fill") (result i64)
                (memory.fill (i32.const 0) (i32.const 1) (i32.const 1000000))
                (i64.load (i32.const 999992)))
            (func (export "copy") (result i64)
                (i64.store (i32.const 499992) (i64.const 5))
                (memory.copy (i32.const 500000) (i32.const 0) (i32.const 500000))
                (i64.load (i32.const 999992)))
            (func (export "init") (result i64)
                (memory.init $data (i32.const 1) (i32.const 0) (i32.const 20000))
                (i64.load8_u (i32.const 20000)))
            (func (export "table_fill") (result i64)
                (table.fill $a (i32.const 0) (ref.func $f) (i32.const 5000))
                (call $is_null))
            (func (export "table_copy") (result i64)
                (table.fill $b (i32.const 0) (ref.func $f) (i32.const 5000))
                (table.copy $a $b (i32.const 0) (i32.const 0) (i32.const 5000))
                (call $is_null))
            (func (export "table_init") (result i64)
                (table.init $a $elem (i32.const 0) (i32.const 0) (i32.const 5000))
                (call $is_null))
            (func (export "grow") (result i64)
                (i64.extend_i32_u (memory.grow (i32.const 100)))))"#
    ));
    for (function, value) in [
        ("fill", 0x0101_0101_0101_0101),
        ("copy", 5),
        ("init", 5),
        ("table_fill", 0),
        ("table_copy", 0),
        ("table_init", 0),
        ("grow", 16),
    ] {
        let run = run(&mut task(&*program, function, &[]), 100);
        assert_eq!(run.values, [Value::I64(value)], "{function}");
        assert!(
            run.largest.max(run.last) > 100,
            "{function}: a step used more than its slice, and said so"
        );
    }
}

/// What an operation needs that costs more than a slice is not taken from what the task does not have.
#[test]
fn operation_that_costs_more_than_the_task_has_left_does_not_run() {
    let program = program(
        r#"(module
            (memory 2)
            (func (export "fill")
                (memory.fill (i32.const 0) (i32.const 1) (i32.const 131072))))"#,
    );
    let mut enough = task(&*program, "fill", &[]);
    assert!(matches!(enough.step(100).end, Stepped::Preempted));
    let step = enough.step_with(Fuel { slice: 100, left: 3_000 });
    assert!(matches!(step.end, Stepped::Returned(_)), "{step:?}");
    assert!((2_048..3_000).contains(&step.used), "used {}", step.used);

    let mut short = task(&*program, "fill", &[]);
    assert!(matches!(short.step(100).end, Stepped::Preempted));
    let step = short.step_with(Fuel { slice: 100, left: 2_000 });
    let Stepped::Trapped(trap) = step.end else { panic!("{:?}", step.end) };
    assert_eq!((trap.kind, step.used), (TrapKind::OutOfFuel, 2_000));
}

const CALLS: &str = r#"(module
    (import "shiftwork" "now" (func $now (result i64)))
    (func (export "main") (param $n i64)
        (loop $next
            (drop (call $now))
            (local.set $n (i64.sub (local.get $n) (i64.const 1)))
            (br_if $next (i64.ne (local.get $n) (i64.const 0))))))"#;

#[test]
fn calls_are_charged_and_what_exceeds_the_slice_is_paid_later() {
    let program = program(CALLS);
    let total = |cost: u64, slice: u64| {
        let script = Script::new().cost(cost);
        let task = script::task(&*program, "main", &[Value::I64(10)], script);
        run(&mut task.expect("it is made"), slice)
    };
    let free = total(0, u64::MAX).used;
    let charged = total(1_000, u64::MAX);
    assert_eq!((charged.used, charged.steps), (free + 10 * 1_000, 1));
    for slice in [1, 99, 100, 300, 999, 1_000, 2_500] {
        let run = total(1_000, slice);
        assert_eq!(run.used, charged.used, "slices of {slice}");
        // A block of the guest costs less than 20: no step uses more than that or its slice.
        assert!(run.largest <= slice.max(20), "a step of {slice} used {}", run.largest);
    }
}

#[test]
fn call_that_waits_is_charged_and_its_debt_is_paid_before_the_guest_goes_on() {
    let program = program(CALLS);
    let script = Script::new().cost(1_000).waiting(|_| crate::engine::Answer::Return(7));
    let asked = script.asked();
    let mut task = script::task(&*program, "main", &[Value::I64(1)], script).expect("it is made");
    let first = task.step(100);
    assert!(matches!(first.end, Stepped::Waits));
    let run = run(&mut task, 100);
    assert_eq!((run.steps, run.largest), (10, 100), "nine steps and a bit for the debt");
    // The call, and one answer: it is not asked for again while the debt is paid.
    let calls = asked.all().len();
    assert_eq!(calls, 2, "{:?}", asked.all());
}

#[test]
fn call_costs_what_its_arguments_say() {
    // The engine hands the arguments to `cost` as it does to `call`.
    struct Price;
    impl crate::engine::Calls for Price {
        fn cost(&self, call: Call, arguments: &[u64; 4]) -> u64 {
            assert_eq!(call, Call::Random);
            arguments[1]
        }
        fn call(&mut self, _: Call, _: [u64; 4], _: &mut [u8]) -> crate::engine::Answer {
            crate::engine::Answer::Return(0)
        }
        fn resume(&mut self, _: &mut [u8]) -> crate::engine::Answer {
            unreachable!("nothing waits")
        }
        fn grow_memory(&mut self, _: usize, _: usize) -> bool {
            true
        }
        fn grow_table(&mut self, _: usize, _: usize) -> bool {
            true
        }
        fn begin_stack(&mut self, _: usize) -> bool {
            true
        }
    }
    let program = program(
        r#"(module
            (import "shiftwork" "random" (func $random (param i32 i32)))
            (func (export "main") (call $random (i32.const 0) (i32.const 12345))))"#,
    );
    let entry = crate::module::Entry::Export("main".to_owned());
    let (calls, instance) = program.instantiate(&entry, &[], Box::new(Price));
    let fuel = Fuel { slice: u64::MAX, left: u64::MAX };
    let (_, step) = instance.expect("it is made").step(fuel, calls);
    assert!((12_345..12_400).contains(&step.used), "used {}", step.used);
}

#[test]
fn suspended_tasks_of_one_program_do_not_disturb_each_other() {
    let program = script::program(SUM, &Options::default());
    let mut tasks: Vec<_> =
        (1..=50).map(|n| (n, task(&*program, "main", &[Value::I64(n)]))).collect();
    for _ in 0..1_000 {
        tasks.retain_mut(|(n, task)| match task.step(30).end {
            Stepped::Preempted => true,
            Stepped::Returned(values) => {
                assert_eq!(values, [Value::I64(*n * (*n + 1) / 2)]);
                false
            }
            end => panic!("{end:?}"),
        });
    }
    assert!(tasks.is_empty(), "{} tasks have not ended", tasks.len());
}
