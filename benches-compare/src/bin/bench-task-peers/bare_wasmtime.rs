//! wasmtime alone: one thread and no scheduler.

use std::hint::black_box;

use benches::{
    Args, Line,
    task::{self, Compute, guests},
};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module, OptLevel,
    PoolingAllocationConfig, Store,
};

pub(crate) fn able(workload: &str) -> bool {
    match task::engine(workload) {
        (workload, true) => workload == "spawn_run_drop" || Compute::of(workload).is_some(),
        (_, false) => false,
    }
}

pub(crate) fn run(args: &Args, who: &str, metered: bool) -> Line {
    match Compute::of(&args.workload) {
        Some(what) => compute(args, who, &Bare::new(guests::COMPUTE, metered), what),
        None => spawn(args, who, &Bare::new(guests::SPAWN, metered)),
    }
}

/// A guest, compiled and linked.
struct Bare {
    ready: InstancePre<()>,
    metered: bool,
}

impl Bare {
    /// Instances come from a pool, as ours do.
    fn new(guest: &str, metered: bool) -> Bare {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(16).total_memories(16).total_tables(16);
        let mut config = Config::new();
        config.consume_fuel(metered).cranelift_opt_level(OptLevel::Speed);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).expect("there is address space for a few");
        let module = Module::new(&engine, guests::module(guest)).expect("our guests are right");
        let mut linker = Linker::new(&engine);
        let spawn = linker.func_wrap("shiftwork", "spawn", |_: i32, argument: i64| argument);
        spawn.expect("it is the only one");
        let ready = linker.instantiate_pre(&module).expect("our guests are right");
        Bare { ready, metered }
    }

    fn store(&self) -> Store<()> {
        let mut store = Store::new(self.ready.module().engine(), ());
        if self.metered {
            store.set_fuel(u64::MAX).expect("it is metered");
        }
        store
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
        if bare.metered {
            store.set_fuel(u64::MAX).expect("it is metered");
        }
        func.call(&mut store, black_box(argument)).expect("it does not trap")
    })
}
