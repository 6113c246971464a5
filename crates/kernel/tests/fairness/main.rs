//! How long a strand that can run waits for its turn, whatever the others do.
//!
//! The bound of the documentation, measured: with `n` strands per worker that can run, one that
//! is woken starts within about `n` quanta, and within `2n` if it was handed to meanwhile.

mod bounds;
#[path = "../common/mod.rs"]
mod common;
mod lines;
mod pairs;
mod spent;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use common::{Dice, Log};
use kernel::{Handle, Runtime, Simulation, Step, Strand, TURN_COST, Turn};

const QUANTUM: Duration = Duration::from_micros(10);
/// What a turn that ends when it is told to takes at most.
const FULL_TURN: Duration = QUANTUM.saturating_add(TURN_COST);

fn simulated(workers: usize, seed: u64) -> Simulation {
    Runtime::builder().workers(workers).quantum(QUANTUM).simulate(seed).unwrap()
}

/// Makes two strands that call each other for ever; each turn works for `work`. Wake one to start.
fn pair(handle: &Handle, work: Duration, call: fn(&mut Turn<'_>, &Strand)) -> Strand {
    let cells = [Arc::new(OnceLock::new()), Arc::new(OnceLock::<Strand>::new())];
    let strands = [0, 1].map(|at| {
        let other = cells[1 - at].clone();
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            call(turn, other.get().expect("both are made before one is woken"));
            turn.simulate(work);
            Step::Pause
        };
        handle.strand().idle(body).unwrap().0
    });
    let [first, second] = strands;
    cells[0].set(first.clone()).unwrap();
    cells[1].set(second).unwrap();
    first
}

fn wake(_: &mut Turn<'_>, other: &Strand) {
    other.wake().unwrap();
}

fn hand_off(turn: &mut Turn<'_>, other: &Strand) {
    turn.hand_off(other);
}

/// A strand that works until its turn should end, for ever.
fn hog(handle: &Handle) {
    let body = |turn: &mut Turn<'_>| -> Step<()> {
        while !turn.expired() {
            turn.spend(1000);
        }
        Step::Yield
    };
    handle.strand().start(body).unwrap();
}

/// Wakes a probe again and again at random moments beside `load`; returns its longest wait.
fn longest_wait(simulation: &mut Simulation, seed: u64, load: impl FnOnce(&Handle)) -> Duration {
    load(simulation);
    let waits = Log::new();
    let (theirs, woken) = (waits.clone(), Log::new());
    let stamps = woken.clone();
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        if let Some(since) = stamps.take().first() {
            theirs.push(turn.now() - *since);
        }
        Step::Pause
    };
    let probe = simulation.strand().idle(body).unwrap().0;
    let mut dice = Dice::new(seed);
    for round in 1..=20 {
        simulation.run_for(Duration::from_nanos(dice.below(50_000)));
        woken.push(simulation.now());
        probe.wake().unwrap();
        let mut patience = 5_000;
        while waits.len() < round {
            simulation.run_for(QUANTUM / 4);
            patience -= 1;
            assert!(patience > 0, "the probe starves");
        }
    }
    waits.all().into_iter().max().unwrap()
}
