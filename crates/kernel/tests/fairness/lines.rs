//! Those who yield long before their quantum is over: the lines of workers.

use std::time::Duration;

use kernel::{Handle, Step, TURN_COST, Turn, WorkerId, each_seed};

use crate::{common::Log, longest_wait, simulated};

/// So long a turn of a strand takes that yields long before its quantum is over.
const SHORT_TURN: Duration = Duration::from_nanos(500).saturating_add(TURN_COST);

/// A strand that takes a short turn and yields, for ever. Its turns are noted with their time.
fn yields_for_ever(handle: &Handle, name: u32, turns: &Log<(u32, Duration)>) {
    let turns = turns.clone();
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        turns.push((name, turn.now()));
        turn.simulate(SHORT_TURN - TURN_COST);
        Step::Yield
    };
    handle.strand().start(body).unwrap();
}

/// The longest time that any of `strands` had no turn, up to `end`.
fn longest_gap(turns: &[(u32, Duration)], strands: u32, end: Duration) -> Duration {
    let begin = turns.iter().map(|(_, at)| *at).min().expect("somebody has run");
    let gap = |name| {
        let own = turns.iter().filter(|(who, _)| *who == name).map(|(_, at)| *at);
        let times: Vec<_> = std::iter::once(begin).chain(own).chain([end]).collect();
        times.windows(2).map(|two| two[1] - two[0]).max().expect("there are two")
    };
    (0..strands).map(gap).max().expect("there are some")
}

/// Every worker has a line of those who have yielded there. Nobody waits for longer than in one
/// line for all, but for a sixteenth and two batches.
#[test]
fn each_of_n_per_worker_that_yield_waits_for_n_turns() {
    for (workers, n) in [(1, 100), (2, 100), (3, 40), (5, 100)] {
        each_seed(5, |seed| {
            let mut simulation = simulated(workers, seed);
            let (turns, all) = (Log::new(), workers as u32 * n);
            (0..all).for_each(|name| yields_for_ever(&simulation, name, &turns));
            let end = simulation.run_for(SHORT_TURN * n * 10);
            let gap = longest_gap(&turns.all(), all, end);
            let bound = SHORT_TURN * (n + n / 16 + 2 + 32);
            assert!(gap <= bound, "{workers} workers, n = {n}: waited for {gap:?}, not {bound:?}");
        });
    }
}

#[test]
fn woken_among_n_per_worker_that_yield_starts_within_n_turns() {
    for (workers, n) in [(1, 100), (3, 100)] {
        each_seed(5, |seed| {
            let mut simulation = simulated(workers, seed);
            let turns = Log::new();
            let load = |handle: &Handle| {
                (0..workers as u32 * n).for_each(|name| yields_for_ever(handle, name, &turns));
            };
            let wait = longest_wait(&mut simulation, seed, load);
            let bound = SHORT_TURN * (n + n / 16 + 2 + 32);
            assert!(
                wait <= bound,
                "{workers} workers, n = {n}: waited for {wait:?}, not {bound:?}"
            );
        });
    }
}

/// All have yielded on one worker, and the others come late: they take their share of its line,
/// also if they have some of their own.
#[test]
fn back_lines_of_unequal_length_are_evened_out() {
    for own in [0, 30] {
        each_seed(5, |seed| {
            let (n, workers) = (200, 2);
            let mut simulation = simulated(workers, seed);
            let turns = Log::new();
            simulation.pause_worker(WorkerId::new(1)).unwrap();
            (0..2 * n - own).for_each(|name| yields_for_ever(&simulation, name, &turns));
            simulation.run_for(SHORT_TURN * n * 5);
            simulation.pause_worker(WorkerId::new(0)).unwrap();
            simulation.resume_worker(WorkerId::new(1)).unwrap();
            (2 * n - own..2 * n).for_each(|name| yields_for_ever(&simulation, name, &turns));
            simulation.run_for(SHORT_TURN * own);
            simulation.resume_worker(WorkerId::new(0)).unwrap();
            simulation.run_for(SHORT_TURN * n * 4);
            turns.take();
            let end = simulation.run_for(SHORT_TURN * n * 10);
            let gap = longest_gap(&turns.all(), 2 * n, end);
            let bound = SHORT_TURN * (n + n / 16 + 2 + 32);
            assert!(gap <= bound, "waited for {gap:?}, not {bound:?}");
        });
    }
}
