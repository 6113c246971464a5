//! What happens when a guest calls an import, or wants to grow.
//!
//! A guest runs on a stack of its own, so a call that waits simply does not come back: its future is
//! pending, the stack stays as it is, and the step ends. What the host lends for a step lies in
//! [`Lent`], which the step and the guest's store both hold. Only one of them is ever running, so
//! the lock is never waited for.

use std::{
    future::{self, Future},
    sync::{Arc, Mutex, MutexGuard},
    task::Poll,
};

use ::wasmtime::{
    Caller, Engine, Linker, Memory, ResourceLimiter, Result, WasmRet, WasmTy, WasmTyList,
};

use super::meter::Meter;
use crate::{
    abi::{Call, MAX_PARAMETERS, MODULE},
    engine::{Answer, Calls},
};

/// What a store knows of its task.
pub(super) struct Guest {
    pub(super) lent: Shared,
    /// The memory that calls see, once the instance is made.
    pub(super) memory: Option<Memory>,
    /// Bytes that the memory's place in the pool has.
    pub(super) memory_max: usize,
    /// Entries that each table's place in the pool has.
    pub(super) table_max: usize,
}

/// What the step lends and the guest uses.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Lent>>);

/// The host's side, there during a step and while the instance is made.
pub(super) struct Lent {
    calls: Option<Box<dyn Calls>>,
    pub(super) meter: Meter,
    pause: Option<Pause>,
}

/// Why a call paused the guest. A pause without a reason is the end of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// The call waits.
    Waits,
    /// The call has its answer, and the step's fuel is used up.
    Spent,
}

impl Shared {
    pub(super) fn new(meter: Meter) -> Shared {
        Shared(Arc::new(Mutex::new(Lent { calls: None, meter, pause: None })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Lent> {
        self.0.lock().expect("a guest whose call has panicked is not stepped again")
    }
}

impl Lent {
    pub(super) fn lend(&mut self, calls: Box<dyn Calls>) {
        assert!(self.calls.is_none(), "the host's side was lent twice");
        self.calls = Some(calls);
    }

    pub(super) fn give_back(&mut self) -> Box<dyn Calls> {
        self.calls.take().expect("the host's side was lent for this step")
    }

    /// Why a call has paused the guest, if it was a call.
    pub(super) fn take_pause(&mut self) -> Option<Pause> {
        self.pause.take()
    }

    pub(super) fn calls(&mut self) -> &mut dyn Calls {
        self.calls.as_deref_mut().expect("a guest runs only during a step")
    }
}

/// Where the two halves meet: the memory and what was lent.
fn visit<R>(caller: &mut Caller<'_, Guest>, f: impl FnOnce(&mut Lent, &mut [u8]) -> R) -> R {
    match caller.data().memory {
        Some(memory) => {
            let (bytes, guest) = memory.data_and_store_mut(caller);
            f(&mut guest.lent.lock(), bytes)
        }
        None => f(&mut caller.data().lent.lock(), &mut []),
    }
}

/// Defines the imports that a module has.
pub(super) fn link(engine: &Engine, imports: &[Call]) -> Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    // A module may import the same function twice.
    linker.allow_shadowing(true);
    for &call in imports {
        // Types that differ from those of `abi` would be refused when the module is linked.
        match call {
            Call::AbiVersion => define::<(), i32>(&mut linker, call),
            Call::Spawn => define::<(i32, i64), i64>(&mut linker, call),
            Call::SpawnWith => define::<(i32, i32, i32), i64>(&mut linker, call),
            Call::Input => define::<(i32, i32), i32>(&mut linker, call),
            Call::Await => define::<(i64, i32), i32>(&mut linker, call),
            Call::YieldNow => define::<(), ()>(&mut linker, call),
            Call::Self_ => define::<(), i64>(&mut linker, call),
            Call::Sleep => define::<(i64,), ()>(&mut linker, call),
            Call::ChanOpen => define::<(i32,), i64>(&mut linker, call),
            Call::ChanSend => define::<(i64, i32, i32), i32>(&mut linker, call),
            Call::ChanRecv => define::<(i64, i32, i32, i32), i32>(&mut linker, call),
            Call::ChanClose => define::<(i64,), i32>(&mut linker, call),
            Call::Select => define::<(i32, i32, i64), i32>(&mut linker, call),
            Call::MutexOpen => define::<(i32, i32), i64>(&mut linker, call),
            Call::Lock => define::<(i64, i32, i32, i32), i32>(&mut linker, call),
            Call::Unlock => define::<(i64, i32, i32), i32>(&mut linker, call),
            Call::MutexClose => define::<(i64,), i32>(&mut linker, call),
            Call::Log => define::<(i32, i32, i32), ()>(&mut linker, call),
            Call::Now => define::<(), i64>(&mut linker, call),
            Call::Random => define::<(i32, i32), ()>(&mut linker, call),
        }?;
    }
    Ok(linker)
}

fn define<P: Parameters, R: Outcome>(linker: &mut Linker<Guest>, call: Call) -> Result<()> {
    linker.func_wrap_async(MODULE, call.import().name, move |caller, parameters: P| {
        enter::<R>(call, caller, parameters.arguments())
    })?;
    Ok(())
}

/// The guest has called an import. Most calls are done here and now; only one that pauses the guest
/// needs a future that lives on.
fn enter<'a, R: Outcome>(
    call: Call,
    mut caller: Caller<'a, Guest>,
    arguments: [u64; MAX_PARAMETERS],
) -> Box<dyn Future<Output = Result<R>> + Send + 'a> {
    let fuel = match caller.get_fuel() {
        Ok(fuel) => fuel,
        Err(error) => return Box::new(future::ready(Err(error))),
    };
    let (answer, pauses) = visit(&mut caller, |lent, memory| {
        lent.meter.read(fuel);
        let cost = lent.calls().cost(call, &arguments);
        lent.meter.charge(cost);
        let answer = lent.calls().call(call, arguments, memory);
        lent.pause = match answer {
            Answer::Wait => Some(Pause::Waits),
            Answer::Return(_) if lent.meter.spent() => Some(Pause::Spent),
            Answer::Return(_) => None,
        };
        (answer, lent.pause.is_some())
    });
    match answer {
        Answer::Return(bits) if !pauses => Box::new(future::ready(Ok(R::from_bits(bits)))),
        answer => Box::new(async move { Ok(R::from_bits(pause(caller, answer).await?)) }),
    }
}

