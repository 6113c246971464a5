//! Are transactions collected in the right order, and does nothing get lost on the way?

use super::*;

#[test]
fn the_highest_price_goes_first_and_among_equals_the_first_that_came() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 20), (bob(), 0, 30), (carol(), 0, 20)]);
    assert_eq!(names(&collect(&mut pool)), [(bob(), 0), (alice(), 0), (carol(), 0)]);
}

#[test]
fn the_price_is_what_is_paid_under_the_base_fee() {
    let mut pool = pool(limits());
    // Offers much, but pays one above the base fee.
    let modest = TxEip1559 { max_priority_fee_per_gas: 1, ..fields(0, 1_000) };
    assert!(insert(&mut pool, &unsigned(alice(), modest)).is_ok());
    fill(&mut pool, [(bob(), 0, 12)]);
    assert_eq!(names(&collect(&mut pool)), [(bob(), 0), (alice(), 0)]);
}

#[test]
fn in_a_fifo_pool_the_first_that_came_goes_first() {
    let mut pool = pool(fifo());
    fill(&mut pool, [(alice(), 0, 20), (bob(), 0, 30), (alice(), 1, 90)]);
    assert_eq!(names(&collect(&mut pool)), [(alice(), 0), (bob(), 0), (alice(), 1)]);
}

#[test]
fn a_sender_goes_by_nonces_whatever_the_price_and_arrival() {
    for limits in [limits(), fifo()] {
        let mut pool = pool(limits);
        fill(&mut pool, [(alice(), 2, 90), (alice(), 1, 50), (alice(), 0, 20)]);
        assert_eq!(names(&collect(&mut pool)), [(alice(), 0), (alice(), 1), (alice(), 2)]);
    }
}

#[test]
fn a_gap_waits_until_it_is_filled() {
    let mut pool = pool(limits());
    let [later] = fill(&mut pool, [(alice(), 1, 20)]);
    assert!(!pool.has_ready());
    assert_eq!(collect(&mut pool), []);
    let waits = Status::Queued(Queued::Missing { nonce: 0 });
    assert_eq!(pool.status(later.hash()), Some(waits));
    fill(&mut pool, [(alice(), 0, 20)]);
    assert!(pool.has_ready());
    assert_eq!(names(&collect(&mut pool)), [(alice(), 0), (alice(), 1)]);
}

#[test]
fn a_fee_below_the_base_fee_waits_until_that_falls() {
    let mut pool = pool(limits());
    let [low, behind] = fill(&mut pool, [(alice(), 0, 9), (alice(), 1, 50)]);
    assert!(!pool.has_ready());
    let fee = Queued::Fee { base_fee: BASE_FEE, offered: 9 };
    assert_eq!(pool.status(low.hash()), Some(Status::Queued(fee)));
    let waits = Status::Queued(Queued::Behind { nonce: 0 });
    assert_eq!(pool.status(behind.hash()), Some(waits));
    pool.set_base_fee(9);
    assert!(pool.has_ready());
    assert_eq!(pool.status(behind.hash()), Some(Status::Queued(Queued::Ready)));
    assert_eq!(pool.collect(10, u64::MAX, 9), [low, behind]);
}

#[test]
fn a_new_base_fee_changes_the_order() {
    let mut pool = pool(limits());
    // Alice pays the base fee and 5, Bob 20 in any case.
    let alices = TxEip1559 { max_priority_fee_per_gas: 5, ..fields(0, 1_000) };
    assert!(insert(&mut pool, &unsigned(alice(), alices)).is_ok());
    fill(&mut pool, [(bob(), 0, 20)]);
    let first = pool.collect(1, u64::MAX, 10);
    assert_eq!(names(&first), [(bob(), 0)]);
    assert_eq!(pool.give_back(&hashes(&first)), []);
    assert_eq!(names(&pool.collect(1, u64::MAX, 16)), [(alice(), 0)]);
}

#[test]
fn a_batch_ends_where_the_count_or_the_gas_is_full() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (bob(), 0, 15), (carol(), 0, 12)]);
    assert_eq!(names(&pool.collect(1, u64::MAX, BASE_FEE)), [(alice(), 0)]);
    assert_eq!(names(&pool.collect(9, 2 * GAS + 1, BASE_FEE)), [(alice(), 1), (bob(), 0)]);
    assert_eq!(names(&pool.collect(9, GAS, BASE_FEE)), [(carol(), 0)]);
    assert_eq!(pool.counts().executing, 4);
}

#[test]
fn the_first_is_collected_even_if_it_needs_more_gas() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 20), (bob(), 0, 15)]);
    assert_eq!(names(&pool.collect(9, 1, BASE_FEE)), [(alice(), 0)]);
}

#[test]
fn what_is_executing_is_not_collected_again() {
    let mut pool = pool(limits());
    let [first] = fill(&mut pool, [(alice(), 0, 20)]);
    assert_eq!(collect(&mut pool).len(), 1);
    assert_eq!(pool.status(first.hash()), Some(Status::Executing));
    assert!(!pool.has_ready());
    // The next one follows while the first is still on its way.
    fill(&mut pool, [(alice(), 1, 20)]);
    assert_eq!(names(&collect(&mut pool)), [(alice(), 1)]);
}

/// Against a pool that forgets what it has given out, be it executed or not.
#[test]
fn a_batch_that_filled_the_block_removes_nothing_that_was_not_executed() {
    let mut pool = pool(limits());
    let all = fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (bob(), 0, 15), (bob(), 1, 15)]);
    let batch = collect(&mut pool);
    assert_eq!(batch, all);
    // The block had room for one.
    pool.included(&hashes(&batch[..1]));
    assert_eq!(pool.account_changed(alice(), 1, U256::MAX), []);
    assert_eq!(pool.give_back(&hashes(&batch[1..])), []);
    assert_eq!(pool.len(), 3);
    assert_eq!(collect(&mut pool), all[1..]);
}

