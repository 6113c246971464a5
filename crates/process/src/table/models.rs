//! Processes that are looked up while they are made, and while they end.
//!
//! They are real ones, on a simulated runtime: its turns are taken by one thread of the model, and
//! another one looks.

use super::*;
use crate::{context::Context, processes::Processes, system};
use kernel::{Runtime, Simulation};
use loom::{cell::UnsafeCell, sync::atomic::AtomicBool, thread};
use std::sync::Arc;

/// A runtime takes more steps than a lone protocol.
fn check(world: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.check(world);
}

/// A runtime with a table: loom knows nothing of the lock that it is made under.
fn simulation() -> Simulation {
    let simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    system::of(&simulation);
    simulation
}

/// The pid of the first process.
fn first() -> Pid {
    Pid::new(0, 1)
}

/// Uses a process: the last who holds it finds that over, or loom complains.
fn touch(process: &StrandWith<Core>) {
    assert_eq!(process.pid(), first());
    let _ = process.exit_reason();
}

/// Does something on a thread of its own while a process is spawned, or ends.
fn beside(act: fn(&Handle), ends: bool) {
    for first in [false, true] {
        check(move || beside_once(act, ends, first));
    }
}

/// By itself loom would not always let it go first.
fn beside_once(act: fn(&Handle), ends: bool, first: bool) {
    let mut simulation = simulation();
    let on = simulation.handle();
    let start = || drop(simulation.spawn_process(|_: Context<u8>| async {}).unwrap());
    if ends {
        start();
    }
    let other = thread::spawn(move || act(&on));
    if first {
        thread::yield_now();
    }
    if !ends {
        start();
        other.join().unwrap();
        simulation.run();
    } else {
        simulation.run();
        other.join().unwrap();
    }
}

fn look(on: &Handle) {
    system::of(on).table.with(first(), touch);
}

fn look_at_all(on: &Handle) {
    system::of(on).table.each(touch);
}

/// Rule 1.
#[test]
fn found_while_it_is_made_is_whole() {
    beside(look, false);
}

#[test]
fn found_among_all_while_it_is_made_is_whole() {
    beside(look_at_all, false);
}

/// Rule 2.
#[test]
fn found_while_it_exits_is_freed_once_and_after_that() {
    beside(look, true);
}

/// Rule 2, for one who keeps it longer.
#[test]
fn found_and_kept_while_it_exits_is_freed_once_and_after_that() {
    beside(
        |on| {
            if let Some(process) = system::of(on).table.find(first()) {
                touch(&process);
            }
        },
        true,
    );
}

/// One that ends alone gives up its pid before anything else, and closes and marks nothing if nobody
/// can see it. Whoever has found it before sees its end all the same.
#[test]
fn found_while_it_exits_alone_sees_it_exit() {
    for first in [false, true] {
        check(move || {
            let mut simulation = simulation();
            let on = simulation.handle();
            drop(simulation.spawn_process(|_: Context<u8>| async {}).unwrap());
            let finder = thread::spawn(move || system::of(&on).table.find(Pid::new(0, 1)));
            if first {
                thread::yield_now();
            }
            simulation.run();
            if let Some(process) = finder.join().unwrap() {
                assert!(process.exit_reason().is_some(), "it has exited, and nobody says so");
                assert!(process.signals.is_closed(), "it would never hear another signal");
            }
        });
    }
}

/// What was done under a pin that was given back is over for the one who leaves, also if there is
/// another pin. A runtime fences after an exit, so here the process is only taken out.
fn left_after_a_look(beside_another: bool) {
    check(move || {
        let simulation = simulation();
        let on = simulation.handle();
        let table = &system::of(&on).table;
        drop(simulation.spawn_process(|_: Context<u8>| async {}).unwrap());
        let seen = Arc::new((UnsafeCell::new(0), AtomicBool::new(false)));
        let finder = thread::spawn({
            let (on, seen) = (on.clone(), seen.clone());
            move || {
                system::of(&on).table.with(first(), |_| seen.0.with(|_| ()));
                seen.1.store(true, Relaxed);
            }
        });
        let other = beside_another.then(|| Pin::new(table.word(0).unwrap()).unwrap());
        thread::yield_now();
        let over = seen.1.load(Relaxed);
        let process = table.leave(&on, first());
        if over {
            seen.0.with_mut(|_| ());
        }
        finder.join().unwrap();
        drop(other);
        table.enter(first(), process.as_raw());
    });
}

#[test]
fn leaving_acquires_what_was_done_under_a_pin() {
    left_after_a_look(false);
}

#[test]
fn leaving_acquires_what_was_done_under_a_pin_beside_another() {
    left_after_a_look(true);
}

/// Rule 3, where both make the first chunk.
#[test]
fn claimed_by_two_at_once_are_two_pids() {
    check(|| {
        let simulation = simulation();
        let on = simulation.handle();
        let other = thread::spawn(move || system::of(&on).table.claim(&on));
        let on = simulation.handle();
        let table = &system::of(&on).table;
        let own = table.claim(&on);
        let other = other.join().unwrap();
        assert_ne!(own, other);
        table.unclaim(&on, own);
        table.unclaim(&on, other);
    });
}
