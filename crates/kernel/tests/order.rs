//! In which order strands and jobs get their turns, under each discipline.

mod common;

use std::{collections::BTreeSet, time::Duration};

use common::{Dice, Log, alone, occupy, real};
use kernel::{Attributes, Discipline, Runtime, Step, TURN_COST, Turn, each_seed};

const PRIORITY: Discipline = Discipline::Priority { ageing: 0.0 };

fn ranked(priority: f64) -> Attributes {
    Attributes { priority, ..Attributes::default() }
}

/// A job that writes down its number.
fn note<T: Clone + Send + 'static>(log: &Log<T>, value: T) -> impl FnOnce(&mut Turn<'_>) + use<T> {
    let log = log.clone();
    move |_| log.push(value)
}

/// The order in which three jobs run that one turn has submitted, with nothing else to do.
fn order_of_what_a_turn_submits(discipline: Discipline) -> Vec<u32> {
    let mut simulation = alone(discipline);
    let log = Log::new();
    let theirs = log.clone();
    simulation
        .submit(move |turn| {
            for number in 0..3 {
                turn.submit(note(&theirs, number));
            }
        })
        .unwrap();
    simulation.run();
    log.all()
}

// ---- Fifo.

#[test]
fn fifo_runs_what_a_turn_submits_in_order_of_submission() {
    assert_eq!(order_of_what_a_turn_submits(Discipline::Fifo), [0, 1, 2]);
}

#[test]
fn fifo_runs_what_waited_on_a_real_worker_in_order_of_arrival() {
    let runtime = real(Runtime::builder().workers(1).discipline(Discipline::Fifo));
    let gate = occupy(&runtime);
    let log = Log::new();
    for number in 0..1000 {
        runtime.submit(note(&log, number)).unwrap();
    }
    gate.open();
    runtime.shutdown();
    assert_eq!(log.all(), (0..1000).collect::<Vec<_>>());
}

