//! What tasks cost in time and memory. Not checked, only shown:
//! `cargo test --release -p shiftwork-task -- --ignored --nocapture measure`.

use std::{hint::black_box, time::Duration};

use super::program;
use crate::{
    abi::{Call, MAX_PARAMETERS},
    engine::{Answer, Calls, Engine, Fuel, Instance, Step, Stepped},
    module::Entry,
    value::Value,
};

const IMPORTS: &str = r#"
    (import "shiftwork" "spawn" (func (param i32 i64) (result i64)))
    (import "shiftwork" "await" (func (param i64 i32) (result i32)))
    (import "shiftwork" "yield_now" (func $yield))
    (import "shiftwork" "chan_send" (func (param i64 i32 i32) (result i32)))
    (import "shiftwork" "chan_recv" (func (param i64 i32 i32 i32) (result i32)))"#;

const BODY: &str = r#"
    (global (mut i32) (i32.const 65536))
    (table (export "table") 4 funcref)
    (elem (i32.const 1) $f)
    (func $f (export "main") (param i64) (result i64) (local.get 0))
    (func (export "waits") (param i64) (result i64) (call $yield) (local.get 0))"#;

fn guest(memory: &str) -> Box<dyn Engine> {
    program(&format!("(module {IMPORTS} {memory} {BODY})"))
}

const MEMORIES: [(&str, &str); 3] = [
    ("no memory", ""),
    ("a page", r#"(memory (export "memory") 1) (data (i32.const 1024) "hello")"#),
    ("17 pages", r#"(memory (export "memory") 17) (data (i32.const 1048576) "hello")"#),
];

/// A host that does next to nothing: each call waits, and is answered when the task is stepped again
/// unless it is to wait for ever.
struct Lean {
    for_ever: bool,
}

impl Calls for Lean {
    fn cost(&self, _: Call, _: &[u64; MAX_PARAMETERS]) -> u64 {
        10
    }

    fn call(&mut self, _: Call, _: [u64; MAX_PARAMETERS], _: &mut [u8]) -> Answer {
        Answer::Wait
    }

    fn resume(&mut self, _: &mut [u8]) -> Answer {
        if self.for_ever { Answer::Wait } else { Answer::Return(0) }
    }

    fn grow_memory(&mut self, _: usize, _: usize) -> bool {
        true
    }

    fn grow_table(&mut self, _: usize, _: usize) -> bool {
        true
    }

    fn begin_stack(&mut self, _: usize) -> bool {
        true
    }
}

struct Task {
    instance: Box<dyn Instance>,
    calls: Option<Box<dyn Calls>>,
}

impl Task {
    fn new(program: &dyn Engine, entry: &Entry) -> Task {
        let calls = Box::new(Lean { for_ever: false });
        let (calls, instance) = program.instantiate(entry, &[Value::I64(1)], calls);
        Task { instance: instance.expect("it is made"), calls: Some(calls) }
    }

    fn step(&mut self) -> Step {
        let calls = self.calls.take().expect("the step before gave them back");
        let fuel = Fuel { slice: 10_000, left: u64::MAX };
        let (calls, step) = self.instance.step(fuel, calls);
        self.calls = Some(calls);
        step
    }
}

fn export(name: &str) -> Entry {
    Entry::Export(name.to_owned())
}

#[test]
#[ignore = "it measures"]
fn measure_spawn_run_drop() {
    for (name, memory) in MEMORIES {
        let program = guest(memory);
        for (how, entry) in [("by name", export("main")), ("by table", Entry::Table(1))] {
            let one = || {
                let mut task = Task::new(&*program, &entry);
                assert!(matches!(black_box(task.step().end), Stepped::Returned(_)));
            };
            one();
            println!("{name}: spawn {how}, run, drop {:?}", per_item(200_000, one));
        }
        let mut held = Vec::with_capacity(2_000);
        let fresh = per_item(2_000, || held.push(Task::new(&*program, &export("main"))));
        println!("{name}: spawn a new instance {fresh:?}");
    }
}

#[test]
#[ignore = "it measures"]
fn measure_switch() {
    let program = program(&format!(
        r#"(module {IMPORTS} (func (export "main") (param i64) (loop (call $yield) (br 0))))"#
    ));
    let mut task = Task::new(&*program, &export("main"));
    println!("wait and go on {:?}", per_item(5_000_000, || drop(black_box(task.step()))));
}

/// Several tasks take turns, so that none has its stack in the cache all the time.
#[test]
#[ignore = "it measures"]
fn measure_switch_among_thousands() {
    let program = program(&format!(
        r#"(module {IMPORTS} (func (export "main") (param i64) (loop (call $yield) (br 0))))"#
    ));
    let mut tasks: Vec<Task> = (0..10_000).map(|_| Task::new(&*program, &export("main"))).collect();
    let mut next = 0;
    let each = per_item(2_000_000, || {
        next = (next + 1) % tasks.len();
        drop(black_box(tasks[next].step()));
    });
    println!("wait and go on, 10,000 tasks in turn {each:?}");
}

#[test]
#[ignore = "it measures"]
fn measure_live_tasks_without_memory() {
    live(0);
}

#[test]
#[ignore = "it measures"]
fn measure_live_tasks_with_a_page() {
    live(1);
}

#[test]
#[ignore = "it measures"]
fn measure_live_tasks_with_17_pages() {
    live(2);
}

/// Each in a process of its own, since what one leaves in the heap the next would find there.
fn live(which: usize) {
    let (name, memory) = MEMORIES[which];
    let tasks = if which == 2 { 10_000 } else { 100_000 };
    let program = guest(memory);
    let mut held = Vec::with_capacity(tasks);
    let before = bytes_of("VmRSS");
    let each = per_item(tasks as u32, || {
        let mut task = Task::new(&*program, &export("waits"));
        task.calls = Some(Box::new(Lean { for_ever: true }));
        assert!(matches!(task.step().end, Stepped::Waits));
        held.push(task);
    });
    let (bytes, tables) = (bytes_of("VmRSS") / tasks - before / tasks, bytes_of("VmPTE") / tasks);
    println!(
        "{name}: {bytes} bytes (and {tables} of page tables), {each:?} for each of {tasks} that wait"
    );
    let mut held = held.into_iter();
    println!("{name}: drop {:?}", per_item(tasks as u32, || drop(held.next())));
}

/// What the system says about this process, in bytes.
fn bytes_of(what: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(what)).expect("there is such a line");
    let kilobytes = line.split_whitespace().nth(1).expect("its second word is a number");
    kilobytes.parse::<usize>().expect("its second word is a number") * 1024
}

/// The time on a processor that each of so many took: others on the same machine do not count.
fn per_item(items: u32, mut item: impl FnMut()) -> Duration {
    let begun = on_processor();
    for _ in 0..items {
        item();
    }
    (on_processor() - begun) / items
}

fn on_processor() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let running = times.split(' ').next().expect("the first number is the time on a processor");
    Duration::from_nanos(running.parse().expect("it is a number"))
}
