//! The shortest way to run a program: a runtime and a program in one.

use kernel::{Runtime, Shutdown};

use crate::{
    error::{RunError, SchedulerError, SpawnError},
    id::TaskId,
    options::Options,
    program::{Program, outcome::TaskResult},
    value::Value,
};

/// A runtime of its own, with one program on it.
///
/// ```
/// use task::{Options, Scheduler, Value};
///
/// let module = wat::parse_str(
///     r#"(module
///         (func (export "double") (param i64) (result i64)
///             (i64.mul (local.get 0) (i64.const 2))))"#,
/// )?;
/// let mut options = Options::default();
/// options.num_workers = Some(2);
/// let scheduler = Scheduler::new(module, options)?;
/// for number in 1..=3 {
///     scheduler.spawn("double", [number])?;
/// }
/// let results = scheduler.run()?;
/// assert_eq!(results[2].outcome, Ok(vec![Value::I64(6)]));
/// scheduler.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scheduler {
    // The program goes first, and with it its tasks.
    program: Program,
    runtime: Runtime,
}

impl Scheduler {
    /// Starts the workers, and loads the module.
    ///
    /// # Errors
    /// If the workers can not be started, or the module can not be run.
    pub fn new(module: impl AsRef<[u8]>, options: Options) -> Result<Scheduler, SchedulerError> {
        let mut builder = Runtime::builder().name("task");
        if let Some(workers) = options.num_workers {
            builder = builder.workers(workers);
        }
        let runtime = builder.build()?;
        let program = Program::load(&runtime, module, options)?;
        Ok(Scheduler { program, runtime })
    }

    /// Spawns a task, as [`Program::spawn`] does.
    ///
    /// # Errors
    /// As [`Program::spawn`].
    pub fn spawn<A>(&self, func: &str, arguments: A) -> Result<TaskId, SpawnError>
    where
        A: IntoIterator<Item: Into<Value>>,
    {
        self.program.spawn(func, arguments)
    }

    /// Waits until all tasks have ended, as [`Program::run`] does.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run(&self) -> Result<Vec<TaskResult>, RunError> {
        self.program.run()
    }

    /// Asks all tasks to end, waits until they have, and stops the workers.
    pub fn shutdown(self) -> Shutdown {
        self.program.shutdown();
        // Inside a turn of its own it can not wait, and the runtime does not either.
        let _ = self.program.run();
        self.runtime.shutdown()
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}
