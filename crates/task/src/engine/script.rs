//! A host for tests of engines: it does what the test says, and writes down what it was asked.

use std::sync::{Arc, Mutex};

use super::{Answer, Calls, Engine, Fuel, Instance, Step, Stepped};
use crate::{
    abi::{Call, MAX_PARAMETERS},
    module::{Entry, Module},
    options::Options,
    trap::Trap,
    value::Value,
};

type OnCall = dyn FnMut(Call, [u64; MAX_PARAMETERS], &mut [u8]) -> Answer + Send;
type OnResume = dyn FnMut(&mut [u8]) -> Answer + Send;
type OnGrowth = dyn FnMut(usize, usize) -> bool + Send;

/// What a guest's calls are answered with, and at which price.
pub(crate) struct Script {
    on_call: Box<OnCall>,
    on_resume: Box<OnResume>,
    on_growth: Box<OnGrowth>,
    cost: u64,
    asked: Asked,
}

/// What the engine asked, for the test to look at.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<Ask>>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ask {
    Call(Call, [u64; MAX_PARAMETERS]),
    Resume,
    Memory(usize, usize),
    Table(usize, usize),
}

impl Asked {
    fn add(&self, ask: Ask) {
        self.0.lock().unwrap().push(ask);
    }

    /// All that was asked so far.
    pub(crate) fn all(&self) -> Vec<Ask> {
        self.0.lock().unwrap().clone()
    }
}

impl Script {
    /// Answers 0 to every call, for nothing, and allows all memory.
    pub(crate) fn new() -> Script {
        Script {
            on_call: Box::new(|_, _, _| Answer::Return(0)),
            on_resume: Box::new(|_| Answer::Return(0)),
            on_growth: Box::new(|_, _| true),
            cost: 0,
            asked: Asked::default(),
        }
    }

    /// Answers calls so.
    pub(crate) fn on_call(
        self,
        answer: impl FnMut(Call, [u64; MAX_PARAMETERS], &mut [u8]) -> Answer + Send + 'static,
    ) -> Script {
        Script { on_call: Box::new(answer), ..self }
    }

    /// Lets every call wait; answers so when the task is woken.
    pub(crate) fn waiting(
        self,
        answer: impl FnMut(&mut [u8]) -> Answer + Send + 'static,
    ) -> Script {
        Script { on_call: Box::new(|_, _, _| Answer::Wait), on_resume: Box::new(answer), ..self }
    }

    /// What each call costs.
    pub(crate) fn cost(self, cost: u64) -> Script {
        Script { cost, ..self }
    }

    /// Allows or refuses so that a memory grows from one size to another.
    pub(crate) fn on_growth(
        self,
        allow: impl FnMut(usize, usize) -> bool + Send + 'static,
    ) -> Script {
        Script { on_growth: Box::new(allow), ..self }
    }

    pub(crate) fn asked(&self) -> Asked {
        self.asked.clone()
    }
}

impl Calls for Script {
    fn cost(&self, _: Call, _: &[u64; MAX_PARAMETERS]) -> u64 {
        self.cost
    }

    fn call(&mut self, call: Call, arguments: [u64; MAX_PARAMETERS], memory: &mut [u8]) -> Answer {
        self.asked.add(Ask::Call(call, arguments));
        (self.on_call)(call, arguments, memory)
    }

    fn resume(&mut self, memory: &mut [u8]) -> Answer {
        self.asked.add(Ask::Resume);
        (self.on_resume)(memory)
    }

    fn grow_memory(&mut self, current: usize, desired: usize) -> bool {
        self.asked.add(Ask::Memory(current, desired));
        (self.on_growth)(current, desired)
    }

    fn begin_stack(&mut self, _: usize) -> bool {
        true
    }

    fn grow_table(&mut self, current: usize, desired: usize) -> bool {
        self.asked.add(Ask::Table(current, desired));
        true
    }
}

/// A task with its script.
pub(crate) struct Task {
    instance: Box<dyn Instance>,
    script: Option<Box<dyn Calls>>,
    ended: bool,
}

/// More steps than any task of a test needs.
const STEPS: u32 = 100_000;

/// A program in text, compiled.
pub(crate) fn program(text: &str, options: &Options) -> Box<dyn Engine> {
    let bytes = wat::parse_str(text).expect("the test's program is WebAssembly text");
    let module = Module::read(&bytes, &options.limits).expect("the test's program is good");
    super::prepare(&module, options).expect("the engine takes the test's program")
}

/// The task that calls an exported function.
pub(crate) fn task(
    engine: &dyn Engine,
    function: &str,
    arguments: &[Value],
    script: Script,
) -> Result<Task, Trap> {
    begin(engine, &Entry::Export(function.to_owned()), arguments, script)
}

/// The task that begins so.
pub(crate) fn begin(
    engine: &dyn Engine,
    entry: &Entry,
    arguments: &[Value],
    script: Script,
) -> Result<Task, Trap> {
    let (script, instance) = engine.instantiate(entry, arguments, Box::new(script));
    Ok(Task { instance: instance?, script: Some(script), ended: false })
}

impl Task {
    /// One step of a task that has as much left as it likes.
    pub(crate) fn step(&mut self, slice: u64) -> Step {
        self.step_with(Fuel { slice, left: u64::MAX })
    }

    /// One step.
    pub(crate) fn step_with(&mut self, fuel: Fuel) -> Step {
        let script = self.script.take().expect("the last step gave the script back");
        let (script, step) = self.instance.step(fuel, script);
        self.script = Some(script);
        self.ended = matches!(step.end, Stepped::Returned(_) | Stepped::Trapped(_));
        step
    }

    /// Whether it has returned or trapped.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Steps of so much fuel until it waits or ends.
    #[track_caller]
    pub(crate) fn run(&mut self, fuel: u64) -> Stepped {
        for _ in 0..STEPS {
            match self.step(fuel).end {
                Stepped::Preempted => {}
                end => return end,
            }
        }
        panic!("the task has not ended after {STEPS} steps of {fuel}")
    }

    /// What it returns, without waiting.
    #[track_caller]
    pub(crate) fn returned(&mut self) -> Vec<Value> {
        match self.run(10_000) {
            Stepped::Returned(values) => values,
            end => panic!("the task did not return: {end:?}"),
        }
    }

    /// How it traps, without waiting.
    #[track_caller]
    pub(crate) fn trapped(&mut self) -> Trap {
        match self.run(10_000) {
            Stepped::Trapped(trap) => *trap,
            end => panic!("the task did not trap: {end:?}"),
        }
    }
}