#[test]
fn fifo_starts_turns_in_order_of_arrival_on_many_workers_under_every_seed() {
    each_seed(50, |seed| {
        let mut simulation =
            Runtime::builder().workers(4).discipline(Discipline::Fifo).simulate(seed).unwrap();
        let mut dice = Dice::new(seed);
        let log = Log::new();
        for number in 0..100 {
            let (log, work) = (log.clone(), dice.below(5_000));
            simulation
                .submit(move |turn| {
                    log.push(number);
                    turn.spend(work);
                })
                .unwrap();
        }
        simulation.run();
        assert_eq!(log.all(), (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn fifo_gives_each_of_two_real_workers_what_comes_in_order_of_arrival() {
    let runtime = real(Runtime::builder().workers(2).discipline(Discipline::Fifo));
    let gates = [occupy(&runtime), occupy(&runtime)];
    let log = Log::new();
    for number in 0..1000 {
        let log = log.clone();
        runtime.submit(move |turn| log.push((turn.worker().get(), number))).unwrap();
    }
    gates.iter().for_each(common::Gate::open);
    runtime.shutdown();
    assert_eq!(log.len(), 1000);
    for worker in 0..2 {
        let all = log.all();
        let own: Vec<u32> = all.iter().filter(|(at, _)| *at == worker).map(|(_, n)| *n).collect();
        assert!(own.is_sorted(), "worker {worker} ran {own:?}");
    }
}

#[test]
fn fifo_sends_a_yielding_strand_behind_those_who_wait() {
    let mut simulation = alone(Discipline::Fifo);
    let log = Log::new();
    for name in ["a", "b", "c"] {
        let log = log.clone();
        let mut turns = 0;
        let body = move |_: &mut Turn<'_>| {
            log.push(name);
            turns += 1;
            if turns < 3 { Step::Yield } else { Step::End(()) }
        };
        simulation.strand().start(body).unwrap();
    }
    simulation.run();
    assert_eq!(log.all(), ["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
}

// ---- Stealing.

#[test]
fn stealing_runs_what_a_turn_submits_newest_first() {
    assert_eq!(order_of_what_a_turn_submits(Discipline::Stealing), [2, 1, 0]);
}

/// Fewer turns than there are between two looks at the own deque's far end; more than a batch.
#[test]
fn stealing_runs_what_came_from_outside_oldest_first() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    for number in 0..25 {
        simulation.submit(note(&log, number)).unwrap();
    }
    simulation.run();
    assert_eq!(log.all(), (0..25).collect::<Vec<_>>());
}

/// On its way a worker looks now and then at the far end of its deque, where the last of a batch
/// lies: that one may come early, and the others then come one later.
#[test]
fn stealing_runs_what_came_from_outside_within_a_batch_of_its_place() {
    let runtime = real(Runtime::builder().workers(1));
    let gate = occupy(&runtime);
    let log = Log::new();
    for number in 0..5000usize {
        runtime.submit(note(&log, number)).unwrap();
    }
    gate.open();
    runtime.shutdown();
    let log = log.all();
    assert_eq!(log.len(), 5000);
    for (place, number) in log.into_iter().enumerate() {
        assert!(place.abs_diff(number) <= 16, "number {number} came at place {place}");
    }
}

#[test]
fn stealing_serves_its_own_deque_before_what_came_from_outside() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let theirs = log.clone();
    simulation
        .submit(move |turn| {
            turn.submit(note(&theirs, "own, older"));
            turn.submit(note(&theirs, "own, newer"));
        })
        .unwrap();
    // The first job and 16 more go as one batch; this one is behind it.
    for _ in 0..16 {
        simulation.submit(|_| {}).unwrap();
    }
    simulation.submit(note(&log, "from outside")).unwrap();
    simulation.run();
    assert_eq!(log.all(), ["own, newer", "own, older", "from outside"]);
}

#[test]
fn stealing_sends_a_yielding_strand_to_the_back_of_the_global_queue() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let theirs = log.clone();
    let mut turns = 0;
    let body = move |turn: &mut Turn<'_>| {
        turns += 1;
        theirs.push("strand");
        if turns == 2 {
            return Step::End(());
        }
        turn.submit(note(&theirs, "what it submitted"));
        Step::Yield
    };
    simulation.strand().start(body).unwrap();
    for _ in 0..20 {
        simulation.submit(note(&log, "what waited")).unwrap();
    }
    simulation.run();
    let log = log.all();
    assert_eq!(log.len(), 23);
    assert_eq!((log[0], log[1], log[22]), ("strand", "what it submitted", "strand"));
}

/// Those who have yielded wait apart from those who come from outside; all the same there is one
/// order of arrival, within a batch.
#[test]
fn stealing_serves_those_who_yielded_and_those_from_outside_in_order_of_arrival() {
    const YIELDING: usize = 50;
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    for number in 0..YIELDING {
        let log = log.clone();
        let body = move |_: &mut Turn<'_>| -> Step<()> {
            log.push(Some(number));
            Step::Yield
        };
        simulation.strand().start(body).unwrap();
    }
    for round in 1..20 {
        simulation.run_for(Duration::from_nanos(1_300 * round));
        log.take();
        let theirs = log.clone();
        simulation.submit(move |_| theirs.push(None)).unwrap();
        simulation.run_for(TURN_COST * 2 * YIELDING as u32);
        let turns = log.take();
        let before = turns.iter().position(Option::is_none).expect("it has run");
        assert!(before < YIELDING + 16, "{before} turns were before it");
        let waited: BTreeSet<_> = turns[..before].iter().flatten().collect();
        assert!(waited.len() + 16 > YIELDING, "it went before some who waited: {waited:?}");
    }
}

#[test]
fn stealing_takes_half_of_a_deque_from_its_far_end() {
    each_seed(20, |seed| {
        let mut simulation = Runtime::builder().workers(2).simulate(seed).unwrap();
        let log = Log::new();
        let theirs = log.clone();
        simulation
            .submit(move |turn| {
                let owner = turn.worker();
                for number in 0..8 {
                    let log = theirs.clone();
                    turn.submit(move |turn| log.push((turn.worker() == owner, number)));
                }
                turn.simulate(Duration::from_millis(1));
            })
            .unwrap();
        simulation.run_for(Duration::from_nanos(1));
        // The owner is in its turn. The thief has taken a half, and begun with one of it.
        assert_eq!(log.len(), 1);
        assert_eq!(simulation.metrics().total().steals, 1);
        simulation.run_for(TURN_COST * 3);
        let mut stolen = log.all();
        stolen.sort();
        assert_eq!(stolen, [(false, 0), (false, 1), (false, 2), (false, 3)]);
        simulation.run();
        assert_eq!(log.len(), 8);
    });
}

// ---- Priority.

#[test]
fn priority_runs_the_highest_first_and_ties_in_order_of_arrival() {
    for seed in 0..20 {
        let mut simulation = alone(PRIORITY);
        let mut dice = Dice::new(seed);
        let log = Log::new();
        let mut expected = Vec::new();
        for number in 0..200 {
            let priority = dice.below(10) as f64 - 5.0;
            expected.push((priority, number));
            simulation.submit_with(ranked(priority), note(&log, (priority, number))).unwrap();
        }
        // Stable, so ties stay in order of arrival.
        expected.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        simulation.run();
        assert_eq!(log.all(), expected);
    }
}

#[test]
fn priority_takes_minus_zero_for_zero() {
    let mut simulation = alone(PRIORITY);
    let log = Log::new();
    for (number, priority) in [-0.0, 0.0, -0.0, 0.0].into_iter().enumerate() {
        simulation.submit_with(ranked(priority), note(&log, number)).unwrap();
    }
    simulation.run();
    assert_eq!(log.all(), [0, 1, 2, 3]);
}

#[test]
fn priority_holds_for_strands_and_for_what_turns_submit() {
    let mut simulation = alone(PRIORITY);
    let log = Log::new();
    let theirs = log.clone();
    simulation
        .submit_with(ranked(9.0), move |turn| {
            for priority in [1.0, 3.0, 2.0] {
                let log = theirs.clone();
                let body = move |_: &mut Turn<'_>| {
                    log.push(priority);
                    Step::End(())
                };
                turn.handle().strand().priority(priority).start(body).unwrap();
            }
        })
        .unwrap();
    simulation.run();
    assert_eq!(log.all(), [3.0, 2.0, 1.0]);
}

