//! No task sees what another left behind, though they take turns in the same instance.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    super::{instance_bytes, live::OPERATIONS_PER_BYTE, pool::WARM_BYTES, prepare},
    program, task,
};
use crate::{
    engine::{
        Answer, Stepped,
        script::{self, Script},
    },
    module::{Module, PAGE},
    options::{Limits, Options},
    value::Value,
};

/// What a task finds, as one number, and what it leaves behind.
const LEAVES: &str = r#"(module
    (import "shiftwork" "now" (func $now (result i64)))
    (memory MEMORY)
    (data (i32.const 1000) "\05\06")
    (global $a (mut i64) (i64.const 40))
    (global $b (mut f64) (f64.const 2))
    (func $look (result i64) (local $at i32) (local $sum i64)
        (local.set $sum
            (i64.add (global.get $a) (i64.trunc_f64_s (global.get $b))))
        (loop $next
            (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
            (local.set $at (i32.add (local.get $at) (i32.const 8)))
            (br_if $next
                (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536)))))
        (local.get $sum))
    (func $spoil
        (global.set $a (i64.const 1))
        (global.set $b (f64.const 1e9))
        (memory.fill (i32.const 0) (i32.const 255) (i32.mul (memory.size) (i32.const 65536))))
    (func (export "returns") (result i64) (local $found i64)
        (local.set $found (call $look))
        (call $spoil)
        (local.get $found))
    (func (export "traps") (call $spoil) unreachable)
    (func (export "waits") (result i64) (call $spoil) (call $now))
    (func (export "loops") (call $spoil) (loop (br 0)))
    (func (export "grows") (call $spoil)
        (drop (memory.grow (i32.const 1)))
        (call $spoil)))"#;

/// 40 and 2 in the globals, 0x0605 in the memory.
const AS_NEW: Value = Value::I64(42 + 0x0605);

#[test]
fn every_task_finds_its_instance_as_new() {
    // Memories that are cleared by hand, and such whose pages are given back, unless the task ran long.
    for memory in ["1", "2", "3", "1 2"] {
        let program = program(&LEAVES.replace("MEMORY", memory));
        for round in 0..2 {
            let found = task(&*program, "returns", &[]).returned();
            assert_eq!(found, [AS_NEW], "memory {memory}, round {round}");
            task(&*program, "traps", &[]).trapped();
            assert_eq!(task(&*program, "returns", &[]).returned(), [AS_NEW], "after a trap");

            let mut preempted = task(&*program, "loops", &[]);
            for _ in 0..100 {
                assert!(matches!(preempted.step(10_000).end, Stepped::Preempted));
            }
            drop(preempted);
            assert_eq!(task(&*program, "returns", &[]).returned(), [AS_NEW], "after a loop");

            let script = Script::new().waiting(|_| Answer::Wait);
            let mut waits = script::task(&*program, "waits", &[], script).expect("it is made");
            assert!(matches!(waits.run(10_000), Stepped::Waits));
            drop(waits);
            assert_eq!(task(&*program, "returns", &[]).returned(), [AS_NEW], "after a wait");

            task(&*program, "grows", &[]).returned();
            assert_eq!(task(&*program, "returns", &[]).returned(), [AS_NEW], "after a growth");
        }
    }
}

#[test]
fn tasks_that_live_at_the_same_time_have_instances_of_their_own() {
    let program = program(&LEAVES.replace("MEMORY", "1"));
    let mut waiting: Vec<_> = (0..20)
        .map(|_| {
            let script = Script::new().waiting(|_| Answer::Return(3));
            let mut task = script::task(&*program, "waits", &[], script).expect("it is made");
            assert!(matches!(task.run(10_000), Stepped::Waits));
            task
        })
        .collect();
    assert_eq!(task(&*program, "returns", &[]).returned(), [AS_NEW]);
    for task in &mut waiting {
        assert_eq!(task.returned(), [Value::I64(3)]);
    }
}

#[test]
fn table_that_a_task_has_changed_is_as_new_for_the_next() {
    let program = program(
        r#"(module
            (type $f (func (result i64)))
            (table 1 funcref)
            (elem (i32.const 0) $first)
            (elem declare func $second)
            (func $first (result i64) (i64.const 1))
            (func $second (result i64) (i64.const 2))
            (func (export "main") (result i64) (local $found i64)
                (local.set $found (call_indirect (type $f) (i32.const 0)))
                (table.set (i32.const 0) (ref.func $second))
                (i64.add
                    (i64.mul (local.get $found) (i64.const 10))
                    (call_indirect (type $f) (i32.const 0)))))"#,
    );
    for _ in 0..3 {
        assert_eq!(task(&*program, "main", &[]).returned(), [Value::I64(12)]);
    }
}

#[test]
fn segments_that_a_task_has_dropped_are_there_for_the_next() {
    let program = program(
        r#"(module
            (memory 1)
            (data $passive "\07")
            (func (export "main") (result i64)
                (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 1))
                (data.drop $passive)
                (i64.load8_u (i32.const 0))))"#,
    );
    for _ in 0..3 {
        assert_eq!(task(&*program, "main", &[]).returned(), [Value::I64(7)]);
    }
}

