//! What the tests of shards have in common: a genesis, transactions without the cost of signing,
//! and shards on a real or a simulated runtime.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod directory;

use std::{
    num::NonZeroUsize,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_primitives::{Address, Bytes, TxKind, U256};
use kernel::{Runtime, WorkerState};
use shard::{
    Config, Shards, Transaction,
    config::{Genesis, GenesisAccount, Rules},
    events::Interest,
    state::StateReader,
    store::Store,
};

pub(crate) const GWEI: u128 = 1_000_000_000;

/// The n-th shard's address.
pub(crate) fn shard(n: u8) -> Address {
    Address::repeat_byte(0x50 + n)
}

/// The n-th account with funds.
pub(crate) fn account(n: u64) -> Address {
    let mut bytes = [0xaa; 20];
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    Address::from(bytes)
}

/// Ten accounts with funds, and senders that need no signature.
pub(crate) fn config() -> Config {
    let accounts = (0..10).map(|n| {
        let given = GenesisAccount { balance: U256::from(10u128.pow(24)), ..Default::default() };
        (account(n), given)
    });
    Config {
        genesis: Genesis { accounts: accounts.collect(), timestamp: 1_000 },
        rules: Rules { no_account_validation: true, ..Rules::default() },
        ..Config::default()
    }
}

/// A transaction that moves some wei.
pub(crate) fn transfer(config: &Config, shard: Address, from: u64, nonce: u64) -> Arc<Transaction> {
    send(config, shard, from, nonce, TxKind::Call(account(1_000 + nonce)), 5, 21_000, Bytes::new())
}

#[allow(clippy::too_many_arguments, reason = "a transaction has these parts")]
pub(crate) fn send(
    config: &Config,
    shard: Address,
    from: u64,
    nonce: u64,
    to: TxKind,
    value: u64,
    gas_limit: u64,
    input: Bytes,
) -> Arc<Transaction> {
    let fields = TxEip1559 {
        chain_id: config.rules.chain_id(shard),
        nonce,
        gas_limit,
        max_fee_per_gas: 2 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to,
        value: U256::from(value),
        access_list: Default::default(),
        input,
    };
    Arc::new(Transaction::unsigned(TypedTransaction::Eip1559(fields), account(from)))
}

/// Opens shards on a real runtime with two workers.
pub(crate) fn open(runtime: &kernel::Handle, config: &Config, store: Arc<dyn Store>) -> Shards {
    Shards::open(runtime, config.clone(), store, 1_700_000_000).expect("the store can be opened")
}

/// Waits until so many transactions are in blocks.
pub(crate) fn settle(shards: &Shards, count: u64) {
    let room = NonZeroUsize::new(100_000).expect("it is not 0");
    let mut news = shards.subscribe(room, Interest::default());
    while shards.included() < count {
        block_on(news.next()).expect("the shards are there and this is fast enough");
    }
}

/// Runs a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

/// The balance of an account in the newest state of a shard.
pub(crate) fn balance(shards: &Shards, shard: Address, of: Address) -> U256 {
    let state = shards.get(shard).expect("the shard exists").state();
    state.account(of).expect("the store can be read").map_or(U256::ZERO, |account| account.balance)
}

/// Pauses all workers. A turn that is under way ends first: until then it could take what comes.
pub(crate) fn pause(runtime: &Runtime) {
    runtime.pause();
    while runtime.workers().iter().any(|state| *state != WorkerState::Paused) {
        std::thread::yield_now();
    }
}
