//! State roots and proofs, blocks executed side by side, history, and reopening.

mod common;

use std::{sync::Arc, time::Duration};

use alloy_primitives::{B256, Bytes, TxKind, U256, hex};
use alloy_trie::{Nibbles, TrieAccount, proof::verify_proof};
use common::{account, config, open, send, settle, shard, transfer};
use kernel::{Discipline, Runtime};
use shard::{Config, state::StateReader, store::MemoryStore};

/// Burns gas in a loop, then adds one to a slot that its caller chooses.
const BURN: [u8; 25] = hex!("610bb85b6001900380600357506000355460010160003555" "00");

/// No turn ends for its time: where a slow machine would cut a block is not the subject here.
fn runtime() -> Runtime {
    let quantum = Duration::from_secs(3_600);
    Runtime::builder().workers(2).discipline(Discipline::Fifo).quantum(quantum).build().unwrap()
}

#[test]
fn each_state_root_proves_each_account() {
    let runtime = runtime();
    let mut config = config();
    config.rules.state_root = true;
    config.rules.block_transactions_max = 3;
    config.checkpoint_bytes = 16 << 10;
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    for nonce in 0..50 {
        for from in 0..3 {
            drop(shards.accept(shard(1), transfer(&config, shard(1), from, nonce)).unwrap());
        }
    }
    settle(&shards, 150);
    let one = shards.get(shard(1)).unwrap();
    for address in [account(0), account(5), account(1_000), account(1_049), account(77)] {
        let (block, proof) = one.prove(address, &[U256::from(1)]).unwrap().unwrap();
        let state = one.state_at(block.number()).unwrap().account(address).unwrap();
        let expected = state.map(|account| {
            alloy_rlp::encode(TrieAccount {
                nonce: account.nonce,
                balance: account.balance,
                storage_root: proof.storage_root,
                code_hash: account.code_hash,
            })
        });
        let key = Nibbles::unpack(alloy_primitives::keccak256(address));
        verify_proof(block.header.state_root, key, expected, &proof.nodes).unwrap();
    }
}

/// Runs many heavy calls. Gives what the newest block says of the state and of its receipts (its
/// time may differ), and how many blocks were executed side by side.
fn heavy(config: &Config, calls: u64) -> ((B256, B256), u64) {
    let runtime = runtime();
    let shards = open(&runtime, config, Arc::new(MemoryStore::new()));
    let to = account(7).create(0);
    let init = [&hex!("6019600c60003960196000f3")[..], &BURN].concat();
    let deploy = send(config, shard(1), 7, 0, TxKind::Create, 0, 1_000_000, init.into());
    drop(shards.accept(shard(1), deploy).unwrap());
    settle(&shards, 1);
    common::pause(&runtime);
    for nonce in 0..calls {
        for from in 0..7 {
            // Some write the same slot, most do not.
            let slot = U256::from(if nonce % 10 == 0 { 0 } else { from + 1 });
            let input = Bytes::from(slot.to_be_bytes::<32>());
            let call = send(config, shard(1), from, nonce, TxKind::Call(to), 0, 200_000, input);
            drop(shards.accept(shard(1), call).unwrap());
        }
    }
    runtime.resume();
    settle(&shards, 1 + 7 * calls);
    let one = shards.get(shard(1)).unwrap();
    for number in 0..=one.tip().number() {
        let block = one.block(number).unwrap().unwrap();
        assert!(block.receipts.iter().all(|receipt| receipt.success), "{:?}", block.receipts);
    }
    let slot = |slot: u64| one.state().storage(to, U256::from(slot)).unwrap();
    assert_eq!(slot(0), U256::from(7 * calls.div_ceil(10)));
    assert_eq!(slot(3), U256::from(calls - calls.div_ceil(10)));
    let header = &one.tip().header;
    ((header.state_root, header.receipts_root), shards.parallel_blocks())
}

#[test]
fn blocks_that_several_workers_executed_are_those_of_one_by_one() {
    let mut config = config();
    config.rules.block_transactions_max = 70;
    config.rules.state_root = true;
    let (side_by_side, count) = heavy(&config, 60);
    assert!(count > 0, "none was executed side by side");
    config.parallel = false;
    let (one_by_one, none) = heavy(&config, 60);
    assert_eq!(none, 0);
    assert_eq!(side_by_side, one_by_one, "the same state and receipts");
}

#[test]
fn the_past_is_there_after_reopening() {
    let mut config = config();
    config.rules.block_transactions_max = 2;
    config.checkpoint_bytes = 4 << 10;
    let store = Arc::new(MemoryStore::new());
    let expected: Vec<(u64, U256)> = {
        let runtime = runtime();
        let shards = open(&runtime, &config, store.clone());
        for nonce in 0..40 {
            drop(shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)).unwrap());
        }
        settle(&shards, 40);
        let one = shards.get(shard(1)).unwrap();
        let tip = one.tip().number();
        (0..=tip).map(|number| (number, balance_at(&one, number))).collect()
    };
    assert!(expected.windows(2).all(|pair| pair[0].1 > pair[1].1), "the sender pays in each block");
    let runtime = runtime();
    let shards = open(&runtime, &config, Arc::new(store.crash()));
    let one = shards.get(shard(1)).unwrap();
    for (number, balance) in expected {
        assert_eq!(balance_at(&one, number), balance, "block {number}");
    }
}

fn balance_at(shard: &shard::Shard, number: u64) -> U256 {
    let state = shard.state_at(number).expect("there is such a block");
    state.account(account(0)).unwrap().expect("it has funds").balance
}