/// A strand of high priority that never stops, and how many turns it gets before the low one.
fn turns_before_the_low_one(ageing: f64) -> Option<usize> {
    let mut simulation = alone(Discipline::Priority { ageing });
    let log = Log::new();
    let theirs = log.clone();
    let high = move |_: &mut Turn<'_>| -> Step<()> {
        theirs.push("high");
        Step::Yield
    };
    simulation.strand().priority(10.0).start(high).unwrap();
    simulation.submit_with(ranked(0.0), note(&log, "low")).unwrap();
    simulation.run_for(Duration::from_millis(1));
    log.all().iter().position(|name| *name == "low")
}

#[test]
fn priority_that_ages_starves_nobody() {
    // Ten points at half a point per arrival are twenty arrivals.
    let turns = turns_before_the_low_one(0.5).expect("the low one ran");
    assert!((18..=23).contains(&turns), "it ran after {turns} turns");
}

#[test]
fn priority_that_does_not_age_is_strict() {
    assert_eq!(turns_before_the_low_one(0.0), None);
}

// ---- Feedback.

const SLICE: Duration = Duration::from_micros(1);
const FEEDBACK: Discipline = Discipline::Feedback { levels: 2, slice: SLICE };

#[test]
fn feedback_lets_short_turns_overtake_one_that_uses_up_its_slice() {
    let mut simulation = alone(FEEDBACK);
    let log = Log::new();
    for (name, work, turns) in [("long", SLICE, 3), ("short", SLICE / 10, 5)] {
        let log = log.clone();
        let mut left = turns;
        let body = move |turn: &mut Turn<'_>| {
            log.push(name);
            turn.simulate(work);
            left -= 1;
            if left > 0 { Step::Yield } else { Step::End(()) }
        };
        simulation.strand().start(body).unwrap();
    }
    simulation.run();
    assert_eq!(log.all(), ["long", "short", "short", "short", "short", "short", "long", "long"]);
}

