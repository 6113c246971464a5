//! Does the whole scheduler hang, lose or double-run anything, in thousands of random schedules?
//!
//! Each schedule builds a runtime and lets a few strands at random wake, hand off, submit, yield,
//! panic and end, while threads outside do the same. All chance, also which placement and how
//! many workers, comes from shuttle, which prints the seed or the schedule of a run that fails.
//! `SHIFTWORK_SCHEDULES` sets the number of schedules per test and scheduler.
#![cfg(shuttle)]

#[path = "shuttle/world.rs"]
mod world;

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use kernel::{
    Attributes, Builder, Discipline, JoinError, Placement, Runtime, ScheduleError, Turn, WorkerId,
};
use shuttle::{
    Config, MaxSteps, Runner,
    scheduler::{PctScheduler, RandomScheduler},
    sync::{Condvar, Mutex},
    thread,
};

use crate::world::{POKES, Stopped, World, below};

const FIFO: Discipline = Discipline::Fifo;
const STEALING: Discipline = Discipline::Stealing;
const PRIORITY: Discipline = Discipline::Priority { ageing: 0.5 };
const FEEDBACK: Discipline = Discipline::Feedback { levels: 2, slice: Duration::from_millis(1) };

/// How many preemptions the second scheduler places.
const DEPTH: usize = 4;
/// Many times what a schedule takes: more is a worker that spins, or something never dropped.
const STEPS_MAX: usize = 50_000;

/// Runs `world` under both schedulers.
fn check(world: impl Fn() + Send + Sync + Copy + 'static) {
    let text = std::env::var("SHIFTWORK_SCHEDULES");
    let schedules = text.map_or(3000, |text| text.parse().expect("SHIFTWORK_SCHEDULES: a number"));
    let mut config = Config::new();
    config.stack_size = 0x20000;
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    Runner::new(RandomScheduler::new(schedules), config.clone()).run(world);
    Runner::new(PctScheduler::new(DEPTH, schedules), config).run(world);
}

/// A runtime of two or three workers, with any placement.
fn builder(discipline: Discipline) -> Builder {
    let placement = match below(10) {
        0 => Placement::RoundRobin,
        1 => Placement::LeastLoaded,
        2 => Placement::Fastest,
        3 => Placement::affinity(|about| Some(WorkerId::new(about.key? as usize % 2))),
        4 => Placement::IdleFirst,
        _ => Placement::Any,
    };
    // A small budget, so that windows end although time stands still.
    let builder = Runtime::builder().discipline(discipline).placement(placement).budget(3);
    builder.workers(2 + below(2)).on_report(|_| {})
}

/// Closed until somebody opens it.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn wait(&self) {
        let mut open = self.0.lock().unwrap();
        while !*open {
            open = self.1.wait(open).unwrap();
        }
    }

    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

/// Everything happens, and then the runtime is shut down.
fn shut_down_after_all(discipline: Discipline) {
    let runtime = builder(discipline).build().unwrap();
    let (world, handle) = (World::new(), runtime.handle());
    let joins = world.people(&handle);
    let outside = [world.outside(handle.clone()), world.outside(handle.clone())];
    outside.into_iter().for_each(|thread| thread.join().unwrap());
    // Everything comes by itself; a shutdown would help along what is stuck. But now and then it
    // meets the runtime in the middle of things.
    if below(3) > 0 {
        world.wait_until_quiet();
    }
    world.closing.store(true, Relaxed);
    runtime.shutdown();
    joins.into_iter().for_each(|mut join| drop(join.join()));
    world.settle(&handle, Stopped::AfterAll);
}

/// Workers are paused and resumed meanwhile; some are still paused at the end.
fn pause_and_resume(discipline: Discipline) {
    let runtime = builder(discipline).build().unwrap();
    let (world, handle) = (World::new(), runtime.handle());
    drop(world.people(&handle));
    let outside = world.outside(handle.clone());
    for _ in 0..POKES {
        let worker = WorkerId::new(below(runtime.worker_count()));
        match below(4) {
            0 => runtime.pause(),
            1 => runtime.resume(),
            2 => runtime.resume_worker(worker).unwrap(),
            _ => runtime.pause_worker(worker).unwrap(),
        }
        world.poke(&handle);
    }
    outside.join().unwrap();
    if below(3) > 0 {
        // One worker is enough for all, also for what was dealt to the others.
        runtime.resume_worker(WorkerId::new(below(runtime.worker_count()))).unwrap();
        world.wait_until_quiet();
    }
    world.closing.store(true, Relaxed);
    runtime.shutdown();
    world.settle(&handle, Stopped::AfterAll);
}

