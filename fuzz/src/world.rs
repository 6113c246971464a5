//! Does a program end, however it behaves, and do its books add up?
//!
//! Everything runs in the simulated runtime: a program that goes on for ever takes virtual time, and
//! when that is over it is asked to end.

use std::time::Duration;

use kernel::{Runtime, Simulation};
use task::{EngineKind, Limits, Options, Program, TaskError, TaskResult};

/// The engines that this build has.
pub(crate) const ENGINES: &[EngineKind] = if cfg!(feature = "jit") {
    &[EngineKind::Wasmi, EngineKind::Wasmtime]
} else {
    &[EngineKind::Wasmi]
};

/// Operations of a task. A guest that loops for ever ends here.
pub(crate) const FUEL: u64 = 50_000;

/// What one operation costs at most: to fill all memory that a task can have.
const DEAREST: u64 = 4 * PAGE as u64;

/// Virtual time that a program has by itself: an operation is a nanosecond.
const PATIENCE: Duration = Duration::from_micros(300);

/// Virtual time that it has after it was asked to end, which is far more than all tasks' fuel.
const GRACE: Duration = Duration::from_secs(1);

/// A page of a guest's memory.
pub(crate) const PAGE: usize = 1 << 16;

pub(crate) fn simulation(workers: usize, seed: u64) -> Simulation {
    Runtime::builder().workers(workers).simulate(seed).expect("a simulation needs nothing")
}

/// Limits that are reached within a few calls.
pub(crate) fn options(engine: EngineKind) -> Options {
    let mut limits = Limits::default();
    limits.module_bytes = 1 << 20;
    limits.task_memory = 4 * PAGE;
    limits.program_memory = 12 * PAGE;
    limits.table_entries = 1_000;
    limits.stack = 64 << 10;
    limits.call_depth = 200;
    limits.tasks = 16;
    limits.results = 32;
    limits.channels = 8;
    limits.mutexes = 8;
    limits.channel_capacity = 16;
    limits.message_bytes = 4_096;
    limits.bytes_in_flight = 16 << 10;
    limits.select = 8;
    let mut options = Options::default();
    options.engine = engine;
    options.fuel = Some(FUEL);
    options.limits = limits;
    options
}

/// How a program came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    ByItself,
    /// It is shut down: nothing can be spawned any more.
    WhenAsked,
}

/// Lets all tasks of a program end. If they do not by themselves, they are asked to.
pub(crate) fn settle(simulation: &mut Simulation, program: &Program) -> Settled {
    let mut ended = |patience| {
        let waiting = simulation.handle().timeout(patience, program.finished());
        simulation.block_on(waiting).expect("there is a timer").is_ok()
    };
    if ended(PATIENCE) {
        return Settled::ByItself;
    }
    program.shutdown();
    assert!(ended(GRACE), "tasks go on after they were asked to end: {:?}", program.tasks());
    Settled::WhenAsked
}

/// What must hold of every program whose tasks have ended.
pub(crate) fn check_books(program: &Program) {
    let (stats, limits) = (program.stats(), &program.options().limits);
    assert_eq!(stats.live, 0, "{stats:?}");
    assert_eq!(stats.memory, 0, "memory that no task has: {stats:?}");
    assert_eq!(stats.spawned, stats.completed + stats.failed, "{stats:?}");
    assert!(stats.live_max <= limits.tasks, "{stats:?}");
    assert!(stats.channels <= limits.channels, "{stats:?}");
    assert!(stats.mutexes <= limits.mutexes, "{stats:?}");
    assert!(stats.bytes_in_flight <= limits.bytes_in_flight, "{stats:?}");

    let results = program.results();
    assert_eq!(results.len() as u64, stats.spawned.min(limits.results as u64), "{stats:?}");
    assert!(results.is_sorted_by_key(|result| result.id));
    results.iter().for_each(check_result);
}

fn check_result(result: &TaskResult) {
    if let Err(error) = &result.outcome {
        assert!(!matches!(error, TaskError::Panicked(_) | TaskError::Stopped), "{error}");
        assert!(!error.to_string().is_empty());
    }
    // The last operation is paid for whole, also if it costs more than is left.
    assert!(result.fuel <= FUEL + DEAREST, "{} used {} operations", result.func, result.fuel);
}
