//! The interpreter: small, quick to start, a hundred thousand tasks at once.
//!
//! wasmi meters fuel, and a call into it that runs out of fuel or meets an error of the host can be
//! resumed. That is all that a task needs: a slice of fuel ends as `Preempted`, a call that waits is an
//! error of the host that is resumed with the answer.
//!
//! Three things about wasmi 2.0 that this code works around:
//!
//! 1. Functions are compiled before the first call ([`CompilationMode::Eager`]): to compile one in the
//!    middle of a call costs fuel, and running out of it there can not be resumed.
//! 2. An operation may need more fuel at once than a slice has (`required_fuel`); the next step gets it.
//! 3. A `table.grow` that runs out of fuel is resumed in the wrong place. Tables do not grow here (see
//!    [`crate::module`]), and one that can not grow is refused before it is charged.

mod guest;
mod host;
mod imports;
mod instance;
mod live;
mod pool;
mod trap;

#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use wasmi::{CompilationMode, Config, Func};

use self::{instance::Running, live::Live, pool::Pool};
use super::{Calls, Engine, Instance, arena::Arena};
use crate::{
    abi::Call,
    error::LoadError,
    module::{Entry, FunctionTable, MemorySize, Module, PAGE, Renewal, START, Signature},
    options::{Limits, Options},
    trap::{Trap, TrapKind},
    value::Value,
};

/// Bytes of a new task's stack. It grows on demand; most tasks that wait hold little more.
const STACK_AT_FIRST: usize = 512;

/// About what wasmi needs for an instance, and for each of its functions.
const BYTES: usize = 8 << 10;
const BYTES_PER_FUNCTION: usize = 72;

/// What the making of an instance costs: an operation for so many bytes of its memory, which are written
/// and given back, and for so many entries of its tables; one for each function; so many for each export,
/// and one for so many bytes of its name.
const MEMORY_BYTES: usize = 64;
const TABLE_ENTRIES: usize = 8;
const EXPORT: usize = 64;
const NAME_BYTES: usize = 16;

/// So much of that is paid for with the price of a spawn: two pages of memory and some hundred functions.
const IN_THE_PRICE: usize = 3_000;

/// How many stacks of tasks that have ended are kept for others.
const STACKS_KEPT: usize = 16;

/// A program, compiled for wasmi.
pub(super) struct Wasmi(Arc<Program>);

/// What all tasks of a program share.
struct Program {
    engine: wasmi::Engine,
    module: wasmi::Module,
    imports: Vec<Call>,
    memory: Option<Space>,
    tables: Vec<usize>,
    /// Bytes that a stack begins with.
    stack: usize,
    /// What a task pays whose instance is made for it, in operations.
    making: u64,
    has_start: bool,
    /// Exported functions: names and types, and where in the list a name is.
    exports: Vec<(String, Signature)>,
    by_name: HashMap<String, usize>,
    table: Option<FunctionTable>,
    renewal: Renewal,
    pool: Pool,
}

/// Where the tasks' memories are, and how large they begin and may become, in bytes.
struct Space {
    arena: Arc<Arena>,
    minimum: usize,
    maximum: usize,
}

/// The function that a task begins with: a place in the list of exports, or in the table.
#[derive(Clone, Copy)]
enum Began {
    Export(usize),
    Table(usize),
}

/// Compiles a module for wasmi.
///
/// # Errors
/// If wasmi will not have it.
pub(super) fn prepare(module: &Module, options: &Options) -> Result<Wasmi, LoadError> {
    let engine = wasmi::Engine::new(&config(&options.limits));
    let compiled =
        wasmi::Module::new(&engine, &module.code.with_imported_memory).map_err(|error| {
            LoadError::Unsupported(format!("something that wasmi does not take ({error})"))
        })?;
    let by_name =
        (0..).zip(&module.exports).map(|(place, (name, _))| (name.clone(), place)).collect();
    Ok(Wasmi(Arc::new(Program {
        engine,
        module: compiled,
        imports: module.imports.clone(),
        memory: module.memory.map(|memory| Space::new(memory, &options.limits)),
        tables: module.tables.clone(),
        stack: STACK_AT_FIRST.min(options.limits.stack),
        making: making(module),
        has_start: module.has_start,
        exports: module.exports.clone(),
        by_name,
        table: module.table.clone(),
        renewal: module.code.renewal.clone(),
        pool: Pool::new(instance_bytes(module)),
    })))
}

/// About how many bytes an instance costs while no task uses it.
fn instance_bytes(module: &Module) -> usize {
    let memory = module.memory.map_or(0, |memory| memory.minimum as usize * PAGE);
    // It is as new, so what is data has been written.
    let kept = if memory <= live::CLEARED_BY_HAND { memory } else { module.data_bytes };
    let tables: usize = module.tables.iter().sum();
    BYTES + module.functions * BYTES_PER_FUNCTION + tables * size_of::<usize>() + kept
}

