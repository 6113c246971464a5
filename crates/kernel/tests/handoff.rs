//! What becomes of a hand-off: whom it runs next, and when it is only a wake.

mod common;

use std::{
    sync::{Arc, OnceLock, mpsc},
    time::Duration,
};

use common::{DISCIPLINES, Gate, Log, alone, real, until};
use kernel::{Discipline, EventKind, Handle, Runtime, Step, Strand, Turn, WorkerId, WorkerState};

/// An idle strand that writes its name down and pauses.
fn named(handle: &Handle, log: &Log<&'static str>, name: &'static str) -> Strand {
    let log = log.clone();
    let body = move |_: &mut Turn<'_>| -> Step<()> {
        log.push(name);
        Step::Pause
    };
    handle.strand().name(name).idle(body).unwrap().0
}

/// A strand that hands off to `target` once and ends; it is queued.
fn sender(handle: &Handle, log: &Log<&'static str>, target: &Strand) {
    let (log, target) = (log.clone(), target.clone());
    let body = move |turn: &mut Turn<'_>| {
        log.push("sender");
        turn.hand_off(&target);
        Step::End(())
    };
    handle.strand().start(body).unwrap();
}

#[test]
fn idle_target_runs_next_before_all_who_wait() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let target = named(&simulation, &log, "target");
    sender(&simulation, &log, &target);
    named(&simulation, &log, "waiting").wake().unwrap();
    simulation.run();
    assert_eq!(log.all(), ["sender", "target", "waiting"]);
    assert_eq!(simulation.metrics().total().hand_offs, 1);
}

#[test]
fn queued_target_runs_next_and_its_old_entry_gives_no_second_turn() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let target = named(&simulation, &log, "target");
    sender(&simulation, &log, &target);
    named(&simulation, &log, "waiting").wake().unwrap();
    target.wake().unwrap();
    assert_eq!(simulation.metrics().queued, 3);
    simulation.run();
    assert_eq!(log.all(), ["sender", "target", "waiting"]);
    assert_eq!(simulation.metrics().queued, 0);
}

/// The old entry's place would let it overtake those who came before its wish for a new turn.
#[test]
fn queued_target_that_was_claimed_and_yields_goes_behind_those_who_wait() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let theirs = log.clone();
    let mut turns = 0;
    let body = move |_: &mut Turn<'_>| {
        theirs.push("target");
        turns += 1;
        if turns == 1 { Step::Yield } else { Step::End(()) }
    };
    let target = simulation.strand().idle(body).unwrap().0;
    sender(&simulation, &log, &target);
    target.wake().unwrap();
    let waiting: Vec<Strand> = (0..3).map(|_| named(&simulation, &log, "waiting")).collect();
    waiting.iter().for_each(|strand| strand.wake().unwrap());
    simulation.run();
    assert_eq!(log.all(), ["sender", "target", "waiting", "waiting", "waiting", "target"]);
}

#[test]
fn target_that_runs_elsewhere_gets_one_more_turn() {
    let runtime = real(Runtime::builder().workers(2));
    let (send, receive) = mpsc::channel();
    let gate = Gate::default();
    let (theirs, mut first) = (gate.clone(), true);
    let body = move |_: &mut Turn<'_>| -> Step<()> {
        send.send(()).unwrap();
        if std::mem::take(&mut first) {
            theirs.pass();
        }
        Step::Pause
    };
    let target = runtime.strand().idle(body).unwrap().0;
    target.wake().unwrap();
    receive.recv().unwrap();
    let to = target.clone();
    let (_, mut sent) = runtime
        .strand()
        .start(move |turn| {
            turn.hand_off(&to);
            Step::End(())
        })
        .unwrap();
    sent.join().unwrap();
    // The turn of the target that is in progress has been told, whenever the sender's ends.
    until(|| runtime.workers().contains(&WorkerState::Idle));
    assert!(receive.try_recv().is_err(), "never two turns at once");
    gate.open();
    receive.recv().unwrap();
    runtime.shutdown();
    assert!(receive.try_recv().is_err(), "one more turn, not two");
}

#[test]
fn target_that_has_ended_changes_nothing() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let (target, mut ended) = simulation.strand().start(|_| Step::End(1)).unwrap();
    simulation.run();
    assert_eq!(ended.join(), Ok(1));
    sender(&simulation, &log, &target);
    simulation.run();
    assert_eq!(log.all(), ["sender"]);
    assert_eq!(simulation.metrics().total().hand_offs, 0);
}

#[test]
fn hand_off_to_itself_is_a_wake() {
    let mut simulation = alone(Discipline::Stealing);
    let mut turns = 0;
    let (_, mut join) = simulation
        .strand()
        .start(move |turn| {
            turns += 1;
            turn.hand_off(&turn.strand().unwrap());
            if turns < 5 { Step::Pause } else { Step::End(turns) }
        })
        .unwrap();
    simulation.run();
    assert_eq!(join.join(), Ok(5));
}

#[test]
fn second_hand_off_in_a_turn_makes_the_first_a_wake() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let [first, second] = ["first", "second"].map(|name| named(&simulation, &log, name));
    let body = move |turn: &mut Turn<'_>| {
        turn.hand_off(&first);
        turn.hand_off(&second);
        Step::End(())
    };
    simulation.strand().start(body).unwrap();
    simulation.run();
    assert_eq!(log.all(), ["second", "first"]);
    assert_eq!(simulation.metrics().total().hand_offs, 1);
}

