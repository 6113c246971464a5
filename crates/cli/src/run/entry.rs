//! Which function is called, and with which values.

use anyhow::{Context, Result, bail, ensure};
use shiftwork::task::{Function, Program, Value, ValueType};

use crate::text::count;

/// What is called if nobody says what.
const DEFAULTS: [&str; 2] = ["main", "_start"];
/// So many functions are named in an error, at most.
const NAMED_MAX: usize = 20;

/// The function to call, and the values to call it with.
pub(crate) fn choose(
    program: &Program,
    wanted: Option<&str>,
    texts: &[String],
) -> Result<(String, Vec<Value>)> {
    let mut functions = program.functions();
    let names: &[&str] = match &wanted {
        Some(wanted) => std::slice::from_ref(wanted),
        None => &DEFAULTS,
    };
    let found = names.iter().find_map(|name| functions.iter().position(|f| f.name == *name));
    let Some(found) = found else { bail!(missing(wanted, &functions)) };
    let function = functions.swap_remove(found);
    let values = values(&function, texts)?;
    Ok((function.name, values))
}

fn missing(wanted: Option<&str>, functions: &[Function]) -> String {
    let mut there_are: Vec<String> = functions.iter().take(NAMED_MAX).map(signature).collect();
    if functions.len() > NAMED_MAX {
        there_are.push(format!("and {} more", functions.len() - NAMED_MAX));
    }
    let list = match there_are.len() {
        0 => "the module exports no function".to_owned(),
        _ => format!("the module exports\n  {}", there_are.join("\n  ")),
    };
    match wanted {
        Some(wanted) => format!("there is no function `{wanted}`; {list}"),
        None if functions.is_empty() => format!("there is nothing to call: {list}"),
        None => format!("there is no function `main` or `_start`; choose with --func, {list}"),
    }
}

/// `add(i32, i32) -> i32`
fn signature(function: &Function) -> String {
    let types = |types: &[ValueType]| {
        let names: Vec<String> = types.iter().map(ValueType::to_string).collect();
        names.join(", ")
    };
    let results = match &function.results[..] {
        [] => String::new(),
        [one] => format!(" -> {one}"),
        many => format!(" -> ({})", types(many)),
    };
    format!("{}({}){results}", function.name, types(&function.parameters))
}

/// The values that the texts stand for, by the types of the parameters.
fn values(function: &Function, texts: &[String]) -> Result<Vec<Value>> {
    let (name, wanted) = (&function.name, function.parameters.len());
    ensure!(
        wanted == texts.len(),
        "{} takes {}, and {} given",
        signature(function),
        count(wanted, "argument"),
        match texts.len() {
            0 => "none is".to_owned(),
            1 => "1 is".to_owned(),
            given => format!("{given} are"),
        },
    );
    let pairs = function.parameters.iter().zip(texts).enumerate();
    let values = pairs.map(|(at, (wanted, text))| {
        let what =
            || format!("argument {} of {name} is {wanted}, and `{text}` is no {wanted}", at + 1);
        value(*wanted, text).with_context(what)
    });
    values.collect()
}

fn value(wanted: ValueType, text: &str) -> Option<Value> {
    match wanted {
        ValueType::I32 => text.parse().ok().map(Value::I32),
        ValueType::I64 => text.parse().ok().map(Value::I64),
        ValueType::F32 => text.parse().ok().map(Value::F32),
        ValueType::F64 => text.parse().ok().map(Value::F64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_the_type_of_the_parameter() {
        assert_eq!(value(ValueType::I32, "-7"), Some(Value::I32(-7)));
        assert_eq!(value(ValueType::I32, "2147483648"), None);
        assert_eq!(value(ValueType::I64, "-9223372036854775808"), Some(Value::I64(i64::MIN)));
        assert_eq!(value(ValueType::I64, "1.0"), None);
        assert_eq!(value(ValueType::F32, "-1.5"), Some(Value::F32(-1.5)));
        assert_eq!(value(ValueType::F64, "1e3"), Some(Value::F64(1000.0)));
        for wanted in [ValueType::I32, ValueType::I64, ValueType::F32, ValueType::F64] {
            for bad in ["", "x", "1 ", "--1", "0x"] {
                assert_eq!(value(wanted, bad), None, "{bad:?} as {wanted}");
            }
        }
    }
}