/// Ends the step in the middle of a call, and goes on when there is an answer and another step.
async fn pause(mut caller: Caller<'_, Guest>, mut answer: Answer) -> Result<u64> {
    loop {
        pending_once().await;
        let fuel = visit(&mut caller, |lent, memory| {
            if answer == Answer::Wait {
                answer = lent.calls().resume(memory);
                lent.pause = (answer == Answer::Wait).then_some(Pause::Waits);
            }
            // A step begins here, so an interval does: the guest's last one may be nearly over.
            lent.meter.new_interval()
        });
        caller.set_fuel(fuel)?;
        if let Answer::Return(bits) = answer {
            return Ok(bits);
        }
    }
}

fn pending_once() -> impl Future<Output = ()> + Send {
    let mut polled = false;
    future::poll_fn(move |_| {
        if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
    })
}

impl ResourceLimiter for Guest {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        // Asked only for what the engine can give: what was allowed stays counted.
        let possible = desired <= self.memory_max.min(maximum.unwrap_or(usize::MAX));
        Ok(possible && self.lent.lock().calls().grow_memory(current, desired))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let possible = desired <= self.table_max.min(maximum.unwrap_or(usize::MAX));
        Ok(possible && self.lent.lock().calls().grow_table(current, desired))
    }
}

/// Parameters of an import, as [`Calls`] gets them: zero-extended, in order, then zeros.
trait Parameters: WasmTyList + Send + 'static {
    fn arguments(self) -> [u64; MAX_PARAMETERS];
}

macro_rules! parameters {
    ($($name:ident)*) => {
        impl<$($name: Bits),*> Parameters for ($($name,)*) {
            #[allow(non_snake_case, reason = "a variable for each type parameter, named like it")]
            fn arguments(self) -> [u64; MAX_PARAMETERS] {
                let ($($name,)*) = self;
                let mut arguments = [0; MAX_PARAMETERS];
                for (argument, bits) in arguments.iter_mut().zip([$($name.bits(),)*] as [u64; _]) {
                    *argument = bits;
                }
                arguments
            }
        }
    };
}

parameters!();
parameters!(A);
parameters!(A B);
parameters!(A B C);
parameters!(A B C D);

trait Bits: WasmTy + Send + 'static {
    fn bits(self) -> u64;
}

impl Bits for i32 {
    fn bits(self) -> u64 {
        u64::from(self as u32)
    }
}

impl Bits for i64 {
    fn bits(self) -> u64 {
        self as u64
    }
}

/// The result of an import, out of an [`Answer::Return`].
trait Outcome: WasmRet + Send + 'static {
    fn from_bits(bits: u64) -> Self;
}

impl Outcome for () {
    fn from_bits(_: u64) {}
}

impl Outcome for i32 {
    fn from_bits(bits: u64) -> i32 {
        bits as i32
    }
}

impl Outcome for i64 {
    fn from_bits(bits: u64) -> i64 {
        bits as i64
    }
}
