//! wasmtime alone: one thread and no scheduler.

use std::{
    future::Future,
    hint::black_box,
    pin::pin,
    task::{Context, Poll, Waker},
};

use benches::{
    Args, Line,
    task::{self, Compute, guests},
};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module, OptLevel,
    PoolingAllocationConfig, Store,
};

/// After so many operations the engine pauses a guest, where it does: as often as ours.
const INTERVAL: u64 = 100_000;

/// How a guest is kept in bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metering {
    /// Not at all.
    Off,
    /// Its operations are counted, and never run out.
    Counted,
    /// It runs on a stack of its own, leaves the engine after each [`INTERVAL`], and is let in again
    /// at once.
    Paused,
}

pub(crate) fn able(workload: &str) -> bool {
    match task::engine(workload) {
        (workload, true) => workload == "spawn_run_drop" || Compute::of(workload).is_some(),
        (_, false) => false,
    }
}

pub(crate) fn run(args: &Args, who: &str, metering: Metering) -> Line {
    let Some(what) = Compute::of(&args.workload) else {
        return spawn(args, who, &Bare::new(guests::SPAWN, metering));
    };
    let bare = Bare::new(guests::COMPUTE, metering);
    if metering == Metering::Paused {
        compute_paused(args, who, &bare, what)
    } else {
        compute(args, who, &bare, what)
    }
}

/// A guest, compiled and linked.
struct Bare {
    ready: InstancePre<()>,
    metering: Metering,
}

impl Bare {
    /// Instances come from a pool, as ours do.
    fn new(guest: &str, metering: Metering) -> Bare {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(16).total_memories(16).total_tables(16).total_stacks(16);
        let mut config = Config::new();
        config.consume_fuel(metering != Metering::Off).cranelift_opt_level(OptLevel::Speed);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).expect("there is address space for a few");
        let module = Module::new(&engine, guests::module(guest)).expect("our guests are right");
        let mut linker = Linker::new(&engine);
        let spawn = linker.func_wrap("shiftwork", "spawn", |_: i32, argument: i64| argument);
        spawn.expect("it is the only one");
        let ready = linker.instantiate_pre(&module).expect("our guests are right");
        Bare { ready, metering }
    }

    fn store(&self) -> Store<()> {
        let mut store = Store::new(self.ready.module().engine(), ());
        self.refuel(&mut store);
        if self.metering == Metering::Paused {
            store.fuel_async_yield_interval(Some(INTERVAL)).expect("it is metered");
        }
        store
    }

    /// As much fuel as there can be, if it is counted.
    fn refuel(&self, store: &mut Store<()>) {
        if self.metering != Metering::Off {
            store.set_fuel(u64::MAX).expect("it is metered");
        }
    }
}

/// An instance is made, called and dropped.
fn spawn(args: &Args, who: &str, bare: &Bare) -> Line {
    task::spawn(args, who, |count| {
        for number in 0..count as i64 {
            let mut store = bare.store();
            let instance = bare.ready.instantiate(&mut store).expect("there is a place for it");
            let func = instance.get_typed_func::<i64, i64>(&mut store, "trivial");
            let func = func.expect("it is exported");
            assert_eq!(func.call(&mut store, black_box(number)).ok(), Some(number));
        }
    })
}

/// One instance, called from outside; the only thing that it lacks is being interrupted.
fn compute(args: &Args, who: &str, bare: &Bare, what: Compute) -> Line {
    let mut store = bare.store();
    let instance = bare.ready.instantiate(&mut store).expect("there is a place for it");
    let func = instance.get_typed_func::<i64, i64>(&mut store, what.func);
    let func = func.expect("it is exported");
    task::compute(args, who, what, |argument| {
        bare.refuel(&mut store);
        func.call(&mut store, black_box(argument)).expect("it does not trap")
    })
}

/// The same, interrupted: what preemption costs where nobody decides anything.
fn compute_paused(args: &Args, who: &str, bare: &Bare, what: Compute) -> Line {
    let mut store = bare.store();
    let instance = at_once_each_time(bare.ready.instantiate_async(&mut store));
    let instance = instance.expect("there is a place for it");
    let func = instance.get_typed_func::<i64, i64>(&mut store, what.func);
    let func = func.expect("it is exported");
    task::compute(args, who, what, |argument| {
        bare.refuel(&mut store);
        let result = at_once_each_time(func.call_async(&mut store, black_box(argument)));
        result.expect("it does not trap")
    })
}

/// The result of a future that goes on whenever it is asked to.
fn at_once_each_time<T>(future: impl Future<Output = T>) -> T {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}
