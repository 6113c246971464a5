//! Does a pool keep what it promises?

mod admission;
mod listing;
mod model;
mod naive;
mod order;
mod room;

use std::{sync::Arc, time::Duration};

use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_primitives::{Address, B256, U256};

use super::*;
use crate::config::PoolOrder;

const SHARD: Address = Address::repeat_byte(0x51);
const BASE_FEE: u64 = 10;
const GAS: u64 = 21_000;
const ALL: (usize, u64) = (1_000, u64::MAX);

fn alice() -> Address {
    Address::repeat_byte(0xa1)
}

fn bob() -> Address {
    Address::repeat_byte(0xb0)
}

fn carol() -> Address {
    Address::repeat_byte(0xca)
}

/// Those of a node that asks for no signatures: the tests are about what comes after.
fn rules() -> Rules {
    Rules { no_account_validation: true, ..Rules::default() }
}

fn limits() -> PoolLimits {
    PoolLimits::default()
}

fn pool(limits: PoolLimits) -> Pool {
    Pool::new(SHARD, &rules(), limits, BASE_FEE)
}

fn fifo() -> PoolLimits {
    PoolLimits { order: PoolOrder::Fifo, ..limits() }
}

/// A transfer that offers `fee` per gas, all of it to the beneficiary if need be.
fn fields(nonce: u64, fee: u128) -> TxEip1559 {
    TxEip1559 {
        chain_id: rules().chain_id(SHARD),
        nonce,
        gas_limit: GAS,
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        to: Address::ZERO.into(),
        ..TxEip1559::default()
    }
}

fn unsigned(sender: Address, fields: TxEip1559) -> SharedTransaction {
    Arc::new(Transaction::unsigned(TypedTransaction::Eip1559(fields), sender))
}

fn transfer(sender: Address, nonce: u64, fee: u128) -> SharedTransaction {
    unsigned(sender, fields(nonce, fee))
}

fn account(nonce: u64) -> SenderAccount {
    SenderAccount { nonce, balance: U256::MAX, is_contract: false }
}

fn insert(pool: &mut Pool, transaction: &SharedTransaction) -> Result<Inserted, Refusal> {
    pool.insert(transaction.clone(), &account(0), Duration::ZERO)
}

/// Inserts transfers, and returns them.
fn fill<const N: usize>(pool: &mut Pool, all: [(Address, u64, u128); N]) -> [SharedTransaction; N] {
    all.map(|(sender, nonce, fee)| {
        let transaction = transfer(sender, nonce, fee);
        assert_eq!(insert(pool, &transaction), Ok(Inserted::default()), "{sender} {nonce} {fee}");
        transaction
    })
}

fn collect(pool: &mut Pool) -> Vec<SharedTransaction> {
    pool.collect(ALL.0, ALL.1, BASE_FEE)
}

fn hashes(transactions: &[SharedTransaction]) -> Vec<B256> {
    transactions.iter().map(|transaction| transaction.hash()).collect()
}

/// Sender and nonce of each, to compare in tests.
fn names(transactions: &[SharedTransaction]) -> Vec<(Address, u64)> {
    transactions.iter().map(|transaction| (transaction.sender(), transaction.nonce())).collect()
}
