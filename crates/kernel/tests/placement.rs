//! Which worker gets a strand or a job, under each placement.

mod common;

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use common::{Gate, Log, real, settle, until};
use kernel::{
    Attributes, Discipline, Handle, Placement, Runtime, Simulation, Step, Turn, WorkerId,
    WorkerState, each_seed,
};

const WORK: Duration = Duration::from_micros(1);

fn simulated(workers: usize, placement: Placement, seed: u64) -> Simulation {
    Runtime::builder()
        .workers(workers)
        .discipline(Discipline::Fifo)
        .placement(placement)
        .simulate(seed)
        .unwrap()
}

/// Every key to the worker of that number; without a key the choice is left open.
fn by_key() -> Placement {
    Placement::affinity(|about| about.key.map(|key| WorkerId::new(key as usize)))
}

fn keyed(key: u64) -> Attributes {
    Attributes { key: Some(key), ..Attributes::default() }
}

/// Submits a job of some length that writes down who ran it.
fn submit(handle: &Handle, log: &Log<usize>, work: Duration) {
    submit_with(handle, log, Attributes::default(), work);
}

fn submit_with(handle: &Handle, log: &Log<usize>, about: Attributes, work: Duration) {
    let log = log.clone();
    let job = move |turn: &mut Turn<'_>| {
        log.push(turn.worker().get());
        turn.simulate(work);
    };
    handle.submit_with(about, job).unwrap();
}

#[test]
fn round_robin_deals_to_each_worker_in_turn() {
    each_seed(20, |seed| {
        let mut simulation = simulated(3, Placement::RoundRobin, seed);
        let log = Log::new();
        for number in 0..9 {
            let log = log.clone();
            let job = move |turn: &mut Turn<'_>| {
                log.push((number, turn.worker().get()));
                turn.simulate(WORK);
            };
            simulation.submit(job).unwrap();
        }
        simulation.run();
        let mut log = log.all();
        log.sort();
        assert_eq!(log, (0..9).map(|number| (number, number % 3)).collect::<Vec<_>>());
    });
}

#[test]
fn any_leaves_it_to_whoever_comes_first() {
    let ran_by = Mutex::new(vec![false; 3]);
    each_seed(30, |seed| {
        let mut simulation = simulated(3, Placement::Any, seed);
        let log = Log::new();
        submit(&simulation, &log, WORK);
        simulation.run();
        ran_by.lock().unwrap()[log.all()[0]] = true;
    });
    if std::env::var_os("SHIFTWORK_SEED").is_none() {
        assert_eq!(*ran_by.lock().unwrap(), [true; 3]);
    }
}

#[test]
fn least_loaded_deals_past_a_worker_that_is_in_a_turn() {
    let mut simulation = simulated(2, Placement::LeastLoaded, 0);
    let log = Log::new();
    submit(&simulation, &log, WORK * 100);
    simulation.run_for(WORK);
    let busy = log.take()[0];
    for _ in 0..10 {
        submit(&simulation, &log, WORK);
        simulation.run_for(WORK * 2);
    }
    assert_eq!(log.all(), [1 - busy; 10]);
}

#[test]
fn least_loaded_counts_what_waits_and_deals_it_evenly() {
    let mut simulation = simulated(4, Placement::LeastLoaded, 0);
    let log = Log::new();
    for _ in 0..40 {
        submit(&simulation, &log, WORK);
    }
    simulation.run();
    let log = log.all();
    for worker in 0..4 {
        assert_eq!(log.iter().filter(|at| **at == worker).count(), 10);
    }
}

