//! Programs that were written to find differences: memory, tables, calls, loops.

use super::Pair;

/// Each exports functions without surprises in their types; all of them are run with several seeds.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "memory at and over its end",
        r#"(module
            (memory 1 3)
            (data (i32.const 65530) "ending")
            (func (export "load8") (param i32) (result i32) (i32.load8_s (local.get 0)))
            (func (export "load64") (param i32) (result i64) (i64.load offset=65528 (local.get 0)))
            (func (export "store") (param i32 i64) (result i64)
                (i64.store (local.get 0) (local.get 1)) (i64.load (local.get 0)))
            (func (export "grow") (param i32) (result i32 i32)
                (memory.grow (local.get 0)) (memory.size))
            (func (export "fill") (param i32 i32 i32) (result i32)
                (memory.fill (local.get 0) (local.get 1) (local.get 2))
                (i32.load (local.get 0)))
            (func (export "copy") (param i32 i32 i32) (result i32)
                (memory.copy (local.get 0) (local.get 1) (local.get 2))
                (i32.load (local.get 0))))"#,
    ),
    (
        "segments used and dropped",
        r#"(module
            (memory 1)
            (data $d "twelve bytes")
            (table 4 funcref)
            (elem $e func $one $two)
            (func $one (result i32) (i32.const 1))
            (func $two (result i32) (i32.const 2))
            (func (export "init") (param i32 i32 i32) (result i64)
                (memory.init $d (local.get 0) (local.get 1) (local.get 2))
                (i64.load (local.get 0)))
            (func (export "dropped") (param i32)
                (data.drop $d)
                (memory.init $d (i32.const 0) (i32.const 0) (local.get 0)))
            (func (export "call") (param i32) (result i32)
                (table.init $e (i32.const 1) (i32.const 0) (i32.const 2))
                (call_indirect (result i32) (i32.and (local.get 0) (i32.const 3))))
            (func (export "table") (param i32 i32 i32) (result i32)
                (table.copy (local.get 0) (local.get 1) (local.get 2))
                (table.fill (local.get 0) (ref.func $two) (local.get 2))
                (ref.is_null (table.get (local.get 0))))
            (elem declare func $two))"#,
    ),
    (
        "calls that wait in the middle of expressions and loops",
        r#"(module
            (import "shiftwork" "now" (func $now (result i64)))
            (import "shiftwork" "chan_close" (func $close (param i64) (result i32)))
            (import "shiftwork" "random" (func $random (param i32 i32)))
            (import "shiftwork" "yield_now" (func $yield_now))
            (memory 1)
            (func $fold (export "fold") (param $n i32) (result i64) (local $sum i64)
                (local.set $n (i32.and (local.get $n) (i32.const 63)))
                (loop $again
                    (call $random (i32.const 100) (local.get $n))
                    (local.set $sum
                        (i64.add
                            (i64.mul (local.get $sum) (i64.const 31))
                            (i64.sub (call $now)
                                (i64.extend_i32_s (call $close (local.get $sum))))))
                    (call $yield_now)
                    (i64.store (i32.shl (local.get $n) (i32.const 3)) (local.get $sum))
                    (br_if $again (i32.gt_s
                        (local.tee $n (i32.sub (local.get $n) (i32.const 1))) (i32.const 0))))
                (local.get $sum))
            (func (export "nested") (param i32) (result i64)
                (i64.xor (call $fold (local.get 0)) (call $fold (i32.const 5))))
            (func $start (call $yield_now) (i64.store (i32.const 9000) (call $now)))
            (start $start)
            (func (export "started") (result i64) (i64.load (i32.const 9000))))"#,
    ),
    (
        "recursion, direct and through tables",
        r#"(module
            (table 2 2 funcref)
            (elem (i32.const 0) func $even $odd)
            (type $step (func (param i32) (result i32)))
            (func $even (param i32) (result i32)
                (if (result i32) (i32.eqz (local.get 0))
                    (then (i32.const 1))
                    (else (call_indirect (type $step)
                        (i32.sub (local.get 0) (i32.const 1)) (i32.const 1)))))
            (func $odd (param i32) (result i32)
                (if (result i32) (i32.eqz (local.get 0))
                    (then (i32.const 0))
                    (else (call_indirect (type $step)
                        (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))))
            (func (export "even") (param i32) (result i32)
                (call $even (i32.and (local.get 0) (i32.const 1023))))
            (func $fib (param i64) (result i64)
                (if (result i64) (i64.lt_u (local.get 0) (i64.const 2))
                    (then (local.get 0))
                    (else (i64.add
                        (call $fib (i64.sub (local.get 0) (i64.const 1)))
                        (call $fib (i64.sub (local.get 0) (i64.const 2)))))))
            (func (export "fib") (param i64) (result i64)
                (call $fib (i64.and (local.get 0) (i64.const 15))))
            (func $deep (export "deep") (result i32) (i32.add (call $deep) (i32.const 1))))"#,
    ),
    (
        "globals, blocks with several results, branches by table",
        r#"(module
            (global $g (mut i64) (i64.const 5))
            (global $h f64 (f64.const 2.5))
            (global $sum i32 (i32.add (i32.const 40) (i32.const 2)))
            (func (export "globals") (param i64) (result i64 f64 i32)
                (global.set $g (i64.rotl (global.get $g) (local.get 0)))
                (global.get $g) (global.get $h) (global.get $sum))
            (func (export "switch") (param i32) (result i32)
                (block $c (block $b (block $a
                    (br_table $a $b $c (local.get 0)))
                    (return (i32.const 10)))
                    (return (i32.const 20)))
                (i32.const 30))
            (func (export "swap") (param i32 i64) (result i64 i32)
                (local.get 1) (local.get 0)
                (block (param i64 i32) (result i32 i64) (local.set 0) (local.set 1)
                    (local.get 0) (local.get 1))
                (local.set 1) (local.set 0) (local.get 1) (local.get 0))
            (func (export "select") (param i32 f32 f32) (result f32)
                (select (local.get 1) (local.get 2) (local.get 0))))"#,
    ),
];

#[test]
fn programs_agree_whatever_the_host_answers() {
    for (name, wat) in PROGRAMS {
        let pair = Pair::wat(wat);
        for seed in 0..200 {
            println!("{name}, seed {seed}");
            pair.check_exports(seed);
        }
    }
}

/// A memory or table that can not be made as the module says.
#[test]
fn segments_that_do_not_fit_agree() {
    for wat in [
        r#"(module (memory 1) (data (i32.const 65536) "x") (func (export "f")))"#,
        r#"(module (memory 1) (data (i32.const -1) "x") (func (export "f")))"#,
        r#"(module (memory 1) (data (i32.const 65536) "") (func (export "f")))"#,
        r#"(module (memory 9) (func (export "f")))"#,
        r#"(module (table 1 funcref) (func $f (export "f")) (elem (i32.const 1) $f))"#,
    ] {
        Pair::wat(wat).check_exports(0);
    }
}