#[test]
fn hand_off_by_a_job_is_a_wake() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let target = named(&simulation, &log, "target");
    simulation.submit(move |turn| turn.hand_off(&target)).unwrap();
    simulation.run();
    assert_eq!(log.all(), ["target"]);
    assert_eq!(simulation.metrics().total().hand_offs, 0);
}

/// Any claim would jump the order that these disciplines promise.
#[test]
fn hand_off_jumps_no_order_under_any_discipline_but_stealing() {
    for discipline in DISCIPLINES.into_iter().filter(|other| *other != Discipline::Stealing) {
        let mut simulation = alone(discipline);
        let log = Log::new();
        let target = named(&simulation, &log, "target");
        sender(&simulation, &log, &target);
        named(&simulation, &log, "waiting").wake().unwrap();
        simulation.run();
        assert_eq!(log.all(), ["sender", "waiting", "target"], "{discipline:?}");
        assert_eq!(simulation.metrics().total().hand_offs, 0);
    }
}

#[test]
fn hand_off_after_the_quantum_is_spent_is_a_wake_to_the_back() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let target = named(&simulation, &log, "target");
    let to = target.clone();
    let body = move |turn: &mut Turn<'_>| {
        turn.simulate(Duration::from_millis(1));
        assert!(turn.expired());
        turn.hand_off(&to);
        Step::End(())
    };
    simulation.strand().start(body).unwrap();
    named(&simulation, &log, "waiting").wake().unwrap();
    simulation.run();
    assert_eq!(log.all(), ["waiting", "target"]);
    assert_eq!(simulation.metrics().total().hand_offs, 0);
}

/// What is left of the quantum goes with the hand-off: three turns of 400 µs spend one of 1 ms.
#[test]
fn target_inherits_what_is_left_of_the_quantum() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let cell = Arc::new(OnceLock::<Strand>::new());
    let (to, theirs) = (cell.clone(), log.clone());
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        turn.simulate(Duration::from_micros(400));
        theirs.push(if turn.expired() { "expired" } else { "in time" });
        turn.hand_off(to.get().unwrap());
        Step::Pause
    };
    let first = simulation.strand().idle(body).unwrap().0;
    let (to, theirs) = (first.clone(), log.clone());
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        turn.simulate(Duration::from_micros(400));
        theirs.push(if turn.expired() { "expired" } else { "in time" });
        turn.hand_off(&to);
        Step::Pause
    };
    cell.set(simulation.strand().idle(body).unwrap().0).unwrap();
    first.wake().unwrap();
    simulation.run_for(Duration::from_micros(2450));
    let log = log.all();
    assert_eq!(log[..6], ["in time", "in time", "expired", "in time", "in time", "expired"]);
}

/// Two strands hand off to each other while a third wakes both all the time.
#[test]
fn two_that_hand_off_for_long_never_have_more_than_one_entry_each() {
    let mut simulation = alone(Discipline::Stealing);
    let cell = Arc::new(OnceLock::<Strand>::new());
    let to = cell.clone();
    let first = simulation.strand().idle(move |turn| -> Step<()> {
        turn.spend(300);
        turn.hand_off(to.get().unwrap());
        Step::Pause
    });
    let first = first.unwrap().0;
    let to = first.clone();
    let second = simulation.strand().idle(move |turn| -> Step<()> {
        turn.spend(300);
        turn.hand_off(&to);
        Step::Yield
    });
    let second = second.unwrap().0;
    cell.set(second.clone()).unwrap();
    for _ in 0..5000 {
        first.wake().unwrap();
        second.wake().unwrap();
        assert!(simulation.metrics().queued <= 2, "a strand has more than one entry");
        simulation.run_for(Duration::from_nanos(777));
    }
    assert!(simulation.metrics().total().hand_offs > 1000);
}

/// The sender pauses its own worker: whom it hands off to is not lost with it.
#[test]
fn hand_off_by_a_worker_that_is_asked_to_pause_is_left_to_another() {
    let runtime = real(Runtime::builder().workers(2).record(1000));
    for _ in 0..100 {
        let (target, mut ran) = runtime.strand().idle(|turn| Step::End(turn.worker())).unwrap();
        let (_, mut sent) = runtime
            .strand()
            .start(move |turn| {
                turn.handle().pause_worker(turn.worker()).unwrap();
                turn.hand_off(&target);
                Step::End(turn.worker())
            })
            .unwrap();
        let paused = sent.join().unwrap();
        assert_eq!(ran.join(), Ok(WorkerId::new(1 - paused.get())));
        runtime.resume();
        common::settle(&runtime);
    }
    let events = runtime.recording().events;
    assert!(events.iter().all(|event| event.kind != EventKind::HandOff));
}

#[test]
fn hand_off_by_the_only_worker_as_it_pauses_waits_for_the_resume() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let target = named(&simulation, &log, "target");
    let to = target.clone();
    let body = move |turn: &mut Turn<'_>| {
        turn.hand_off(&to);
        turn.handle().pause();
        Step::End(())
    };
    simulation.strand().start(body).unwrap();
    simulation.run();
    assert!(log.all().is_empty());
    assert_eq!(simulation.metrics().queued, 1);
    simulation.resume();
    simulation.run();
    assert_eq!(log.all(), ["target"]);
}
