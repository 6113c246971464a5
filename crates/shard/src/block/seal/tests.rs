//! Do blocks have the roots that Ethereum would give them, and do their bytes come back?

use std::sync::Arc;

use alloy_consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy_primitives::{Bloom, keccak256, map::HashMap};

use super::*;
use crate::{
    block::{Body, ChangeSet, SlotChange, genesis_block},
    config::Genesis,
    execute::{sequential::Executor, testing::*},
};

/// A block with all kinds of transactions and receipts, after its genesis.
fn block(rules: &Rules, context: &BlockContext) -> Block {
    block_of(rules, context, 40)
}

/// The same, with so many random ones.
fn block_of(rules: &Rules, context: &BlockContext, len: usize) -> Block {
    let maps = Maps::new(rules, &zoo());
    let mut executor = Executor::new(rules, SHARD, maps, 1_000);
    let mut nonces = [0; 8];
    let mut batch = random_batch(rules, &mut Dice(11), &mut nonces, len);
    batch.push(legacy(rules, 7, nonces[7], user(0)));
    batch.push(call(rules, 6, nonces[6], TOKEN, token_input(user(1), 1)));
    batch.push(create(rules, 5, nonces[5], init_of(&mortal())));
    batch.push(call(rules, 4, nonces[4], REVERTER, vec![1, 2, 3]));
    let executed = executor.execute(context, batch, &mut || true).unwrap();
    assert!(executed.included.len() > len / 2);
    seal(rules, SHARD, context, executed, None)
}

fn based() -> BlockContext {
    let hashes: HashMap<_, _> =
        (4_999_700..5_000_000).map(|n: u64| (n, keccak256(n.to_be_bytes()))).collect();
    BlockContext { number: 5_000_000, base_hashes: Some(Arc::new(hashes)), ..context(1) }
}

#[test]
fn roots_and_filter_are_those_of_ethereum() {
    let block = block(&Rules::default(), &context(1));
    let envelopes: Vec<_> = block.transactions.iter().map(|t| t.envelope().clone()).collect();
    assert_eq!(block.header.transactions_root, calculate_transaction_root(&envelopes));
    let receipts: Vec<_> = block
        .transactions
        .iter()
        .zip(&block.receipts)
        .map(|(transaction, receipt)| receipt.envelope(transaction.envelope().tx_type()))
        .collect();
    assert_eq!(block.header.receipts_root, calculate_receipt_root(&receipts));
    let mut bloom = Bloom::ZERO;
    block.receipts.iter().for_each(|receipt| bloom.accrue_logs(&receipt.logs));
    assert_ne!(bloom, Bloom::ZERO);
    assert_eq!(block.header.logs_bloom, bloom);
    assert_eq!(block.header.gas_used, block.receipts.last().unwrap().cumulative_gas_used);
    assert_eq!(block.hash, block.header.hash_slow());
}

#[test]
fn a_block_without_transactions_has_the_empty_roots() {
    let block = genesis_block(&Rules::default(), SHARD, &Genesis::default(), None);
    assert_eq!(
        block.header.transactions_root,
        calculate_transaction_root::<alloy_consensus::TxEnvelope>(&[])
    );
    assert_eq!((block.number(), block.header.parent_hash), (0, B256::ZERO));
}

#[test]
fn blocks_chain_and_shards_differ_in_their_hashes() {
    let rules = Rules::default();
    let one = genesis_block(&rules, SHARD, &zoo(), None);
    let other = genesis_block(&rules, Address::repeat_byte(1), &zoo(), None);
    assert_ne!(one.hash, other.hash);
    assert_eq!(one.changes, other.changes);
    let next = block(&rules, &BlockContext { parent_hash: one.hash, ..context(1) });
    assert_eq!(next.header.parent_hash, one.hash);
    assert_eq!(next.header.extra_data.as_ref(), SHARD.as_slice());
}

#[test]
fn the_header_has_the_fields_of_its_fork() {
    let fields = |fork| {
        let header =
            genesis_block(&Rules { fork, ..Rules::default() }, SHARD, &Genesis::default(), None)
                .header;
        let mut rest: &[u8] = &alloy_rlp::encode(&header);
        assert_eq!(<Header as alloy_rlp::Decodable>::decode(&mut rest).unwrap(), header);
        (
            header.base_fee_per_gas.is_some(),
            header.withdrawals_root.is_some(),
            header.blob_gas_used.is_some() && header.parent_beacon_block_root.is_some(),
            header.requests_hash.is_some(),
        )
    };
    assert_eq!(fields(SpecId::LONDON), (true, false, false, false));
    assert_eq!(fields(SpecId::SHANGHAI), (true, true, false, false));
    assert_eq!(fields(SpecId::CANCUN), (true, true, true, false));
    assert_eq!(fields(SpecId::PRAGUE), (true, true, true, true));
    assert_eq!(fields(SpecId::OSAKA), (true, true, true, true));
}

#[test]
fn the_state_root_is_what_was_given_or_zero() {
    let rules = Rules::default();
    let root = B256::repeat_byte(7);
    assert_eq!(genesis_block(&rules, SHARD, &zoo(), Some(root)).header.state_root, root);
    assert_eq!(genesis_block(&rules, SHARD, &zoo(), None).header.state_root, B256::ZERO);
}

