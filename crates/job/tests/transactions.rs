//! What a ledger takes, holds back and refuses, and in which order what it takes runs.

use std::sync::{Arc, Mutex};

use job::{
    Error, Executor, JobError, OnFailure, Policy, Pool, SimulatedPool, Status,
    transaction::{Address, Key, Ledger, Order, Reason, Rejected, Transaction},
};

const ALICE: Address = Address::new([1; 20]);
const BOB: Address = Address::new([2; 20]);

/// A payload that says who it is.
type Name = &'static str;
type Log = Arc<Mutex<Vec<Name>>>;

fn simulated(workers: usize, policy: Policy) -> SimulatedPool {
    Pool::builder().workers(workers).policy(policy).simulate(1).unwrap()
}

/// Notes who was executed. Names with `!` fail, and those with `?` panic.
#[allow(clippy::type_complexity, reason = "an executor has no shorter name")]
fn noting() -> (Log, Executor<Name, impl Fn(Name) -> Result<usize, Name>>) {
    let log = Log::default();
    let executor = Executor::new({
        let log = log.clone();
        move |name: Name| {
            log.lock().unwrap().push(name);
            assert!(!name.contains('?'), "{name}");
            if name.contains('!') { Err(name) } else { Ok(name.len()) }
        }
    });
    (log, executor)
}

fn names(log: &Log) -> Vec<Name> {
    std::mem::take(&mut *log.lock().unwrap())
}

fn reason<T, K>(refused: Result<impl Sized, Rejected<T, K>>) -> Reason {
    match refused {
        Ok(_) => panic!("it was taken"),
        Err(rejected) => rejected.reason(),
    }
}

#[test]
fn nonces_that_come_in_reverse_run_in_order() {
    let (log, executor) = noting();
    let mut pool = simulated(4, Policy::WorkStealing);
    let mut ledger = Ledger::new();
    for (nonce, name) in [(3, "d"), (2, "c"), (1, "b")] {
        let added = ledger.add(Transaction::new(ALICE, nonce, name)).unwrap();
        assert_eq!(added.missing, Some(0));
    }
    assert_eq!((ledger.due(), ledger.held()), (0, 3));
    assert_eq!(ledger.add(Transaction::new(ALICE, 0, "a")).unwrap().missing, None);
    assert_eq!((ledger.due(), ledger.held()), (4, 0));
    let receipts = ledger.submit(&pool, &executor).unwrap();
    pool.simulation().run();
    assert_eq!(names(&log), ["a", "b", "c", "d"]);
    let nonces: Vec<u64> = receipts.join().unwrap().iter().map(|receipt| receipt.nonce).collect();
    assert_eq!(nonces, [0, 1, 2, 3]);
}

/// The second batch has the better price and idle workers, and its predecessor has not even started.
#[test]
fn a_nonce_of_a_later_batch_runs_after_that_of_an_earlier_one() {
    let (log, executor) = noting();
    let mut pool = simulated(4, Policy::HighestPriority);
    let mut ledger = Ledger::new();
    ledger.add(Transaction::new(ALICE, 0, "first")).unwrap();
    let first = ledger.submit(&pool, &executor).unwrap();
    ledger.add(Transaction::new(ALICE, 1, "second").gas_price(1_000)).unwrap();
    ledger.add(Transaction::new(BOB, 0, "other").gas_price(10)).unwrap();
    let second = ledger.submit(&pool, &executor).unwrap();
    assert_eq!(second.status(0), Status::Created);
    assert_eq!(second.status(1), Status::Ready);
    pool.simulation().run();
    assert_eq!(names(&log), ["other", "first", "second"]);
    assert!(first.is_done() && second.is_done());
}

#[test]
fn one_behind_a_gap_stays_over_a_submission_and_runs_with_the_missing_one() {
    let (log, executor) = noting();
    let mut pool = simulated(2, Policy::Fcfs);
    let mut ledger = Ledger::new();
    ledger.add(Transaction::new(ALICE, 0, "a")).unwrap();
    let late = ledger.add(Transaction::new(ALICE, 2, "c")).unwrap();
    assert_eq!(late.missing, Some(1));
    assert_eq!(ledger.submit(&pool, &executor).unwrap().len(), 1);
    pool.simulation().run();
    assert_eq!((names(&log), ledger.held()), (vec!["a"], 1));
    assert!(ledger.submit(&pool, &executor).unwrap().is_empty());

    ledger.add(Transaction::new(ALICE, 1, "b")).unwrap();
    let receipts = ledger.submit(&pool, &executor).unwrap();
    pool.simulation().run();
    assert_eq!(names(&log), ["b", "c"]);
    assert_eq!(receipts.find(late.id), Some(1));
    assert_eq!(receipts.result(1), Some(Ok(&1)));
}

