//! Do processes run unchanged in simulation, the same for the same seed, also when things go wrong?

mod common;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use kernel::{Runtime, Simulation, each_seed};
use process::{
    Addr, CallError, Context, Event, ExitReason, FaultPlan, Payload, Processes, Reply, SendError,
};

fn simulation(workers: usize, seed: u64) -> Simulation {
    Runtime::builder().workers(workers).record(4096).on_report(|_| {}).simulate(seed).unwrap()
}

#[test]
fn timers_and_timeouts_run_in_virtual_time() {
    let mut simulation = simulation(1, 1);
    let done = Arc::new(Mutex::new(Vec::new()));
    let note = done.clone();
    let sleeper = simulation.spawn_process(move |mut ctx: Context<Reply<()>>| async move {
        ctx.sleep(Duration::from_secs(3600)).await;
        note.lock().unwrap().push(ctx.runtime().now().as_secs());
        assert!(ctx.receive_within(Duration::from_secs(60)).await.is_err());
        note.lock().unwrap().push(ctx.runtime().now().as_secs());
        let _kept = ctx.receive().await;
        ctx.receive().await;
    });
    let sleeper = sleeper.unwrap();
    simulation.run();
    assert_eq!(*done.lock().unwrap(), [3600, 3660]);
    let limit = Duration::from_secs(5);
    let called = simulation.block_on(sleeper.call(|reply| reply).within(limit)).unwrap();
    assert_eq!(called, Err(CallError::Timeout(limit)));
    let stopped = simulation.stop_processes(Duration::from_secs(1));
    assert_eq!(simulation.block_on(stopped).unwrap().orderly, 1);
}

/// What each of many processes received, and in which order.
fn gossip(seed: u64, plan: Option<FaultPlan>) -> (String, HashMap<u32, Vec<(u32, u32)>>) {
    const PEERS: u32 = 5;
    const EACH: u32 = 20;
    let mut simulation = simulation(3, seed);
    if let Some(plan) = plan {
        simulation.inject(plan);
    }
    let heard = Arc::new(Mutex::new(HashMap::<u32, Vec<(u32, u32)>>::new()));
    let peers: Vec<Addr<(u32, u32)>> = (0..PEERS)
        .map(|own| {
            let heard = heard.clone();
            let peer = simulation.spawn_process(move |mut ctx: Context<(u32, u32)>| async move {
                while let Some(word) = ctx.receive().await {
                    heard.lock().unwrap().entry(own).or_default().push(word);
                }
            });
            peer.unwrap()
        })
        .collect();
    for from in 0..PEERS {
        let peers = peers.clone();
        let talker = simulation.spawn_process(move |ctx: Context<()>| async move {
            for number in 0..EACH {
                for peer in &peers {
                    peer.send((from, number)).unwrap();
                }
                if number % 4 == 0 {
                    ctx.sleep(Duration::from_micros(3)).await;
                }
            }
        });
        talker.unwrap();
    }
    simulation.run();
    let heard = heard.lock().unwrap().clone();
    for words in heard.values() {
        assert_eq!(words.len() as u32, PEERS * EACH, "lost or doubled, seed {seed}");
        for from in 0..PEERS {
            let own: Vec<u32> = words.iter().filter(|w| w.0 == from).map(|w| w.1).collect();
            assert!(own.is_sorted(), "out of order, seed {seed}: {own:?}");
        }
    }
    (simulation.log(), heard)
}

#[test]
fn the_same_seed_is_the_same_run() {
    assert_eq!(gossip(3, None), gossip(3, None));
    let plan = || Some(FaultPlan::new(9).delays(Duration::from_millis(1)));
    assert_eq!(gossip(3, plan()), gossip(3, plan()));
}

#[test]
fn delayed_messages_arrive_once_in_order_per_pair_and_overtake_those_of_others() {
    each_seed(50, |seed| {
        let plan = FaultPlan::new(seed).delays(Duration::from_millis(1));
        let (_, delayed) = gossip(seed, Some(plan));
        let (_, punctual) = gossip(seed, None);
        assert_ne!(delayed, punctual, "with delays the order differs");
    });
}

/// Two send to a third, one of them a millisecond later. The order in which it reads.
fn order_of_two(seed: u64, plan: Option<FaultPlan>) -> Vec<&'static str> {
    let mut simulation = simulation(2, seed);
    if let Some(plan) = plan {
        simulation.inject(plan);
    }
    let heard = Arc::new(Mutex::new(Vec::new()));
    let note = heard.clone();
    let reader = simulation.spawn_process(move |mut ctx: Context<&'static str>| async move {
        while let Some(word) = ctx.receive().await {
            note.lock().unwrap().push(word);
        }
    });
    let reader = reader.unwrap();
    for (name, after) in [("first", 0), ("second", 1)] {
        let reader = reader.clone();
        let sender = simulation.spawn_process(move |ctx: Context<()>| async move {
            ctx.sleep(Duration::from_millis(after)).await;
            reader.send(name).unwrap();
        });
        sender.unwrap();
    }
    simulation.run();
    heard.lock().unwrap().clone()
}

