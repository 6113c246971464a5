//! What becomes of batches in which something happens on purpose?

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use alloy_primitives::{Address, B256, TxKind, U256, keccak256};
use job::Pool;
use kernel::Runtime;
use revm::primitives::hardfork::SpecId;

use super::{
    contracts::{self, word, words},
    on_pool, same,
    world::{Does, World, call, sender, transaction, valued},
};
use crate::{
    block::AccountChange,
    config::Rules,
    execute::{
        ExecuteError, Executed,
        parallel::{Finished, Work, Worth, start},
        sequential::Executor,
    },
    state::cache::Cache,
    transaction::SharedTransaction,
};

fn executed(finished: &Finished) -> &Executed {
    finished.result.as_ref().expect("nothing fails here")
}

fn own_counts(senders: u64) -> Vec<SharedTransaction> {
    (0..senders).map(|from| call(from, 0, Does::OwnCounter.at(), Vec::new())).collect()
}

#[test]
fn those_who_touch_different_things_are_executed_once_though_all_pay_the_same_beneficiary() {
    let world = World::plain(32, Rules::default());
    let (finished, _) = same(&world, 4, own_counts(32));
    assert_eq!((finished.conflicts, finished.alone), (0, 0));
    assert_eq!(executed(&finished).included.len(), 32);
    let paid = |change: &&AccountChange| change.address == world.beneficiary;
    assert!(executed(&finished).changes.accounts.iter().find(paid).is_some());
}

#[test]
fn roots_are_made_by_those_who_have_time_or_by_the_last_alone() {
    let world = World::plain(64, Rules::default());
    for workers in 1..=3 {
        let (finished, _) = same(&world, workers, own_counts(64));
        assert!(finished.roots.is_some(), "{workers} workers");
    }
    let (few, _) = same(&world, 2, own_counts(2));
    assert_eq!(few.roots, None, "it is too little to share");
}

#[test]
fn twice_the_workers_take_half_the_time_where_nothing_conflicts() {
    let world = World::plain(64, Rules::default());
    let time = |workers| same(&world, workers, own_counts(64)).1.as_secs_f64();
    let alone = time(1);
    for workers in [2, 4] {
        let ideal = alone / workers as f64;
        let time = time(workers);
        assert!(time < 1.2 * ideal, "{workers} workers take {time}, one takes {alone}");
    }
}

#[test]
fn where_all_conflict_the_rest_is_executed_one_by_one() {
    let world = World::plain(40, Rules::default());
    let batch = (0..40).map(|from| call(from, 0, Does::Counter.at(), Vec::new())).collect();
    let (finished, _) = same(&world, 3, batch);
    assert!(finished.conflicts > 0);
    assert!(finished.alone > 20, "{} of 40", finished.alone);
    let last = &executed(&finished).included[39].1;
    assert_eq!(U256::from_be_slice(&last.output), U256::from(40));
}

#[test]
fn transactions_of_one_sender_are_executed_once_each_in_their_order() {
    let world = World::plain(3, Rules::default());
    let counts = (0..30).map(|at| call(at % 3, at / 3, Does::OwnCounter.at(), Vec::new()));
    let (finished, _) = same(&world, 3, counts.collect());
    assert_eq!((finished.conflicts, finished.alone), (0, 0));
    assert_eq!(executed(&finished).included.len(), 30);
}

/// A first stretch, of which nothing is to be learnt, and then these.
fn after_a_stretch(mut batch: Vec<SharedTransaction>) -> Vec<SharedTransaction> {
    let mut all: Vec<_> =
        (20..24).map(|from| call(from, 0, Does::OwnCounter.at(), Vec::new())).collect();
    all.append(&mut batch);
    all
}

#[test]
fn shares_whose_last_transactions_conflict_are_executed_again_and_no_others() {
    let world = World::plain(24, Rules::default());
    let mut batch: Vec<_> =
        (0..14).map(|at| call(at % 7, at / 7, Does::OwnCounter.at(), Vec::new())).collect();
    batch.push(call(0, 2, Does::Counter.at(), Vec::new()));
    batch.push(call(6, 2, Does::Counter.at(), Vec::new()));
    let (finished, _) = same(&world, 2, after_a_stretch(batch));
    // Of the stretch of 16 there are shares of three or four.
    assert!((6..=8).contains(&finished.conflicts), "{finished:?}");
    assert_eq!((finished.together, finished.alone), (20, 0));
    let last = &executed(&finished).included[19].1;
    assert_eq!(U256::from_be_slice(&last.output), U256::from(2));
}

