//! Memory comes from the pool, within limits, and clean.

use super::{
    super::{
        pool::{self, Layout, Sizes},
        prepare_on,
    },
    *,
};

const PAGE: usize = 1 << 16;

const GROWS: &str = r#"
    (module
        (memory 1)
        (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
        (func (export "size") (result i32) (memory.size))
        (func (export "dirty") (param $end i32) (local $at i32)
            (loop $again
                (i32.store8 (local.get $at) (i32.const 0xff))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $at) (local.get $end)))))
        (func (export "grow_and_dirty") (param $pages i32)
            (drop (memory.grow (local.get $pages)))
            (memory.fill (i32.const 0) (i32.const 0xff)
                (i32.mul (memory.size) (i32.const 65536))))
        (func (export "sum") (param $pages i32) (result i64) (local $at i32) (local $sum i64)
            (drop (memory.grow (local.get $pages)))
            (loop $again
                (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $again
                    (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536)))))
            (local.get $sum)))
"#;

#[test]
fn memory_grows_to_the_limit_of_a_task_and_no_further() {
    let program = Program::with(GROWS, |options| options.limits.task_memory = 4 * PAGE + 100);
    assert_eq!(program.run("grow", &[Value::I32(3)]), Ok(vec![Value::I32(1)]));
    assert_eq!(program.run("grow", &[Value::I32(4)]), Ok(vec![Value::I32(-1)]));
    assert_eq!(program.run("grow", &[Value::I32(-1)]), Ok(vec![Value::I32(-1)]));
}

#[test]
fn memory_grows_only_if_the_host_allows_it() {
    let program = Program::new(GROWS);
    let grow = |pages, memory| {
        let host = Script::new().on_growth(move |_, desired| desired <= memory);
        end(program.spawn("grow", &[Value::I32(pages)], host))
    };
    assert_eq!(grow(2, 3 * PAGE), Ok(vec![Value::I32(1)]));
    assert_eq!(grow(2, 3 * PAGE - 1), Ok(vec![Value::I32(-1)]));
}

#[test]
fn a_memory_that_the_host_does_not_allow_fails_the_task() {
    let program = Program::new(GROWS);
    let host = Script::new().on_growth(|_, desired| desired < PAGE);
    let trap = program.try_spawn("size", &[], host).err().expect("there is no memory for it");
    assert_eq!(trap.kind, TrapKind::Limit);
    assert!(trap.message.is_some_and(|message| message.contains("memory")));
}

/// All places are used, each whole, and then again by others.
#[test]
fn a_new_task_never_sees_an_old_tasks_bytes() {
    let program = Program::with(GROWS, |options| options.limits.task_memory = 16 * PAGE);
    for round in 0..3 {
        let mut old: Vec<Task> = (0..8)
            .map(|_| program.spawn("grow_and_dirty", &[Value::I32(15)], Script::new()))
            .collect();
        for task in &mut old {
            while !matches!(task.step(FUEL).end, Stepped::Returned(_)) {}
        }
        drop(old);
        let new: Vec<Task> =
            (0..8).map(|_| program.spawn("sum", &[Value::I32(15)], Script::new())).collect();
        for task in new {
            assert_eq!(end(task), Ok(vec![Value::I64(0)]), "round {round}");
        }
    }
}

#[test]
fn data_segments_are_as_new_for_every_task() {
    let program = Program::with(
        r#"(module
            (memory 1)
            (data (i32.const 4000) "once")
            (func (export "take") (result i32)
                (i32.load (i32.const 4000))
                (i32.store (i32.const 4000) (i32.const 0))))"#,
        |options| options.limits.jit_tasks = 1,
    );
    let once = i32::from_le_bytes(*b"once");
    for _ in 0..10 {
        assert_eq!(program.run("take", &[]), Ok(vec![Value::I32(once)]));
    }
}

#[test]
fn tables_and_globals_are_as_new_for_every_task() {
    let program = Program::with(
        r#"(module
            (table 2 funcref)
            (elem (i32.const 0) func $seven)
            (func $seven (result i32) (i32.const 7))
            (global $count (mut i32) (i32.const 5))
            (func (export "take") (result i32 i32)
                (call_indirect (result i32) (i32.const 0))
                (table.set (i32.const 0) (ref.null func))
                (global.get $count)
                (global.set $count (i32.const 0))))"#,
        |options| options.limits.jit_tasks = 1,
    );
    for _ in 0..10 {
        assert_eq!(program.run("take", &[]), Ok(vec![Value::I32(7), Value::I32(5)]));
    }
}

/// Guards and checks give the same answers.
#[test]
fn the_last_byte_is_the_last_byte_in_both_layouts() {
    let wat = r#"(module
        (memory 1)
        (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
        (func (export "far") (param i32) (result i32) (i32.load8_u offset=65535 (local.get 0)))
        (func (export "grown") (param i32) (result i32)
            (drop (memory.grow (i32.const 1)))
            (i32.load8_u (local.get 0))))"#;
    let limits = Limits { task_memory: 2 * PAGE, jit_tasks: 2, ..Limits::default() };
    let module = read(wat, &limits);
    let options = Options { limits, ..Options::default() };
    let sizes = Sizes::of(&module, &limits);
    for layout in [Layout::Guarded, Layout::Checked] {
        let engine = pool::engine_with(&sizes, layout).unwrap();
        let program = Program(prepare_on(&engine, sizes, &module, &options).unwrap());
        for (function, at) in [("load", 65_535), ("far", 0), ("grown", 131_071)] {
            let loaded = program.run(function, &[Value::I32(at)]);
            assert_eq!(loaded, Ok(vec![Value::I32(0)]), "{function}({at}), {layout:?}");
        }
        for (function, at) in
            [("load", 65_536), ("load", -1), ("far", 1), ("far", -1), ("grown", 131_072)]
        {
            let trap = program.run(function, &[Value::I32(at)]).unwrap_err();
            assert_eq!(trap.kind, TrapKind::MemoryOutOfBounds, "{function}({at}), {layout:?}");
        }
    }
}
