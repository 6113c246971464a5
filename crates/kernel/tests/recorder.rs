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

/// A turn says since when it had waited: the time of its wake, by which the two can be joined.
#[test]
fn every_turn_knows_the_wake_that_led_to_it() {
    let mut simulation = recording(2, 10_000);
    for i in 0..20 {
        simulation
            .strand()
            .start(move |turn| {
                turn.spend(100 * i);
                turn.submit(move |turn| turn.spend(50));
                Step::End(())
            })
            .unwrap();
        simulation.run_for(Duration::from_nanos(130));
    }
    simulation.run();
    let events = simulation.recording().events;
    let of_kind = |kind| events.iter().filter(move |event| event.kind == kind);
    assert_eq!(of_kind(EventKind::Run).count(), 40);
    for began in of_kind(EventKind::Run) {
        let since = began.since.expect("it was woken while the recorder was on");
        assert!(since <= began.at.max(Duration::from_nanos(1)));
        let woken = of_kind(EventKind::Wake).any(|wake| {
            wake.at.max(Duration::from_nanos(1)) == since && wake.strand == began.strand
        });
        assert!(woken, "no wake is the cause of {began}");
    }
}

#[test]
fn steal_says_from_whom_and_a_turn_how_many_others_waited() {
    let mut simulation = recording(2, 1000);
    let body = |turn: &mut Turn<'_>| {
        for _ in 0..6 {
            turn.submit(|turn| turn.simulate(Duration::from_micros(3)));
        }
        turn.simulate(Duration::from_micros(10));
    };
    simulation.submit(body).unwrap();
    simulation.run();
    let events = simulation.recording().events;
    for steal in events.iter().filter(|event| event.kind == EventKind::Steal) {
        assert_eq!(steal.victim.unwrap().get(), 1 - steal.worker.unwrap().get());
    }
    let queued = events.iter().filter(|event| event.kind == EventKind::Run);
    let queued: Vec<u32> = queued.map(|event| event.queued.unwrap()).collect();
    assert_eq!(queued, [0, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn names_are_in_the_recording_also_of_strands_that_are_gone() {
    let mut simulation = recording(1, 1000);
    let (stays, _) = simulation.strand().name("stays").idle(|_| Step::<()>::Pause).unwrap();
    stays.wake().unwrap();
    let gone = simulation.strand().name("gone").start(|_| Step::End(())).unwrap().0;
    let id = gone.id();
    drop(gone);
    simulation.strand().start(|_| Step::End(())).unwrap();
    simulation.run();
    let recording = simulation.recording();
    assert_eq!(recording.name_of(Some(stays.id())), "stays");
    assert_eq!(recording.name_of(Some(id)), "gone");
    assert_eq!(recording.name_of(None), "job");
    assert_eq!(recording.names.len(), 2);
    // The next recording does not remember them.
    simulation.record(false);
    simulation.record(true);
    assert!(simulation.recording().names.is_empty());
}

/// Times of one worker are in the order in which things happened there, and a turn does not seem to
/// begin before its wake, on whatever worker that was.
#[test]
fn times_on_real_threads_follow_causes() {
    let runtime = real(Runtime::builder().workers(3).record(1 << 17));
    for _ in 0..50 {
        let body = |turn: &mut Turn<'_>| {
            for _ in 0..20 {
                turn.submit(|turn| turn.submit(|_| {}));
            }
            Step::End(())
        };
        runtime.strand().start(body).unwrap();
    }
    let handle = runtime.handle();
    runtime.shutdown();
    let recording = handle.recording();
    assert_eq!(recording.dropped, 0);
    let mut open = vec![0; recording.workers];
    for event in &recording.events {
        let Some(worker) = event.worker.map(|worker| worker.get()) else { continue };
        match event.kind {
            EventKind::Run => {
                open[worker] += 1;
                assert!(event.since.unwrap() <= event.at, "{event} began before it was woken");
            }
            kind if kind.ends_a_turn() => open[worker] -= 1,
            _ => {}
        }
        assert!((0..=1).contains(&open[worker]), "{event} is out of order");
    }
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