#[test]
fn a_batch_that_failed_is_collected_again_as_it_was() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 20), (bob(), 0, 30), (alice(), 1, 90), (carol(), 0, 20)]);
    let batch = collect(&mut pool);
    assert_eq!(pool.give_back(&hashes(&batch)), []);
    assert_eq!(collect(&mut pool), batch);
}

#[test]
fn two_batches_on_their_way_are_given_back_in_either_order() {
    for first in [0, 1] {
        let mut pool = pool(limits());
        let all = fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (alice(), 2, 20)]);
        let batches = [pool.collect(2, u64::MAX, BASE_FEE), pool.collect(2, u64::MAX, BASE_FEE)];
        assert_eq!(pool.give_back(&hashes(&batches[first])), []);
        assert_eq!(pool.counts().pending, 3);
        assert_eq!(pool.give_back(&hashes(&batches[1 - first])), []);
        assert_eq!(collect(&mut pool), all);
    }
}

#[test]
fn what_comes_after_a_dropped_one_waits_for_its_nonce() {
    let mut pool = pool(limits());
    let [first, second, third] =
        fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (alice(), 2, 20)]);
    assert_eq!(collect(&mut pool).len(), 3);
    pool.included(&[first.hash()]);
    assert_eq!(pool.dropped(second.hash()), Some(second));
    assert_eq!(pool.give_back(&[third.hash()]), []);
    let waits = Status::Queued(Queued::Missing { nonce: 1 });
    assert_eq!(pool.status(third.hash()), Some(waits));
    let another = transfer(alice(), 1, 25);
    assert!(pool.insert(another.clone(), &account(1), Duration::ZERO).is_ok());
    assert_eq!(collect(&mut pool), [another, third]);
}

#[test]
fn those_whose_nonce_was_used_are_dropped_with_the_reason() {
    let mut pool = pool(limits());
    let [first, second, third] =
        fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (alice(), 2, 20)]);
    let reason = |nonce| DropReason::NonceTooLow { nonce, account: 2 };
    let dropped = pool.account_changed(alice(), 2, U256::MAX);
    assert_eq!(dropped, [(first, reason(0)), (second, reason(1))]);
    assert_eq!(collect(&mut pool), [third]);
}

#[test]
fn the_next_one_is_dropped_when_the_funds_are_gone() {
    let mut pool = pool(limits());
    let [first, second] = fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20)]);
    let batch = pool.collect(1, u64::MAX, BASE_FEE);
    let cost = second.cost_max();
    // Nothing is decided about the second while the first is on its way.
    assert_eq!(pool.account_changed(alice(), 0, U256::ZERO), []);
    pool.included(&hashes(&batch));
    assert_eq!(batch, [first]);
    assert_eq!(pool.account_changed(alice(), 1, cost), []);
    let dropped = pool.account_changed(alice(), 1, cost - U256::from(1));
    assert_eq!(dropped, [(second, DropReason::InsufficientFunds)]);
    assert!(pool.is_empty());
}

#[test]
fn what_is_executing_is_not_dropped_when_its_account_changes_first() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20)]);
    let batch = collect(&mut pool);
    assert_eq!(pool.account_changed(alice(), 1, U256::ZERO), []);
    assert_eq!(pool.len(), 2);
    pool.included(&hashes(&batch[..1]));
    // Only now can something be said about the other.
    let dropped = pool.give_back(&hashes(&batch[1..]));
    assert_eq!(dropped, [(batch[1].clone(), DropReason::InsufficientFunds)]);
}

#[test]
fn what_is_given_back_after_its_nonce_was_used_is_dropped() {
    let mut pool = pool(limits());
    fill(&mut pool, [(alice(), 0, 20)]);
    let batch = collect(&mut pool);
    assert_eq!(pool.account_changed(alice(), 3, U256::MAX), []);
    let reason = DropReason::NonceTooLow { nonce: 0, account: 3 };
    assert_eq!(pool.give_back(&hashes(&batch)), [(batch[0].clone(), reason)]);
    assert!(pool.is_empty());
}

#[test]
fn what_waits_too_long_expires_and_what_is_executing_does_not() {
    let second = Duration::from_secs(1);
    let mut pool = pool(PoolLimits { expiry: 10 * second, ..limits() });
    let [first, gap] = [transfer(alice(), 0, 20), transfer(bob(), 1, 20)];
    assert!(pool.insert(first.clone(), &account(0), second).is_ok());
    assert!(pool.insert(gap.clone(), &account(0), 2 * second).is_ok());
    assert_eq!(pool.oldest(), Some(second));
    assert_eq!(collect(&mut pool), std::slice::from_ref(&first));
    assert_eq!(pool.expire(12 * second), []);
    let expired = |transaction| [(transaction, DropReason::Expired)];
    assert_eq!(pool.expire(12 * second + Duration::from_nanos(1)), expired(gap));
    assert_eq!(pool.give_back(&[first.hash()]), []);
    assert_eq!(pool.expire(13 * second), expired(first));
    assert_eq!((pool.oldest(), pool.len()), (None, 0));
}

#[test]
fn unknown_hashes_change_nothing() {
    let mut pool = pool(limits());
    let [known] = fill(&mut pool, [(alice(), 0, 20)]);
    pool.included(&[B256::ZERO]);
    assert_eq!(pool.give_back(&[B256::ZERO, known.hash()]), []);
    assert_eq!((pool.dropped(B256::ZERO), pool.len()), (None, 1));
    assert_eq!(pool.account_changed(bob(), 5, U256::ZERO), []);
}