#[test]
fn a_second_one_with_the_same_nonce_needs_a_tenth_more() {
    let mut ledger = Ledger::new();
    for nonce in [0, 5] {
        ledger.add(Transaction::new(ALICE, nonce, "first").gas_price(1_001)).unwrap();
        for price in [0, 1_001, 1_101] {
            let again = ledger.add(Transaction::new(ALICE, nonce, "second").gas_price(price));
            assert_eq!(reason(again), Reason::Underpriced { nonce, needed: 1_102 });
        }
        let again = ledger.add(Transaction::new(ALICE, nonce, "third").gas_price(1_102)).unwrap();
        assert_eq!(again.missing, (nonce == 5).then_some(1));
        assert_eq!(again.replaced.unwrap().into_payload(), "first");
    }
    assert_eq!((ledger.due(), ledger.held()), (1, 1));
}

#[test]
fn one_that_replaces_another_has_its_place_in_the_given_order() {
    let (log, executor) = noting();
    let mut pool = simulated(1, Policy::Fcfs);
    let mut ledger = Ledger::new();
    ledger.add(Transaction::new(ALICE, 0, "old").gas_price(10)).unwrap();
    ledger.add(Transaction::new(BOB, 0, "other").gas_price(10)).unwrap();
    ledger.add(Transaction::new(ALICE, 0, "new").gas_price(11)).unwrap();
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(names(&log), ["new", "other"]);
}

#[test]
fn one_that_was_put_in_line_is_not_replaced_at_any_price() {
    let (log, executor) = noting();
    let mut pool = simulated(1, Policy::Fcfs);
    let mut ledger = Ledger::new();
    ledger.add(Transaction::new(ALICE, 0, "first")).unwrap();
    let receipts = ledger.submit(&pool, &executor).unwrap();
    for ended in [false, true] {
        assert_eq!(receipts.is_done(), ended);
        let again = ledger.add(Transaction::new(ALICE, 0, "second").gas_price(u128::MAX));
        assert_eq!(reason(again), Reason::InLine { nonce: 0 });
        pool.simulation().run();
    }
    assert_eq!(names(&log), ["first"]);
}

#[test]
fn the_highest_price_there_is_is_not_replaced() {
    let mut ledger = Ledger::new();
    let at_most = || Transaction::new(ALICE, 0, "").gas_price(u128::MAX);
    ledger.add(at_most()).unwrap();
    let needed = u128::MAX;
    assert_eq!(reason(ledger.add(at_most())), Reason::Underpriced { nonce: 0, needed });
}

#[test]
fn nonces_below_the_first_and_the_highest_of_all_are_refused() {
    let mut ledger = Ledger::new().first_nonce(|sender| if sender == ALICE { 5 } else { 0 });
    let low = ledger.add(Transaction::new(ALICE, 4, "low"));
    assert_eq!(reason(low), Reason::NonceTooLow { nonce: 4, next: 5 });
    let high = ledger.add(Transaction::new(ALICE, u64::MAX, "high"));
    assert_eq!(reason(high), Reason::NonceTooHigh);
    assert_eq!(ledger.senders(), 0);
    assert_eq!(ledger.add(Transaction::new(ALICE, 5, "right")).unwrap().missing, None);
    assert_eq!(ledger.add(Transaction::new(BOB, 0, "right")).unwrap().missing, None);
    let low = ledger.add(Transaction::new(ALICE, 0, "low"));
    assert_eq!(reason(low), Reason::NonceTooLow { nonce: 0, next: 5 });
    assert_eq!(ledger.add(Transaction::new(BOB, u64::MAX - 1, "far")).unwrap().missing, Some(1));
}

/// Whoever is asked may have moved on when it is asked again.
#[test]
fn a_sender_is_at_the_nonce_that_was_told_first() {
    let told = std::cell::Cell::new(5);
    let mut ledger = Ledger::new().first_nonce(move |_| told.replace(told.get() + 1));
    ledger.add(Transaction::new(ALICE, 5, "five")).unwrap();
    assert_eq!(ledger.next_nonce(ALICE), 5);
    let six = ledger.add(Transaction::new(ALICE, 6, "six").gas_price(1)).unwrap();
    assert!(six.replaced.is_none());
    assert_eq!(ledger.due(), 2);
}

