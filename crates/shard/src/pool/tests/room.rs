//! Who gives way, who is refused, and who may replace whom?

use super::*;

fn with_room_for(transactions_max: usize) -> Pool {
    pool(PoolLimits { transactions_max, ..limits() })
}

fn replaced(transaction: &SharedTransaction) -> Inserted {
    Inserted { replaced: Some(transaction.clone()), evicted: Vec::new() }
}

fn evicted(transaction: &SharedTransaction) -> Inserted {
    Inserted { replaced: None, evicted: vec![transaction.clone()] }
}

#[test]
fn a_replacement_needs_ten_percent_more_of_both_fees() {
    let mut pool = pool(limits());
    let [old] = fill(&mut pool, [(alice(), 0, 1_000)]);
    let refused = Refusal::ReplacementUnderpriced { fee: 1_100, priority_fee: 1_100 };
    for (fee, priority) in [(1_099, 1_099), (1_100, 1_099), (5_000, 1_000)] {
        let fields = TxEip1559 { max_priority_fee_per_gas: priority, ..fields(0, fee) };
        assert_eq!(insert(&mut pool, &unsigned(alice(), fields)), Err(refused.clone()));
    }
    let new = transfer(alice(), 0, 1_100);
    let inserted = insert(&mut pool, &new).unwrap();
    assert_eq!(inserted, replaced(&old));
    let by = new.hash();
    let reasons: Vec<Dropped> = inserted.dropped(by).collect();
    assert_eq!(reasons, [(old.clone(), DropReason::Replaced { by })]);
    assert_eq!(pool.status(old.hash()), None);
    assert_eq!(collect(&mut pool), [new]);
}

#[test]
fn a_replacement_of_almost_nothing_must_still_offer_more() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 1)]);
    let same = unsigned(alice(), TxEip1559 { value: U256::from(1), ..fields(0, 1) });
    let refused = Refusal::ReplacementUnderpriced { fee: 2, priority_fee: 2 };
    assert_eq!(insert(&mut pool, &same), Err(refused));
    assert!(insert(&mut pool, &transfer(alice(), 0, 2)).is_ok());
}

#[test]
fn a_replacement_keeps_the_others_of_its_sender_in_line() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (alice(), 2, 20)]);
    assert!(insert(&mut pool, &transfer(alice(), 1, 30)).is_ok());
    assert_eq!(names(&collect(&mut pool)), [(alice(), 0), (alice(), 1), (alice(), 2)]);
}

#[test]
fn what_is_executing_is_not_replaced() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 20)]);
    assert_eq!(collect(&mut pool).len(), 1);
    let refused = insert(&mut pool, &transfer(alice(), 0, 90));
    assert_eq!(refused, Err(Refusal::ReplacementTooLate { nonce: 0 }));
}

#[test]
fn a_replacement_is_paid_for_instead_of_the_old_one() {
    let mut pool = pool(limits());
    let new = transfer(alice(), 0, 30);
    let just_enough = SenderAccount { balance: new.cost_max(), ..account(0) };
    assert!(pool.insert(transfer(alice(), 0, 20), &just_enough, Duration::ZERO).is_ok());
    assert!(pool.insert(new, &just_enough, Duration::ZERO).is_ok());
}

#[test]
fn in_a_full_pool_the_cheapest_last_one_gives_way_to_a_dearer_one() {
    let mut pool = with_room_for(4);
    let [.., cheap, _, _] =
        fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (bob(), 0, 30), (bob(), 1, 30)]);
    let refused = insert(&mut pool, &transfer(carol(), 0, 20));
    assert_eq!(refused, Err(Refusal::Underpriced { price: 20 }));
    assert_eq!(insert(&mut pool, &transfer(carol(), 0, 21)), Ok(evicted(&cheap)));
    assert_eq!(pool.len(), 4);
    assert_eq!(names(&collect(&mut pool)), [(bob(), 0), (bob(), 1), (carol(), 0), (alice(), 0)]);
}