#[test]
fn of_the_base_chains_hashes_a_block_keeps_those_that_it_has_read() {
    let block = block(&Rules::default(), &based());
    let mut kept: Vec<_> = block.environment.hashes.keys().copied().collect();
    kept.sort_unstable();
    assert_eq!(kept, [4_999_998, 4_999_999]);
    assert_eq!(block.environment.number, Some(5_000_000));
    let again = BlockContext::of(&block);
    assert_eq!((again.number, again.height, again.timestamp), (5_000_000, 1, based().timestamp));
}

#[test]
fn a_block_comes_back_from_its_bytes_whole_and_in_parts() {
    for context in [context(1), based()] {
        let block = block(&Rules::default(), &context);
        let bytes = block.encode();
        assert_eq!(Block::decode(&bytes, Arc::clone(&block.changes)).unwrap(), block);
        let body = Body::new(&bytes).unwrap();
        assert_eq!((body.hash(), body.header().unwrap()), (block.hash, block.header.clone()));
        assert_eq!(body.environment().unwrap(), block.environment);
        assert_eq!(body.len(), block.transactions.len());
        for index in (0..body.len()).rev() {
            assert_eq!(body.transaction(index).unwrap(), block.transactions[index]);
            assert_eq!(body.receipt(index).unwrap(), block.receipts[index]);
        }
        assert!(body.transaction(body.len()).is_err());
        assert!(body.receipt(usize::MAX / 4).is_err());
    }
    let genesis = genesis_block(&Rules::default(), SHARD, &zoo(), None);
    assert_eq!(Block::decode(&genesis.encode(), Arc::clone(&genesis.changes)).unwrap(), genesis);
}

#[test]
fn the_order_in_which_hashes_were_learnt_is_not_in_the_bytes() {
    let mut block = genesis_block(&Rules::default(), SHARD, &Genesis::default(), None);
    let hash = |n: u64| (n * 7, keccak256(n.to_be_bytes()));
    block.environment.hashes = Arc::new((0..100).map(hash).collect());
    let bytes = block.encode();
    block.environment.hashes = Arc::new((0..100).rev().map(hash).collect());
    assert_eq!(block.encode(), bytes);
}

#[test]
fn a_change_set_comes_back_from_its_bytes() {
    for fork in [SpecId::SHANGHAI, SpecId::OSAKA] {
        let block = block(&Rules { fork, ..Rules::default() }, &context(1));
        let bytes = block.changes.encode();
        assert_eq!(ChangeSet::decode(&bytes).unwrap(), *block.changes);
    }
    let genesis = genesis_block(&Rules::default(), SHARD, &zoo(), None).changes;
    assert_eq!(ChangeSet::decode(&genesis.encode()).unwrap(), *genesis);
    assert_eq!(ChangeSet::decode(&ChangeSet::default().encode()).unwrap(), ChangeSet::default());
}

/// Accounts and slots are looked for by halves.
#[test]
fn a_change_set_out_of_order_is_an_error() {
    let changes = block(&Rules::default(), &context(1)).changes;
    let mut accounts = ChangeSet::clone(&changes);
    accounts.accounts.swap(0, 1);
    let mut twice = ChangeSet::clone(&changes);
    twice.accounts[1].address = twice.accounts[0].address;
    let mut slots = ChangeSet::clone(&changes);
    let slot = |slot| SlotChange { slot: U256::from(slot), before: U256::ZERO, after: U256::ONE };
    slots.accounts[0].slots = vec![slot(2), slot(1)];
    for wrong in [accounts, twice, slots] {
        assert!(ChangeSet::decode(&wrong.encode()).is_err(), "{wrong:?}");
    }
}

#[test]
fn bytes_that_are_cut_anywhere_are_an_error() {
    let block = block_of(&Rules::default(), &based(), 4);
    let bytes = block.encode();
    for end in 0..bytes.len() {
        assert!(Block::decode(&bytes[..end], Arc::default()).is_err(), "at {end}");
    }
    let bytes = block.changes.encode();
    for end in 0..bytes.len() {
        assert!(ChangeSet::decode(&bytes[..end]).is_err(), "at {end}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(ChangeSet::decode(&longer).is_err());
}

/// A checksum elsewhere finds damage. Here it must do no harm.
#[test]
fn bytes_that_are_changed_anywhere_do_not_panic() {
    let block = block_of(&Rules::default(), &based(), 4);
    let (mut body, mut changes) = (block.encode(), block.changes.encode());
    let mut dice = Dice(3);
    for _ in 0..5_000 {
        for bytes in [&mut body, &mut changes] {
            let at = dice.roll(bytes.len() as u64) as usize;
            // The beginning, where the lengths are, gets more than its share.
            let at = if dice.roll(3) == 0 { at % 400.min(bytes.len()) } else { at };
            let was = bytes[at];
            bytes[at] = [dice.roll(256) as u8, 0, 0xff][dice.roll(3) as usize];
            let _ = Block::decode(bytes, Arc::default());
            let _ = ChangeSet::decode(bytes);
            bytes[at] = was;
        }
    }
    assert_eq!(Block::decode(&body, Arc::clone(&block.changes)).unwrap(), block);
}

#[test]
fn a_transfer_takes_few_bytes() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &genesis(&[]));
    let batch = (0..1_000).map(|nonce| transfer(&rules, 0, nonce, user(1), 1)).collect();
    let executed = Executor::new(&rules, SHARD, maps, 1_000)
        .execute(&context(1), batch, &mut || true)
        .unwrap();
    let block = seal(&rules, SHARD, &context(1), executed, None);
    assert_eq!(block.transactions.len(), 1_000);
    let bytes = block.encode().len();
    assert!(bytes < 1_000 * 180, "{bytes}");
}