#[test]
fn what_comes_back_from_a_refusal_is_what_was_given() {
    let mut ledger = Ledger::new().first_nonce(|_| 1);
    let given = Transaction::new(ALICE, 0, "mine").writes([Key::Account(BOB)]);
    let rejected = ledger.add(given).unwrap_err();
    let text = rejected.to_string();
    assert!(text.contains("0x0101") && text.contains("too low"), "{text}");
    let (_, transaction) = rejected.into_parts();
    assert_eq!(transaction.write_set(), [Key::Account(BOB)]);
    assert_eq!(transaction.into_payload(), "mine");
}

#[test]
fn only_so_many_are_held_back() {
    let mut ledger = Ledger::new().held_per_sender_max(3).held_max(5);
    let mut add = |sender: u8, nonce| {
        ledger.add(Transaction::new(Address::new([sender; 20]), nonce, ())).map(drop)
    };
    for nonce in [7, 3, 5] {
        add(1, nonce).unwrap();
    }
    assert_eq!(reason(add(1, 9)), Reason::HeldBySender { max: 3 });
    add(2, 1).unwrap();
    add(3, 1).unwrap();
    for sender in 4..20 {
        assert_eq!(reason(add(sender, 1)), Reason::Held { max: 5 });
    }
    // What is due is not held back, and makes room if it closes a gap.
    add(2, 0).unwrap();
    add(4, 0).unwrap();
    add(5, 1).unwrap();
    assert_eq!(reason(add(6, 1)), Reason::Held { max: 5 });
    assert_eq!((ledger.senders(), ledger.held(), ledger.due()), (5, 5, 3));
}

#[test]
fn only_so_many_wait() {
    let mut ledger = Ledger::new().waiting_max(2);
    let refused = ledger.add_all((0..5).map(|nonce| Transaction::new(ALICE, nonce, nonce)));
    let reasons: Vec<Reason> = refused.iter().map(|rejected| rejected.reason()).collect();
    assert_eq!(reasons, [Reason::Full { max: 2 }; 3]);
    // One that replaces another needs no room.
    ledger.add(Transaction::new(ALICE, 0, 7).gas_price(1)).unwrap();
    let back = ledger.take_back(ALICE).into_iter().map(Transaction::into_payload);
    assert_eq!(back.collect::<Vec<_>>(), [7, 1]);
    ledger.add(Transaction::new(ALICE, 0, 0)).unwrap();
}

#[test]
fn only_so_many_keys_are_declared_by_one_and_by_all() {
    let many = |sender: u8, keys: usize| {
        Transaction::with_keys(Address::new([sender; 20]), 0, ()).reads(vec![0u8; keys])
    };
    let max = job::transaction::KEYS_MAX;
    let mut ledger = Ledger::new().waiting_max(2);
    let more = Reason::TooManyKeys { keys: max + 1, max };
    assert_eq!(reason(ledger.add(many(1, max + 1))), more);
    ledger.add(many(1, max)).unwrap();
    assert_eq!(reason(ledger.add(many(2, 1))), Reason::Full { max: 2 });
    // Not by way of a replacement either.
    ledger.take_back(Address::new([1; 20]));
    ledger.add(many(1, max - 1)).unwrap();
    ledger.add(many(2, 1)).unwrap();
    assert_eq!(reason(ledger.add(many(2, 2).gas_price(9))), Reason::Full { max: 2 });
}

#[test]
fn one_that_fails_has_used_its_nonce_and_the_later_ones_run() {
    let (log, executor) = noting();
    let mut pool = simulated(2, Policy::WorkStealing);
    let mut ledger = Ledger::new();
    for (nonce, name) in [(0, "fails!"), (1, "panics?"), (2, "runs")] {
        ledger.add(Transaction::new(ALICE, nonce, name)).unwrap();
    }
    let receipts = ledger.submit(&pool, &executor).unwrap();
    ledger.add(Transaction::new(ALICE, 3, "next")).unwrap();
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(names(&log), ["fails!", "panics?", "runs", "next"]);
    assert_eq!(ledger.next_nonce(ALICE), 4);
    let outcomes = receipts.join().unwrap().into_iter().map(|receipt| receipt.outcome);
    let panicked = JobError::Panicked("panics?".to_owned());
    let expected = [Err(JobError::Failed("fails!")), Err(panicked), Ok(4)];
    assert_eq!(outcomes.collect::<Vec<_>>(), expected);
}

