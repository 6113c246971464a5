//! When a turn is told that it should end, and what is said about one that does not.

mod common;

use std::{
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::Duration,
};

use common::{DISCIPLINES, Dice, Gate, Log, alone, placements, real};
use kernel::{Builder, Discipline, Report, Runtime, Step, Strand, Turn, WorkerId, each_seed};

/// So long that no monitor raises a flag in a test.
const ENDLESS: Duration = Duration::from_secs(3600);

/// A strand that works until it is told to end, `turns` times.
fn hog(runtime: &Runtime, turns: u32) -> kernel::JoinHandle<u32> {
    let mut taken = 0;
    let body = move |turn: &mut Turn<'_>| {
        while !turn.expired() {
            thread::yield_now();
        }
        taken += 1;
        if taken < turns { Step::Yield } else { Step::End(taken) }
    };
    runtime.strand().start(body).unwrap().1
}

#[test]
fn turn_is_told_to_end_while_others_wait_under_every_discipline_and_placement() {
    for discipline in DISCIPLINES {
        for placement in placements(1) {
            let builder = Runtime::builder().workers(1).quantum(Duration::from_micros(100));
            let runtime = real(builder.discipline(discipline).placement(placement.clone()));
            let mut hogs = [hog(&runtime, 2), hog(&runtime, 2)];
            let mut behind = runtime.compute(|_| "ran").unwrap();
            assert_eq!(behind.join(), Ok("ran"), "{discipline:?} {placement:?}");
            // While one is left nobody waits behind it, so from time to time somebody does.
            while !hogs.iter().all(|hog| hog.is_finished()) {
                runtime.compute(|_| ()).unwrap().join().unwrap();
            }
            assert_eq!(hogs.each_mut().map(|hog| hog.join()), [Ok(2), Ok(2)]);
        }
    }
}

/// Whatever the worker finds the moment it starts, it is watched like all the rest.
#[test]
fn very_first_turn_of_a_worker_is_told_to_end_too() {
    for _ in 0..50 {
        let runtime =
            Runtime::builder().workers(1).quantum(Duration::from_micros(100)).build().unwrap();
        let mut hog = hog(&runtime, 1);
        assert_eq!(runtime.compute(|_| 1).unwrap().join(), Ok(1));
        assert_eq!(hog.join(), Ok(1));
    }
}

#[test]
fn first_turn_after_a_resume_is_told_to_end_too() {
    let runtime = real(Runtime::builder().workers(1).quantum(Duration::from_micros(100)));
    for _ in 0..20 {
        runtime.pause();
        common::until(|| runtime.workers()[0] == kernel::WorkerState::Paused);
        let mut hog = hog(&runtime, 1);
        let mut behind = runtime.compute(|_| 1).unwrap();
        runtime.resume();
        assert_eq!((hog.join(), behind.join()), (Ok(1), Ok(1)));
    }
}

fn budgeted(budget: u64) -> Builder {
    Runtime::builder().workers(1).budget(budget).quantum(ENDLESS)
}

#[test]
fn turn_that_has_spent_its_budget_is_told_to_end() {
    let runtime = real(budgeted(100));
    let mut told = runtime.compute(|turn| {
        let mut told = Vec::new();
        for operations in [99, 0, 1, 50] {
            turn.spend(operations);
            told.push(turn.expired());
        }
        told
    });
    assert_eq!(told.as_mut().unwrap().join(), Ok(vec![false, false, true, true]));
}

#[test]
fn budget_is_new_after_a_yield_and_inherited_by_a_hand_off() {
    let mut simulation = budgeted(100).simulate(0).unwrap();
    let log = Log::new();
    let theirs = log.clone();
    let target = simulation.strand().idle(move |turn| -> Step<()> {
        turn.spend(50);
        theirs.push(("target", turn.expired()));
        Step::Pause
    });
    let (to, theirs, mut turns) = (target.unwrap().0, log.clone(), 0);
    let sender = move |turn: &mut Turn<'_>| {
        turns += 1;
        turn.spend(60);
        theirs.push(("sender", turn.expired()));
        match turns {
            1 => return Step::Yield,
            2 => turn.hand_off(&to),
            _ => {}
        }
        Step::End(())
    };
    simulation.strand().start(sender).unwrap();
    simulation.run();
    assert_eq!(log.all(), [("sender", false), ("sender", false), ("target", true)]);
}

#[test]
fn turn_that_has_had_its_share_is_told_to_end_if_others_wait() {
    let mut simulation = budgeted(u64::MAX).simulate(0).unwrap();
    for others in [false, true] {
        let mut told = simulation
            .compute(move |turn| {
                if others {
                    turn.submit(|_| ());
                }
                turn.use_up();
                turn.expired()
            })
            .unwrap();
        simulation.run();
        assert_eq!(told.join(), Ok(others));
    }
}

