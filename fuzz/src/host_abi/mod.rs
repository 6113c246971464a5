//! Do guests that call anything with anything stay within their program, and leave nothing behind?
//!
//! The bytes stand for a [`Scenario`]: functions of a guest that make calls of the host with arguments
//! of all kinds, tasks that run them, and Rust that cancels, inspects and drops meanwhile. It runs in
//! the simulated runtime. Then all tasks have ended, nothing has panicked, and what is counted is what
//! there is.

mod guest;
mod scenario;
mod tidy;

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use kernel::Simulation;
use task::{EngineKind, Options, Program, Stats, TaskId, TaskResult, Value};

use self::scenario::{Act, Argument, Scenario};
use crate::world::{self, PAGE, Settled};

/// Acts and first tasks of a scenario at most.
const ACTS_MAX: usize = 8;
const TASKS_MAX: usize = 6;

/// What a mutex counts besides its cell.
const MUTEX_BYTES: usize = 32;

/// Runs the scenario that the bytes stand for.
///
/// # Panics
/// If a promise of the crate `task` is not kept.
pub fn host_abi(data: &[u8]) {
    let Ok(scenario) = Scenario::arbitrary_take_rest(Unstructured::new(data)) else { return };
    if scenario.functions.is_empty() {
        return;
    }
    let module = guest::module(&scenario.functions);
    for &engine in world::ENGINES {
        let options = options(&scenario, engine);
        let first = run(&scenario, &module, &options);
        if scenario.seed % 4 == 0 {
            let second = run(&scenario, &module, &options);
            assert_eq!(first, second, "the same seed gave another run");
        }
    }
}

fn options(scenario: &Scenario, engine: EngineKind) -> Options {
    let mut options = world::options(engine);
    options.preemption_threshold = Some(u64::from(scenario.threshold) + 1);
    let (limits, tight) = (&mut options.limits, &scenario.tight);
    if tight.tasks {
        limits.tasks = 3;
    }
    if tight.results {
        limits.results = 2;
    }
    if tight.messages {
        limits.message_bytes = 16;
        limits.channel_capacity = 2;
        limits.channels = 2;
        limits.mutexes = 2;
    }
    if tight.bytes {
        limits.bytes_in_flight = 256;
    }
    if tight.memory {
        limits.task_memory = 2 * PAGE;
        limits.program_memory = 3 * PAGE;
    }
    if tight.select {
        limits.select = 2;
    }
    options
}

/// What can be compared of two runs. `None`: the program was dropped early.
type Seen = Option<(Vec<TaskResult>, Stats, Duration)>;

fn run(scenario: &Scenario, module: &[u8], options: &Options) -> Seen {
    let workers = usize::from(scenario.workers % 4) + 1;
    let mut simulation = world::simulation(workers, scenario.seed.into());
    let program = Program::load(&simulation, module, options.clone()).expect("a good module");
    for &(function, argument) in scenario.tasks.iter().take(TASKS_MAX) {
        spawn(scenario, &program, function, argument);
    }
    for act in scenario.acts.iter().take(ACTS_MAX) {
        if let Act::Leave = act {
            drop(program);
            simulation.run();
            return None;
        }
        perform(act, scenario, &mut simulation, &program);
    }
    let settled = world::settle(&mut simulation, &program);
    world::check_books(&program);
    let seen = (program.results(), program.stats(), simulation.now());
    if settled == Settled::ByItself {
        check_what_is_left(&mut simulation, &program);
    }
    Some(seen)
}

fn perform(act: &Act, scenario: &Scenario, simulation: &mut Simulation, program: &Program) {
    match act {
        Act::Wait(nanos) => {
            simulation.run_for(Duration::from_nanos((*nanos).into()));
        }
        Act::Cancel(task) => {
            program.cancel(TaskId::new((*task).into()));
        }
        Act::Spawn(function, argument) => spawn(scenario, program, *function, *argument),
        Act::Inspect => {
            let (tasks, stats) = (program.tasks(), program.stats());
            assert!(tasks.len() <= stats.live + program.options().limits.results, "{tasks:?}");
            assert!(stats.memory <= program.options().limits.program_memory, "{stats:?}");
            assert!(stats.bytes_in_flight <= program.options().limits.bytes_in_flight, "{stats:?}");
        }
        Act::Await(task) => {
            let end = program.task(TaskId::new((*task).into()));
            let waiting = simulation.handle().timeout(Duration::from_micros(50), end);
            let _ = simulation.block_on(waiting).expect("there is a timer");
        }
        Act::Shutdown => program.shutdown(),
        Act::Leave => unreachable!("whoever has the program drops it"),
    }
}

/// Spawns one of the guest's functions, with what is right for most of them.
fn spawn(scenario: &Scenario, program: &Program, function: u8, argument: Argument) {
    let name = guest::name(usize::from(function) % scenario.functions.len());
    if let Err(error) = program.spawn(&name, [argument.outside()]) {
        assert!(!error.to_string().is_empty());
    }
}

/// Empties channels and cells: then nothing is in flight but what mutexes count for themselves.
fn check_what_is_left(simulation: &mut Simulation, program: &Program) {
    for function in [tidy::CHANNELS, tidy::MUTEXES] {
        let mut from = 1;
        while from != 0 {
            let Ok(task) = program.spawn(function, [from]) else {
                // Rust has shut it down itself.
                return;
            };
            let end = simulation.block_on(program.task(task)).expect("it ends");
            let outcome = end.expect("its result is the newest").outcome;
            match outcome.as_deref() {
                Ok([Value::I64(next)]) => from = *next,
                other => panic!("{function} from {from}: {other:?}"),
            }
        }
    }
    let stats = program.stats();
    assert_eq!(stats.channels, 0, "{stats:?}");
    assert_eq!(stats.bytes_in_flight, stats.mutexes * MUTEX_BYTES, "{stats:?}");
    world::check_books(program);
}
