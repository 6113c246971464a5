//! Those who have used up a quantum, or their share, and those who have not.

use std::time::Duration;

use kernel::{Handle, Step, TURN_COST, Turn, each_seed};

use crate::{FULL_TURN, QUANTUM, common::Log, hog, longest_wait, simulated};

/// Once they have used up a quantum, those who never end wait behind whoever wants a short turn.
#[test]
fn woken_among_n_that_have_used_up_a_quantum_starts_after_the_running_one() {
    for n in [10, 100] {
        each_seed(5, |seed| {
            let mut simulation = simulated(1, seed);
            let wait = longest_wait(&mut simulation, seed, |handle| {
                (0..n).for_each(|_| hog(handle));
            });
            let first = wait;
            assert!(first <= FULL_TURN * (n + n / 16 + 2));
            let wait = longest_wait(&mut simulation, seed, |_| ());
            assert!(
                wait <= FULL_TURN * 3,
                "n = {n}: waited for {wait:?} behind those who never end"
            );
        });
    }
}

/// Strands that never use up a quantum, and never leave the line empty, leave one that does its
/// share.
#[test]
fn one_that_never_ends_gets_its_share_beside_a_flood_of_short_turns() {
    each_seed(5, |seed| {
        let mut simulation = simulated(1, seed);
        for _ in 0..100 {
            let short = |turn: &mut Turn<'_>| -> Step<()> {
                turn.simulate(QUANTUM / 2);
                Step::Yield
            };
            simulation.strand().start(short).unwrap();
        }
        let quanta = Log::new();
        let theirs = quanta.clone();
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            while !turn.expired() {
                turn.spend(1000);
            }
            theirs.push(());
            Step::Yield
        };
        simulation.strand().start(body).unwrap();
        simulation.run_for(QUANTUM * 10_000);
        let share = quanta.len();
        assert!(share >= 10_000 / 20, "it got {share} of 10,000 quanta");
    });
}

/// What a share takes of one who counts it by itself.
const SHARE: Duration = Duration::from_micros(1);

/// A strand that uses up its shares for ever, as a guest does that is preempted.
fn metered(handle: &Handle) -> Log<()> {
    let turns = Log::new();
    let theirs = turns.clone();
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        turn.simulate(SHARE);
        turn.use_up();
        theirs.push(());
        Step::Yield
    };
    handle.strand().start(body).unwrap();
    turns
}

/// As above, for those who count their shares by themselves.
#[test]
fn woken_among_n_that_have_used_up_their_shares_starts_after_the_running_one() {
    for n in [10, 100] {
        each_seed(5, |seed| {
            let mut simulation = simulated(1, seed);
            (0..n).for_each(|_| drop(metered(&simulation)));
            simulation.run_for((SHARE + TURN_COST) * (n + n / 16 + 2));
            let wait = longest_wait(&mut simulation, seed, |_| ());
            let bound = (SHARE + TURN_COST) * 3;
            assert!(wait <= bound, "n = {n}: waited for {wait:?} behind those who never end");
        });
    }
}

/// Who has used up a share has one turn in 62 beside those who always want a short one, and no more: each
/// keeps those who wait from their worker for a while.
#[test]
fn one_that_uses_up_its_shares_has_no_more_than_one_turn_in_62_beside_those_who_always_wait() {
    let mut simulation = simulated(1, 0);
    let log = Log::new();
    for _ in 0..10 {
        let theirs = log.clone();
        let short = move |_: &mut Turn<'_>| -> Step<()> {
            theirs.push("short");
            Step::Yield
        };
        simulation.strand().start(short).unwrap();
    }
    let theirs = log.clone();
    let metered = move |turn: &mut Turn<'_>| -> Step<()> {
        turn.use_up();
        theirs.push("metered");
        Step::Yield
    };
    simulation.strand().start(metered).unwrap();
    simulation.run_for(TURN_COST * 10_000);
    let turns = log.all();
    let between = turns.split(|turn| *turn == "metered").map(<[_]>::len);
    // Twice it comes before the worker has begun to count for it, and the last may still go on.
    let between: Vec<usize> = between.skip(2).collect();
    let (_, whole) = between.split_last().unwrap();
    assert!(whole.len() > 100, "{} turns", whole.len());
    assert!(whole.iter().all(|others| *others >= 61), "{whole:?}");
}

/// It comes into the window of one before it, from the same batch, and has had a share of its own all
/// the same.
#[test]
fn one_that_uses_up_its_share_in_the_window_of_another_goes_behind_those_who_come_later() {
    let mut simulation = simulated(1, 0);
    let log = Log::new();
    let (theirs, mut turns) = (log.clone(), 0);
    simulation.strand().start(|_| Step::End(())).unwrap();
    let metered = move |turn: &mut Turn<'_>| {
        theirs.push("metered");
        turns += 1;
        if turns == 2 {
            return Step::End(());
        }
        turn.use_up();
        Step::Yield
    };
    simulation.strand().start(metered).unwrap();
    let theirs = log.clone();
    simulation
        .submit(move |turn| {
            // What it submits goes to the line.
            turn.use_up();
            turn.submit(move |_| theirs.push("later"));
        })
        .unwrap();
    simulation.run();
    assert_eq!(log.all(), ["metered", "later", "metered"]);
}

/// Each of the others is new, uses up its share at once, and makes the next ones: somebody who has used
/// up no share always waits.
#[test]
fn one_that_uses_up_its_shares_goes_on_beside_a_flood_of_new_ones_that_do() {
    fn flood(turn: &mut Turn<'_>) -> Step<()> {
        let _ = turn.handle().strand().start(flood);
        turn.simulate(SHARE);
        turn.use_up();
        Step::End(())
    }
    each_seed(5, |seed| {
        let mut simulation = simulated(1, seed);
        let turns = metered(&simulation);
        (0..10).for_each(|_| drop(simulation.strand().start(flood).unwrap()));
        simulation.run_for((SHARE + TURN_COST) * 6_200);
        assert!(turns.len() >= 90, "it got {} of 6,200 turns", turns.len());
    });
}
