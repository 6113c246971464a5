//! Workers that are paused take nothing; what they had is left to the others.

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    time::Duration,
};

use common::{DISCIPLINES, Gate, Log, occupy, placements, real, settle, until};
use kernel::{Runtime, Step, Turn, WorkerId, WorkerState};

fn pause_one(runtime: &Runtime, worker: usize) {
    runtime.pause_worker(WorkerId::new(worker)).unwrap();
    until(|| runtime.workers()[worker] == WorkerState::Paused);
}

fn pause_all(runtime: &Runtime) {
    runtime.pause();
    until(|| runtime.workers().iter().all(|state| *state == WorkerState::Paused));
}

#[test]
fn paused_worker_takes_nothing_and_the_other_takes_all() {
    for discipline in DISCIPLINES {
        for placement in placements(2) {
            let runtime =
                real(Runtime::builder().workers(2).discipline(discipline).placement(placement));
            pause_one(&runtime, 0);
            for _ in 0..50 {
                let worker = runtime.compute(|turn| turn.worker().get()).unwrap().join();
                assert_eq!(worker, Ok(1));
            }
            let metrics = runtime.metrics();
            assert_eq!((metrics.workers[0].turns, metrics.workers[1].turns), (0, 50));
        }
    }
}

#[test]
fn work_submitted_while_all_are_paused_runs_after_the_resume() {
    for discipline in DISCIPLINES {
        let runtime = real(Runtime::builder().workers(2).discipline(discipline));
        pause_all(&runtime);
        let mut joins: Vec<_> = (0..100).map(|n| runtime.compute(move |_| n).unwrap()).collect();
        assert_eq!(runtime.metrics().queued, 100);
        assert_eq!(runtime.metrics().total().turns, 0);
        assert!(runtime.workers().iter().all(|state| *state == WorkerState::Paused));
        runtime.resume();
        for (number, join) in joins.iter_mut().enumerate() {
            assert_eq!(join.join(), Ok(number));
        }
    }
}

#[test]
fn resumed_worker_works_again() {
    let runtime = real(Runtime::builder().workers(2));
    for _ in 0..50 {
        pause_all(&runtime);
        let mut join = runtime.compute(|turn| turn.worker().get()).unwrap();
        runtime.resume_worker(WorkerId::new(1)).unwrap();
        assert_eq!(join.join(), Ok(1));
        assert_eq!(runtime.workers()[0], WorkerState::Paused);
        runtime.resume();
        settle(&runtime);
    }
}

#[test]
fn turn_in_progress_is_told_and_ends_first() {
    let runtime = real(Runtime::builder().workers(1).quantum(Duration::from_secs(3600)));
    let (send, receive) = mpsc::channel();
    let (_, mut join) = runtime
        .strand()
        .start(move |turn| {
            send.send(()).unwrap();
            while !turn.expired() {
                std::thread::yield_now();
            }
            Step::End("told")
        })
        .unwrap();
    receive.recv().unwrap();
    // Its quantum is not over for long, so only the pause can raise the flag.
    runtime.pause();
    assert_eq!(join.join(), Ok("told"));
    until(|| runtime.workers()[0] == WorkerState::Paused);
}

#[test]
fn worker_in_a_turn_is_paused_only_after_it() {
    let runtime = real(Runtime::builder().workers(1));
    let gate = occupy(&runtime);
    let mut queued = runtime.compute(|_| 1).unwrap();
    runtime.pause();
    assert_eq!(runtime.workers(), [WorkerState::Running("job".into())]);
    gate.open();
    until(|| runtime.workers()[0] == WorkerState::Paused);
    assert!(!queued.is_finished());
    runtime.resume();
    assert_eq!(queued.join(), Ok(1));
}

/// Both are in a turn; one submits to its own deque and is then paused. The other gets it all.
#[test]
fn deque_of_a_paused_worker_is_left_to_the_other() {
    let runtime = real(Runtime::builder().workers(2));
    let (send, receive) = mpsc::channel();
    let [gate, other] = [Gate::default(), Gate::default()];
    let (theirs, begun) = (gate.clone(), send.clone());
    let (log, filled) = (Log::new(), Log::new());
    let (notes, full) = (log.clone(), filled.clone());
    let filler = move |turn: &mut Turn<'_>| {
        begun.send(turn.worker().get()).unwrap();
        theirs.pass();
        for _ in 0..20 {
            let notes = notes.clone();
            turn.submit(move |turn| notes.push(turn.worker().get()));
        }
        let me = turn.worker();
        turn.handle().pause_worker(me).unwrap();
        full.push(());
    };
    runtime.submit(filler).unwrap();
    let paused = receive.recv().unwrap();
    let theirs = other.clone();
    let hold = move |turn: &mut Turn<'_>| {
        send.send(turn.worker().get()).unwrap();
        theirs.pass();
    };
    runtime.submit(hold).unwrap();
    assert_eq!(receive.recv(), Ok(1 - paused));
    gate.open();
    until(|| filled.len() == 1 && runtime.workers()[paused] == WorkerState::Paused);
    assert_eq!(log.len(), 0);
    other.open();
    until(|| log.len() == 20);
    assert_eq!(log.all(), [1 - paused; 20]);
}

