//! What waits at a worker that does not come to it: others serve it, also if they never run dry.

mod common;

use std::time::Duration;

use common::Log;
use kernel::{Handle, Runtime, Simulation, Step, TURN_COST, Turn, WorkerId, each_seed};

const QUANTUM: Duration = Duration::from_micros(10);
const SHORT: Duration = Duration::from_nanos(500);
const SHORT_TURN: Duration = SHORT.saturating_add(TURN_COST);
/// Each worker has so many that never rest.
const N: u32 = 40;

fn two(seed: u64) -> Simulation {
    Runtime::builder().workers(2).quantum(QUANTUM).simulate(seed).unwrap()
}

/// A strand that takes a short turn and yields, for ever.
fn yields_for_ever(handle: &Handle, turns: Option<&Log<Duration>>) {
    let turns = turns.cloned();
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        if let Some(turns) = &turns {
            turns.push(turn.now());
        }
        turn.simulate(SHORT);
        Step::Yield
    };
    handle.strand().start(body).unwrap();
}

fn pause(simulation: &mut Simulation, worker: usize) {
    simulation.pause_worker(WorkerId::new(worker)).unwrap();
    simulation.run_for(SHORT_TURN);
}

fn resume(simulation: &mut Simulation, worker: usize) {
    simulation.resume_worker(WorkerId::new(worker)).unwrap();
}

/// A few have yielded on a worker that pauses; the other one has more to do than it ever will have
/// done.
#[test]
fn those_who_yielded_on_a_worker_that_pauses_go_on_among_n_others() {
    for few in [1, 5, 20] {
        each_seed(5, |seed| {
            let mut simulation = two(seed);
            let turns = Log::new();
            pause(&mut simulation, 1);
            (0..few).for_each(|_| yields_for_ever(&simulation, Some(&turns)));
            simulation.run_for(SHORT_TURN * 10 * few);
            pause(&mut simulation, 0);
            resume(&mut simulation, 1);
            (0..N).for_each(|_| yields_for_ever(&simulation, None));
            turns.take();
            simulation.run_for(SHORT_TURN * (N + few) * 20);
            let turns = turns.all().len() as u32;
            assert!(turns >= 5 * few, "{few} that yield had only {turns} turns");
        });
    }
}

/// Some were woken by a turn that then does not end; the other worker never runs dry.
#[test]
fn those_who_were_woken_by_a_turn_that_does_not_end_start_among_n_others() {
    for few in [1, 5, 20] {
        each_seed(5, |seed| {
            let mut simulation = two(seed);
            let turns = Log::new();
            let theirs = turns.clone();
            (0..N).for_each(|_| yields_for_ever(&simulation, None));
            simulation
                .submit(move |turn| {
                    for _ in 0..few {
                        let theirs = theirs.clone();
                        turn.submit(move |turn| theirs.push(turn.now()));
                    }
                    turn.simulate(Duration::from_secs(1));
                })
                .unwrap();
            simulation.run_for(SHORT_TURN * (N + few) * 50);
            assert_eq!(turns.all().len() as u32, few, "some of them starve");
        });
    }
}

/// The same for strands that it makes when its quantum is spent.
#[test]
fn those_who_were_made_late_in_a_turn_that_does_not_end_start_among_n_others() {
    for few in [1, 5, 20] {
        each_seed(5, |seed| {
            let mut simulation = two(seed);
            let turns = Log::new();
            let theirs = turns.clone();
            (0..N).for_each(|_| yields_for_ever(&simulation, None));
            let handle = simulation.handle();
            simulation
                .submit(move |turn| {
                    turn.simulate(QUANTUM * 2);
                    (0..few).for_each(|_| yields_for_ever(&handle, Some(&theirs)));
                    turn.simulate(Duration::from_secs(1));
                })
                .unwrap();
            simulation.run_for(SHORT_TURN * (N + few) * 40);
            let turns = turns.all().len() as u32;
            assert!(turns >= 5 * few, "{few} that yield had only {turns} turns");
        });
    }
}