/// Whichever queue the worker looks at first at that turn.
#[test]
fn one_that_has_had_its_share_goes_on_after_one_that_pauses() {
    each_seed(5, |seed| {
        let mut simulation = budgeted(u64::MAX).simulate(seed).unwrap();
        let (other, _) = simulation.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap();
        let (mut dice, mut left) = (Dice::new(seed), 1_000);
        let metered = move |turn: &mut Turn<'_>| {
            if dice.below(3) > 0 {
                other.wake().unwrap();
            }
            turn.use_up();
            left -= 1;
            if left > 0 { Step::Yield } else { Step::End(()) }
        };
        let (_, mut metered) = simulation.strand().start(metered).unwrap();
        simulation.run();
        assert!(metered.try_join().is_some(), "it waits, and nobody runs it");
    });
}

#[test]
fn quantum_ends_by_what_turns_spend_in_a_simulation() {
    let builder = Runtime::builder().workers(1).quantum(Duration::from_micros(10));
    let mut simulation = builder.simulate(0).unwrap();
    let mut operations = simulation
        .compute(|turn| {
            let mut operations = 0;
            while !turn.expired() {
                turn.spend(1000);
                operations += 1000;
            }
            (operations, turn.now())
        })
        .unwrap();
    simulation.run();
    assert_eq!(operations.join(), Ok((10_000, Duration::from_micros(10))));
}

#[test]
fn strands_popped_from_the_near_end_share_one_quantum() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let cell = Arc::new(OnceLock::<Strand>::new());
    let (other, theirs) = (cell.clone(), log.clone());
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        turn.simulate(Duration::from_micros(600));
        theirs.push(turn.expired());
        Step::Pause
    };
    cell.set(simulation.strand().idle(body).unwrap().0).unwrap();
    simulation
        .submit(move |turn| {
            other.get().unwrap().wake().unwrap();
            turn.simulate(Duration::from_micros(600));
            assert!(!turn.expired());
        })
        .unwrap();
    simulation.run();
    assert_eq!(log.all(), [true]);
}

/// The reporter opens the gate that the turn waits at: the turn ends because it was reported.
#[test]
fn turn_that_ignores_its_quantum_grossly_is_reported_once_with_its_name() {
    let (gate, reports) = (Gate::default(), Log::new());
    let (opener, theirs) = (gate.clone(), reports.clone());
    let runtime = Runtime::builder()
        .workers(1)
        .quantum(Duration::from_micros(100))
        .on_report(move |report| {
            theirs.push(report.clone());
            opener.open();
        })
        .build()
        .unwrap();
    let (_, mut stubborn) = runtime
        .strand()
        .name("stubborn")
        .start(move |_| {
            gate.pass();
            Step::End(())
        })
        .unwrap();
    let mut behind = runtime.compute(|_| "ran at last").unwrap();
    assert_eq!((stubborn.join(), behind.join()), (Ok(()), Ok("ran at last")));
    let reports = reports.all();
    assert_eq!(reports.len(), 1);
    let Report::Overrun { name, worker, age } = &reports[0] else { panic!("{:?}", reports[0]) };
    assert_eq!((name.as_str(), *worker), ("stubborn", WorkerId::new(0)));
    assert!(*age >= Duration::from_millis(10), "a hundred quanta");
    let text = reports[0].to_string();
    assert!(text.starts_with("stubborn has been in its turn on worker 0 for "), "{text}");
    assert_eq!(runtime.metrics().total().overruns, 1);
}

#[test]
fn turn_is_told_to_end_by_a_stop() {
    let runtime = real(Runtime::builder().workers(1).quantum(ENDLESS));
    let (send, receive) = mpsc::channel();
    let (told, wait) = mpsc::channel();
    runtime
        .submit(move |turn| {
            send.send(()).unwrap();
            while !turn.expired() {
                thread::yield_now();
            }
            told.send(()).unwrap();
        })
        .unwrap();
    receive.recv().unwrap();
    drop(runtime);
    wait.recv().unwrap();
}

#[test]
fn flag_of_an_ended_turn_is_not_seen_by_the_next() {
    let runtime = real(budgeted(10));
    for _ in 0..100 {
        let mut spent = runtime.compute(|turn| {
            let before = turn.expired();
            turn.spend(10);
            (before, turn.expired())
        });
        assert_eq!(spent.as_mut().unwrap().join(), Ok((false, true)));
    }
}