/// What a share changes back is as it was; but another one might have seen it in between.
#[test]
fn what_a_share_changes_and_changes_back_is_seen_by_another_in_between() {
    let world = World::plain(24, Rules::default());
    let flip = |from, nonce, bits| call(from, nonce, Does::Flip.at(), words(&[U256::from(bits)]));
    let mut batch = vec![flip(0, 0, 1), flip(1, 0, 0), flip(0, 1, 1), flip(1, 1, 0)];
    batch.extend((2..10).map(|from| call(from, 0, Does::OwnCounter.at(), Vec::new())));
    let (finished, _) = same(&world, 2, after_a_stretch(batch));
    assert!(finished.conflicts > 0);
    let seen = executed(&finished).included[4..8].iter();
    let seen: Vec<u64> =
        seen.map(|(_, receipt)| U256::from_be_slice(&receipt.output).to()).collect();
    assert_eq!(seen, [0, 1, 1, 0]);
}

#[test]
fn stretch_goes_as_far_as_the_block_has_room_for_whatever_is_used() {
    let rules = Rules { block_gas_limit: 2_000_000, ..Rules::default() };
    let world = World::plain(60, rules);
    // Each asks for 300,000 and uses less than 60,000.
    let (finished, _) = same(&world, 2, own_counts(60));
    assert!(!executed(&finished).left.is_empty());
    assert!(finished.together > 10, "{} of 60", finished.together);
    assert_eq!((finished.conflicts, finished.alone), (0, 0));
}

#[test]
fn who_looks_at_the_beneficiary_sees_all_fees_before() {
    let world = World::plain(24, Rules::default());
    for looks in [Does::PeekBeneficiary, Does::Peek, Does::Proxy] {
        let mut batch: Vec<_> =
            (0..12).map(|from| call(from, 0, Does::OwnCounter.at(), Vec::new())).collect();
        let input = words(&[word(world.beneficiary), U256::ZERO]);
        batch.insert(7, valued(0, 1, looks.at(), u64::from(looks == Does::Proxy), input));
        let (finished, _) = same(&world, 2, after_a_stretch(batch));
        assert!(finished.conflicts > 0, "{looks:?}");
    }
}

#[test]
fn transfer_to_the_beneficiary_ends_a_stretch_and_spoils_none() {
    let world = World::plain(24, Rules::default());
    let mut batch: Vec<_> =
        (0..12).map(|from| call(from, 0, Does::OwnCounter.at(), Vec::new())).collect();
    batch.insert(7, call(0, 1, world.beneficiary, Vec::new()));
    let (finished, _) = same(&world, 2, after_a_stretch(batch));
    assert_eq!((finished.conflicts, finished.alone), (0, 0));
    assert!(finished.together > 8);
}

#[test]
fn contract_lives_and_dies_in_one_share_or_in_several() {
    for fork in [SpecId::SHANGHAI, SpecId::OSAKA] {
        let world = World::plain(24, Rules { fork, ..Rules::default() });
        let maker = contracts::maker(&contracts::mortal());
        let child = Does::Factory.at().create2(B256::ZERO, keccak256(&maker));
        let make = [words(&[U256::ZERO]), maker.to_vec()].concat();
        let destroy = words(&[word(sender(7))]);
        let deeds = [
            (Does::Factory.at(), make.clone()),
            (child, Vec::new()),
            (child, destroy.clone()),
            (child, Vec::new()),
            (Does::Factory.at(), make),
            (child, Vec::new()),
            (Does::Mortal.at(), destroy),
            (Does::Mortal.at(), Vec::new()),
        ];
        let own = |from: u64, nonce| call(from, nonce, Does::OwnCounter.at(), Vec::new());
        // All by one sender, or by two in turns; others have nothing to do with it.
        for senders in [1, 2] {
            let deeds = deeds.iter().zip(0..);
            let deeds =
                deeds.map(|((to, input), at)| call(at % senders, at / senders, *to, input.clone()));
            let batch = deeds.chain((0..8).map(|at| own(2 + at % 4, at / 4)));
            let (finished, _) = same(&world, 2, after_a_stretch(batch.collect()));
            assert_eq!(finished.alone, 0);
            assert_eq!(finished.conflicts > 0, senders == 2, "{fork:?}, {senders}");
        }
    }
}

