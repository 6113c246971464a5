//! Random transactions over random shards, on one to four workers, with both executors: each block
//! executed again, one transaction after the other, comes to the same bytes.

mod common;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use alloy_trie::{
    TrieAccount,
    root::{state_root_unhashed, storage_root_unhashed},
};
use common::{account, config, open, send, settle, shard};
use kernel::{Discipline, Runtime, each_seed};
use revm::primitives::hardfork::SpecId;
use shard::{
    Block, Config, Shard,
    amend::Amendment,
    block::{Account, ChangeSet, seal},
    config::GenesisAccount,
    execute::{BlockContext, sequential::Executor},
    store::MemoryStore,
};

/// Burns gas in a loop, then adds one to a slot that its caller chooses.
const HEAVY: [u8; 25] = hex!("610bb85b6001900380600357506000355460010160003555" "00");
/// Logs its input, and its caller as the topic.
const LOGS: [u8; 9] = hex!("365f5f3733365fa100");
/// Creates, always at the same address, what destroys itself without input and otherwise keeps it.
const FACTORY: [u8; 31] =
    hex!("736b3660065733ff5b5f355f5500" "5f52600c6014f3" "5f525f6014600c5ff500");
/// Pays one wei to its caller, and then fails where the number of the block is odd.
const MOODY: [u8; 18] = hex!("5f5f5f5f6001335af1504360011660115700");

const SENDERS: u64 = 6;

fn contract(n: u8) -> Address {
    Address::repeat_byte(0xc0 + n)
}

/// Numbers that follow from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

fn settings(seed: u64) -> Config {
    let mut config = config();
    for (n, code) in [&HEAVY[..], &LOGS, &FACTORY, &MOODY].into_iter().enumerate() {
        let balance = U256::from(1_000_000);
        let code = code.to_vec().into();
        let account = GenesisAccount { nonce: 1, balance, code, ..Default::default() };
        config.genesis.accounts.insert(contract(n as u8), account);
    }
    config.rules.state_root = true;
    // Before Cancun accounts go with their storage.
    config.rules.fork = if seed % 4 < 2 { SpecId::OSAKA } else { SpecId::SHANGHAI };
    config.rules.system_calls = seed % 8 < 4;
    config.rules.block_transactions_max = 40;
    config.parallel = seed.is_multiple_of(2);
    // Often, so that the past is read from the tables too.
    config.checkpoint_bytes = 64 << 10;
    config
}

/// What one call does: to whom, with how much value, gas and input.
fn call(random: &mut Random) -> (TxKind, u64, u64, Bytes) {
    let child = contract(2).create2_from_code([0; 32], &FACTORY[1..21]);
    let word = |number: u64| Bytes::from(U256::from(number).to_be_bytes_vec());
    let to = TxKind::Call;
    match random.below(10) {
        0 | 1 => (to(account(random.below(12))), random.below(1_000), 21_000, Bytes::new()),
        // Some of them touch the same slot, and some have too little gas.
        2..=5 => {
            let gas = if random.below(8) == 0 { 25_000 } else { 200_000 };
            (to(contract(0)), 0, gas, word(random.below(12)))
        }
        6 => (to(contract(1)), 7, 60_000, word(random.below(1 << 40))),
        7 => (to(contract(2)), 0, 200_000, Bytes::new()),
        8 if random.below(2) == 0 => (to(child), random.below(5), 100_000, Bytes::new()),
        8 => (to(child), 3, 100_000, word(random.below(9))),
        _ => (to(contract(3)), random.below(9), 100_000, Bytes::new()),
    }
}

/// Changes that no transaction minds: those that wait stay valid.
fn amendment(random: &mut Random) -> Amendment {
    let (slot, value) = (U256::from(random.below(12)), U256::from(random.below(3)));
    let rich = U256::from(10u128.pow(24)) + U256::from(random.below(1_000));
    match random.below(4) {
        0 => Amendment::new(),
        1 => Amendment::new().slot(contract(0), slot, value),
        2 => Amendment::new().balance(account(random.below(SENDERS)), rich),
        _ => Amendment::new().code(account(11), LOGS.to_vec().into()).nonce(contract(3), 9),
    }
}

/// The state as the change sets say, to be hashed anew each time.
#[derive(Default)]
struct Model {
    accounts: BTreeMap<Address, Account>,
    slots: BTreeMap<Address, BTreeMap<U256, U256>>,
}