#[test]
fn message_of_one_overtakes_that_of_another_only_with_delays() {
    const MAX: Duration = Duration::from_millis(50);
    let (mut kept, mut overtaken) = (0, 0);
    for seed in 0..50 {
        assert_eq!(order_of_two(seed, None), ["first", "second"]);
        match *order_of_two(seed, Some(FaultPlan::new(seed).delays(MAX))) {
            ["first", "second"] => kept += 1,
            ["second", "first"] => overtaken += 1,
            ref other => panic!("{other:?}, seed {seed}"),
        }
    }
    assert!(kept > 0 && overtaken > 0, "{kept} kept their order, {overtaken} did not");
}

#[test]
#[should_panic(expected = "in simulations only")]
fn faults_are_refused_by_a_real_runtime() {
    common::runtime(1).inject(FaultPlan::new(0));
}

/// Who calls is answered or told why not, whoever is killed.
#[test]
fn kills_reach_everyone_who_is_tied_to_the_victim() {
    each_seed(50, |seed| {
        let mut simulation = simulation(2, seed);
        let within = Duration::from_millis(10);
        let plan = FaultPlan::new(seed).delays(Duration::from_micros(50));
        simulation.inject(plan.kills(5, within, |info| info.name.is_some()));
        let downs = Arc::new(Mutex::new(0));
        let mut servers = Vec::new();
        for number in 0..10 {
            let builder = simulation.process().name(format!("server {number}"));
            let server = builder.spawn(|mut ctx: Context<Reply<u8>>| async move {
                while let Some(reply) = ctx.receive().await {
                    ctx.sleep(Duration::from_micros(100)).await;
                    let _ = reply.send(1);
                }
            });
            servers.push(server.unwrap());
        }
        for server in &servers {
            let (server, downs) = (server.clone(), downs.clone());
            let client = simulation.spawn_process(move |mut ctx: Context<()>| async move {
                ctx.monitor(server.pid());
                for _ in 0..100 {
                    match server.call(|reply| reply).await {
                        Ok(1) => {}
                        Err(CallError::NoReply | CallError::Exited) => break,
                        other => panic!("{other:?}"),
                    }
                }
                if let Event::Down { reason, .. } = ctx.event().await {
                    assert_eq!(reason, ExitReason::Killed);
                    *downs.lock().unwrap() += 1;
                }
            });
            client.unwrap();
        }
        simulation.run();
        let dead = servers.iter().filter(|server| !server.is_alive()).count();
        assert!((1..=5).contains(&dead), "{dead} were killed");
        assert_eq!(*downs.lock().unwrap(), dead, "each has one who watches");
        for server in servers.iter().filter(|server| !server.is_alive()) {
            let (reply, _) = (server.call(|reply: Reply<u8>| reply), ());
            assert_eq!(simulation.block_on(reply).unwrap(), Err(CallError::Exited));
        }
    });
}

#[test]
fn handlers_run_in_simulation_and_may_be_slow() {
    use process::{Process, ProcessError, StepOutput};
    struct Asks(Arc<Mutex<Vec<u64>>>);
    impl Process for Asks {
        fn step(
            &mut self,
            events: &mut Vec<Event<Payload>>,
            out: &mut StepOutput,
        ) -> Result<(), ProcessError> {
            if events.is_empty() {
                for tag in 0..10 {
                    out.command(tag, "double", tag as i64);
                }
            }
            for event in events.drain(..) {
                if let Event::Completed { tag, result } = event {
                    assert_eq!(result, Ok((2 * tag as i64).into()));
                    self.0.lock().unwrap().push(tag);
                }
            }
            if self.0.lock().unwrap().len() == 10 {
                out.done()
            } else {
                out.blocked()
            }
            Ok(())
        }
    }
    let mut orders = std::collections::HashSet::new();
    for seed in 0..5 {
        let mut simulation = simulation(1, seed);
        simulation.inject(FaultPlan::new(seed).slow_handlers(Duration::from_secs(1)));
        simulation.handle_blocking("double", |input| Ok((2 * input.as_int().unwrap()).into()));
        let order = Arc::new(Mutex::new(Vec::new()));
        let asks = simulation.process().start(Asks(order.clone()), "", ()).unwrap();
        simulation.run();
        assert_eq!(asks.exit_reason(), Some(ExitReason::Normal));
        orders.insert(order.lock().unwrap().clone());
    }
    assert!(orders.len() > 1, "slow handlers complete in another order");
}

#[test]
fn a_full_mailbox_is_full_in_simulation_too() {
    let mut simulation = simulation(2, 5);
    simulation.inject(FaultPlan::new(5).delays(Duration::from_millis(1)));
    let builder = simulation.process().mailbox(process::MailboxKind::Bounded(2));
    let full = builder.spawn(|ctx: Context<u8>| async move {
        std::future::pending::<()>().await;
        drop(ctx);
    });
    let full = full.unwrap();
    for _ in 0..2 {
        full.send(0).unwrap();
        simulation.run();
    }
    assert_eq!(full.send(1), Err(SendError::Full(1)));
}

/// The message that an idle process is woken with counts like all others.
#[test]
fn mailbox_of_an_idle_process_takes_no_more_than_its_bound() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let builder = simulation.process().mailbox(process::MailboxKind::Bounded(2));
    let idle = builder.spawn(|mut ctx: Context<u32>| async move {
        ctx.receive().await;
        std::future::pending::<()>().await;
    });
    let idle = idle.unwrap();
    simulation.run();
    let taken = (0..5).take_while(|number| idle.send(*number).is_ok()).count();
    assert_eq!((taken, idle.mailbox_len()), (2, 2));
}
