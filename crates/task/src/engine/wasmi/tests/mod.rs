//! What wasmi does with guests, step by step, with a host that the test writes.

mod fuel;
mod measure;
mod memory;
mod mutants;
mod renewal;
mod selects;
mod start;
mod traps;
mod waits;

use crate::{
    engine::{
        Engine,
        script::{self, Script, Task},
    },
    options::Options,
    value::Value,
};

fn program(text: &str) -> Box<dyn Engine> {
    script::program(text, &Options::default())
}

#[track_caller]
fn task(program: &dyn Engine, function: &str, arguments: &[Value]) -> Task {
    script::task(program, function, arguments, Script::new()).expect("the instance is made")
}