impl Model {
    fn apply(&mut self, changes: &ChangeSet) {
        for change in &changes.accounts {
            let address = change.address;
            assert_eq!(self.accounts.get(&address).copied(), change.before, "{address}");
            match change.after {
                Some(account) => self.accounts.insert(address, account),
                None => self.accounts.remove(&address),
            };
            let slots = self.slots.entry(address).or_default();
            for slot in &change.slots {
                let before = slots.get(&slot.slot).copied().unwrap_or_default();
                assert_eq!(before, slot.before, "{address}, slot {}", slot.slot);
                slots.insert(slot.slot, slot.after);
            }
            slots.retain(|_, value| !value.is_zero());
        }
    }

    fn total(&self) -> U256 {
        self.accounts.values().map(|account| account.balance).sum()
    }

    fn root(&self) -> alloy_primitives::B256 {
        let empty = BTreeMap::new();
        state_root_unhashed(self.accounts.iter().map(|(address, account)| {
            let slots = self.slots.get(address).unwrap_or(&empty).iter();
            let account = TrieAccount {
                nonce: account.nonce,
                balance: account.balance,
                storage_root: storage_root_unhashed(
                    slots.map(|(slot, value)| ((*slot).into(), *value)),
                ),
                code_hash: account.code_hash,
            };
            (*address, account)
        }))
    }
}

/// Executes a block again, one transaction after the other, and gives what it comes to.
fn again(config: &Config, one: &Shard, block: &Block, model: &mut Model) -> Block {
    let parent = Arc::new(one.state_at(block.number() - 1).expect("it has a parent"));
    let context = BlockContext::of(block);
    if block.transactions.is_empty() {
        // An amendment is what it is: only the state root can be found out.
        model.apply(&block.changes);
        let mut again = block.clone();
        again.header.state_root = model.root();
        again.hash = again.header.hash_slow();
        return again;
    }
    let mut executor = Executor::new(&config.rules, one.address(), parent, 1_000);
    let executed = executor.execute(&context, block.transactions.clone(), &mut || true).unwrap();
    assert!(executed.dropped.is_empty() && executed.left.is_empty(), "{executed:?}");
    model.apply(&executed.changes);
    seal(&config.rules, one.address(), &context, executed, Some(model.root()))
}

fn check(config: &Config, one: &Shard) {
    let mut model = Model::default();
    let first = one.block(0).unwrap().unwrap();
    model.apply(&first.changes);
    assert_eq!(model.root(), first.header.state_root);
    for number in 1..=one.tip().number() {
        let block = one.block(number).unwrap().expect("there are no gaps");
        let before = model.total();
        assert_eq!(again(config, one, &block, &mut model), *block);
        if block.transactions.is_empty() {
            continue;
        }
        // The base fee is burnt, and nothing else comes or goes.
        let fee = u128::from(block.environment.base_fee) * u128::from(block.header.gas_used);
        assert_eq!(model.total() + U256::from(fee), before, "block {number}");
    }
}

#[test]
fn each_block_executed_again_one_by_one_comes_to_the_same_bytes() {
    let side_by_side = AtomicU64::new(0);
    each_seed(16, |seed| {
        let (config, mut random) = (settings(seed), Random(seed));
        let (workers, count) = (1 + random.below(4) as usize, 1 + random.below(3));
        let builder = Runtime::builder().workers(workers).discipline(Discipline::Fifo);
        let runtime = builder.quantum(Duration::from_millis(100)).build().unwrap();
        let store = Arc::new(MemoryStore::new());
        let shards = open(&runtime, &config, store.clone());
        // All at once, so that there is enough for several workers, or as they come.
        if random.below(4) > 0 {
            common::pause(&runtime);
        }
        let mut nonces = BTreeMap::new();
        for _ in 0..200 {
            let (to, from) = (random.below(count) as u8, random.below(SENDERS));
            let nonce: &mut u64 = nonces.entry((to, from)).or_default();
            let (kind, value, gas, input) = call(&mut random);
            let one = send(&config, shard(to), from, *nonce, kind, value, gas, input);
            drop(shards.accept(shard(to), one).unwrap());
            *nonce += 1;
            if random.below(40) == 0 {
                drop(shards.amend(shard(to), amendment(&mut random)));
            }
        }
        runtime.resume();
        settle(&shards, 200);
        side_by_side.fetch_add(shards.parallel_blocks(), Relaxed);
        for one in shards.all() {
            check(&config, &one);
        }
        // And after a crash all of it is as it was.
        let tips: Vec<_> = shards.all().iter().map(|one| one.tip().hash).collect();
        drop(shards);
        let shards = open(&runtime, &config, Arc::new(store.crash()));
        assert_eq!(shards.all().iter().map(|one| one.tip().hash).collect::<Vec<_>>(), tips);
        for one in shards.all() {
            check(&config, &one);
        }
    });
    // One seed alone may have one worker.
    let alone = std::env::var_os("SHIFTWORK_SEED").is_some();
    assert!(alone || side_by_side.load(Relaxed) > 0, "no block was executed side by side");
}
