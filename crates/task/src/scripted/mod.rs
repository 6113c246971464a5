//! An engine whose guests are written in Rust, for tests: what a guest does is an `async` block.
//!
//! It keeps the rules of [`engine`](crate::engine) as the real ones do: calls are charged, a slice
//! ends, what a call costs beyond it is carried over, a call that waits suspends the guest. So
//! whatever is on the host's side of that seam can be tested, and model-checked, without WebAssembly.

mod guest;

pub use guest::Guest;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use kernel::Handle;

use crate::{
    engine::{Answer, Calls, Engine, Fuel, Instance, Step, Stepped},
    module::{Entry, FunctionTable, MemorySize, Module, Signature},
    options::Options,
    program::Program,
    scripted::guest::Request,
    trap::{Trap, TrapKind},
    value::{Value, ValueType},
};

/// The memory of a guest, in bytes.
pub const MEMORY: usize = 1 << 16;

type Run = Pin<Box<dyn Future<Output = Vec<Value>> + Send>>;
type Script = Arc<dyn Fn(Guest, Vec<Value>) -> Run + Send + Sync>;

/// A program of scripted guests: its functions, each exported, and in the table in this order.
#[derive(Default)]
pub struct Guests {
    functions: Vec<(String, Signature, Script)>,
}

impl Guests {
    /// No function yet.
    pub fn new() -> Guests {
        Guests::default()
    }

    /// Adds a function from an `i64` to an `i64`, which can be spawned.
    pub fn add<F, Fut>(self, name: &str, script: F) -> Guests
    where
        F: Fn(Guest, i64) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = i64> + Send + 'static,
    {
        let i64 = [ValueType::I64];
        self.add_typed(name, &i64, &i64, move |guest, arguments| {
            let argument = match arguments[..] {
                [Value::I64(argument)] => argument,
                _ => panic!("the arguments are {arguments:?}"),
            };
            let run = script(guest, argument);
            async move { vec![Value::I64(run.await)] }
        })
    }

    /// Adds a function of any type.
    pub fn add_typed<F, Fut>(
        mut self,
        name: &str,
        parameters: &[ValueType],
        results: &[ValueType],
        script: F,
    ) -> Guests
    where
        F: Fn(Guest, Vec<Value>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<Value>> + Send + 'static,
    {
        let signature = Signature { parameters: parameters.into(), results: results.into() };
        let script: Script = Arc::new(move |guest, arguments| Box::pin(script(guest, arguments)));
        self.functions.push((name.to_owned(), signature, script));
        self
    }

    /// The program on a runtime.
    pub fn load(self, runtime: &Handle, options: Options) -> Program {
        let exports = self.functions.iter();
        let exports = exports.map(|(name, signature, _)| (name.clone(), signature.clone()));
        let exports: Vec<_> = exports.collect();
        let functions = exports.iter().cloned().map(|it| Some(Arc::new(it))).collect();
        let module = Module {
            memory: Some(MemorySize { minimum: 1, maximum: None }),
            exports,
            table: Some(FunctionTable { name: "table".to_owned(), functions }),
            ..Module::default()
        };
        Program::assemble(runtime, module, Box::new(self), options)
    }
}

impl Engine for Guests {
    fn instantiate(
        &self,
        entry: &Entry,
        arguments: &[Value],
        mut calls: Box<dyn Calls>,
    ) -> (Box<dyn Calls>, Result<Box<dyn Instance>, Trap>) {
        if !calls.grow_memory(0, MEMORY) {
            return (calls, Err(Trap::new(TrapKind::Limit)));
        }
        let (_, _, script) = match entry {
            Entry::Export(name) => {
                self.functions.iter().find(|(other, _, _)| other == name).expect("it is exported")
            }
            Entry::Table(index) => &self.functions[*index as usize],
        };
        let guest = Guest::new(MEMORY);
        let run = script(guest.clone(), arguments.to_vec());
        (calls, Ok(Box::new(Scripted { guest, run, doing: Doing::Runs, debt: 0 })))
    }
}

struct Scripted {
    guest: Guest,
    run: Run,
    doing: Doing,
    /// Operations that were used beyond the last slice.
    debt: u64,
}

enum Doing {
    Runs,
    /// It is in a call that waits.
    Waits,
    /// It computes for so many operations.
    Works(u64),
}

impl Scripted {
    /// Takes the guest on to the end of the slice, or to where it can not go on.
    fn go_on(&mut self, fuel: u64, used: &mut u64, calls: &mut dyn Calls) -> Stepped {
        loop {
            match self.doing {
                Doing::Waits => match self.guest.with_memory(|memory| calls.resume(memory)) {
                    Answer::Wait => return Stepped::Waits,
                    Answer::Return(answer) => self.guest.answer(answer),
                },
                Doing::Works(work) => {
                    let done = work.min(fuel.saturating_sub(*used));
                    *used += done;
                    if done < work {
                        self.doing = Doing::Works(work - done);
                        return Stepped::Preempted;
                    }
                }
                Doing::Runs => {}
            }
            self.doing = Doing::Runs;
            if *used >= fuel {
                return Stepped::Preempted;
            }
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(values) = self.run.as_mut().poll(&mut context) {
                return Stepped::Returned(values);
            }
            match self.guest.request() {
                Request::Work(operations) => self.doing = Doing::Works(operations),
                Request::Trap(kind) => return Stepped::Trapped(Box::new(Trap::new(kind))),
                Request::Grow(to) => {
                    let from = self.guest.with_memory(|memory| memory.len());
                    let granted = calls.grow_memory(from, to);
                    if granted {
                        self.guest.grow(to);
                    }
                    self.guest.answer(granted.into());
                }
                Request::Call(call, arguments) => {
                    *used += calls.cost(call, &arguments);
                    match self.guest.with_memory(|memory| calls.call(call, arguments, memory)) {
                        Answer::Return(answer) => self.guest.answer(answer),
                        Answer::Wait => {
                            self.doing = Doing::Waits;
                            return Stepped::Waits;
                        }
                    }
                }
            }
        }
    }
}

impl Instance for Scripted {
    fn step(&mut self, fuel: Fuel, mut calls: Box<dyn Calls>) -> (Box<dyn Calls>, Step) {
        let slice = fuel.slice;
        if self.debt >= slice {
            self.debt -= slice;
            return (calls, Step { end: Stepped::Preempted, used: slice });
        }
        let mut used = self.debt;
        let end = self.go_on(slice, &mut used, &mut *calls);
        self.debt = used.saturating_sub(slice);
        (calls, Step { end, used: used.min(slice) })
    }
}