/// Worker 0 has done all of ten jobs, worker 1 is in its first. The eleventh goes to worker 0.
#[test]
fn least_loaded_means_now_and_not_over_a_lifetime() {
    let mut simulation = simulated(2, Placement::LeastLoaded, 0);
    let log = Log::new();
    let only = |simulation: &mut Simulation, worker: usize| {
        simulation.pause_worker(WorkerId::new(1 - worker)).unwrap();
        simulation.resume_worker(WorkerId::new(worker)).unwrap();
        simulation.run_for(WORK);
    };
    only(&mut simulation, 0);
    for _ in 0..10 {
        submit(&simulation, &log, WORK);
    }
    simulation.run();
    only(&mut simulation, 1);
    submit(&simulation, &log, WORK * 100);
    simulation.run_for(WORK);
    simulation.resume();
    simulation.run_for(WORK);
    assert_eq!(log.take(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    submit(&simulation, &log, WORK);
    simulation.run();
    assert_eq!(log.all(), [0]);
    assert_eq!(simulation.metrics().total().steals, 0, "it was dealt there, not fetched");
}

/// A worker's speed is simulated: a turn takes as long as the worker says.
fn submit_at_speed(simulation: &Simulation, log: &Log<usize>, speed: &Arc<Mutex<[u32; 2]>>) {
    let (log, speed) = (log.clone(), speed.clone());
    let job = move |turn: &mut Turn<'_>| {
        let worker = turn.worker().get();
        log.push(worker);
        turn.simulate(WORK * speed.lock().unwrap()[worker]);
    };
    simulation.submit(job).unwrap();
}

#[test]
fn fastest_deals_to_the_idle_worker_with_the_shortest_turns_of_late() {
    let mut simulation = simulated(2, Placement::Fastest, 0);
    let log = Log::new();
    let speed = Arc::new(Mutex::new([10, 1]));
    let jobs = |simulation: &mut Simulation, count: u32| {
        for _ in 0..count {
            submit_at_speed(simulation, &log, &speed);
            simulation.run();
        }
        log.take()
    };
    // Of a worker that has done nothing yet, nothing is known: both get a try.
    let mut first = jobs(&mut simulation, 2);
    first.sort();
    assert_eq!(first, [0, 1]);
    assert_eq!(jobs(&mut simulation, 20), [1; 20]);
    // Worker 1 becomes slow. An average over its life would still praise it; a moving one does
    // not for long.
    *speed.lock().unwrap() = [10, 100];
    assert_eq!(jobs(&mut simulation, 10)[2..], [0; 8]);
}

#[test]
fn affinity_deals_where_the_function_says() {
    each_seed(20, |seed| {
        let mut simulation = simulated(3, by_key(), seed);
        let log = Log::new();
        for key in [2, 0, 1, 1, 2, 0] {
            submit_with(&simulation, &log, keyed(key), WORK);
            simulation.run();
        }
        assert_eq!(log.all(), [2, 0, 1, 1, 2, 0]);
    });
}

#[test]
fn affinity_that_names_nobody_falls_back_to_the_least_loaded() {
    let mut simulation = simulated(2, by_key(), 0);
    let log = Log::new();
    submit_with(&simulation, &log, keyed(0), WORK * 100);
    simulation.run_for(WORK);
    for _ in 0..10 {
        submit(&simulation, &log, WORK);
        simulation.run_for(WORK * 2);
    }
    assert_eq!(log.all(), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn affinity_to_a_paused_worker_falls_back_until_it_is_resumed() {
    let mut simulation = simulated(2, by_key(), 0);
    let log = Log::new();
    simulation.pause_worker(WorkerId::new(0)).unwrap();
    simulation.run_for(WORK);
    submit_with(&simulation, &log, keyed(0), WORK);
    simulation.run();
    simulation.resume_worker(WorkerId::new(0)).unwrap();
    simulation.run_for(WORK);
    submit_with(&simulation, &log, keyed(0), WORK);
    simulation.run();
    assert_eq!(log.all(), [1, 0]);
}

/// Under `Stealing` what a turn wakes stays near, unless the affinity names another worker.
#[test]
fn affinity_holds_for_what_a_turn_on_another_worker_starts() {
    each_seed(20, |seed| {
        let mut simulation =
            Runtime::builder().workers(2).placement(by_key()).simulate(seed).unwrap();
        let log = Log::new();
        let theirs = log.clone();
        let starter = move |turn: &mut Turn<'_>| {
            theirs.push(turn.worker().get());
            submit_with(&turn.handle(), &theirs, keyed(1), WORK);
        };
        simulation.submit_with(keyed(0), starter).unwrap();
        simulation.run();
        assert_eq!(log.all(), [0, 1]);
    });
}

#[test]
fn idle_first_deals_to_an_idle_worker_then_to_each_in_turn() {
    let mut simulation = simulated(3, Placement::IdleFirst, 0);
    let log = Log::new();
    for _ in 0..3 {
        submit(&simulation, &log, WORK * 10);
        simulation.run_for(WORK);
    }
    let mut first = log.take();
    first.sort();
    assert_eq!(first, [0, 1, 2]);
    // All are in a turn now: three more are dealt one to each.
    for _ in 0..3 {
        submit(&simulation, &log, WORK * 10);
    }
    simulation.run();
    let mut then = log.take();
    then.sort();
    assert_eq!(then, [0, 1, 2]);
}

#[test]
fn inbox_of_a_worker_in_a_long_turn_is_served_by_another() {
    each_seed(20, |seed| {
        let mut simulation = simulated(2, by_key(), seed);
        let log = Log::new();
        for work in [WORK * 1000, WORK, WORK] {
            submit_with(&simulation, &log, keyed(0), work);
        }
        simulation.run_for(WORK * 10);
        assert_eq!(log.all(), [0, 1, 1], "nothing waits behind the long turn");
    });
}

#[test]
fn inbox_of_a_worker_in_a_long_turn_is_served_by_another_on_real_threads() {
    let runtime = real(Runtime::builder().workers(2).placement(by_key()));
    let (gate, (send, receive)) = (Gate::default(), mpsc::channel());
    let (theirs, begun) = (gate.clone(), send.clone());
    let long = move |turn: &mut Turn<'_>| {
        begun.send(turn.worker().get()).unwrap();
        theirs.pass();
    };
    runtime.submit_with(keyed(0), long).unwrap();
    assert_eq!(receive.recv(), Ok(0));
    for _ in 0..100 {
        let send = send.clone();
        let short = move |turn: &mut Turn<'_>| send.send(turn.worker().get()).unwrap();
        runtime.submit_with(keyed(0), short).unwrap();
        assert_eq!(receive.recv(), Ok(1));
    }
    gate.open();
    runtime.shutdown();
}

#[test]
fn inbox_of_a_paused_worker_is_served_by_another_on_real_threads() {
    let runtime = real(Runtime::builder().workers(2).placement(by_key()));
    let (send, receive) = mpsc::channel();
    // Both are in a turn, so that what is dealt stays in the inbox.
    let gates: Vec<Gate> = (0..2)
        .map(|key| {
            let (gate, send) = (Gate::default(), send.clone());
            let theirs = gate.clone();
            let long = move |turn: &mut Turn<'_>| {
                send.send(turn.worker().get()).unwrap();
                theirs.pass();
            };
            runtime.submit_with(keyed(key), long).unwrap();
            receive.recv().unwrap();
            gate
        })
        .collect();
    let job = move |turn: &mut Turn<'_>| send.send(turn.worker().get()).unwrap();
    runtime.submit_with(keyed(0), job).unwrap();
    runtime.pause_worker(WorkerId::new(0)).unwrap();
    gates[0].open();
    until(|| runtime.workers()[0] == WorkerState::Paused);
    assert!(receive.try_recv().is_err(), "nobody was free");
    gates[1].open();
    assert_eq!(receive.recv(), Ok(1));
}

