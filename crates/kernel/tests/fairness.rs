//! How long a strand that can run waits for its turn, whatever the others do.
//!
//! The bound of the documentation, measured: with `n` strands per worker that can run, one that
//! is woken starts within about `n` quanta, and within `2n` if it was handed to meanwhile.

mod common;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use common::{DISCIPLINES, Dice, Log, alone};
use kernel::{
    Discipline, Handle, Runtime, Simulation, Step, Strand, TURN_COST, Turn, WorkerId, each_seed,
};

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
