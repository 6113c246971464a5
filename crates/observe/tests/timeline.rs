//! Timelines: what is written is a trace that viewers can show, whatever was recorded.

mod common;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use common::{check, count, text};
use kernel::{
    Discipline, EventKind, Handle, Placement, Runtime, Simulation, Step, Strand, Turn, each_seed,
};

/// Some of everything: strands that wake each other and hand off, yields, jobs that make jobs,
/// timers, and wakes from outside.
fn mixture(handle: &Handle) {
    let strands: Arc<OnceLock<Vec<Strand>>> = Arc::default();
    let mut made = Vec::new();
    for i in 0..6 {
        let (others, mut turns) = (strands.clone(), 0);
        let body = move |turn: &mut Turn<'_>| {
            turns += 1;
            turn.spend(100 * (i + 1));
            if let Some(others) = others.get() {
                let next = &others[(i as usize + 1) % others.len()];
                match turns % 3 {
                    0 => turn.hand_off(next),
                    _ => drop(next.wake()),
                }
            }
            turn.submit(move |turn| {
                turn.spend(50 * i);
                turn.submit(|turn| turn.spend(10));
            });
            match turns {
                1..=8 if turns % 4 == 0 => Step::Yield,
                1..=8 => Step::Pause,
                _ => Step::End(()),
            }
        };
        // Half of them have a name.
        let builder = handle.strand();
        let builder = if i % 2 == 0 { builder.name(format!("till {i}")) } else { builder };
        made.push(builder.idle(body).unwrap().0);
    }
    for (i, strand) in made.iter().enumerate() {
        strand.wake().unwrap();
        let _ = handle.wake_after(Duration::from_micros(i as u64 + 1), strand).unwrap();
    }
    // The strands keep each other: they are let go with the list.
    assert!(strands.set(made).is_ok());
}

fn simulated(seed: u64, events: usize) -> Simulation {
    let builder = Runtime::builder().workers(1 + (seed % 4) as usize).record(events);
    let builder = match seed % 5 {
        0 => builder.discipline(Discipline::Fifo),
        1 => builder.discipline(Discipline::Priority { ageing: 0.0 }),
        2 => builder.placement(Placement::RoundRobin),
        _ => builder,
    };
    builder.simulate(seed).unwrap()
}

#[test]
fn traces_of_simulated_runs_are_well_formed() {
    each_seed(200, |seed| {
        let mut simulation = simulated(seed, 100_000);
        mixture(&simulation);
        simulation.run();
        let recording = simulation.recording();
        let trace = check(&[("simulation", &recording)]);
        // All was recorded, so every wake has led to a turn.
        let queued = |kind| kind == EventKind::Wake;
        assert!(trace.arrows["wake"] as u64 >= count(&recording, queued) / 2, "seed {seed}");
        assert!(trace.counters > 0);
    });
}

#[test]
fn traces_of_runs_that_did_not_fit_or_end_are_well_formed() {
    each_seed(200, |seed| {
        let mut simulation = simulated(seed, 1 + (seed % 40) as usize);
        mixture(&simulation);
        simulation.run_for(Duration::from_nanos(777 + 100 * seed));
        let recording = simulation.recording();
        let trace = check(&[("simulation", &recording)]);
        let said = &trace.whole["otherData"]["simulation: events that no longer fitted"];
        assert_eq!(said.as_str(), Some(&*recording.dropped.to_string()));
        let told = trace.whole["traceEvents"].as_array().unwrap().iter().any(|event| {
            event["name"].as_str().is_some_and(|name| name.contains("no longer fitted"))
        });
        assert_eq!(told, recording.dropped > 0, "seed {seed}");
    });
}

#[test]
fn same_seed_gives_the_same_bytes() {
    let run = |seed| {
        let mut simulation = simulated(seed, 1000);
        mixture(&simulation);
        simulation.run();
        text(&[("simulation", &simulation.recording())])
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(11));
}