/// What the making of an instance costs beyond what is in the price of a spawn.
fn making(module: &Module) -> u64 {
    let memory = module.memory.map_or(0, |memory| memory.minimum as usize * PAGE);
    let entries: usize = module.tables.iter().sum();
    let exports = module.exports.iter().map(|(name, _)| EXPORT + name.len() / NAME_BYTES);
    let all =
        memory / MEMORY_BYTES + entries / TABLE_ENTRIES + module.functions + exports.sum::<usize>();
    all.saturating_sub(IN_THE_PRICE) as u64
}

fn config(limits: &Limits) -> Config {
    let mut config = Config::default();
    config
        .consume_fuel(true)
        .compilation_mode(CompilationMode::Eager)
        .ignore_custom_sections(true)
        .set_max_recursion_depth(limits.call_depth)
        // Down first: the largest height may not be set below the smallest.
        .set_min_stack_height(0)
        .set_max_stack_height(limits.stack)
        .set_min_stack_height(STACK_AT_FIRST.min(limits.stack))
        .set_max_cached_stacks(STACKS_KEPT);
    config
}

impl Engine for Wasmi {
    fn instantiate(
        &self,
        entry: &Entry,
        arguments: &[Value],
        mut calls: Box<dyn Calls>,
    ) -> (Box<dyn Calls>, Result<Box<dyn Instance>, Trap>) {
        let made = self.make(entry, arguments, &mut *calls);
        (calls, made.map(|running| Box::new(running) as Box<dyn Instance>))
    }
}

impl Wasmi {
    fn make(
        &self,
        entry: &Entry,
        arguments: &[Value],
        calls: &mut dyn Calls,
    ) -> Result<Running, Trap> {
        let program = &self.0;
        let began = program.began(entry).ok_or_else(|| no_function(entry))?;
        let memory = program.memory.is_none() || calls.grow_memory(0, program.memory_minimum());
        if !memory || !calls.begin_stack(program.stack) {
            return Err(no_memory("another task"));
        }
        if !program.tables.iter().all(|&entries| calls.grow_table(0, entries)) {
            return Err(no_memory("the tables of another task"));
        }
        let live = match program.pool.take() {
            Some(live) => live,
            None => {
                let mut live = Box::new(Live::new(program)?);
                live.store.data_mut().debt = program.making;
                live
            }
        };
        let function = program.function(&live, began).ok_or_else(|| no_function(entry))?;
        Ok(Running::new(program.clone(), live, began, function, arguments))
    }
}

#[cold]
fn no_memory(what: &str) -> Trap {
    Trap::saying(TrapKind::Limit, format!("the program has no memory left for {what}"))
}

#[cold]
fn no_function(entry: &Entry) -> Trap {
    let what = match entry {
        Entry::Export(name) => format!("no function is exported as {name:?}"),
        Entry::Table(index) => format!("the table has no function at {index}"),
    };
    Trap::saying(TrapKind::Other, what)
}

impl Program {
    fn began(&self, entry: &Entry) -> Option<Began> {
        match entry {
            Entry::Export(name) => self.by_name.get(name).map(|&place| Began::Export(place)),
            Entry::Table(index) => {
                let place = usize::try_from(*index).ok()?;
                self.table.as_ref()?.functions.get(place)?.as_ref()?;
                Some(Began::Table(place))
            }
        }
    }

    /// The name and type of the function that a task began with.
    fn described(&self, began: Began) -> &(String, Signature) {
        match began {
            Began::Export(place) => &self.exports[place],
            Began::Table(place) => self
                .table
                .as_ref()
                .and_then(|table| table.functions[place].as_deref())
                .expect("a task began with it, so it is there"),
        }
    }

    /// The same function in an instance.
    fn function(&self, live: &Live, began: Began) -> Option<Func> {
        match began {
            Began::Export(place) => live.instance.get_func(&live.store, &self.exports[place].0),
            Began::Table(place) => {
                let entry = live.table?.get(&live.store, place as u64)?;
                entry.as_func()?.val().copied().copied()
            }
        }
    }

    /// The start function in an instance, if there is one.
    fn start(&self, live: &Live) -> Option<Func> {
        if self.has_start { live.instance.get_func(&live.store, START) } else { None }
    }

    /// Bytes of a new task's memory.
    fn memory_minimum(&self) -> usize {
        self.memory.as_ref().map_or(0, |space| space.minimum)
    }
}

impl Space {
    fn new(memory: MemorySize, limits: &Limits) -> Space {
        let allowed = limits.task_memory / PAGE;
        let maximum =
            memory.maximum.map_or(allowed, |maximum| (maximum as usize).min(allowed)) * PAGE;
        // A memory that can hold nothing has a slot all the same, with a page that it never uses.
        let arena = Arena::new(maximum.max(PAGE));
        Space { arena, minimum: memory.minimum as usize * PAGE, maximum }
    }
}
