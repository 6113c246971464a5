//! What a guest reaches from inside wasmi: the calls of its task, at their price.
//!
//! The store's data. For a step it holds the task's [`Calls`], lent by the scheduler; between steps it
//! holds none, and the guest does not run.
//!
//! A panic of the host can not pass through wasmi, which would abort the process: it is caught before,
//! kept, and goes on when the guest has been left.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use wasmi::{Caller, Error, Memory, ResourceLimiter, Store};
use wasmi_core::LimiterError;

use crate::{
    abi::{Call, MAX_PARAMETERS},
    engine::{Answer, Calls},
};

/// The data of a task's store.
#[derive(Default)]
pub(super) struct Host {
    /// Lent for a step.
    pub(super) calls: Option<Box<dyn Calls>>,
    /// The guest's memory, if it has one.
    pub(super) memory: Option<Memory>,
    /// To how many bytes the memory may grow without asking. wasmi asks again when a growth was cut
    /// short for lack of fuel; what was allowed once is not counted twice.
    pub(super) granted: usize,
    /// What calls have cost beyond the fuel of their step, and at first the making of the instance. Later
    /// steps pay it.
    pub(super) debt: u64,
    /// The call that waits.
    pub(super) waiting: Option<Call>,
    /// The panic of the host that ended a call.
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

/// The error with which a guest is left in a call. It is never shown: [`Host::waiting`] or
/// [`Host::panic`] says what it means.
#[cold]
fn leave() -> Error {
    Error::i32_exit(0)
}

/// A guest calls an import.
pub(super) fn call(
    mut caller: Caller<'_, Host>,
    call: Call,
    arguments: [u64; MAX_PARAMETERS],
) -> Result<u64, Error> {
    let memory = caller.data().memory;
    let (memory, host) = match memory {
        Some(memory) => memory.data_and_store_mut(&mut caller),
        None => (&mut [][..], caller.data_mut()),
    };
    let calls = calls(host);
    let answered = catch_unwind(AssertUnwindSafe(|| {
        (calls.cost(call, &arguments), calls.call(call, arguments, memory))
    }));
    match answered {
        Ok((cost, answer)) => {
            charge(&mut caller, cost);
            match answer {
                Answer::Return(value) => Ok(value),
                Answer::Wait => {
                    caller.data_mut().waiting = Some(call);
                    Err(leave())
                }
            }
        }
        Err(panic) => {
            host.panic = Some(panic);
            Err(leave())
        }
    }
}

/// Takes the price of a call from the fuel, and what is not there from later steps.
fn charge(caller: &mut Caller<'_, Host>, cost: u64) {
    let fuel = caller.get_fuel().expect("fuel is metered");
    caller.set_fuel(fuel.saturating_sub(cost)).expect("fuel is metered");
    let host = caller.data_mut();
    host.debt = host.debt.saturating_add(cost.saturating_sub(fuel));
}

/// Asks for the answer to the call that waits.
pub(super) fn resume(store: &mut Store<Host>) -> Answer {
    let memory = store.data().memory;
    let (memory, host) = match memory {
        Some(memory) => memory.data_and_store_mut(store),
        None => (&mut [][..], store.data_mut()),
    };
    calls(host).resume(memory)
}

fn calls(host: &mut Host) -> &mut dyn Calls {
    host.calls.as_deref_mut().expect("a guest runs only inside a step, which was lent its calls")
}

impl ResourceLimiter for Host {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> Result<bool, LimiterError> {
        if desired > self.granted {
            let current = self.granted;
            let calls = calls(self);
            match catch_unwind(AssertUnwindSafe(|| calls.grow_memory(current, desired))) {
                Ok(false) => return Ok(false),
                Ok(true) => self.granted = desired,
                Err(panic) => {
                    self.panic = Some(panic);
                    return Err(LimiterError::ResourceLimiterDeniedAllocation);
                }
            }
        }
        Ok(true)
    }

    /// Tables have their size from the start; whoever makes an instance has asked for it.
    fn table_growing(
        &mut self,
        current: usize,
        _: usize,
        _: Option<usize>,
    ) -> Result<bool, LimiterError> {
        Ok(current == 0)
    }

    // The loader has counted these.
    fn instances(&self) -> usize {
        usize::MAX
    }

    fn tables(&self) -> usize {
        usize::MAX
    }

    fn memories(&self) -> usize {
        usize::MAX
    }
}
