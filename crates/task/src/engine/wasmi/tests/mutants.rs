//! Guests that are almost right: what the loader accepts, wasmi takes, and steps do not hang or panic.

use crate::{
    engine::{
        Answer, prepare,
        script::{Script, begin},
    },
    module::{Entry, Module},
    options::Options,
    value::{Value, ValueType},
};

const GUEST: &str = r#"(module
    (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
    (memory 1 3)
    (data (i32.const 16) "abc")
    (data $passive "later")
    (global $a (mut i64) (i64.const 3))
    (table (export "table") 3 funcref)
    (elem (i32.const 1) $work $loop)
    (type $f (func (param i64) (result i64)))
    (func $start (global.set $a (i64.const 5)))
    (start $start)
    (func $work (export "work") (param $n i64) (result i64) (local $sum i64)
        (memory.init $passive (i32.const 32) (i32.const 0) (i32.const 5))
        (loop $next
            (local.set $sum
                (i64.add (local.get $sum)
                    (i64.load8_u (i32.add (i32.const 16) (i32.wrap_i64 (local.get $n))))))
            (local.set $n (i64.sub (local.get $n) (i64.const 1)))
            (br_if $next (i64.gt_s (local.get $n) (i64.const 0))))
        (i64.add (local.get $sum)
            (i64.extend_i32_s (call $await (global.get $a) (i32.const 8)))))
    (func $loop (export "loop") (param i64) (result i64)
        (drop (memory.grow (i32.const 1)))
        (call_indirect (type $f) (local.get 0) (i32.const 2))))"#;

#[test]
fn every_flipped_bit_is_refused_or_runs() {
    let options = Options::default();
    let bytes = wat::parse_str(GUEST).expect("the guest is WebAssembly text");
    let mut accepted = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut mutant = bytes.clone();
            mutant[at] ^= 1 << bit;
            let Ok(module) = Module::read(&mutant, &options.limits) else { continue };
            accepted += 1;
            run(&module, &options);
        }
    }
    assert!(accepted > 100, "only {accepted} were accepted: there is little to see");
}

fn run(module: &Module, options: &Options) {
    let program = prepare(module, options).expect("what the loader accepts, the engine takes");
    let in_table = module.table.iter().flat_map(|table| (0..).zip(&table.functions));
    let entries =
        in_table
            .filter_map(|(index, function)| {
                Some((Entry::Table(index), function.as_ref()?.1.parameters.clone()))
            })
            .chain(module.exports.iter().map(|(name, signature)| {
                (Entry::Export(name.clone()), signature.parameters.clone())
            }));
    for (entry, parameters) in entries {
        let arguments: Vec<Value> = parameters.iter().map(|&ty| two(ty)).collect();
        let script = Script::new().waiting(|_| Answer::Return(1)).cost(30);
        let Ok(mut task) = begin(&*program, &entry, &arguments, script) else { continue };
        for _ in 0..20 {
            if task.has_ended() {
                break;
            }
            task.step(100);
        }
    }
}

fn two(ty: ValueType) -> Value {
    match ty {
        ValueType::I32 => Value::I32(2),
        ValueType::I64 => Value::I64(2),
        ValueType::F32 => Value::F32(2.0),
        ValueType::F64 => Value::F64(2.0),
    }
}