#[test]
fn dropped_and_waiting_transactions_in_a_share_do_not_spoil_it() {
    let world = World::plain(24, Rules::default());
    let own = |from: u64, nonce| call(from, nonce, Does::OwnCounter.at(), Vec::new());
    let batch = vec![
        own(0, 0),
        own(1, 0),
        // Used already.
        own(0, 0),
        own(2, 0),
        // Before its time: those after it wait too.
        own(1, 3),
        own(1, 1),
        own(0, 1),
        own(2, 1),
        own(3, 0),
        own(1, 2),
    ];
    let (finished, _) = same(&world, 2, after_a_stretch(batch));
    assert_eq!((finished.conflicts, finished.alone, finished.together), (0, 0, 14));
    let executed = executed(&finished);
    assert_eq!((executed.included.len(), executed.dropped.len(), executed.left.len()), (10, 1, 3));
}

#[test]
fn panic_in_a_share_drops_only_its_own_transaction() {
    let mut world = World::plain(24, Rules::default());
    let memory = Arc::get_mut(&mut world.memory).expect("nobody else has it");
    memory.cursed = Some(Address::repeat_byte(0xdd));
    let mut batch: Vec<_> =
        (0..12).map(|from| call(from, 0, Does::OwnCounter.at(), Vec::new())).collect();
    batch.insert(5, call(0, 1, Address::repeat_byte(0xdd), Vec::new()));
    let (finished, _) = same(&world, 2, after_a_stretch(batch));
    assert_eq!(executed(&finished).dropped.len(), 1);
    assert_eq!(executed(&finished).included.len(), 16);
}

#[test]
fn contract_of_an_earlier_transaction_is_called_by_a_later_one() {
    let world = World::plain(4, Rules::default());
    let made = sender(0).create(0);
    let batch = vec![
        transaction(0, 0, TxKind::Create, contracts::maker(&contracts::counter())),
        call(1, 0, made, Vec::new()),
        call(2, 0, Does::Proxy.at(), words(&[word(made), U256::ZERO])),
        call(3, 0, made, Vec::new()),
    ];
    let (finished, _) = same(&world, 4, batch);
    let last = &executed(&finished).included[3].1;
    assert_eq!(U256::from_be_slice(&last.output), U256::from(3));
}

/// Before Cancun a contract takes its storage with it, also what earlier blocks have written.
#[test]
fn contract_that_is_destroyed_and_made_again_has_nothing_of_the_old_one() {
    let world = World::plain(8, Rules { fork: SpecId::SHANGHAI, ..Rules::default() });
    let maker = contracts::maker(&contracts::mortal());
    let child = Does::Factory.at().create2(B256::ZERO, keccak256(&maker));
    let make = [words(&[U256::ZERO]), maker.to_vec()].concat();
    let destroy = words(&[word(sender(7))]);
    let batch = vec![
        call(0, 0, Does::Factory.at(), make.clone()),
        call(1, 0, child, Vec::new()),
        call(2, 0, child, destroy.clone()),
        call(3, 0, child, Vec::new()),
        call(4, 0, Does::Factory.at(), make),
        call(5, 0, child, Vec::new()),
        call(6, 0, Does::Mortal.at(), destroy),
    ];
    for workers in 1..=4 {
        let (finished, _) = same(&world, workers, batch.clone());
        let changes = &executed(&finished).changes.accounts;
        let change = |address| changes.iter().find(|change| change.address == address);
        let slots = change(child).map(|change| change.slots.iter().map(|slot| slot.after.to()));
        assert_eq!(slots.map(Iterator::collect::<Vec<u64>>), Some(vec![1, 5]));
        assert_eq!(change(Does::Mortal.at()).map(|change| change.after), Some(None));
    }
}

#[test]
fn sender_who_is_the_beneficiary_gets_what_he_pays() {
    let mut world = World::plain(8, Rules::default());
    world.beneficiary = sender(0);
    let counts = (0..32).map(|at| call(at % 8, at / 8, Does::OwnCounter.at(), Vec::new()));
    let (finished, _) = same(&world, 4, counts.collect());
    assert_eq!(executed(&finished).included.len(), 32);
}

#[test]
fn empty_batch_comes_to_nothing() {
    let world = World::plain(1, Rules { system_calls: true, ..Rules::default() });
    let (finished, _) = same(&world, 4, Vec::new());
    assert_eq!(executed(&finished).changes, Default::default());
}

#[test]
fn runtime_that_stops_before_the_batch_is_done_says_so() {
    for turns in 0..3u32 {
        let world = World::plain(8, Rules::default());
        let rules = world.rules.clone();
        let chain_id = rules.chain_id(Address::ZERO);
        let cache = Cache::new(world.memory.clone(), 1_000);
        let work = Work {
            rules,
            chain_id,
            context: world.context(0),
            batch: own_counts(8),
            cache,
            calm: 0,
        };
        let mut simulation = Runtime::builder().workers(2).simulate(1).expect("it is valid");
        let (send, receive) = mpsc::channel();
        start(&Pool::on(&simulation.handle()), work, 2, move |finished| {
            send.send(finished).expect("somebody waits for it");
        });
        simulation.run_for(Duration::from_micros(20) * turns);
        assert!(receive.try_recv().is_err(), "it is not done after {turns}");
        drop(simulation);
        let finished = receive.try_recv().expect("it is called all the same");
        assert!(matches!(finished.result, Err(ExecuteError::Fault(_))), "{finished:?}");
    }
}

