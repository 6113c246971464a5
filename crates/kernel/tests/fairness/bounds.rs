//! How long anybody waits among those who use up their turns, and who gets how many.

use std::time::Duration;

use kernel::{Discipline, Handle, Runtime, Step, Turn, each_seed};

use crate::{
    FULL_TURN, QUANTUM,
    common::{DISCIPLINES, Log, alone},
    hand_off, hog, longest_wait, pair, simulated, wake,
};

/// The turns of three strands that use up every turn, on one worker.
fn turns_of_three_hogs(discipline: Discipline) -> Vec<&'static str> {
    let mut simulation = alone(discipline);
    let log = Log::new();
    for name in ["a", "b", "c"] {
        let log = log.clone();
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            log.push(name);
            while !turn.expired() {
                turn.spend(100);
            }
            Step::Yield
        };
        simulation.strand().start(body).unwrap();
    }
    simulation.run_for(Duration::from_millis(50));
    assert!(log.len() >= 30);
    log.all()
}

#[test]
fn preempted_strand_goes_behind_those_who_wait_under_every_discipline() {
    for discipline in DISCIPLINES {
        let turns = turns_of_three_hogs(discipline);
        let again = turns.windows(2).find(|two| two[0] == two[1]);
        assert_eq!(again, None, "{discipline:?}: it ran twice in a row while others waited");
    }
}

#[test]
fn three_that_use_up_every_turn_get_equal_shares_under_every_discipline() {
    for discipline in DISCIPLINES {
        let turns = turns_of_three_hogs(discipline);
        for nine in turns.chunks_exact(9) {
            for name in ["a", "b", "c"] {
                let share = nine.iter().filter(|turn| **turn == name).count();
                assert!((2..=4).contains(&share), "{discipline:?}: {}", turns.concat());
            }
        }
    }
}

#[test]
fn woken_among_n_that_use_up_their_turns_starts_within_n_quanta() {
    for n in [10, 100] {
        each_seed(5, |seed| {
            let mut simulation = simulated(1, seed);
            let wait =
                longest_wait(&mut simulation, seed, |handle| (0..n).for_each(|_| hog(handle)));
            let bound = FULL_TURN * (n + n / 16 + 2);
            assert!(wait <= bound, "n = {n}: waited for {wait:?}, more than {bound:?}");
        });
    }
}

/// Here the strand may be in a batch behind 16 others while its neighbours serve newer ones.
#[test]
fn woken_among_n_per_worker_starts_within_n_quanta_and_a_batch() {
    for n in [10, 100] {
        each_seed(5, |seed| {
            let mut simulation = simulated(3, seed);
            let load = |handle: &Handle| (0..3 * n).for_each(|_| hog(handle));
            let wait = longest_wait(&mut simulation, seed, load);
            let bound = FULL_TURN * (n + n / 16 + 2 + 16);
            assert!(wait <= bound, "n = {n}: waited for {wait:?}, more than {bound:?}");
        });
    }
}

/// A third each of hogs, of strands that wake each other, and of such that hand off.
#[test]
fn woken_among_n_of_all_kinds_starts_within_n_quanta() {
    for n in [12, 120] {
        each_seed(5, |seed| {
            let mut simulation = simulated(1, seed);
            let wait = longest_wait(&mut simulation, seed, |handle| {
                for _ in 0..n / 6 {
                    hog(handle);
                    hog(handle);
                    pair(handle, QUANTUM / 7, wake).wake().unwrap();
                    pair(handle, QUANTUM / 7, hand_off).wake().unwrap();
                }
            });
            let bound = FULL_TURN * (n + n / 16 + 2);
            assert!(wait <= bound, "n = {n}: waited for {wait:?}, more than {bound:?}");
        });
    }
}

