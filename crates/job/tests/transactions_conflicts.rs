//! What runs side by side and what does not, by priority and estimate, and what is left behind.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use job::{
    Class, Executor, Job, Policy, Pool, PoolBuilder, SimulatedPool, Status,
    transaction::{Address, Key, Kind, Ledger, Order, Transaction, Undeclared},
};

fn sender(number: u8) -> Address {
    Address::new([number; 20])
}

/// An executor that does nothing: in a simulation each turn still takes its time.
fn nothing() -> Executor<(), impl Fn(()) -> Result<(), &'static str>> {
    Executor::new(|()| Ok(()))
}

/// How many of these wait for nobody. All of them end.
fn ready(ledger: &mut Ledger<(), u32>, transactions: Vec<Transaction<(), u32>>) -> usize {
    let mut pool = simulated(Pool::builder().workers(10));
    assert!(ledger.add_all(transactions).is_empty());
    let receipts = ledger.submit(&pool, &nothing()).unwrap();
    let progress = receipts.progress();
    assert_eq!(progress.ready + progress.created, receipts.len());
    pool.simulation().run();
    assert_eq!(receipts.progress().completed, receipts.len());
    progress.ready
}

/// Ten of different senders, with these sets each.
fn ten(
    sets: impl Fn(Transaction<(), u32>, u32) -> Transaction<(), u32>,
) -> Vec<Transaction<(), u32>> {
    (0..10).map(|at| sets(Transaction::with_keys(sender(at as u8), 0, ()), at)).collect()
}

#[test]
fn those_that_touch_different_keys_run_side_by_side() {
    let own = ten(|transaction, at| transaction.reads([at]).writes([at, 100 + at]));
    assert_eq!(ready(&mut Ledger::new(), own), 10);
    let shared = ten(|transaction, at| transaction.reads([7]).writes([100 + at]));
    assert_eq!(ready(&mut Ledger::new(), shared), 10);
}

#[test]
fn those_that_share_a_key_that_is_written_wait_for_each_other() {
    let hot = ten(|transaction, _| transaction.writes([7]));
    assert_eq!(ready(&mut Ledger::new(), hot), 1);
    let first_writes = ten(|transaction, at| match at {
        0 => transaction.writes([7]),
        _ => transaction.reads([7]),
    });
    assert_eq!(ready(&mut Ledger::new(), first_writes), 1);
    let last_writes = ten(|transaction, at| match at {
        9 => transaction.writes([7]),
        _ => transaction.reads([7]),
    });
    assert_eq!(ready(&mut Ledger::new(), last_writes), 9);
}

#[test]
fn those_that_declared_nothing_run_side_by_side_or_alone() {
    let undeclared =
        || ten(|transaction, at| if at < 5 { transaction.writes([at]) } else { transaction });
    assert_eq!(ready(&mut Ledger::new(), undeclared()), 10);
    assert_eq!(ready(&mut Ledger::new().undeclared(Undeclared::Alone), undeclared()), 5);
}

/// The last is of a batch that comes while nothing of the others has run.
#[test]
fn those_that_declared_nothing_are_alone_across_batches() {
    let (executor, mut pool) = (nothing(), simulated(Pool::builder().workers(10)));
    let mut ledger = Ledger::new().undeclared(Undeclared::Alone);
    let mut submit = |transactions: Vec<Transaction<(), u32>>| {
        assert!(ledger.add_all(transactions).is_empty());
        ledger.submit(&pool, &executor).unwrap()
    };
    let declared = |number: u8| Transaction::with_keys(sender(number), 0, ()).writes([1]);
    let first = submit(vec![declared(1), declared(2)]);
    let alone = submit(vec![Transaction::with_keys(sender(3), 0, ())]);
    let last = submit(vec![declared(4), Transaction::with_keys(sender(5), 0, ()).reads([])]);
    for receipts in [&alone, &last] {
        assert!((0..receipts.len()).all(|at| receipts.status(at) == Status::Created));
    }
    pool.simulation().run();
    let ended = |at: Option<job::Timings>| at.unwrap().ended.unwrap();
    let started = |at: Option<job::Timings>| at.unwrap().started.unwrap();
    assert!(ended(first.timings(1)) <= started(alone.timings(0)));
    assert!((0..2).all(|at| ended(alone.timings(0)) <= started(last.timings(at))));
}

