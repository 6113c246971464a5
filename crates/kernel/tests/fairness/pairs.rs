//! Two that call each other for ever, or one that makes others for ever, starve nobody.

use std::time::Duration;

use kernel::{Runtime, Simulation, Step, Strand, TURN_COST, Turn};

use crate::{QUANTUM, common::Log, hand_off, pair, simulated, wake};

/// Runs the pair and a third that waits in the global queue; returns when the third started.
fn third_in_the_global_queue(work: Duration, call: fn(&mut Turn<'_>, &Strand)) -> Duration {
    let mut simulation = simulated(1, 0);
    pair(&simulation, work, call).wake().unwrap();
    simulation.run_for(QUANTUM * 3);
    let (woken, started) = (simulation.now(), Log::new());
    let theirs = started.clone();
    simulation.submit(move |turn| theirs.push(turn.now())).unwrap();
    simulation.run_for(QUANTUM * 200);
    started.all().first().map_or(Duration::MAX, |at| *at - woken)
}

/// As above, with the third at the bottom of the worker's own deque, below the pair.
fn third_at_the_bottom_of_the_deque(work: Duration, call: fn(&mut Turn<'_>, &Strand)) -> Duration {
    let mut simulation = simulated(1, 0);
    let first = pair(&simulation, work, call);
    let started = Log::new();
    let theirs = started.clone();
    simulation
        .submit(move |turn| {
            turn.submit(move |turn| theirs.push(turn.now()));
            first.wake().unwrap();
        })
        .unwrap();
    simulation.run_for(QUANTUM * 200);
    started.all().first().copied().unwrap_or(Duration::MAX)
}

#[test]
fn two_that_wake_each_other_for_ever_do_not_starve_one_in_the_global_queue() {
    assert!(third_in_the_global_queue(QUANTUM / 3, wake) <= QUANTUM * 4);
}

#[test]
fn two_that_wake_each_other_for_ever_do_not_starve_one_below_them_in_the_deque() {
    assert!(third_at_the_bottom_of_the_deque(QUANTUM / 3, wake) <= QUANTUM * 4);
}

#[test]
fn two_that_hand_off_to_each_other_for_ever_do_not_starve_one_in_the_global_queue() {
    assert!(third_in_the_global_queue(QUANTUM / 3, hand_off) <= QUANTUM * 4);
}

#[test]
fn two_that_hand_off_to_each_other_for_ever_do_not_starve_one_below_them_in_the_deque() {
    assert!(third_at_the_bottom_of_the_deque(QUANTUM / 3, hand_off) <= QUANTUM * 4);
}

/// Turns that spend nothing still take time, and so use up the quantum they share.
#[test]
fn two_that_call_each_other_in_the_shortest_turns_starve_nobody() {
    for call in [wake, hand_off] {
        assert!(third_in_the_global_queue(Duration::ZERO, call) <= QUANTUM * 10);
        assert!(third_at_the_bottom_of_the_deque(Duration::ZERO, call) <= QUANTUM * 10);
    }
}

/// Two that wake each other, and so many jobs below them on the deque of the only worker, in a quantum
/// that does not end for a long time.
fn some_below_a_pair(below: usize) -> (Simulation, Log<Duration>) {
    let long = Runtime::builder().workers(1).quantum(Duration::from_secs(1)).simulate(0);
    let simulation = long.unwrap();
    let first = pair(&simulation, Duration::ZERO, wake);
    let started = Log::new();
    let theirs = started.clone();
    simulation
        .submit(move |turn| {
            for _ in 0..below {
                let theirs = theirs.clone();
                turn.submit(move |turn| theirs.push(turn.now()));
            }
            first.wake().unwrap();
        })
        .unwrap();
    (simulation, started)
}

/// A quantum may be long, and turns short: who lies below comes within about a thousand of them.
#[test]
fn two_that_wake_each_other_starve_nobody_below_them_within_a_quantum() {
    let (mut simulation, started) = some_below_a_pair(3);
    simulation.run_for(TURN_COST * 2_200);
    assert_eq!(started.all().len(), 3, "they wait for the end of the quantum");
}

/// Whoever comes from the line begins a quantum, so that none ends.
#[test]
fn who_lies_below_others_comes_each_time_after_one_of_those_who_yield_for_ever() {
    const BELOW: usize = 10;
    let (mut simulation, started) = some_below_a_pair(BELOW);
    let yielding = simulation.strand().start(|_: &mut Turn<'_>| -> Step<()> { Step::Yield });
    drop(yielding.unwrap());
    simulation.run_for(TURN_COST * 62 * (BELOW as u32 + 2));
    assert_eq!(started.all().len(), BELOW, "they wait behind others for longer than those do");
}

#[test]
fn one_that_spawns_for_ever_does_not_starve_another() {
    fn again(turn: &mut Turn<'_>) {
        turn.simulate(QUANTUM / 3);
        turn.submit(again);
    }
    let mut simulation = simulated(1, 0);
    let started = Log::new();
    let theirs = started.clone();
    simulation
        .submit(move |turn| {
            turn.submit(move |turn| theirs.push(turn.now()));
            again(turn);
        })
        .unwrap();
    simulation.run_for(QUANTUM * 200);
    let at = started.all().first().copied().expect("it was not starved");
    assert!(at <= QUANTUM * 4, "it started only after {at:?}");
}
