//! How a task goes on: begins, runs out of fuel, waits, and ends.
//!
//! ```text
//!   Begins ──> (runs) ──> Preempted ──> (runs) ──> …      the start function first, then the entry
//!                │
//!                └──> Waits ──> (answered) ──> (runs) ──> …
//! ```
//!
//! A call that waits suspends the guest in wasmi's own stack, which is part of the state. There is one
//! exception: if the function that we call *is* an import (an export or a table entry may name one), there
//! is no guest to suspend. Then the answer to the call is what the function returns.

use std::{mem, panic::resume_unwind, sync::Arc};

use wasmi::{Error, Func, ResumableCall, Store, TypedResumableCall, Val};

use super::{
    Began, Program,
    guest::{InCall, OutOfFuel, Returns},
    host::{self, Host},
    live::Live,
    trap,
};
use crate::{
    abi::{Call, Type},
    demangle::readable,
    engine::{Answer, Calls, Fuel, Instance, Step, Stepped},
    trap::{Trap, TrapKind},
    value::{Value, ValueType},
};

/// A task's instance, and how far it is.
pub(super) struct Running {
    program: Arc<Program>,
    /// Goes back to the program's pool when the task has ended.
    live: Option<Box<Live>>,
    state: State,
    /// The call that waits, if one does.
    waiting: Option<Waiting>,
    /// The start function, until it has returned.
    start: Option<Func>,
    entry: Func,
    /// The same function, for its name.
    began: Began,
    /// Until the entry is called.
    arguments: Vec<Val>,
    /// Room for what the entry returns.
    results: Vec<Val>,
    /// The fuel without which the guest can not go on, if that was more than it had.
    required: u64,
    /// Operations that it has used.
    used: u64,
    /// Whether a step is under way. If it still is when the instance is dropped, a panic ended it, and
    /// nobody else gets the instance.
    in_step: bool,
}

enum State {
    /// The start function or the entry is to be called.
    Begins,
    /// It is out of fuel.
    Preempted(OutOfFuel),
    /// A call waits, or has its answer.
    Waits(InCall),
    /// The same, and nobody is suspended: the function that was called is the import.
    WaitsAlone,
    /// It has returned or trapped.
    Ended,
}

/// A call that waits, and its answer once that is there.
#[derive(Clone, Copy)]
struct Waiting {
    call: Call,
    answer: Option<u64>,
}

/// How the guest left wasmi. What is suspended is in the state: it is large, and not moved about.
enum Left {
    Finished(Vec<Value>),
    OutOfFuel,
    InCall,
    Failed(Error),
}

const ALIVE: &str = "an instance has its store until it is dropped";
const TYPED: &str = "the function has the type that the module says";

impl Running {
    pub(super) fn new(
        program: Arc<Program>,
        live: Box<Live>,
        began: Began,
        entry: Func,
        arguments: &[Value],
    ) -> Running {
        let start = program.start(&live);
        let results = program.described(began).1.results.len();
        Running {
            program,
            live: Some(live),
            state: State::Begins,
            waiting: None,
            start,
            entry,
            began,
            arguments: arguments.iter().map(|&value| to_wasmi(value)).collect(),
            results: vec![Val::I32(0); results],
            required: 0,
            used: 0,
            in_step: false,
        }
    }

    fn store(&mut self) -> &mut Store<Host> {
        &mut self.live.as_mut().expect(ALIVE).store
    }

    /// Goes on with this much fuel, after what is owed from the steps before.
    fn run(&mut self, fuel: Fuel) -> Step {
        if let Some(waits) = self.ask() {
            return waits;
        }
        let host = self.store().data_mut();
        let paid = host.debt.min(fuel.slice);
        host.debt -= paid;
        if paid == fuel.slice {
            return Step { end: Stepped::Preempted, used: paid };
        }
        // An operation that costs more than a slice gets it all at once; it would never run otherwise.
        let required = mem::take(&mut self.required);
        if required > fuel.left - paid {
            // What is left is used up in the attempt.
            return Step { end: Stepped::Trapped(out_of_fuel()), used: fuel.left };
        }
        let granted = (fuel.slice - paid).max(required);
        self.store().set_fuel(granted).expect("fuel is metered");
        let end = self.go();
        if let Some(panic) = self.store().data_mut().panic.take() {
            resume_unwind(panic);
        }
        let left = self.store().get_fuel().expect("fuel is metered");
        let mut used = paid + (granted - left);
        if let Stepped::Returned(_) | Stepped::Trapped(_) = end {
            used = used.saturating_add(self.store().data().debt);
        }
        Step { end, used }
    }

