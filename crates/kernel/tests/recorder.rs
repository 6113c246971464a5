//! The recorder: what happened, in order, and nothing when it is off.

mod common;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use common::{alone, real, settle};
use kernel::{Discipline, Event, EventKind, Runtime, Simulation, Step, Strand, Turn};

fn recording(workers: usize, events: usize) -> Simulation {
    Runtime::builder().workers(workers).record(events).simulate(0).unwrap()
}

fn kinds(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.kind.to_string()).collect()
}

#[test]
fn recorder_that_is_off_records_nothing() {
    let mut simulation = alone(Discipline::Stealing);
    for _ in 0..100 {
        simulation.submit(|_| {}).unwrap();
    }
    simulation.run();
    assert!(simulation.recording().events.is_empty());
    assert_eq!(simulation.log(), "");
}

#[test]
fn recorder_is_switched_on_and_off_at_any_time() {
    let mut simulation = alone(Discipline::Stealing);
    let mut events_of_one_job = |on: bool| {
        simulation.record(on);
        let before = simulation.recording().events.len();
        simulation.submit(|_| {}).unwrap();
        simulation.run();
        simulation.recording().events.len() - before
    };
    assert_eq!([false, true, false, true].map(&mut events_of_one_job), [0, 3, 0, 3]);
}

#[test]
fn life_of_a_strand_is_recorded_in_order() {
    let mut simulation = recording(1, 1000);
    let mut turns = 0;
    let body = move |turn: &mut Turn<'_>| {
        turns += 1;
        turn.spend(10);
        match turns {
            1 => Step::Pause,
            2 => Step::Yield,
            _ => Step::End(()),
        }
    };
    let strand = simulation.strand().idle(body).unwrap().0;
    for _ in 0..2 {
        strand.wake().unwrap();
        simulation.run();
    }
    let events = simulation.recording().events;
    assert_eq!(
        kinds(&events),
        ["spawn", "wake", "run", "pause", "wake", "run", "yield", "wake", "run", "end"]
    );
    assert!(events.iter().all(|event| event.strand == Some(strand.id())));
    assert!(events.is_sorted_by_key(|event| event.at));
}

#[test]
fn life_of_a_job_is_recorded_without_a_strand() {
    let mut simulation = recording(1, 1000);
    simulation.submit(|turn| turn.spend(10)).unwrap();
    simulation.run();
    let events = simulation.recording().events;
    assert_eq!(kinds(&events), ["wake", "run", "end"]);
    assert!(events.iter().all(|event| event.strand.is_none()));
    assert_eq!(
        events.iter().map(|event| event.worker.is_some()).collect::<Vec<_>>(),
        [false, true, true]
    );
}

/// Cause comes before effect, also at the same moment of virtual time.
#[test]
fn events_of_the_same_moment_are_in_the_order_they_happened() {
    let mut simulation = recording(3, 1000);
    simulation.strand().start(|_| Step::End(())).unwrap();
    simulation.run();
    assert_eq!(kinds(&simulation.recording().events), ["spawn", "wake", "run", "end"]);
}

#[test]
fn hand_off_and_steal_are_recorded() {
    let mut simulation = recording(2, 1000);
    let cell = Arc::new(OnceLock::<Strand>::new());
    let target = simulation.strand().idle(|_| Step::End(())).unwrap().0;
    cell.set(target.clone()).unwrap();
    let body = move |turn: &mut Turn<'_>| {
        turn.hand_off(cell.get().unwrap());
        for _ in 0..4 {
            turn.submit(|_| {});
        }
        turn.simulate(Duration::from_micros(10));
        Step::End(())
    };
    simulation.strand().start(body).unwrap();
    simulation.run();
    let events = simulation.recording().events;
    let hand_offs: Vec<_> =
        events.iter().filter(|event| event.kind == EventKind::HandOff).collect();
    assert_eq!(hand_offs.len(), 1);
    assert_eq!(hand_offs[0].strand, Some(target.id()));
    let steals = events.iter().filter(|event| event.kind == EventKind::Steal).count() as u64;
    assert!(steals > 0);
    assert_eq!(steals, simulation.metrics().total().steals);
}

#[test]
fn full_ring_drops_its_oldest_events_and_says_so() {
    let mut simulation = recording(1, 10);
    for _ in 0..100 {
        simulation.submit(|turn| turn.spend(1)).unwrap();
        simulation.run();
    }
    let recording = simulation.recording();
    // One ring for the worker, one for all other threads.
    assert_eq!(recording.events.len(), 20);
    assert_eq!(recording.dropped, 300 - 20);
    assert!(recording.to_string().starts_with("(280 earlier events no longer fitted)\n"));
    let last = recording.events.last().unwrap();
    assert_eq!((last.kind, last.at), (EventKind::End, simulation.now() - kernel::TURN_COST));
}

#[test]
fn log_is_one_line_per_event() {
    let mut simulation = recording(1, 10);
    simulation.submit(|turn| turn.spend(7)).unwrap();
    simulation.run();
    let log = simulation.log();
    let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines,
        [
            vec!["0", "ns", "outside", "wake"],
            vec!["0", "ns", "worker", "0", "run"],
            vec!["7", "ns", "worker", "0", "end"],
        ]
    );
}

#[test]
fn parking_is_recorded_on_real_threads() {
    let runtime = real(Runtime::builder().workers(1));
    runtime.record(true);
    runtime.compute(|_| ()).unwrap().join().unwrap();
    settle(&runtime);
    let events = runtime.recording().events;
    let own: Vec<Event> = events.iter().filter(|event| event.worker.is_some()).copied().collect();
    assert_eq!(kinds(&own), ["unpark", "run", "end", "park"]);
    assert!(own.is_sorted_by_key(|event| event.at));
}

#[test]
fn every_turn_on_real_threads_is_recorded_with_its_end() {
    let runtime = real(Runtime::builder().workers(2).record(10_000));
    for _ in 0..1000 {
        runtime.submit(|_| {}).unwrap();
    }
    let handle = runtime.handle();
    runtime.shutdown();
    let events = handle.recording().events;
    let count = |kind| events.iter().filter(|event| event.kind == kind).count();
    assert_eq!([EventKind::Wake, EventKind::Run, EventKind::End].map(count), [1000, 1000, 1000]);
}
