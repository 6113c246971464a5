//! wasmi alone: one thread, no scheduler, and a host that does next to nothing.

use std::{hint::black_box, time::Instant};

use benches::{
    Args, Line,
    task::{self, Compute, guests},
};
use wasmi::{
    Caller, CompilationMode, Config, Engine, Error, Instance, Linker, Module, Store,
    TypedResumableCall, TypedResumableCallHostTrap, Val,
};

pub(crate) fn able(workload: &str) -> bool {
    let able =
        ["spawn_run_drop", "spawn_run_drop_1", "live", "live_page", "ping_pong", "ring_1000"];
    able.contains(&workload) || (Compute::of(workload).is_some() && !task::engine(workload).1)
}

pub(crate) fn run(args: &Args, who: &str, metered: bool) -> Line {
    let bare = |guest| Bare::new(guest, metered);
    match (args.workload.as_str(), Compute::of(&args.workload)) {
        (_, Some(what)) => compute(args, who, &bare(guests::COMPUTE), what),
        ("live", _) => live(args, who, &bare(guests::LIVE)),
        ("live_page", _) => live(args, who, &bare(guests::LIVE_PAGE)),
        ("ping_pong" | "ring_1000", _) => ring(args, who, &bare(guests::SWITCH)),
        _ => spawn(args, who, &bare(guests::SPAWN)),
    }
}

/// A guest, compiled, and what it imports.
struct Bare {
    module: Module,
    linker: Linker<Host>,
    metered: bool,
}

/// Says whether a send waits; a receive always does.
struct Host {
    send_waits: bool,
}

impl Bare {
    fn new(guest: &str, metered: bool) -> Bare {
        let mut config = Config::default();
        config.consume_fuel(metered).compilation_mode(CompilationMode::Eager);
        let engine = Engine::new(&config);
        let module = Module::new(&engine, guests::module(guest)).expect("our guests are right");
        Bare { module, linker: imports(&engine).expect("each has its own name"), metered }
    }

    fn instance(&self, send_waits: bool) -> (Store<Host>, Instance) {
        let mut store = Store::new(self.module.engine(), Host { send_waits });
        if self.metered {
            store.set_fuel(u64::MAX).expect("it is metered");
        }
        let instance = self.linker.instantiate_and_start(&mut store, &self.module);
        let instance = instance.expect("our guests are right");
        (store, instance)
    }

    /// An instance that has called `func` and waits.
    fn waiting(&self, func: &str, send_waits: bool) -> Waiting {
        let (mut store, instance) = self.instance(send_waits);
        let func = instance.get_typed_func::<i64, ()>(&store, func).expect("it is exported");
        let call = func.call_resumable(&mut store, 1).expect("it does not trap");
        Waiting { call: Some(suspended(call)), store }
    }
}

/// Someone who has left in the middle of a call.
struct Waiting {
    /// Before the store that it belongs to.
    call: Option<TypedResumableCallHostTrap<()>>,
    store: Store<Host>,
}

fn suspended(call: TypedResumableCall<()>) -> TypedResumableCallHostTrap<()> {
    match call {
        TypedResumableCall::HostTrap(call) => call,
        other => panic!("it waits, and is never out of fuel: {other:?}"),
    }
}

/// As ours, with nothing behind them.
fn imports(engine: &Engine) -> Result<Linker<Host>, wasmi::errors::LinkerError> {
    let leave = || Error::i32_exit(0);
    let mut linker = Linker::new(engine);
    linker.func_wrap("shiftwork", "spawn", |_: i32, argument: i64| argument)?;
    linker.func_wrap("shiftwork", "chan_open", |_: i32| 1_i64)?;
    linker.func_wrap("shiftwork", "log", |_: i32, _: i32, _: i32| ())?;
    linker.func_wrap(
        "shiftwork",
        "chan_send",
        move |caller: Caller<'_, Host>, _: i64, _: i32, _: i32| {
            if caller.data().send_waits { Err(leave()) } else { Ok(0_i32) }
        },
    )?;
    linker.func_wrap("shiftwork", "chan_recv", move |_: i64, _: i32, _: i32, _: i32| {
        Err::<i32, Error>(leave())
    })?;
    Ok(linker)
}

/// An instance is made, called and dropped.
fn spawn(args: &Args, who: &str, bare: &Bare) -> Line {
    task::spawn(args, who, |count| {
        for number in 0..count as i64 {
            let (mut store, instance) = bare.instance(false);
            let func = instance.get_typed_func::<i64, i64>(&store, "trivial");
            let func = func.expect("it is exported");
            assert_eq!(func.call(&mut store, black_box(number)).ok(), Some(number));
        }
    })
}

/// Instances in the middle of a call.
fn live(args: &Args, who: &str, bare: &Bare) -> Line {
    let mut held = Vec::new();
    // Each has a whole page, which is too much for all of them.
    let args = &Args { scale: args.scale.or(Some(10_000)), ..args.clone() };
    task::live(args, who, |count| {
        let begun = Instant::now();
        held.extend((0..count).map(|_| bare.waiting("waits", true)));
        begun.elapsed()
    })
}

/// Each in turn gets an answer, goes on, and waits again.
fn ring(args: &Args, who: &str, bare: &Bare) -> Line {
    task::ring(args, who, |members, hops| {
        let mut ring: Vec<Waiting> = (0..members).map(|_| bare.waiting("main", false)).collect();
        let begun = Instant::now();
        let mut at = 0;
        for _ in 0..hops {
            let Waiting { call, store } = &mut ring[at];
            let waits = call.take().expect("it waits");
            let went_on = waits.resume(store, &[Val::I32(0)]).expect("it does not trap");
            *call = Some(suspended(went_on));
            at = if at + 1 == members as usize { 0 } else { at + 1 };
        }
        begun.elapsed()
    })
}

/// One instance, called from outside; the only thing that it lacks is being interrupted.
fn compute(args: &Args, who: &str, bare: &Bare, what: Compute) -> Line {
    let (mut store, instance) = bare.instance(false);
    let func = instance.get_typed_func::<i64, i64>(&store, what.func).expect("it is exported");
    task::compute(args, who, what, |argument| {
        if bare.metered {
            store.set_fuel(u64::MAX).expect("it is metered");
        }
        func.call(&mut store, black_box(argument)).expect("it does not trap")
    })
}