    /// If a call waits, asks for its answer. If it goes on waiting, so does the task.
    fn ask(&mut self) -> Option<Step> {
        let Some(Waiting { call, answer: None }) = self.waiting else { return None };
        match host::resume(self.store()) {
            Answer::Wait => Some(Step { end: Stepped::Waits, used: 0 }),
            Answer::Return(answer) => {
                self.waiting = Some(Waiting { call, answer: Some(answer) });
                None
            }
        }
    }

    /// Runs the guest until it stops: the start function first, then the entry.
    fn go(&mut self) -> Stepped {
        loop {
            match self.enter() {
                Left::Finished(_) if self.start.is_some() => {
                    self.start = None;
                    self.state = State::Begins;
                }
                Left::Finished(values) => return Stepped::Returned(values),
                Left::OutOfFuel => return Stepped::Preempted,
                Left::InCall => {
                    // Without a call that waits it was a panic of the host, which `run` finds.
                    let call = self.store().data_mut().waiting.take();
                    self.waiting = call.map(|call| Waiting { call, answer: None });
                    return Stepped::Waits;
                }
                Left::Failed(error) => return Stepped::Trapped(Box::new(self.trap(&error))),
            }
        }
    }

    /// Runs the guest once, from where it is.
    fn enter(&mut self) -> Left {
        let answer = self.waiting.take().and_then(|waiting| waiting.result());
        let store = &mut self.live.as_mut().expect(ALIVE).store;
        // Neither parameters nor results for the start function.
        let results = if self.start.is_some() { &mut [][..] } else { &mut self.results[..] };
        let answer = answer.as_slice();
        match mem::replace(&mut self.state, State::Ended) {
            State::Begins => self.begin(),
            State::Preempted(OutOfFuel::Any(guest)) => {
                let call = guest.resume(&mut *store, results);
                self.left(call)
            }
            State::Preempted(OutOfFuel::Nothing(guest)) => {
                let call = guest.resume(&mut *store);
                self.left_typed(call)
            }
            State::Preempted(OutOfFuel::Number(guest)) => {
                let call = guest.resume(&mut *store);
                self.left_typed(call)
            }
            State::Waits(InCall::Any(guest)) => {
                let call = guest.resume(&mut *store, answer, results);
                self.left(call)
            }
            State::Waits(InCall::Nothing(guest)) => {
                let call = guest.resume(&mut *store, answer);
                self.left_typed(call)
            }
            State::Waits(InCall::Number(guest)) => {
                let call = guest.resume(&mut *store, answer);
                self.left_typed(call)
            }
            State::WaitsAlone => Left::Finished(answer.iter().map(from_wasmi).collect()),
            State::Ended => unreachable!("stepped a task that has ended"),
        }
    }

    /// Calls the start function or the entry.
    fn begin(&mut self) -> Left {
        let store = &mut self.live.as_mut().expect(ALIVE).store;
        if let Some(start) = self.start {
            let call = start.call_resumable(store, &[], &mut []);
            return self.left(call);
        }
        let results = &self.program.described(self.began).1.results;
        match (&self.arguments[..], &results[..]) {
            (&[Val::I64(argument)], []) => {
                let entry = self.entry.typed::<i64, ()>(&*store).expect(TYPED);
                let call = entry.call_resumable(store, argument);
                self.left_typed(call)
            }
            (&[Val::I64(argument)], [ValueType::I64]) => {
                let entry = self.entry.typed::<i64, i64>(&*store).expect(TYPED);
                let call = entry.call_resumable(store, argument);
                self.left_typed(call)
            }
            (arguments, _) => {
                let call = self.entry.call_resumable(store, arguments, &mut self.results);
                self.left(call)
            }
        }
    }