/// All pairs of reading and writing a key that is the only thing two batches share.
#[test]
fn a_batch_waits_for_what_an_earlier_one_does_to_the_same_key() {
    for (first_writes, second_writes) in
        [(true, true), (true, false), (false, true), (false, false)]
    {
        let (executor, mut pool) = (nothing(), simulated(Pool::builder().workers(2)));
        let mut ledger = Ledger::new();
        let one = |number: u8, writes: bool| {
            let transaction = Transaction::new(sender(number), 0, ());
            let key = [Key::Slot(sender(9), [7; 32])];
            if writes { transaction.writes(key) } else { transaction.reads(key) }
        };
        ledger.add(one(1, first_writes)).unwrap();
        drop(ledger.submit(&pool, &executor).unwrap());
        // And one in between, so that the first is not the last batch.
        ledger.add(Transaction::new(sender(3), 0, ()).writes([Key::Account(sender(9))])).unwrap();
        drop(ledger.submit(&pool, &executor).unwrap());
        ledger.add(one(2, second_writes)).unwrap();
        let second = ledger.submit(&pool, &executor).unwrap();
        let waits = first_writes || second_writes;
        assert_eq!(second.status(0), if waits { Status::Created } else { Status::Ready });
        pool.simulation().run();
        assert_eq!(second.status(0), Status::Completed(&()));
    }
}

fn simulated(builder: PoolBuilder) -> SimulatedPool {
    builder.simulate(1).unwrap()
}

/// Runs transfers of different senders at these prices, and returns the order in which they ran.
fn run_at(prices: &[u128], pool: PoolBuilder, order: Order) -> Vec<usize> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let noted = log.clone();
    let executor = Executor::new(move |at: usize| {
        noted.lock().unwrap().push(at);
        Ok::<(), &str>(())
    });
    let mut ledger = Ledger::new().order(order);
    for (at, price) in prices.iter().enumerate() {
        ledger.add(Transaction::new(sender(at as u8), 0, at).gas_price(*price)).unwrap();
    }
    let mut pool = simulated(pool.workers(1));
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    log.lock().unwrap().clone()
}

#[test]
fn the_gas_price_is_the_priority() {
    let prices = [1, 3, 2, 1 << 100];
    let by_priority = || Pool::builder().policy(Policy::HighestPriority);
    assert_eq!(run_at(&prices, by_priority(), Order::Given), [3, 1, 2, 0]);
    assert_eq!(run_at(&prices, Pool::builder().policy(Policy::Fcfs), Order::Given), [0, 1, 2, 3]);
    assert_eq!(run_at(&prices, Pool::builder().policy(Policy::Fcfs), Order::Price), [3, 1, 2, 0]);
}

#[test]
fn a_cheap_one_that_waited_comes_before_dear_ones_with_ageing() {
    let prices = [1, 5, 5, 5, 5, 5, 5];
    let pool = || Pool::builder().policy(Policy::HighestPriority);
    assert_eq!(run_at(&prices, pool(), Order::Given).last(), Some(&0));
    let aged = run_at(&prices, pool().ageing(1.0), Order::Given);
    assert_eq!(aged.iter().position(|at| *at == 0), Some(3), "{aged:?}");
}

#[test]
fn estimates_follow_the_formula_and_stop_at_the_top() {
    let estimate = |kind, limit| {
        Transaction::new(sender(1), 0, ()).kind(kind).gas_limit(limit).estimate().as_nanos()
    };
    assert_eq!(estimate(Kind::Transfer, 0), 50_000);
    assert_eq!(estimate(Kind::Transfer, 21_000), 260_000);
    assert_eq!(estimate(Kind::ContractCall, 0), 250_000);
    assert_eq!(estimate(Kind::ContractCall, 100_000), 1_250_000);
    assert_eq!(estimate(Kind::ContractCreation, 100_000), 1_050_000);
    let top = u64::MAX / 10;
    assert_eq!(estimate(Kind::Transfer, top - 5_000), u128::from((top - 5_000) * 10 + 50_000));
    for kind in [Kind::Transfer, Kind::ContractCall, Kind::ContractCreation] {
        assert_eq!(estimate(kind, u64::MAX), u128::from(u64::MAX));
        assert_eq!(estimate(kind, top), u128::from(u64::MAX));
    }
}

