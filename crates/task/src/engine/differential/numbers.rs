//! Every operation on numbers, on every pair of numbers where it might go wrong.

use super::{Dice, Pair};
use crate::{
    module::Entry,
    value::{Value, ValueType},
};

const INTEGER_UNARY: &str = "clz ctz popcnt extend8_s extend16_s";
const INTEGER_BINARY: &str = "add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl \
                              rotr";
const INTEGER_COMPARE: &str = "eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u";
const FLOAT_UNARY: &str = "abs neg ceil floor trunc nearest sqrt";
const FLOAT_BINARY: &str = "add sub mul div min max copysign";
const FLOAT_COMPARE: &str = "eq ne lt gt le ge";
const CONVERSIONS: &str = "i32.wrap_i64 i64.extend_i32_s i64.extend_i32_u i64.extend32_s:i64 \
    i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u \
    i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u \
    i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u \
    i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u \
    f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u f32.demote_f64 \
    f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32 \
    i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64";

/// A module that exports a function for each operation, named like it.
fn operations() -> String {
    let mut wat = String::from("(module\n");
    let mut export = |operation: &str, parameters: &[&str], result: &str| {
        let gets: String = (0..parameters.len()).map(|i| format!("(local.get {i})")).collect();
        wat.push_str(&format!(
            "(func (export \"{operation}\") (param {}) (result {result}) ({operation} {gets}))\n",
            parameters.join(" ")
        ));
    };
    let mut family = |types: [&str; 2], unary: &str, binary: &str, compare: &str| {
        for ty in types {
            for name in unary.split_whitespace() {
                export(&format!("{ty}.{name}"), &[ty], ty);
            }
            for name in binary.split_whitespace() {
                export(&format!("{ty}.{name}"), &[ty, ty], ty);
            }
            for name in compare.split_whitespace() {
                export(&format!("{ty}.{name}"), &[ty, ty], "i32");
            }
        }
    };
    family(["i32", "i64"], INTEGER_UNARY, INTEGER_BINARY, INTEGER_COMPARE);
    family(["f32", "f64"], FLOAT_UNARY, FLOAT_BINARY, FLOAT_COMPARE);
    for conversion in CONVERSIONS.split_whitespace() {
        let (operation, given) = match conversion.split_once(':') {
            Some((operation, given)) => (operation, given),
            None => {
                let given = ["i32", "i64", "f32", "f64"]
                    .into_iter()
                    .find(|ty| conversion.split('_').skip(1).any(|part| part == *ty));
                (conversion, given.expect("a conversion names what it converts"))
            }
        };
        export(operation, &[given], &operation[..3]);
    }
    wat.push(')');
    wat
}

/// Where operations go wrong: around zero, the ends of each type, and what does not fit another.
fn edges(ty: ValueType) -> Vec<Value> {
    const INTEGERS: [i64; 15] = [
        0,
        1,
        -1,
        2,
        7,
        31,
        32,
        63,
        64,
        0x80,
        i32::MAX as i64,
        i32::MIN as i64,
        u32::MAX as i64,
        i64::MAX,
        i64::MIN,
    ];
    const FLOATS: [f64; 18] = [
        0.0,
        -0.0,
        0.5,
        -1.0,
        1.5,
        2.5,
        5e-324,
        16_777_217.0,
        2_147_483_648.0,
        -2_147_483_649.0,
        4_294_967_296.0,
        9_223_372_036_854_775_807.0,
        18_446_744_073_709_551_616.0,
        f32::MAX as f64,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    match ty {
        ValueType::I32 => INTEGERS.iter().map(|value| Value::I32(*value as i32)).collect(),
        ValueType::I64 => INTEGERS.iter().map(|value| Value::I64(*value)).collect(),
        ValueType::F32 => FLOATS.iter().map(|value| Value::F32(*value as f32)).collect(),
        ValueType::F64 => FLOATS.iter().map(|value| Value::F64(*value)).collect(),
    }
}

/// A value of a type: often one at an edge.
pub(super) fn random(ty: ValueType, dice: &mut Dice) -> Value {
    let edges = edges(ty);
    if dice.below(2) == 0 {
        return edges[dice.below(edges.len() as u64) as usize];
    }
    match ty {
        ValueType::I32 => Value::I32(dice.next() as i32),
        ValueType::I64 => Value::I64(dice.next() as i64),
        ValueType::F32 => Value::F32(dice.next() as i32 as f32 / 1e3),
        ValueType::F64 => Value::F64(dice.next() as i64 as f64 / 1e6),
    }
}

#[test]
fn every_operation_agrees_at_every_edge() {
    let pair = Pair::wat(&operations());
    let mut checked = 0;
    for (name, signature) in &pair.module.exports {
        let entry = Entry::Export(name.clone());
        match signature.parameters[..] {
            [one] => {
                for value in edges(one) {
                    pair.check(&entry, &[value], 0);
                    checked += 1;
                }
            }
            [left, right] => {
                for a in edges(left) {
                    for b in edges(right) {
                        pair.check(&entry, &[a, b], 0);
                        checked += 1;
                    }
                }
            }
            _ => unreachable!("operations have one or two operands"),
        }
    }
    assert!(checked > 20_000, "only {checked} were checked");
}