/// The same when the other one is parked: it must be told, for it does not look by itself.
#[test]
fn deque_of_a_paused_worker_is_left_to_one_that_is_parked() {
    for _ in 0..200 {
        let runtime = real(Runtime::builder().workers(2));
        let log = Log::new();
        let theirs = log.clone();
        runtime
            .submit(move |turn| {
                let me = turn.worker();
                turn.handle().pause_worker(me).unwrap();
                for _ in 0..4 {
                    let log = theirs.clone();
                    turn.submit(move |turn| log.push(turn.worker() != me));
                }
            })
            .unwrap();
        until(|| log.len() == 4);
        assert_eq!(log.all(), [true; 4]);
    }
}

#[test]
fn pause_from_inside_a_turn_takes_effect_after_it() {
    let runtime = real(Runtime::builder().workers(1));
    let log = Log::new();
    let theirs = log.clone();
    runtime
        .submit(move |turn| {
            turn.handle().pause();
            assert!(turn.expired());
            let log = theirs.clone();
            turn.submit(move |_| log.push("after the resume"));
            theirs.push("in the turn");
        })
        .unwrap();
    until(|| runtime.workers()[0] == WorkerState::Paused);
    assert_eq!(log.all(), ["in the turn"]);
    runtime.resume();
    runtime.shutdown();
    assert_eq!(log.all(), ["in the turn", "after the resume"]);
}

#[test]
fn pause_and_resume_in_quick_succession_lose_nothing() {
    let runtime = real(Runtime::builder().workers(2));
    let log = Log::new();
    for number in 0..2000 {
        let log = log.clone();
        runtime.submit(move |_| log.push(number)).unwrap();
        if number % 2 == 0 { runtime.pause() } else { runtime.resume() }
    }
    runtime.resume();
    until(|| log.len() == 2000);
}

#[test]
fn timer_that_fires_while_all_are_paused_wakes_its_strand_for_after_the_resume() {
    let mut simulation = Runtime::builder().workers(2).simulate(0).unwrap();
    let (strand, mut join) = simulation.strand().idle(|turn| Step::End(turn.now())).unwrap();
    let _timer = simulation.wake_after(Duration::from_millis(1), &strand).unwrap();
    simulation.pause();
    simulation.run_for(Duration::from_millis(5));
    assert!(!join.is_finished());
    simulation.resume();
    simulation.run();
    assert_eq!(join.join(), Ok(Duration::from_millis(5)));
}

#[test]
fn paused_simulated_worker_takes_nothing() {
    let mut simulation = Runtime::builder().workers(3).simulate(7).unwrap();
    simulation.pause_worker(WorkerId::new(1)).unwrap();
    for _ in 0..100 {
        simulation.submit(|turn| turn.simulate(Duration::from_micros(1))).unwrap();
    }
    simulation.run();
    let turns: Vec<u64> = simulation.metrics().workers.iter().map(|one| one.turns).collect();
    assert_eq!((turns[1], turns.iter().sum::<u64>()), (0, 100));
}

/// Strands that yield wait in a line of their worker; others serve it when that worker pauses.
#[test]
fn what_yielded_on_a_worker_that_pauses_goes_on_elsewhere() {
    for strands in [1, 100] {
        let runtime = real(Runtime::builder().workers(2));
        pause_one(&runtime, 1);
        let done = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let done = done.clone();
            let body = move |_: &mut Turn<'_>| {
                if done.load(Relaxed) { Step::End(()) } else { Step::Yield }
            };
            runtime.strand().start(body).unwrap().1
        };
        let mut joins: Vec<_> = (0..strands).map(start).collect();
        let turns = |worker: usize| runtime.metrics().workers[worker].turns;
        until(|| turns(0) > 500);
        pause_one(&runtime, 0);
        runtime.resume_worker(WorkerId::new(1)).unwrap();
        until(|| turns(1) > 500);
        done.store(true, Relaxed);
        joins.iter_mut().for_each(|join| join.join().unwrap());
    }
}