/// What the pool thinks that a transaction takes, as its prioritizer is told.
#[test]
fn what_was_learnt_of_a_class_takes_the_place_of_the_formula() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let (ear, told_then) = (told.clone(), told.clone());
    let mut pool = simulated(Pool::builder().workers(1).prioritizer(move |info| {
        ear.lock().unwrap().push((info.class.unwrap(), info.estimate.unwrap_or_default()));
        info.priority
    }));
    let mut ledger = Ledger::new();
    let mut nonces = 0..;
    let mut ask = |pool: &SimulatedPool| {
        let mut next = || Transaction::new(sender(1), nonces.next().unwrap(), ());
        ledger.add(next().gas_limit(1_000)).unwrap();
        ledger.add(next().kind(Kind::ContractCall)).unwrap();
        ledger.add(next().class(Class::new(3))).unwrap();
        drop(ledger.submit(pool, &nothing()).unwrap());
        let told = std::mem::take(&mut *told.lock().unwrap());
        told.into_iter().map(|(class, estimate)| (class, estimate.as_micros())).collect::<Vec<_>>()
    };
    let (transfer, call, own) = (Kind::Transfer.class(), Kind::ContractCall.class(), Class::new(3));
    assert_eq!(ask(&pool), [(transfer, 60), (call, 250), (own, 50)]);
    for class in [transfer, own] {
        let long = Job::new(|cx| cx.simulate(Duration::from_millis(5))).class(class);
        drop(pool.submit(long).unwrap());
    }
    pool.simulation().run();
    told_then.lock().unwrap().clear();
    let learnt = ask(&pool);
    // One in eight counts, and those of the first round took far less.
    for (class, estimate) in [learnt[0], learnt[2]] {
        assert!(estimate > 500, "{class:?}: {learnt:?}");
    }
    assert!(learnt[1].1 < 250, "it was quicker than estimated: {learnt:?}");
}

/// A dear one that is long waits for cheap ones that are short, where that is the policy.
#[test]
fn the_shortest_runs_first_by_estimate() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let noted = log.clone();
    let executor = Executor::new(move |name: &'static str| {
        noted.lock().unwrap().push(name);
        Ok::<(), &str>(())
    });
    let mut pool = simulated(Pool::builder().workers(1).policy(Policy::ShortestFirst));
    let mut ledger = Ledger::new();
    let one = |number, name| Transaction::new(sender(number), 0, name).gas_limit(50_000);
    ledger.add(one(1, "call").kind(Kind::ContractCall)).unwrap();
    ledger.add(one(2, "large").gas_limit(60_000)).unwrap();
    ledger.add(one(3, "small").gas_limit(40_000)).unwrap();
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(*log.lock().unwrap(), ["small", "large", "call"]);
}

#[test]
fn what_nobody_collects_is_gone_while_the_ledger_lives() {
    let token = Arc::new(());
    let executor = Executor::new({
        let token = token.clone();
        move |payload: Arc<()>| Ok::<_, &str>((payload, token.clone()))
    });
    let mut pool = simulated(Pool::builder().workers(2));
    let mut ledger = Ledger::new();
    for nonce in 0..10 {
        let writes = [Key::Account(sender(1))];
        ledger.add(Transaction::new(sender(1), nonce, token.clone()).writes(writes)).unwrap();
    }
    let receipts = ledger.submit(&pool, &executor).unwrap();
    pool.simulation().run();
    assert_eq!(Arc::strong_count(&token), 2 + 2 * 10);
    drop(receipts);
    assert_eq!(Arc::strong_count(&token), 2);
    drop(executor);
    assert_eq!(Arc::strong_count(&token), 1);
    assert_eq!(ledger.next_nonce(sender(1)), 10);
}

/// On threads: a chain of many ends, and each sees what the one before it left.
#[test]
fn a_key_that_a_hundred_thousand_write_counts_to_a_hundred_thousand() {
    let count = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = count.clone();
    let executor = Executor::new(move |(): ()| {
        let next = counted.load(std::sync::atomic::Ordering::Relaxed) + 1;
        counted.store(next, std::sync::atomic::Ordering::Relaxed);
        Ok::<u64, &str>(next)
    });
    let pool = Pool::builder().workers(2).build().unwrap();
    let mut ledger = Ledger::new();
    let hot = |n: u32| {
        let mut address = [0; 20];
        address[..4].copy_from_slice(&n.to_le_bytes());
        Transaction::with_keys(Address::new(address), 0, ()).writes([1u8])
    };
    assert!(ledger.add_all((0..100_000).map(hot)).is_empty());
    let receipts = ledger.submit(&pool, &executor).unwrap().join().unwrap();
    for (at, receipt) in (1..).zip(receipts) {
        assert_eq!(receipt.outcome, Ok(at));
    }
}

#[test]
fn receipts_can_be_awaited() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let mut ledger = Ledger::new();
    ledger.add(Transaction::new(sender(1), 0, ())).unwrap();
    let receipts = ledger.submit(&pool, &nothing()).unwrap();
    let mut task = pool
        .handle()
        .spawn(async move {
            receipts.done().await;
            receipts.join().unwrap().len()
        })
        .unwrap();
    assert_eq!(task.join().unwrap(), 1);
}
