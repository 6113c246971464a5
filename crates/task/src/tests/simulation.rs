//! Simulations: the same seed gives the same interleaving, another one another.

use std::collections::BTreeSet;

use super::*;

/// Tasks that meet at channels, mutexes and timers, and tell what they see.
fn crowd(tell: Sender<(i64, i64)>) -> Guests {
    Guests::new()
        .add("main", |g, _| async move {
            let channel = g.open(2).await;
            let mutex = g.open_mutex(&0i64.to_le_bytes()).await;
            assert_eq!((channel, mutex), ((1 << 60) | 1, (1 << 61) | 1));
            let mut tasks = Vec::new();
            for number in 0..6 {
                tasks.push(g.spawn(1, number).await);
            }
            for _ in 0..6 * 5 {
                g.receive(channel, 8).await.unwrap();
            }
            for task in tasks {
                g.await_task(task).await.unwrap();
            }
            0
        })
        .add("other", move |g, number| {
            let tell = tell.clone();
            async move {
                let (channel, mutex) = ((1 << 60) | 1, (1 << 61) | 1);
                for _ in 0..5 {
                    let chance = g.random(1).await[0];
                    g.work(u64::from(chance) * 100).await;
                    let cell = g.lock(mutex, 8).await.unwrap();
                    let count = i64::from_le_bytes(cell.try_into().unwrap());
                    tell.send((number, count)).unwrap();
                    if chance % 2 == 0 {
                        g.sleep(i64::from(chance) * 100).await;
                    }
                    g.unlock(mutex, &(count + 1).to_le_bytes()).await;
                    g.send(channel, &number.to_le_bytes()).await;
                }
                g.now().await
            }
        })
}

fn run(workers: usize, seed: u64) -> (Vec<(i64, i64)>, Vec<TaskResult>, String) {
    let mut simulation =
        Runtime::builder().workers(workers).record(1 << 16).simulate(seed).unwrap();
    let (tell, told) = channel();
    let program = crowd(tell).load(&simulation, Options::default());
    program.spawn("main", [0]).unwrap();
    let results = simulation.block_on(program.finished()).unwrap();
    assert_eq!(value(&results[0]), 0);
    (told.all(), results, simulation.log())
}

#[test]
fn same_seed_same_interleaving() {
    for workers in [1, 2, 4] {
        for seed in 0..8 {
            assert_eq!(run(workers, seed), run(workers, seed), "{workers} workers, seed {seed}");
        }
    }
}

#[test]
fn another_seed_another_interleaving() {
    let orders: BTreeSet<Vec<(i64, i64)>> = (0..16).map(|seed| run(2, seed).0).collect();
    assert!(orders.len() > 8, "only {} different ones", orders.len());
}

#[test]
fn twice_the_workers_half_the_time() {
    let time = |workers| {
        let mut simulation = simulation(workers, 0);
        let guests = Guests::new().add("main", |g, _| async move {
            g.work(1_000_000).await;
            0
        });
        let program = guests.load(&simulation, Options::default());
        for _ in 0..8 {
            program.spawn("main", [0]).unwrap();
        }
        simulation.block_on(program.finished()).unwrap();
        simulation.now().as_secs_f64()
    };
    let ratio = time(1) / time(2);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
}
