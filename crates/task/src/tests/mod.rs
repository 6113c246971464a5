//! What the host does with its guests, which are scripted: on real workers, and in simulations.

mod awaits;
mod cancels;
mod channels;
mod deadlocks;
mod ends;
mod limits;
mod mutexes;
mod pointers;
mod preemption;
mod programs;
mod selects;
mod simulation;
mod world;

use std::{
    sync::mpsc::{self, Receiver, Sender},
    time::Duration,
};

use kernel::{Runtime, Simulation};

use crate::{
    options::Options,
    program::{
        Program,
        outcome::{TaskError, TaskResult},
    },
    scripted::Guests,
    value::Value,
};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Simulated runs of each test, with another seed each.
const SEEDS: u64 = 16;

/// Runs of each test on real workers.
const RUNS: usize = 20;

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).on_report(|_| {}).build().unwrap()
}

fn simulation(workers: usize, seed: u64) -> Simulation {
    Runtime::builder().workers(workers).on_report(|_| {}).simulate(seed).unwrap()
}

/// Runs the function `main` again and again, on real workers and in simulations. It returns, and the
/// program has nothing left.
#[track_caller]
fn check(guests: impl Fn() -> Guests) {
    check_with(Options::default(), guests);
}

#[track_caller]
fn check_with(options: Options, guests: impl Fn() -> Guests) {
    let runtime = runtime(2);
    for _ in 0..RUNS {
        let program = guests().load(&runtime, options.clone());
        program.spawn("main", [0]).unwrap();
        must_be_fine(&program, &program.run().unwrap());
    }
    for seed in 0..SEEDS {
        let mut simulation = simulation(1 + seed as usize % 3, seed);
        let program = guests().load(&simulation, options.clone());
        program.spawn("main", [0]).unwrap();
        let results = simulation.block_on(program.finished()).unwrap();
        must_be_fine(&program, &results);
    }
}

/// The first task has returned, and whatever the tasks had is given back.
#[track_caller]
fn must_be_fine(program: &Program, results: &[TaskResult]) {
    let main = &results[0];
    assert!(main.outcome.is_ok(), "{}", main.outcome.as_ref().unwrap_err());
    let stats = program.stats();
    assert_eq!((stats.live, stats.memory), (0, 0));
    assert_eq!(stats.spawned, stats.completed + stats.failed);
    assert_eq!(program.shared().commons.counts.busy(), 0);
}

/// Runs in one simulation, with one worker.
#[track_caller]
fn simulate(options: Options, guests: Guests, argument: i64) -> (Program, Vec<TaskResult>) {
    let mut simulation = simulation(1, 0);
    let program = guests.load(&simulation, options);
    program.spawn("main", [argument]).unwrap();
    let results = simulation.block_on(program.finished()).unwrap();
    (program, results)
}

fn value(result: &TaskResult) -> i64 {
    match result.outcome.as_deref() {
        Ok([Value::I64(value)]) => *value,
        other => panic!("{} gave {other:?}", result.id),
    }
}

fn error(result: &TaskResult) -> &TaskError {
    result.outcome.as_ref().expect_err("it should have failed")
}

/// A sender to be moved into guests, and what to read from.
fn channel<T>() -> (Sender<T>, Told<T>) {
    let (send, receive) = mpsc::channel();
    (send, Told(receive))
}

struct Told<T>(Receiver<T>);

impl<T> Told<T> {
    #[track_caller]
    fn next(&self) -> T {
        self.0.recv_timeout(PATIENCE).expect("it should have been told")
    }

    fn all(&self) -> Vec<T> {
        self.0.try_iter().collect()
    }
}

/// Waits until something holds.
#[track_caller]
fn eventually(holds: impl Fn() -> bool) {
    #[allow(clippy::disallowed_methods, reason = "a test has to give up at some time")]
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it should have come to this");
        std::thread::yield_now();
    }
}
