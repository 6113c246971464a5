//! What does a shard begin with?

use std::{collections::BTreeMap, sync::Arc};

use alloy_eips::{
    eip2935::{HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CODE},
    eip4788::{BEACON_ROOTS_ADDRESS, BEACON_ROOTS_CODE},
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use revm::primitives::{KECCAK_EMPTY, hardfork::SpecId};

use crate::{
    block::{Account, AccountChange, Block, ChangeSet, SlotChange, seal::empty_header},
    config::{Genesis, Rules},
    environment::Environment,
    execute::BlockContext,
};

/// What the genesis puts into the state of each shard. An account that is empty (EIP-161) is not
/// there, and neither is its storage. Where the system calls are on, their contracts are there.
pub fn genesis_changes(rules: &Rules, genesis: &Genesis) -> ChangeSet {
    let mut changes = ChangeSet::default();
    let mut accounts: BTreeMap<Address, AccountChange> = BTreeMap::new();
    let mut put = |address, nonce, balance, code: &Bytes, storage: &BTreeMap<B256, B256>| {
        let code_hash = if code.is_empty() { KECCAK_EMPTY } else { keccak256(code) };
        if nonce == 0 && balance == U256::ZERO && code.is_empty() {
            return;
        }
        if !code.is_empty() {
            changes.codes.push((code_hash, code.clone()));
        }
        let slots = storage.iter().filter(|(_, value)| !value.is_zero()).map(|(slot, value)| {
            SlotChange { slot: (*slot).into(), before: U256::ZERO, after: (*value).into() }
        });
        let change = AccountChange {
            address,
            before: None,
            after: Some(Account { nonce, balance, code_hash }),
            slots: slots.collect(),
        };
        accounts.insert(address, change);
    };
    if rules.system_calls {
        let nothing = BTreeMap::new();
        if rules.fork.is_enabled_in(SpecId::PRAGUE) {
            put(HISTORY_STORAGE_ADDRESS, 1, U256::ZERO, &HISTORY_STORAGE_CODE, &nothing);
        }
        if rules.fork.is_enabled_in(SpecId::CANCUN) {
            put(BEACON_ROOTS_ADDRESS, 1, U256::ZERO, &BEACON_ROOTS_CODE, &nothing);
        }
    }
    // What is configured wins.
    for (address, account) in &genesis.accounts {
        put(*address, account.nonce, account.balance, &account.code, &account.storage);
    }
    changes.accounts = accounts.into_values().collect();
    changes.codes.sort_unstable_by_key(|(hash, _)| *hash);
    changes.codes.dedup_by_key(|(hash, _)| *hash);
    changes
}

/// Block 0 of a shard: it holds no transactions, and has changed what the genesis says.
///
/// ```
/// use alloy_primitives::Address;
/// use shard::{block::genesis_block, config::{Genesis, Rules}};
///
/// let (rules, genesis) = (Rules::default(), Genesis::default());
/// let one = genesis_block(&rules, Address::repeat_byte(1), &genesis, None);
/// let two = genesis_block(&rules, Address::repeat_byte(2), &genesis, None);
/// assert_eq!(one.number(), 0);
/// assert_ne!(one.hash, two.hash);
/// ```
pub fn genesis_block(
    rules: &Rules,
    shard: Address,
    genesis: &Genesis,
    state_root: Option<B256>,
) -> Block {
    let environment = Environment::own(genesis.timestamp);
    let context = BlockContext {
        height: 0,
        number: 0,
        parent_hash: B256::ZERO,
        timestamp: genesis.timestamp,
        base_fee: environment.base_fee,
        excess_blob_gas: 0,
        prevrandao: B256::ZERO,
        beneficiary: Address::ZERO,
        parent_beacon_block_root: B256::ZERO,
        base_hashes: None,
    };
    let mut header = empty_header(rules, shard, &context);
    header.state_root = state_root.unwrap_or(B256::ZERO);
    Block {
        hash: header.hash_slow(),
        header,
        environment,
        transactions: Vec::new(),
        receipts: Vec::new(),
        changes: Arc::new(genesis_changes(rules, genesis)),
    }
}