#[test]
fn idle_owner_gets_what_is_dealt_to_it_on_real_threads() {
    let runtime = real(Runtime::builder().workers(3).placement(by_key()));
    let (send, receive) = mpsc::channel();
    for round in 0..100 {
        let send = send.clone();
        let body = move |turn: &mut Turn<'_>| {
            send.send(turn.worker().get()).unwrap();
            Step::End(())
        };
        runtime.strand().key(round % 3).start(body).unwrap();
        assert_eq!(receive.recv(), Ok(round as usize % 3));
        settle(&runtime);
    }
}

/// Whoever is free first in virtual time is the seed's choice: it must not be the wrong one.
#[test]
fn affinity_is_kept_while_its_worker_is_idle_whatever_the_seed() {
    for seed in 0..50 {
        let placement = Placement::affinity(|_| Some(WorkerId::new(1)));
        let builder = Runtime::builder().workers(2).discipline(Discipline::Fifo);
        let mut simulation = builder.placement(placement).simulate(seed).unwrap();
        let ran_on = Arc::new(Mutex::new(None));
        let noted = ran_on.clone();
        simulation.submit(move |turn| *noted.lock().unwrap() = Some(turn.worker())).unwrap();
        simulation.run();
        assert_eq!(*ran_on.lock().unwrap(), Some(WorkerId::new(1)), "seed {seed}");
    }
}
