//! What the scheduler counts of itself is true.

mod common;

use std::time::Duration;

use common::{DISCIPLINES, Gate, alone, occupy, real, settle, until};
use kernel::{Discipline, Placement, Runtime, Step, TURN_COST, Turn, WorkerId};

#[test]
fn turns_of_strands_and_jobs_are_counted() {
    for discipline in DISCIPLINES {
        let mut simulation = alone(discipline);
        for turns in 1..=10 {
            let mut left = turns;
            let body = move |_: &mut Turn<'_>| {
                left -= 1;
                if left > 0 { Step::Yield } else { Step::End(()) }
            };
            simulation.strand().start(body).unwrap();
            simulation.submit(|_| {}).unwrap();
        }
        simulation.run();
        assert_eq!(simulation.metrics().total().turns, 55 + 10, "{discipline:?}");
    }
}

#[test]
fn what_turns_put_in_line_is_counted_by_worker() {
    let mut simulation = alone(Discipline::Stealing);
    let strand = simulation.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap().0;
    simulation
        .submit(move |turn| {
            turn.submit(|_| {});
            turn.submit(|_| {});
            strand.wake().unwrap();
            strand.wake().unwrap();
        })
        .unwrap();
    simulation.run();
    // Two jobs and one strand; the second wake found it queued, and what came from outside was
    // put in line by no worker.
    assert_eq!(simulation.metrics().total().wakes, 3);
}

#[test]
fn what_turns_put_in_line_is_counted_on_real_threads_too() {
    let runtime = real(Runtime::builder().workers(1));
    let strand = runtime.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap().0;
    runtime
        .submit(move |turn| {
            for _ in 0..1000 {
                turn.submit(|_| {});
            }
            strand.wake().unwrap();
        })
        .unwrap();
    until(|| runtime.metrics().total().turns == 1002);
    assert_eq!(runtime.metrics().total().wakes, 1001);
}

#[test]
fn steals_are_counted_by_the_thief() {
    let placement = Placement::affinity(|_| Some(WorkerId::new(0)));
    let builder = Runtime::builder().workers(2).discipline(Discipline::Fifo);
    let mut simulation = builder.placement(placement).simulate(0).unwrap();
    for work in [100, 1, 1, 1] {
        simulation.submit(move |turn| turn.simulate(Duration::from_micros(work))).unwrap();
    }
    simulation.run();
    let metrics = simulation.metrics();
    let of = |worker: usize| (metrics.workers[worker].turns, metrics.workers[worker].steals);
    assert_eq!((of(0), of(1)), ((1, 0), (3, 3)));
}

#[test]
fn queued_and_timers_are_what_waits_now() {
    let mut simulation = alone(Discipline::Fifo);
    let strand = simulation.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap().0;
    let timers: Vec<_> =
        (0..5).map(|_| simulation.wake_after(Duration::from_secs(1), &strand).unwrap()).collect();
    for _ in 0..7 {
        simulation.submit(|_| {}).unwrap();
    }
    assert_eq!((simulation.metrics().queued, simulation.metrics().timers), (7, 5));
    drop(timers);
    simulation.run();
    assert_eq!((simulation.metrics().queued, simulation.metrics().timers), (0, 0));
}

#[test]
fn parks_are_counted_and_a_parked_worker_parks_no_more() {
    let runtime = real(Runtime::builder().workers(1));
    settle(&runtime);
    let before = runtime.metrics().total().parks;
    assert!(before >= 1);
    for _ in 0..10 {
        runtime.compute(|_| ()).unwrap().join().unwrap();
        settle(&runtime);
    }
    let after = runtime.metrics().total().parks;
    assert!(after > before);
    // Without work nothing changes: a worker that came out to look would be counted.
    for _ in 0..10_000 {
        std::thread::yield_now();
    }
    assert_eq!(runtime.metrics().total().parks, after);
}

