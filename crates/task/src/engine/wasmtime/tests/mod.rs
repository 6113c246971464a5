//! Does the compiling engine keep the rules of `engine`?

mod calls;
mod fuel;
mod growth;
mod kept;
mod places;
mod traps;

use super::{Compiled, prepare};
use crate::{
    abi::{Call, MAX_PARAMETERS},
    engine::{
        Answer, Fuel, Step, Stepped,
        script::{self, Ask, Asked, Script, Task},
    },
    module::{Entry, Module},
    options::{EngineKind, Limits, Options},
    trap::{Trap, TrapKind},
    value::Value,
};

/// What each step gets, and the interval between two pauses.
const FUEL: u64 = 10_000;

/// A program, compiled.
struct Program(Compiled);

impl Program {
    fn new(wat: &str) -> Program {
        Program::with(wat, |_| {})
    }

    fn with(wat: &str, change: impl FnOnce(&mut Options)) -> Program {
        let mut options = Options {
            engine: EngineKind::Wasmtime,
            preemption_threshold: Some(FUEL),
            limits: Limits { jit_tasks: 8, ..Limits::default() },
            ..Options::default()
        };
        change(&mut options);
        let module = read(wat, &options.limits);
        Program(prepare(&module, &options).expect("wasmtime compiles it"))
    }

    fn spawn(&self, function: &str, arguments: &[Value], script: Script) -> Task {
        self.try_spawn(function, arguments, script).expect("there is room for the task")
    }

    fn try_spawn(&self, function: &str, arguments: &[Value], script: Script) -> Result<Task, Trap> {
        script::task(&self.0, function, arguments, script)
    }

    /// Runs an exported function to its end.
    fn run(&self, function: &str, arguments: &[Value]) -> Result<Vec<Value>, Trap> {
        end(self.try_spawn(function, arguments, Script::new())?)
    }
}

fn read(wat: &str, limits: &Limits) -> Module {
    let bytes = wat::parse_str(wat).expect("the guest is good WAT");
    Module::read(&bytes, limits).expect("the module is good")
}

/// Steps until the task has ended. Calls that wait are asked again at once.
fn end(mut task: Task) -> Result<Vec<Value>, Trap> {
    loop {
        match task.run(FUEL) {
            Stepped::Preempted | Stepped::Waits => {}
            Stepped::Returned(values) => return Ok(values),
            Stepped::Trapped(trap) => return Err(*trap),
        }
    }
}

/// Every call waits, and is resumed with these, one after the other.
fn waiting(answers: impl IntoIterator<Item = Answer>) -> Script {
    let mut answers = answers.into_iter().collect::<Vec<_>>().into_iter();
    Script::new().waiting(move |_| answers.next().expect("there is an answer left"))
}

/// The calls of a guest, in order.
fn calls(asked: &Asked) -> Vec<(Call, [u64; MAX_PARAMETERS])> {
    let call = |ask| match ask {
        Ask::Call(call, arguments) => Some((call, arguments)),
        _ => None,
    };
    asked.all().into_iter().filter_map(call).collect()
}

#[track_caller]
fn assert_preempted(step: &Step) {
    assert!(matches!(step.end, Stepped::Preempted), "{:?} instead of a preemption", step.end);
}

#[track_caller]
fn assert_waits(step: &Step) {
    assert!(matches!(step.end, Stepped::Waits), "{:?} instead of waiting", step.end);
}

#[track_caller]
fn returned(step: Step) -> Vec<Value> {
    match step.end {
        Stepped::Returned(values) => values,
        other => panic!("{other:?} instead of a result"),
    }
}