#[test]
fn one_that_is_cancelled_has_used_its_nonce_too() {
    let (log, executor) = noting();
    let mut pool = simulated(2, Policy::WorkStealing);
    let mut ledger = Ledger::new();
    ledger.add(Transaction::new(ALICE, 0, "first")).unwrap();
    let receipts = ledger.submit(&pool, &executor).unwrap();
    receipts.cancel();
    ledger.add(Transaction::new(ALICE, 1, "second")).unwrap();
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(receipts.status(0), Status::Cancelled);
    assert_eq!(names(&log), ["second"]);
}

#[test]
fn one_that_fails_can_fail_those_of_its_batch_that_depend_on_it() {
    let (log, executor) = noting();
    let mut pool = simulated(1, Policy::Fcfs);
    let mut ledger = Ledger::new().on_failure(OnFailure::FailDependents);
    let key = [Key::Account(ALICE)];
    ledger.add(Transaction::new(ALICE, 0, "fails!").writes(key)).unwrap();
    ledger.add(Transaction::new(ALICE, 1, "by nonce").reads([])).unwrap();
    ledger.add(Transaction::new(BOB, 0, "by conflict").reads(key)).unwrap();
    ledger.add(Transaction::new(Address::new([3; 20]), 0, "free").reads([])).unwrap();
    let receipts = ledger.submit(&pool, &executor).unwrap();
    // A later batch runs whether it comes before the failure or after it.
    ledger.add(Transaction::new(ALICE, 2, "next").reads(key)).unwrap();
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    ledger.add(Transaction::new(ALICE, 3, "last").reads(key)).unwrap();
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(names(&log), ["fails!", "free", "next", "last"]);
    for at in [1, 2] {
        assert!(matches!(receipts.result(at), Some(Err(JobError::Predecessor { .. }))));
    }
}

#[test]
fn a_pool_without_room_leaves_all_of_them_due() {
    let (log, executor) = noting();
    let mut pool = Pool::builder().workers(1).capacity(2).simulate(1).unwrap();
    for order in [Order::Given, Order::Price] {
        let mut ledger = Ledger::new().order(order);
        for (nonce, name) in [(0, "a"), (1, "b"), (3, "d")] {
            let key = [Key::Account(ALICE)];
            ledger.add(Transaction::new(ALICE, nonce, name).writes(key)).unwrap();
        }
        let mut full = Ledger::new();
        full.add(Transaction::new(BOB, 0, "takes a place")).unwrap();
        drop(full.submit(&pool, &executor).unwrap());
        for _ in 0..3 {
            let refused = ledger.submit(&pool, &executor).unwrap_err();
            assert_eq!(refused, Error::QueueFull { capacity: 2, queued: 1, wanted: 2 });
            assert_eq!((ledger.due(), ledger.held(), ledger.next_nonce(ALICE)), (2, 1, 0));
        }
        pool.simulation().run();
        assert_eq!(names(&log), ["takes a place"]);
        let receipts = ledger.submit(&pool, &executor).unwrap();
        pool.simulation().run();
        assert_eq!((names(&log), ledger.next_nonce(ALICE)), (vec!["a", "b"], 2));
        assert_eq!(receipts.join().unwrap().len(), 2);
        ledger.add(Transaction::new(ALICE, 2, "c")).unwrap();
        drop(ledger.submit(&pool, &executor).unwrap());
        pool.simulation().run();
        assert_eq!(names(&log), ["c", "d"]);
    }
}

#[test]
fn a_prioritizer_that_returns_no_number_leaves_all_of_them_due() {
    let (log, executor) = noting();
    let sane = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let asked = sane.clone();
    let prioritize =
        move |info: &job::JobInfo| match asked.load(std::sync::atomic::Ordering::Relaxed) {
            true => info.priority,
            false => f64::NAN,
        };
    let builder = Pool::builder().workers(1).prioritizer(prioritize);
    let mut pool = builder.policy(Policy::HighestPriority).simulate(1).unwrap();
    let mut ledger = Ledger::new();
    let key = [Key::Account(ALICE)];
    ledger.add(Transaction::new(ALICE, 0, "a").writes(key)).unwrap();
    ledger.add(Transaction::new(BOB, 0, "b").writes(key).gas_price(1)).unwrap();
    let refused = ledger.submit(&pool, &executor).unwrap_err();
    assert!(matches!(refused, Error::PriorityNotFinite { .. }), "{refused}");
    sane.store(true, std::sync::atomic::Ordering::Relaxed);
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(names(&log), ["a", "b"]);
}

