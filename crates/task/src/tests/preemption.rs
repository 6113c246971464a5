//! Preemption: nobody keeps a worker, and whoever was preempted goes behind those who wait.

use super::*;

#[test]
fn one_endless_loop_per_worker_does_not_keep_others_from_finishing() {
    for workers in [1, 2] {
        let runtime = runtime(workers);
        let guests = Guests::new().add("hog", |g, _| async move { g.loop_for_ever().await }).add(
            "worker",
            |g, argument| async move {
                for _ in 0..10 {
                    g.work(25_000).await;
                    g.yield_now().await;
                }
                argument
            },
        );
        let program = guests.load(&runtime, Options::default());
        for _ in 0..workers {
            program.spawn("hog", [0]).unwrap();
        }
        let ids: Vec<_> = (0..20).map(|n| program.spawn("worker", [n]).unwrap()).collect();
        for (argument, id) in ids.into_iter().enumerate() {
            let mut join = runtime.spawn(program.task(id)).unwrap();
            assert_eq!(value(&join.join().unwrap().unwrap()), argument as i64);
        }
        assert!(program.stats().preemptions > 0);
        program.shutdown();
        assert_eq!(program.run().unwrap().len(), workers + 20);
    }
}

/// On one worker: after each slice of the first, every other one had its turn.
#[test]
fn a_preempted_task_goes_behind_those_who_wait() {
    let (tell, told) = channel();
    let guests = Guests::new().add("main", move |g, argument| {
        let tell = tell.clone();
        async move {
            for _ in 0..5 {
                tell.send(argument).unwrap();
                g.work(10_000).await;
            }
            0
        }
    });
    let mut simulation = simulation(1, 0);
    let program = guests.load(&simulation, Options::default());
    for argument in 0..4 {
        program.spawn("main", [argument]).unwrap();
    }
    simulation.block_on(program.finished()).unwrap();
    let order = told.all();
    for round in order.chunks(4) {
        let mut round = round.to_vec();
        round.sort();
        assert_eq!(round, [0, 1, 2, 3], "in {order:?}");
    }
}

/// However many never wait: whoever slept starts after the slice that runs.
#[test]
fn one_that_slept_comes_before_those_who_were_preempted() {
    for seed in 0..10 {
        let (tell, told) = channel();
        let guests = Guests::new().add("hog", |g, _| async move { g.loop_for_ever().await }).add(
            "ticked",
            move |g, _| {
                let tell = tell.clone();
                async move {
                    for _ in 0..20 {
                        let due = g.now().await + 1_000_000;
                        g.sleep(1_000_000).await;
                        tell.send(g.now().await - due).unwrap();
                    }
                    0
                }
            },
        );
        let mut simulation = simulation(1, seed);
        let program = guests.load(&simulation, Options::default());
        for _ in 0..50 {
            program.spawn("hog", [0]).unwrap();
        }
        let ticked = program.spawn("ticked", [0]).unwrap();
        simulation.block_on(program.task(ticked)).unwrap().unwrap();
        let late = told.all().into_iter().skip(1).max().unwrap();
        assert!(late < 30_000, "it was {late} ns late, behind slices of 10,000");
        program.shutdown();
    }
}

#[test]
fn the_threshold_is_the_number_of_operations_in_a_turn() {
    for (threshold, turns) in [(1_000, 100), (10_000, 10), (1_000_000, 1)] {
        let options = Options { preemption_threshold: Some(threshold), ..Options::default() };
        let guests = Guests::new().add("main", |g, _| async move {
            g.work(99_999).await;
            0
        });
        let (program, results) = simulate(options, guests, 0);
        assert_eq!(results[0].fuel, 99_999);
        assert_eq!(program.stats().switches, turns);
        assert_eq!(program.stats().preemptions, turns - 1);
    }
}

/// A message of a mebibyte costs far more than a slice; the task pays with its next turns.
#[test]
fn what_a_call_costs_beyond_the_slice_is_carried_over() {
    let guests = Guests::new().add("main", |g, _| async move {
        let channel = g.open(1).await;
        assert!(g.grow_memory(2 << 20).await);
        let before = g.call(crate::abi::Call::ChanSend, [channel as u64, 0, 1 << 20, 0]).await;
        g.now().await;
        before as i64
    });
    let (program, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 0);
    assert!(program.stats().preemptions >= 13, "{:?}", program.stats());
    assert!(results[0].fuel > (1 << 20) / 8);
}

#[test]
fn yielding_lets_others_run_first() {
    let (tell, told) = channel();
    let guests = Guests::new().add("main", move |g, argument| {
        let tell = tell.clone();
        async move {
            for _ in 0..3 {
                tell.send(argument).unwrap();
                g.yield_now().await;
            }
            0
        }
    });
    let mut simulation = simulation(1, 0);
    let program = guests.load(&simulation, Options::default());
    for argument in 0..3 {
        program.spawn("main", [argument]).unwrap();
    }
    simulation.block_on(program.finished()).unwrap();
    let order = told.all();
    assert_eq!(order[..3], order[3..6]);
    assert_eq!(order[..3], order[6..]);
}