#[test]
fn what_would_be_executed_next_never_gives_way() {
    let mut pool = with_room_for(2);
    fill(&mut pool, [(alice(), 0, 20), (bob(), 0, 20)]);
    assert_eq!(insert(&mut pool, &transfer(carol(), 0, 90)), Err(Refusal::Full));
}

#[test]
fn what_is_executing_never_gives_way() {
    let mut pool = with_room_for(2);
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20)]);
    assert_eq!(collect(&mut pool).len(), 2);
    assert_eq!(insert(&mut pool, &transfer(carol(), 0, 90)), Err(Refusal::Full));
}

#[test]
fn the_next_one_gives_way_if_it_offers_less_than_the_base_fee() {
    let mut pool = with_room_for(1);
    let [low] = fill(&mut pool, [(alice(), 0, 9)]);
    assert_eq!(insert(&mut pool, &transfer(bob(), 0, 20)), Ok(evicted(&low)));
}

#[test]
fn nobody_gives_way_to_one_that_must_wait_itself() {
    let mut pool = with_room_for(2);
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20)]);
    assert_eq!(insert(&mut pool, &transfer(bob(), 1, 90)), Err(Refusal::Full));
    assert!(insert(&mut pool, &transfer(bob(), 0, 90)).is_ok());
}

#[test]
fn in_a_full_fifo_pool_nobody_gives_way() {
    let mut pool = pool(PoolLimits { transactions_max: 2, ..fifo() });
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20)]);
    assert_eq!(insert(&mut pool, &transfer(bob(), 0, 90)), Err(Refusal::Full));
}

#[test]
fn a_sender_at_its_limit_is_refused() {
    let mut pool = pool(PoolLimits { sender_max: 2, ..limits() });
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (bob(), 0, 20)]);
    let refused = insert(&mut pool, &transfer(alice(), 2, 90));
    assert_eq!(refused, Err(Refusal::SenderFull { transactions_max: 2 }));
    assert!(insert(&mut pool, &transfer(alice(), 1, 90)).is_ok(), "replacing is no growth");
}

#[test]
fn the_one_that_all_others_wait_for_takes_the_place_of_the_last() {
    for limits in [
        PoolLimits { sender_max: 2, ..limits() },
        PoolLimits { transactions_max: 2, ..limits() },
        PoolLimits { transactions_max: 2, ..fifo() },
    ] {
        let mut pool = pool(limits);
        let [_, last] = fill(&mut pool, [(alice(), 1, 90), (alice(), 2, 90)]);
        assert_eq!(insert(&mut pool, &transfer(alice(), 0, 20)), Ok(evicted(&last)));
        assert_eq!(names(&collect(&mut pool)), [(alice(), 0), (alice(), 1)]);
    }
}

#[test]
fn a_large_one_takes_the_room_of_several_small_ones() {
    let small = transfer(alice(), 0, 20).encoded().len();
    let mut pool = pool(PoolLimits { bytes_max: 8 * small, ..limits() });
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (bob(), 0, 30), (bob(), 1, 30)]);
    let large = |fee, len: usize| {
        let fields = TxEip1559 { input: vec![0; len].into(), gas_limit: 100_000, ..fields(0, fee) };
        unsigned(carol(), fields)
    };
    // Too dear a neighbour: of the two that could go, one stays.
    let refused = insert(&mut pool, &large(25, 4 * small + small / 2));
    assert_eq!(refused, Err(Refusal::Underpriced { price: 30 }));
    assert_eq!(pool.len(), 4, "nobody has gone for nothing");
    let inserted = insert(&mut pool, &large(40, 4 * small + small / 2)).unwrap();
    assert_eq!(names(&inserted.evicted), [(alice(), 1), (bob(), 1)]);
    assert!(pool.counts().bytes <= 8 * small);
    // All that are left would be executed next.
    assert_eq!(insert(&mut pool, &transfer(Address::ZERO, 0, 99)), Err(Refusal::Full));
}