#[test]
fn a_prioritizer_that_panics_leaves_all_of_them_due() {
    let (log, executor) = noting();
    let panics = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let asked = panics.clone();
    let prioritize = move |info: &job::JobInfo| {
        let last = info.successors == 0;
        assert!(!(last && asked.swap(false, std::sync::atomic::Ordering::Relaxed)), "no idea");
        info.priority
    };
    let builder = Pool::builder().workers(1).prioritizer(prioritize);
    let mut pool = builder.policy(Policy::HighestPriority).simulate(1).unwrap();
    let mut ledger = Ledger::new().order(Order::Price);
    ledger.add(Transaction::new(ALICE, 0, "a")).unwrap();
    ledger.add(Transaction::new(ALICE, 1, "b")).unwrap();
    let submit = std::panic::AssertUnwindSafe(|| drop(ledger.submit(&pool, &executor)));
    assert!(std::panic::catch_unwind(submit).is_err());
    assert_eq!((ledger.due(), pool.metrics().queue_depth), (2, 0));
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(names(&log), ["a", "b"]);
}

#[test]
fn a_pool_that_stops_tells_the_receipts() {
    let (log, executor) = noting();
    let pool = simulated(1, Policy::Fcfs);
    let mut ledger = Ledger::new();
    for (nonce, name) in [(0, "a"), (1, "b")] {
        ledger.add(Transaction::new(ALICE, nonce, name)).unwrap();
    }
    let first = ledger.submit(&pool, &executor).unwrap();
    ledger.add(Transaction::new(ALICE, 2, "c")).unwrap();
    let second = ledger.submit(&pool, &executor).unwrap();
    drop(pool);
    assert_eq!(names(&log), [""; 0]);
    for receipt in first.join().unwrap().iter().chain(&second.join().unwrap()) {
        assert_eq!(receipt.outcome, Err(JobError::Stopped));
    }
}

#[test]
fn what_waits_of_a_sender_can_be_taken_back() {
    let (log, executor) = noting();
    let mut pool = simulated(1, Policy::Fcfs);
    let mut ledger = Ledger::new();
    for (sender, nonce, name) in
        [(ALICE, 0, "a0"), (BOB, 0, "b0"), (ALICE, 1, "a1"), (ALICE, 3, "a3"), (BOB, 1, "b1")]
    {
        ledger.add(Transaction::new(sender, nonce, name)).unwrap();
    }
    let back = ledger.take_back(ALICE).into_iter().map(Transaction::into_payload);
    assert_eq!(back.collect::<Vec<_>>(), ["a0", "a1", "a3"]);
    assert_eq!((ledger.due(), ledger.held()), (2, 0));
    assert!(ledger.take_back(ALICE).is_empty());
    ledger.add(Transaction::new(ALICE, 0, "again")).unwrap();
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(names(&log), ["b0", "again", "b1"]);
}

#[test]
fn idle_senders_are_forgotten_and_those_with_something_to_come_are_not() {
    let (log, executor) = noting();
    let mut pool = simulated(1, Policy::Fcfs);
    let mut ledger = Ledger::new().first_nonce(|sender| u64::from(sender == ALICE));
    ledger.add(Transaction::new(ALICE, 1, "a")).unwrap();
    let receipts = ledger.submit(&pool, &executor).unwrap();
    ledger.add(Transaction::new(BOB, 1, "held")).unwrap();
    assert_eq!(ledger.forget_idle(), 0);
    pool.simulation().run();
    assert_eq!((ledger.next_nonce(ALICE), ledger.forget_idle()), (2, 1));
    assert_eq!((ledger.next_nonce(ALICE), ledger.senders()), (1, 1));
    ledger.add(Transaction::new(BOB, 0, "missing")).unwrap();
    ledger.add(Transaction::new(ALICE, 1, "a")).unwrap();
    drop(ledger.submit(&pool, &executor).unwrap());
    pool.simulation().run();
    assert_eq!(names(&log), ["a", "missing", "a", "held"]);
    drop(receipts);
}
