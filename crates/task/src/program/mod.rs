//! A program: a module and its tasks, on a runtime.

pub(crate) mod counts;
pub(crate) mod deadlock;
pub(crate) mod finished;
pub(crate) mod functions;
pub(crate) mod inspect;
pub(crate) mod outcome;
pub(crate) mod registry;
pub(crate) mod shared;
pub(crate) mod spawn;
pub(crate) mod stats;

use std::{fmt, sync::Arc};

use kernel::Handle;

use crate::{
    engine::{self, Engine},
    error::{LoadError, RunError},
    id::TaskId,
    module::Module,
    options::Options,
    program::{
        finished::{Finished, TaskEnd, block_on},
        outcome::{Ended, TaskResult},
        registry::Known,
        shared::Shared,
        stats::Stats,
    },
};

/// A program: a guest's module, and the tasks that run its functions.
///
/// Cheap to clone; all clones are the same program. When the last one is dropped, tasks that still
/// run are ended without asking, since nobody could see what they do. Several programs can share a
/// runtime, and know nothing of each other.
///
/// ```
/// use kernel::Runtime;
/// use task::{Options, Program, Value};
///
/// let module = wat::parse_str(
///     r#"(module
///         (func (export "add") (param i64 i64) (result i64)
///             (i64.add (local.get 0) (local.get 1))))"#,
/// )?;
/// let runtime = Runtime::new()?;
/// let program = Program::load(&runtime, module, Options::default())?;
/// program.spawn("add", [1, 2])?;
/// program.spawn("add", [3, 4])?;
/// let results = program.run()?;
/// assert_eq!(results[0].outcome, Ok(vec![Value::I64(3)]));
/// assert_eq!(results[1].outcome, Ok(vec![Value::I64(7)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Program(Arc<Owner>);

/// What the handles of a program have in common. Tasks have the other part only.
struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.abort_all();
    }
}

impl Program {
    /// Reads a module (WebAssembly, binary) and compiles it.
    ///
    /// # Errors
    /// If it is no module, imports what is not ours, needs more than the limits, or the engine that
    /// the options name is not part of this build.
    pub fn load(
        runtime: &Handle,
        module: impl AsRef<[u8]>,
        options: Options,
    ) -> Result<Program, LoadError> {
        let module = Module::read(module.as_ref(), &options.limits)?;
        let engine = engine::prepare(&module, &options)?;
        Ok(Program::assemble(runtime, module.without_code(), engine, options))
    }

    pub(crate) fn assemble(
        runtime: &Handle,
        module: Module,
        engine: Box<dyn Engine>,
        options: Options,
    ) -> Program {
        Program(Arc::new(Owner(Shared::new(runtime, module, engine, options))))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.0
    }

    /// Waits until all tasks have ended, and returns the results that are kept, the oldest task
    /// first. The thread parks meanwhile.
    ///
    /// If no task can go on any more, each fails with a [`Deadlock`](crate::Deadlock) instead, and
    /// this returns all the same.
    ///
    /// # Errors
    /// If it could never return: inside a turn of the same runtime, or on a simulation, which does
    /// not run by itself. There, await [`finished`](Program::finished).
    pub fn run(&self) -> Result<Vec<TaskResult>, RunError> {
        let runtime = &self.shared().runtime;
        if runtime.current_worker().is_some() {
            return Err(RunError::InsideATurn);
        }
        if runtime.is_simulated() {
            return Err(RunError::Simulated);
        }
        Ok(block_on(self.finished()))
    }

    /// A future that is ready when all tasks have ended, with the same results as
    /// [`run`](Program::run).
    ///
    /// ```
    /// use task::{NO_ARGUMENTS, Options, Program};
    ///
    /// let module = wat::parse_str(r#"(module (func (export "main")))"#)?;
    /// let mut simulation = kernel::Runtime::builder().simulate(7)?;
    /// let program = Program::load(&simulation, module, Options::default())?;
    /// program.spawn("main", NO_ARGUMENTS)?;
    /// let results = simulation.block_on(program.finished())?;
    /// assert_eq!(results.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finished(&self) -> Finished {
        Finished::new(self.clone())
    }

    /// A future that is ready when this task has ended.
    ///
    /// It does not look for deadlocks, since Rust may yet do something about them: that is what
    /// [`run`](Program::run) and [`finished`](Program::finished) do.
    pub fn task(&self, id: TaskId) -> TaskEnd {
        TaskEnd::new(self.clone(), id)
    }

    /// Asks a task to end. What it waits for is answered with code 4, and so is every further call
    /// that could wait; it has a million operations left to end by itself. False: there is no such
    /// task, or it has ended.
    pub fn cancel(&self, id: TaskId) -> bool {
        let shared = self.shared();
        let _inside = shared.enter();
        let task = shared.registry.find(id);
        task.inspect(|task| shared.cancel(task)).is_some()
    }

    /// Asks all tasks to end, as [`cancel`](Program::cancel) does, and lets none begin any more.
    /// [`run`](Program::run) waits until they have.
    pub fn shutdown(&self) {
        self.shared().cancel_all();
    }

    /// What has been done so far.
    pub fn stats(&self) -> Stats {
        Stats::of(self.shared())
    }

    /// The runtime it is on.
    pub fn runtime(&self) -> &Handle {
        &self.shared().runtime
    }

    /// The options it was loaded with.
    pub fn options(&self) -> &Options {
        &self.shared().options
    }

    /// The results that are kept, the oldest task first.
    pub fn results(&self) -> Vec<TaskResult> {
        let mut results = Vec::new();
        self.shared().registry.each(|id, known| {
            if let Known::Ended(ended) = known {
                results.push(self.result(id, ended));
            }
        });
        results.sort_by_key(|result| result.id);
        results
    }

    pub(crate) fn result(&self, id: TaskId, ended: &Ended) -> TaskResult {
        TaskResult {
            id,
            func: self.shared().function_name(ended.function),
            outcome: ended.outcome(),
            awaited: ended.awaited,
            fuel: ended.fuel,
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("live", &self.stats().live).finish_non_exhaustive()
    }
}