#[test]
fn pool_that_has_stopped_says_so_at_once() {
    let world = World::plain(2, Rules::default());
    let rules = world.rules.clone();
    let chain_id = rules.chain_id(Address::ZERO);
    let cache = Cache::new(world.memory.clone(), 1_000);
    let work =
        Work { rules, chain_id, context: world.context(0), batch: own_counts(2), cache, calm: 0 };
    let pool = Pool::builder().workers(1).build().expect("it is valid");
    let shared = pool.share();
    pool.shutdown();
    let finished = on_pool(&shared, work, 2);
    assert!(matches!(finished.result, Err(ExecuteError::Fault(_))), "{finished:?}");
}

#[test]
fn block_that_is_committed_while_the_state_is_lent_is_committed_when_it_is_back() {
    let world = World::plain(1, Rules::default());
    let mut executor = Executor::new(&world.rules, Address::ZERO, world.memory.clone(), 1_000);
    executor.committed(3);
    let cache = executor.lend();
    executor.committed(5);
    assert_eq!(cache.committed_up_to(), 3);
    executor.take_back(cache);
    assert_eq!(executor.cache().committed_up_to(), 5);
}

#[test]
fn same_seed_is_the_same_run() {
    let world = World::plain(16, Rules::default());
    let batch =
        || (0..16).map(|from| call(from, 0, Does::Swap.at(), words(&[U256::from(from % 5)])));
    let run = |_| {
        let (finished, time) = same(&world, 3, batch().collect());
        (finished.conflicts, finished.alone, time)
    };
    assert_eq!(run(0), run(1));
}

/// Each share reads what the one before it writes only if that one has read so, too: one more gets into the
/// way with each round, and all of them count.
#[test]
fn conflicts_that_lead_to_others_are_not_followed_round_by_round() {
    let world = World::plain(40, Rules::default());
    let step = |from: u64| call(from, 0, Does::Chain.at(), words(&[U256::from(from)]));
    let (finished, _) = same(&world, 4, (0..40).map(step).collect());
    // Of the first stretch, which has 8, at most half in shares, and then all of it one by one.
    assert!(finished.conflicts <= 12, "{} were executed again", finished.conflicts);
}

#[test]
fn heavy_batches_of_many_senders_are_worth_idle_workers() {
    let world = World::plain(40, Rules::default());
    let rules = &world.rules;
    let maker = contracts::maker(&contracts::counter());
    let make = |from, nonce| transaction(from, nonce, TxKind::Create, maker.clone());
    let heavy: Vec<_> = (0..20).map(|from| make(from, 0)).collect();
    let mut worth = Worth::new();
    assert!(!worth.worthwhile(rules, &heavy, || 1), "nothing is known yet");
    let (mut finished, _) = same(&world, 2, heavy.clone());
    worth.observe_parallel(&finished);
    assert_eq!(worth.calm(), 1);
    assert!(worth.worthwhile(rules, &heavy, || 1));
    assert!(!worth.worthwhile(rules, &heavy, || 0), "nobody is idle");
    assert!(!worth.worthwhile(rules, &heavy[..8], || 1), "there are few");
    let one: Vec<_> = (0..20).map(|nonce| make(0, nonce)).collect();
    assert!(!worth.worthwhile(rules, &one, || 1), "they run one after the other");
    // In vain: it is not tried again for some time, and then for longer.
    finished.conflicts = 6;
    for pause in [1, 2, 4] {
        finished.alone = if pause == 2 { 10 } else { 0 };
        worth.observe_parallel(&finished);
        for _ in 0..pause {
            assert!(!worth.worthwhile(rules, &heavy, || 1));
        }
        assert!(worth.worthwhile(rules, &heavy, || 1));
    }
    assert_eq!(worth.calm(), 0);
    // Small ones are not worth it.
    let transfers: Vec<_> = (0..20).map(|from| call(from, 0, sender(30), Vec::new())).collect();
    for _ in 0..8 {
        worth.observe_parallel(&same(&world, 2, transfers.clone()).0);
    }
    assert!(!worth.worthwhile(rules, &transfers, || 1));
}