#[test]
fn passive_segments_can_be_used_by_every_task() {
    let program = program(
        r#"(module
            (memory 1)
            (data $passive "\07")
            (data (i32.const 9) "\01")
            (func (export "main") (result i64)
                (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 1))
                (i64.add (i64.load8_u (i32.const 0)) (i64.load8_u (i32.const 9)))))"#,
    );
    for _ in 0..3 {
        assert_eq!(task(&*program, "main", &[]).returned(), [Value::I64(8)]);
    }
}

#[test]
fn global_that_holds_a_function_is_as_new_for_the_next_task() {
    let program = program(
        r#"(module
            (global $f (mut funcref) (ref.null func))
            (elem declare func $main)
            (func $main (export "main") (result i64)
                (i64.extend_i32_u (ref.is_null (global.get $f)))
                (global.set $f (ref.func $main))))"#,
    );
    for _ in 0..3 {
        assert_eq!(task(&*program, "main", &[]).returned(), [Value::I64(1)]);
    }
}

#[test]
fn panic_of_the_host_goes_on_and_the_next_task_finds_its_instance_as_new() {
    let program = program(&LEAVES.replace("MEMORY", "1"));
    let called = Script::new().on_call(|_, _, _| panic!("the host's own mistake"));
    let resumed = Script::new().waiting(|_| panic!("the host's own mistake"));
    let asked = Script::new().on_growth(|from, _| from == 0 || panic!("the host's own mistake"));
    for (function, script) in [("waits", called), ("waits", resumed), ("grows", asked)] {
        let mut fails = script::task(&*program, function, &[], script).expect("it is made");
        let panic = catch_unwind(AssertUnwindSafe(|| {
            while !fails.has_ended() {
                fails.step(10_000);
            }
        }));
        let message = *panic.expect_err("the panic goes on").downcast::<&str>().expect("a text");
        assert_eq!(message, "the host's own mistake");
        drop(fails);
        assert_eq!(task(&*program, "returns", &[]).returned(), [AS_NEW]);
    }
}

#[test]
fn many_threads_share_a_programs_instances() {
    let program = program(
        r#"(module
            (memory 1)
            (global $a (mut i64) (i64.const 40))
            (func (export "main") (param i64) (result i64)
                (i64.add (global.get $a) (i64.load (i32.const 60000)))
                (global.set $a (local.get 0))
                (i64.store (i32.const 60000) (local.get 0))))"#,
    );
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let program = &*program;
            scope.spawn(move || {
                for round in 0..100 {
                    let held = (0..5).map(|_| task(program, "main", &[Value::I64(thread)]));
                    for (number, mut task) in held.collect::<Vec<_>>().into_iter().enumerate() {
                        let found = task.returned();
                        assert_eq!(found, [Value::I64(40)], "round {round}, task {number}");
                    }
                }
            });
        }
    });
}

/// A large memory keeps its pages after a task that ran long, as long as there is room for it.
#[test]
fn what_stays_of_large_memories_has_a_bound() {
    const LARGE: usize = WARM_BYTES / 2;
    let text = format!(
        r#"(module
            (memory {})
            (func (export "main") (loop (br 0))))"#,
        LARGE / PAGE
    );
    let options = Options::default();
    let module = Module::read(&wat::parse_str(text).unwrap(), &options.limits).unwrap();
    let program = prepare(&module, &options).unwrap();
    let run = |operations: u64| {
        let mut task = task(&program, "main", &[]);
        assert!(matches!(task.step(operations).end, Stepped::Preempted));
        task
    };
    let warm = || program.0.pool.room().expect("there is room").warm;
    // A little is left of a step's fuel when the guest is preempted.
    let enough = OPERATIONS_PER_BYTE * LARGE as u64 + 1_000;
    drop(run(enough / 2));
    assert_eq!(warm(), WARM_BYTES, "it did not run long");
    drop([run(enough), run(enough), run(enough)]);
    assert_eq!(warm(), 0, "two of three have kept their pages");
    drop([run(enough / 2), run(enough / 2), run(enough / 2)]);
    assert_eq!(warm(), WARM_BYTES, "none of them did");
}

/// Its pages stay with an instance that is kept, so they count in how many are.
#[test]
fn data_counts_in_what_an_instance_costs_that_is_kept() {
    let bytes = |pages: usize, data: usize| {
        let text =
            format!(r#"(module (memory {pages}) (data (i32.const 0) "{}"))"#, "x".repeat(data));
        let module = Module::read(&wat::parse_str(text).unwrap(), &Limits::default()).unwrap();
        instance_bytes(&module)
    };
    assert!(bytes(17, 1 << 20) >= 1 << 20);
    assert!(bytes(17, 100) < 20_000, "pages that were given back cost nothing");
    assert_eq!(bytes(2, 100), bytes(2, 0), "it keeps all of its pages in any case");
}