/// A strand that uses up its turn, then makes `many` that note how long they waited, for ever.
fn makes_late(handle: &Handle, many: u32, waits: &Log<Duration>) {
    let (own, waits) = (handle.clone(), waits.clone());
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        while !turn.expired() {
            turn.spend(1000);
        }
        for _ in 0..many {
            let (made, waits) = (turn.now(), waits.clone());
            let body = move |turn: &mut Turn<'_>| -> Step<()> {
                waits.push(turn.now() - made);
                Step::End(())
            };
            own.strand().start(body).unwrap();
        }
        Step::Yield
    };
    handle.strand().start(body).unwrap();
}

/// New strands stay with their maker, also when its quantum is spent. They join the line when its turn
/// is over, some at a time.
#[test]
fn made_by_a_turn_that_is_spent_starts_within_n_quanta() {
    for (workers, n, many) in [(1, 20, 1), (1, 10, 100), (3, 20, 1), (3, 10, 100)] {
        each_seed(3, |seed| {
            let mut simulation = simulated(workers, seed);
            let waits = Log::new();
            (0..workers as u32 * n).for_each(|_| hog(&simulation));
            makes_late(&simulation, many, &waits);
            simulation.run_for(FULL_TURN * (n + many) * 4);
            let waits = waits.all();
            assert!(waits.len() as u32 >= 2 * many, "only {} have started", waits.len());
            let longest = waits.into_iter().max().unwrap();
            let batch = if workers == 1 { 0 } else { 16 };
            let bound = FULL_TURN * (n + many + (n + many) / 16 + 2 + batch);
            assert!(
                longest <= bound,
                "{workers} workers, n = {n}, {many} made at once: waited for {longest:?}, not {bound:?}"
            );
        });
    }
}

/// Each uses up its turn and makes the next, which stays on the deque on top of the one that waits.
#[test]
fn strands_that_make_the_next_when_they_are_spent_do_not_starve_another() {
    fn again(handle: Handle) {
        let own = handle.clone();
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            turn.simulate(QUANTUM * 2);
            again(own.clone());
            Step::End(())
        };
        handle.strand().start(body).unwrap();
    }
    let mut simulation = simulated(1, 0);
    let (started, handle) = (Log::new(), simulation.handle());
    let theirs = started.clone();
    simulation
        .submit(move |turn| {
            turn.submit(move |turn| theirs.push(turn.now()));
            again(handle);
        })
        .unwrap();
    simulation.run_for(QUANTUM * 200);
    let at = started.all().first().copied().expect("it was not starved");
    assert!(at <= QUANTUM * 4, "it started only after {at:?}");
}

/// The strand waits in line, is claimed out of it by a hand-off, and yields: its entry is then
/// older than its turn in line, and is moved to the back once.
#[test]
fn claimed_out_of_the_line_then_yielding_starts_again_within_2n_quanta() {
    for n in [10, 100] {
        let mut simulation = simulated(1, 0);
        (0..n).for_each(|_| hog(&simulation));
        let turns = Log::new();
        let theirs = turns.clone();
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            theirs.push(turn.now());
            Step::Yield
        };
        let target = simulation.strand().idle(body).unwrap().0;
        let claimer = target.clone();
        let sender = simulation.strand().idle(move |turn| {
            turn.hand_off(&claimer);
            Step::End(())
        });
        sender.unwrap().0.wake().unwrap();
        target.wake().unwrap();
        simulation.run_for(FULL_TURN * (6 * n));
        let turns = turns.all();
        assert_eq!(simulation.metrics().total().hand_offs, 1, "it was claimed");
        assert!(turns.len() >= 3);
        for two in turns.windows(2) {
            let wait = two[1] - two[0];
            assert!(wait <= FULL_TURN * (2 * n + 2), "n = {n}: waited for {wait:?}");
        }
    }
}

#[test]
fn strict_order_of_arrival_bounds_the_wait_under_fifo_too() {
    let builder = Runtime::builder().workers(1).discipline(Discipline::Fifo).quantum(QUANTUM);
    let mut simulation = builder.simulate(0).unwrap();
    let load = |handle: &Handle| (0..50).for_each(|_| hog(handle));
    let wait = longest_wait(&mut simulation, 0, load);
    assert!(wait <= FULL_TURN * 51, "waited for {wait:?}");
}