/// Every worker but one is in a turn that ends only after a job which comes behind it.
fn turns_wait_for_what_is_behind_them(discipline: Discipline) {
    let runtime = builder(discipline).build().unwrap();
    let gate = Arc::new(Gate::default());
    let workers = runtime.worker_count();
    let job = |number: usize| {
        let gate = gate.clone();
        move |_: &mut Turn<'_>| if number + 1 < workers { gate.wait() } else { gate.open() }
    };
    if below(4) == 0 {
        let jobs: Vec<_> = (0..workers).map(job).collect();
        runtime.submit(move |turn| jobs.into_iter().for_each(|job| turn.submit(job))).unwrap();
    } else {
        // Behind short ones, so that some worker does not come to them by searching; and with a
        // key, an affinity deals them all to the same inbox.
        (0..below(3)).for_each(|_| runtime.submit(|_| {}).unwrap());
        for number in 0..workers {
            let about = Attributes { key: Some(0), ..Attributes::default() };
            runtime.submit_with(about, job(number)).unwrap();
        }
    }
    gate.wait();
    runtime.shutdown();
}

/// A job is dealt to a worker that is paused at that moment and not resumed: another takes it.
fn pause_the_worker_that_gets_a_job(discipline: Discipline) {
    let to_the_first = Placement::affinity(|_| Some(WorkerId::new(0)));
    let runtime = builder(discipline).placement(to_the_first).build().unwrap();
    let gate = Arc::new(Gate::default());
    let theirs = gate.clone();
    let submitter = thread::spawn({
        let handle = runtime.handle();
        move || handle.submit(move |_| theirs.open()).unwrap()
    });
    runtime.pause_worker(WorkerId::new(0)).unwrap();
    gate.wait();
    submitter.join().unwrap();
    runtime.shutdown();
}

/// The runtime is shut down while others wake, submit and wait.
fn shut_down_meanwhile(discipline: Discipline) {
    let runtime = builder(discipline).build().unwrap();
    let (world, handle) = (World::new(), runtime.handle());
    let mut joins = world.people(&handle);
    let outside = [world.outside(handle.clone()), world.outside(handle.clone())];
    let waiter = joins.pop().map(|mut join| thread::spawn(move || drop(join.join()))).unwrap();
    world.poke(&handle);
    world.closing.store(true, Relaxed);
    runtime.shutdown();
    assert_eq!(handle.submit(|_| {}), Err(ScheduleError::Stopped));
    waiter.join().unwrap();
    drop(joins);
    outside.into_iter().for_each(|thread| thread.join().unwrap());
    world.settle(&handle, Stopped::Meanwhile);
}

/// Who pauses a runtime that is being shut down does not stop it from stopping.
fn pause_meanwhile(discipline: Discipline) {
    let runtime = builder(discipline).build().unwrap();
    let (world, handle) = (World::new(), runtime.handle());
    drop(world.people(&handle));
    let pauser = thread::spawn({
        let handle = handle.clone();
        move || handle.pause()
    });
    world.closing.store(true, Relaxed);
    runtime.shutdown();
    pauser.join().unwrap();
    world.settle(&handle, Stopped::AfterAll);
}

/// The runtime is dropped in the middle of it all, outside or by one of its own jobs.
fn dropped_meanwhile(discipline: Discipline) {
    let runtime = builder(discipline).build().unwrap();
    let (world, handle) = (World::new(), runtime.handle());
    let joins = world.people(&handle);
    let outside = world.outside(handle.clone());
    world.poke(&handle);
    match below(3) {
        0 => drop(runtime),
        1 => handle.submit(move |_| drop(runtime)).unwrap(),
        _ => handle.submit(move |_| _ = runtime.shutdown()).unwrap(),
    }
    for mut join in joins {
        assert_ne!(join.join(), Err(JoinError::WouldBlock));
    }
    outside.join().unwrap();
    world.settle(&handle, Stopped::AtOnce);
}

macro_rules! under {
    ($($name:ident $discipline:ident)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn each_wake_is_seen_and_each_job_runs_once() {
                check(|| shut_down_after_all($discipline));
            }

            #[test]
            fn a_turn_that_waits_for_another_does_not_keep_it_waiting() {
                check(|| turns_wait_for_what_is_behind_them($discipline));
            }

            #[test]
            fn a_job_dealt_to_a_worker_that_pauses_is_taken_by_another() {
                check(|| pause_the_worker_that_gets_a_job($discipline));
            }

            #[test]
            fn pausing_workers_loses_nothing() {
                check(|| pause_and_resume($discipline));
            }

            #[test]
            fn shutdown_among_wakes_runs_all_that_was_acknowledged_before_it() {
                check(|| shut_down_meanwhile($discipline));
            }

            #[test]
            fn pause_during_shutdown_does_not_stop_it() {
                check(|| pause_meanwhile($discipline));
            }

            #[test]
            fn dropping_the_runtime_ends_everything_and_keeps_nobody_waiting() {
                check(|| dropped_meanwhile($discipline));
            }
        }
    )*};
}

under! { fifo FIFO  stealing STEALING  priority PRIORITY  feedback FEEDBACK }