/// Both sink with their first turn. In their second, one pauses early and so rises, the other
/// uses up its slice. Then the one that stayed below is woken first, and runs last.
#[test]
fn feedback_lets_one_that_pauses_early_rise_again() {
    let mut simulation = alone(FEEDBACK);
    let log = Log::new();
    let make = |name, second: Duration| {
        let log = log.clone();
        let mut turns = 0;
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            turns += 1;
            turn.simulate(if turns == 1 { SLICE } else { second });
            log.push(name);
            if turns == 1 { Step::Yield } else { Step::Pause }
        };
        simulation.strand().start(body).unwrap().0
    };
    let early = make("early", Duration::ZERO);
    let late = make("late", SLICE);
    simulation.run();
    log.take();
    late.wake().unwrap();
    early.wake().unwrap();
    simulation.run();
    assert_eq!(log.all(), ["early", "late"]);
}

#[test]
fn feedback_boosts_one_that_would_starve_at_the_bottom() {
    let mut simulation = alone(FEEDBACK);
    let log = Log::new();
    for (name, work) in [("low", SLICE), ("high", Duration::ZERO)] {
        let log = log.clone();
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            log.push(name);
            turn.simulate(work);
            Step::Yield
        };
        simulation.strand().start(body).unwrap();
    }
    simulation.run_for(Duration::from_millis(1));
    let log = log.all();
    let again = log.iter().skip(1).position(|name| *name == "low").expect("it was boosted");
    assert!((900..1100).contains(&again), "it waited for {again} turns of the other");
}

#[test]
fn feedback_starts_a_job_at_the_level_that_its_attributes_say() {
    let mut simulation = alone(FEEDBACK);
    let log = Log::new();
    for level in [1, 0, 1, 0] {
        let about = Attributes { level, ..Attributes::default() };
        simulation.submit_with(about, note(&log, level)).unwrap();
    }
    simulation.run();
    assert_eq!(log.all(), [0, 0, 1, 1]);
}

#[test]
fn feedback_starts_a_strand_at_the_level_that_its_attributes_say_also_after_a_boost() {
    let mut simulation = alone(FEEDBACK);
    for jobs in [0, 3000] {
        for _ in 0..jobs {
            simulation.submit(|_| {}).unwrap();
        }
        simulation.run();
        let log = Log::new();
        for level in [1, 0] {
            let (log, about) = (log.clone(), Attributes { level, ..Attributes::default() });
            let body = move |_: &mut Turn<'_>| {
                log.push(level);
                Step::End(())
            };
            simulation.strand().attributes(about).start(body).unwrap();
        }
        simulation.run();
        assert_eq!(log.all(), [0, 1], "after {jobs} jobs");
    }
}

/// The first of a batch uses up its quantum and leaves something on top of the others: they still
/// come before what came later.
#[test]
fn stealing_keeps_the_rest_of_a_batch_before_what_came_later() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let first = |turn: &mut Turn<'_>| {
        turn.submit(|_| ());
        turn.simulate(Duration::from_millis(5));
    };
    simulation.submit(first).unwrap();
    for i in 1..100 {
        let log = log.clone();
        simulation.submit(move |_| log.push(i)).unwrap();
    }
    simulation.run();
    for (place, number) in log.all().into_iter().enumerate() {
        let from_its_place = (place as i64 + 1 - number).abs();
        assert!(from_its_place <= 16, "{number} came as number {}", place + 1);
    }
}
