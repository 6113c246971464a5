//! What can a stranger's module do to others on the same runtime?
//!
//! Each test lets a bad guest do its worst on a runtime where another program is at work. The bad one
//! is refused or fails, with an error that says why; the other one finishes, and its sums are right.

mod calls;
mod closing;
mod greed;
mod modules;

use kernel::Runtime;
use task::{
    EngineKind, LoadError, NO_ARGUMENTS, Options, Program, TaskError, TaskResult, TrapKind, Value,
};

const WORKERS: usize = 2;

/// The engines of this build.
fn engines() -> Vec<EngineKind> {
    let mut engines = vec![EngineKind::Wasmi];
    if cfg!(feature = "jit") {
        engines.push(EngineKind::Wasmtime);
    }
    engines
}

/// All that a guest can import, and a page of memory.
const PRELUDE: &str = r#"
    (import "shiftwork" "abi_version" (func $abi_version (result i32)))
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
    (import "shiftwork" "spawn_with" (func $spawn_with (param i32 i32 i32) (result i64)))
    (import "shiftwork" "input" (func $input (param i32 i32) (result i32)))
    (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
    (import "shiftwork" "yield_now" (func $yield_now))
    (import "shiftwork" "self" (func $self (result i64)))
    (import "shiftwork" "sleep" (func $sleep (param i64)))
    (import "shiftwork" "chan_open" (func $chan_open (param i32) (result i64)))
    (import "shiftwork" "chan_send" (func $chan_send (param i64 i32 i32) (result i32)))
    (import "shiftwork" "chan_recv" (func $chan_recv (param i64 i32 i32 i32) (result i32)))
    (import "shiftwork" "chan_close" (func $chan_close (param i64) (result i32)))
    (import "shiftwork" "select" (func $select (param i32 i32 i64) (result i32)))
    (import "shiftwork" "mutex_open" (func $mutex_open (param i32 i32) (result i64)))
    (import "shiftwork" "lock" (func $lock (param i64 i32 i32 i32) (result i32)))
    (import "shiftwork" "unlock" (func $unlock (param i64 i32 i32) (result i32)))
    (import "shiftwork" "mutex_close" (func $mutex_close (param i64) (result i32)))
    (import "shiftwork" "log" (func $log (param i32 i32 i32)))
    (import "shiftwork" "now" (func $now (result i64)))
    (import "shiftwork" "random" (func $random (param i32 i32)))
    (memory (export "memory") 1)
"#;

/// A module that begins with [`PRELUDE`].
#[track_caller]
fn module(rest: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {PRELUDE} {rest})")).expect("the test's module is correct")
}

/// Two tasks that send each other numbers, through many slices: `main` returns 1 + … + `ROUNDS`.
const NEIGHBOUR: &str = r#"
    (table (export "table") 1 funcref)
    (elem (i32.const 0) $echo)
    (global $there i64 (i64.const 0x1000000000000001))
    (global $back i64 (i64.const 0x1000000000000002))
    (func $echo (param $rounds i64) (result i64)
        (loop $next
            (drop (call $chan_recv (global.get $there) (i32.const 0) (i32.const 8) (i32.const 8)))
            (drop (call $chan_send (global.get $back) (i32.const 0) (i32.const 8)))
            (local.set $rounds (i64.sub (local.get $rounds) (i64.const 1)))
            (br_if $next (i64.gt_s (local.get $rounds) (i64.const 0))))
        (i64.const 0))
    (func (export "main") (param $rounds i64) (result i64) (local $sum i64)
        (drop (call $chan_open (i32.const 0)))
        (drop (call $chan_open (i32.const 0)))
        (drop (call $spawn (i32.const 0) (local.get $rounds)))
        (loop $next
            (i64.store (i32.const 0) (local.get $rounds))
            (drop (call $chan_send (global.get $there) (i32.const 0) (i32.const 8)))
            (i64.store (i32.const 0) (i64.const 0))
            (drop (call $chan_recv (global.get $back) (i32.const 0) (i32.const 8) (i32.const 8)))
            (local.set $sum (i64.add (local.get $sum) (i64.load (i32.const 0))))
            (local.set $rounds (i64.sub (local.get $rounds) (i64.const 1)))
            (br_if $next (i64.gt_s (local.get $rounds) (i64.const 0))))
        (local.get $sum))
"#;

const ROUNDS: i64 = 2_000;

/// A runtime with a program that is at work and minds its own business.
struct Street {
    // Goes before the runtime does.
    neighbour: Program,
    runtime: Runtime,
    engine: EngineKind,
}

impl Street {
    fn new(engine: EngineKind) -> Street {
        let runtime = Runtime::builder().workers(WORKERS).build().unwrap();
        let mut options = Options::default();
        options.engine = engine;
        options.limits.jit_tasks = 2;
        let neighbour = Program::load(&runtime, module(NEIGHBOUR), options).unwrap();
        neighbour.spawn("main", [ROUNDS]).unwrap();
        Street { neighbour, runtime, engine }
    }

    /// Options for the bad guest: those of the engine, changed.
    fn options(&self, change: impl FnOnce(&mut Options)) -> Options {
        let mut options = Options::default();
        options.engine = self.engine;
        // Places for tasks are reserved, and tests run side by side.
        options.limits.jit_tasks = 1_000;
        change(&mut options);
        options
    }

    fn load(&self, module: &[u8], change: impl FnOnce(&mut Options)) -> Result<Program, LoadError> {
        Program::load(&self.runtime, module, self.options(change))
    }

    /// The neighbour's tasks finish, whatever else is there.
    #[track_caller]
    fn neighbour_finishes(&self) {
        let results = self.neighbour.run().unwrap();
        assert_eq!(results.len(), 2);
        assert_eq!(results[0].outcome, Ok(vec![Value::I64(ROUNDS * (ROUNDS + 1) / 2)]));
        assert_eq!(results[1].outcome, Ok(vec![Value::I64(0)]));
    }
}

/// Runs `main` of a guest to its end, beside the neighbour, on each engine.
#[track_caller]
fn beside_a_neighbour(
    guest: &str,
    change: impl Fn(&mut Options),
    check: impl Fn(&Program, Vec<TaskResult>),
) {
    for engine in engines() {
        let street = Street::new(engine);
        let program = street.load(&module(guest), &change).unwrap();
        program.spawn("main", NO_ARGUMENTS).unwrap();
        let results = program.run().unwrap();
        assert_eq!(program.stats().memory, 0, "{engine:?}: the memory came back");
        check(&program, results);
        street.neighbour_finishes();
    }
}

/// What `main` has returned.
#[track_caller]
fn returned(result: &TaskResult) -> i64 {
    match result.outcome.as_deref() {
        Ok([Value::I64(value)]) => *value,
        other => panic!("{}: {other:?}", result.func),
    }
}

/// The kind of trap that a task has ended with.
#[track_caller]
fn trapped(result: &TaskResult) -> TrapKind {
    match &result.outcome {
        Err(TaskError::Trap(trap)) => trap.kind,
        other => panic!("{}: {other:?}", result.func),
    }
}