    /// The guest was left, and its types are found in the results.
    fn left(&mut self, call: Result<ResumableCall, Error>) -> Left {
        match call {
            Ok(ResumableCall::Finished) => {
                Left::Finished(self.results.iter().map(from_wasmi).collect())
            }
            Ok(ResumableCall::OutOfFuel(guest)) => {
                self.required = guest.required_fuel();
                self.state = State::Preempted(OutOfFuel::Any(guest));
                Left::OutOfFuel
            }
            Ok(ResumableCall::HostTrap(guest)) => {
                self.state = State::Waits(InCall::Any(guest));
                Left::InCall
            }
            Err(error) => self.failed(error),
        }
    }

    /// The guest was left, and its types are known here.
    #[inline]
    fn left_typed<R: Returns>(&mut self, call: Result<TypedResumableCall<R>, Error>) -> Left {
        match call {
            Ok(TypedResumableCall::Finished(result)) => Left::Finished(result.values()),
            Ok(TypedResumableCall::OutOfFuel(guest)) => {
                self.required = guest.required_fuel();
                self.state = State::Preempted(R::out_of_fuel(guest));
                Left::OutOfFuel
            }
            Ok(TypedResumableCall::HostTrap(guest)) => {
                self.state = State::Waits(R::in_call(guest));
                Left::InCall
            }
            Err(error) => self.failed(error),
        }
    }

    #[cold]
    fn failed(&mut self, error: Error) -> Left {
        if self.store().data().waiting.is_none() {
            return Left::Failed(error);
        }
        self.state = State::WaitsAlone;
        Left::InCall
    }

    #[cold]
    fn trap(&self, error: &Error) -> Trap {
        match self.start {
            Some(_) => trap::from_error(error, "the start function"),
            None => trap::from_error(error, &readable(&self.program.described(self.began).0)),
        }
    }
}

impl Instance for Running {
    fn step(&mut self, fuel: Fuel, calls: Box<dyn Calls>) -> (Box<dyn Calls>, Step) {
        self.in_step = true;
        self.store().data_mut().calls = Some(calls);
        let step = self.run(fuel);
        self.used = self.used.saturating_add(step.used);
        let calls = self.store().data_mut().calls.take().expect("the step was lent its calls");
        self.in_step = false;
        (calls, step)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // First what is suspended in wasmi: it has a stack, which goes back to wasmi's own.
        self.state = State::Ended;
        let Some(mut live) = self.live.take() else { return };
        if !self.in_step
            && let Some(room) = self.program.pool.room()
            && live.renew(&self.program, self.used, room)
        {
            self.program.pool.put(live);
        }
    }
}

impl Waiting {
    /// The result of the call as wasmi wants it, if it has one.
    fn result(self) -> Option<Val> {
        let answer = self.answer.expect("a guest goes on when its call has been answered");
        self.call.import().result.map(|ty| match ty {
            Type::I32 => Val::I32(answer as i32),
            Type::I64 => Val::I64(answer as i64),
        })
    }
}

/// The operation that comes next costs more than the task has left.
#[cold]
fn out_of_fuel() -> Box<Trap> {
    Box::new(Trap::new(TrapKind::OutOfFuel))
}

fn to_wasmi(value: Value) -> Val {
    match value {
        Value::I32(value) => Val::I32(value),
        Value::I64(value) => Val::I64(value),
        Value::F32(value) => Val::F32(value.into()),
        Value::F64(value) => Val::F64(value.into()),
    }
}

fn from_wasmi(value: &Val) -> Value {
    match value {
        Val::I32(value) => Value::I32(*value),
        Val::I64(value) => Value::I64(*value),
        Val::F32(value) => Value::F32((*value).into()),
        Val::F64(value) => Value::F64((*value).into()),
        other => unreachable!("tasks begin with functions that return numbers, not {other:?}"),
    }
}
