//! What stays of a memory when its task has ended: some of its pages, and nothing that was in them.

use super::*;

/// What a task finds in its memory, as one number; then it writes to all of it.
const SPOILS: &str = r#"
    (module
        (memory PAGES)
        (data (i32.const 1000) "\05\06")
        (func $bytes (result i32) (i32.mul (memory.size) (i32.const 65536)))
        (func (export "spoil") (result i64) (local $at i32) (local $sum i64)
            (loop $next
                (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $next (i32.lt_u (local.get $at) (call $bytes))))
            (memory.fill (i32.const 0) (i32.const 255) (call $bytes))
            (local.get $sum)))
"#;

/// The data, and zeroes.
const AS_NEW: Value = Value::I64(0x0605);

#[test]
fn every_task_finds_its_memory_as_new() {
    for pages in ["1", "16", "17", "40"] {
        let program = Program::new(&SPOILS.replace("PAGES", pages));
        for round in 0..4 {
            let found = program.run("spoil", &[]).expect("it returns");
            assert_eq!(found, [AS_NEW], "{pages} pages, round {round}");
        }
    }
}