#[cfg(target_os = "linux")]
#[test]
fn parked_workers_use_no_cpu() {
    let runtime = real(Runtime::builder().workers(2));
    runtime.compute(|_| ()).unwrap().join().unwrap();
    settle(&runtime);
    let before = runtime.metrics().total().cpu.expect("Linux tells the CPU time of a thread");
    for _ in 0..50_000 {
        std::thread::yield_now();
    }
    settle(&runtime);
    let after = runtime.metrics().total().cpu.unwrap();
    // What is allowed here is the way into the system call, not a look at the queues.
    assert!(after - before < Duration::from_millis(1), "used {:?}", after - before);
}

#[test]
fn one_turn_in_so_many_is_timed() {
    let mut simulation = alone(Discipline::Fifo);
    for _ in 0..6400 {
        simulation.submit(|turn| turn.simulate(Duration::from_micros(1))).unwrap();
    }
    simulation.run();
    let total = simulation.metrics().total();
    assert_eq!(total.turns, 6400);
    for times in [&total.running, &total.waiting] {
        assert!((25..=200).contains(&times.count()), "{} of 6400 were timed", times.count());
    }
    // Of 1 µs each: below 1024 ns, or with the turn's own cost below 2048 ns.
    let median = total.running.quantile(0.5).unwrap();
    assert!((1024..=2048).contains(&median.as_nanos()), "{median:?}");
}

#[test]
fn every_turn_is_timed_while_recording() {
    let mut simulation = Runtime::builder().workers(1).record(1000).simulate(0).unwrap();
    for _ in 0..100 {
        let mut left = 3;
        let body = move |turn: &mut Turn<'_>| {
            turn.simulate(Duration::from_micros(1));
            left -= 1;
            if left > 0 { Step::Yield } else { Step::End(()) }
        };
        simulation.strand().start(body).unwrap();
        simulation.submit(|turn| turn.simulate(Duration::from_micros(1))).unwrap();
    }
    simulation.run();
    let total = simulation.metrics().total();
    assert_eq!((total.turns, total.running.count()), (400, 400));
    assert_eq!(total.waiting.count(), 400, "each of these turns was waited for in a queue");
}

#[test]
fn waiting_is_the_time_from_queued_to_running() {
    let mut simulation = Runtime::builder().workers(1).record(1000).simulate(0).unwrap();
    let strand = simulation.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap().0;
    simulation.submit(|turn| turn.simulate(Duration::from_millis(1))).unwrap();
    strand.wake().unwrap();
    simulation.run();
    let waiting = simulation.metrics().total().waiting;
    let expected = (Duration::from_millis(1) + TURN_COST).as_nanos() as u64;
    let bucket = 64 - expected.leading_zeros() as usize;
    assert_eq!((waiting.count(), waiting.buckets[0], waiting.buckets[bucket]), (2, 1, 1));
    // What is queued when the world begins is noted as queued a nanosecond later: 0 is for nobody.
    assert_eq!(waiting.total, Duration::from_nanos(expected - 1));
}

#[test]
fn placement_by_speed_times_every_turn() {
    let builder = Runtime::builder().workers(1).placement(Placement::Fastest);
    let mut simulation = builder.simulate(0).unwrap();
    for _ in 0..100 {
        simulation.submit(|_| {}).unwrap();
    }
    simulation.run();
    assert_eq!(simulation.metrics().total().running.count(), 100);
}

#[test]
fn quantiles_bound_the_true_value_from_above() {
    let mut histogram = kernel::Histogram::default();
    assert_eq!((histogram.count(), histogram.quantile(0.5)), (0, None));
    histogram.buckets[1] = 90;
    histogram.buckets[10] = 9;
    histogram.buckets[20] = 1;
    let nanos = |q| histogram.quantile(q).unwrap().as_nanos();
    assert_eq!([0.0, 0.5, 0.9, 0.95, 0.99, 1.0].map(nanos), [2, 2, 2, 1024, 1024, 1 << 20]);
}

#[test]
fn what_is_dropped_unrun_is_counted() {
    let runtime = real(Runtime::builder().workers(2));
    let gates: [Gate; 2] = std::array::from_fn(|_| occupy(&runtime));
    for _ in 0..10 {
        runtime.submit(|_| {}).unwrap();
        runtime.strand().start(|_| Step::End(())).unwrap();
    }
    let handle = runtime.handle();
    drop(runtime);
    assert_eq!(handle.metrics().dropped, 20);
    gates.iter().for_each(Gate::open);
}
