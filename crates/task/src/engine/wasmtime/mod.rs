//! The engine that compiles guests to machine code: wasmtime, feature `jit`.
//!
//! ```text
//!   Compiled ── instantiate ──> Fibre ── step ──> polls the guest's life, on a stack of its own
//!      │                          │                  │ import called: host::enter
//!      └ pool: places for tasks   └──── host::Lent ──┘ Calls and meter, there during a step
//! ```
//!
//! # How exact preemption is
//! The engine looks at the fuel at the beginning of each function and each round of a loop, and
//! before each `memory.copy`, `memory.fill` and their like; a call of an import looks too. So a step
//! ends late by the longest way through the guest's code without any of these: a stretch of
//! straight code, never more than the function has instructions; or one bulk operation.
//! The interval between two pauses is the program's preemption threshold. A step that is given
//! another amount of fuel ends at its first pause nevertheless, or at the first call that finds the
//! fuel used up; what it used too much is paid by the steps that follow (see [`meter`]). A task's
//! total fuel ends it exactly, up to what its calls have cost in the current interval.

mod fibre;
mod host;
mod meter;
mod pool;
mod trap;
mod warm;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use ::wasmtime::{Extern, Func, Instance as Linked, InstancePre, ModuleExport, Ref, Store};

use self::{
    fibre::{Errand, Fibre},
    host::{Guest, Shared},
    meter::Meter,
    pool::Sizes,
    trap::Names,
    warm::{Live, Warm},
};
use crate::{
    engine::{Calls, Engine, Instance},
    error::LoadError,
    module::{Entry, MEMORY, Module, START},
    options::Options,
    trap::{Trap, TrapKind},
    value::Value,
};

/// A program in machine code, with places for its tasks.
pub(super) struct Compiled {
    ready: InstancePre<Guest>,
    /// Exported functions, and how many results they have.
    exports: HashMap<String, (ModuleExport, usize)>,
    /// The exported table, and how many results the functions in it have.
    table: Option<(ModuleExport, Vec<usize>)>,
    start: Option<ModuleExport>,
    memory: Option<ModuleExport>,
    common: Arc<Common>,
    sizes: Sizes,
    /// Entries of each table.
    tables: Vec<usize>,
    /// What a task may use in all.
    fuel: u64,
    /// After how much a task is paused.
    interval: u64,
}

/// What its tasks share.
struct Common {
    names: Names,
    warm: Warm,
}

/// Compiles a module.
///
/// # Errors
/// If there is no address space for its tasks, or the compiler will not have it.
pub(super) fn prepare(module: &Module, options: &Options) -> Result<Compiled, LoadError> {
    let sizes = Sizes::of(module, &options.limits);
    prepare_on(&pool::engine(&sizes)?, sizes, module, options)
}

fn prepare_on(
    engine: &::wasmtime::Engine,
    sizes: Sizes,
    module: &Module,
    options: &Options,
) -> Result<Compiled, LoadError> {
    let refused = |error: ::wasmtime::Error| LoadError::Engine {
        engine: "wasmtime",
        why: format!("{error:#}"),
    };
    let code = ::wasmtime::Module::new(engine, &module.code.bytes).map_err(refused)?;
    let ready = host::link(engine, &module.imports)
        .and_then(|linker| linker.instantiate_pre(&code))
        .map_err(refused)?;

    let exports = module.exports.iter().filter_map(|(name, signature)| {
        Some((name.clone(), (code.get_export_index(name)?, signature.results.len())))
    });
    let table = module.table.as_ref().and_then(|table| {
        let results = table.functions.iter().map(|function| {
            function.as_deref().map_or(0, |(_name, signature)| signature.results.len())
        });
        Some((code.get_export_index(&table.name)?, results.collect()))
    });
    Ok(Compiled {
        exports: exports.collect(),
        table,
        start: if module.has_start { code.get_export_index(START) } else { None },
        memory: module.memory.and_then(|_| code.get_export_index(MEMORY)),
        common: Arc::new(Common {
            names: trap::exported_names(&module.code.bytes),
            warm: Warm::new(module, &code, &sizes),
        }),
        ready,
        sizes,
        tables: module.tables.clone(),
        fuel: options.fuel.unwrap_or(u64::MAX),
        interval: options.threshold().max(1),
    })
}

impl Engine for Compiled {
    fn instantiate(
        &self,
        entry: &Entry,
        arguments: &[Value],
        calls: Box<dyn Calls>,
    ) -> (Box<dyn Calls>, Result<Box<dyn Instance>, Trap>) {
        let lent = Shared::new(Meter::new(self.fuel, self.interval));
        lent.lock().lend(calls);
        let made = self.make(entry, arguments, &lent);
        let calls = lent.lock().give_back();
        (calls, made.map(|fibre| Box::new(fibre) as Box<dyn Instance>))
    }
}

impl Compiled {
    fn make(&self, entry: &Entry, arguments: &[Value], lent: &Shared) -> Result<Fibre, Trap> {
        if !lent.lock().calls().begin_stack(self.sizes.stack_at_first()) {
            let message = "the program has no memory left for the stack of another task";
            return Err(Trap::saying(TrapKind::Limit, message));
        }
        let making = |error| trap::making(&error, self.sizes.places);
        let mut live = match self.common.warm.take() {
            Some(live) => self.lend_warm(live, lent)?,
            None => self.link(lent).map_err(making)?,
        };
        let Live { store, linked } = &mut live;
        store.fuel_async_yield_interval(Some(self.interval)).map_err(making)?;
        store.set_fuel(self.fuel).map_err(making)?;

        let start = self.start.as_ref();
        let start = start.and_then(|start| linked.get_module_export(&mut *store, start));
        let start = start.and_then(Extern::into_func);
        let (entry, results) = self.entry(entry, linked, store)?;
        let arguments = arguments.iter().map(fibre::val).collect();
        Ok(Fibre::new(live, Errand { start, entry, arguments, results }, self.common.clone()))
    }

    /// A new instance.
    fn link(&self, lent: &Shared) -> ::wasmtime::Result<Live> {
        let guest = Guest {
            lent: lent.clone(),
            memory: None,
            memory_max: self.sizes.memory,
            table_max: self.sizes.table,
        };
        let mut store = Store::new(self.ready.module().engine(), guest);
        store.limiter(|guest| guest);
        // Segments are not the task's own doing, and are bounded by the module: no pauses, and no
        // limit, until the memory and the tables are as the module says.
        store.set_fuel(u64::MAX)?;
        let linked = at_once(self.ready.instantiate_async(&mut store))?;
        let memory = self.memory.as_ref();
        let memory = memory.and_then(|memory| linked.get_module_export(&mut store, memory));
        store.data_mut().memory = memory.and_then(Extern::into_memory);
        let mut live = Live { store, linked };
        self.common.warm.note(&mut live);
        Ok(live)
    }

    /// An instance that was kept, for another task. What a new one would ask for is asked for here.
    fn lend_warm(&self, mut live: Live, lent: &Shared) -> Result<Live, Trap> {
        let granted = {
            let mut lent = lent.lock();
            let calls = lent.calls();
            calls.grow_memory(0, self.common.warm.bytes())
                && self.tables.iter().all(|&entries| calls.grow_table(0, entries))
        };
        if !granted {
            self.common.warm.put_back(live);
            let message = "the program has no memory left for another task";
            return Err(Trap::saying(TrapKind::Limit, message));
        }
        live.store.data_mut().lent = lent.clone();
        Ok(live)
    }

    /// The function that a task begins with, and how many results it has.
    fn entry(
        &self,
        entry: &Entry,
        linked: &Linked,
        store: &mut Store<Guest>,
    ) -> Result<(Func, usize), Trap> {
        match entry {
            Entry::Export(name) => {
                let found = self.exports.get(name).and_then(|(export, results)| {
                    let function = linked.get_module_export(store, export)?.into_func()?;
                    Some((function, *results))
                });
                found.ok_or_else(|| {
                    Trap::saying(TrapKind::Other, format!("no exported function {name}"))
                })
            }
            Entry::Table(index) => {
                let table = self.table.as_ref().and_then(|(export, results)| {
                    let table = linked.get_module_export(&mut *store, export)?.into_table()?;
                    Some((table, results))
                });
                let (table, results) = table.ok_or(Trap::new(TrapKind::TableOutOfBounds))?;
                match table.get(store, u64::from(*index)) {
                    Some(Ref::Func(Some(function))) => {
                        Ok((function, results.get(*index as usize).copied().unwrap_or(0)))
                    }
                    Some(_) => Err(Trap::new(TrapKind::NullFunction)),
                    None => Err(Trap::new(TrapKind::TableOutOfBounds)),
                }
            }
        }
    }
}

/// The result of a future that waits for nothing.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("an instance without a start function waits for nothing"),
    }
}
