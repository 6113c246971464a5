//! Do random blocks come to what plain revm makes of them, and to the same bytes each time?

use revm::{
    DatabaseCommit,
    database::{AccountState, CacheDB, DbAccount},
};

use super::*;
use crate::state::ReaderDatabase;

/// Plain revm, a new machine for each transaction and a commit after it.
fn plain(
    rules: &Rules,
    maps: &Maps,
    context: &BlockContext,
    batch: &[SharedTransaction],
) -> Vec<(SharedTransaction, u64)> {
    let mut database = CacheDB::new(ReaderDatabase::new(maps, context));
    let (mut done, mut gas) = (Vec::new(), 0);
    for transaction in batch {
        if gas + transaction.gas_limit() > rules.block_gas_limit {
            continue;
        }
        let mut machine = evm::machine(rules, rules.chain_id(SHARD), &mut database);
        machine.set_block(evm::block_env(rules, context));
        if let Ok(result) = machine.transact(crate::transaction::tx_env(transaction)) {
            gas += result.result.tx_gas_used();
            done.push((Arc::clone(transaction), result.result.tx_gas_used()));
            database.commit(result.state);
            // EIP-161, of which this database knows nothing.
            for account in database.cache.accounts.values_mut() {
                if account.info.is_empty() {
                    *account = DbAccount::new_not_existing();
                }
            }
        }
    }
    // What it has come to, written into the maps.
    let mut inner = maps.inner.lock().unwrap();
    for (hash, code) in &database.cache.contracts {
        if !code.is_empty() {
            inner.codes.insert(*hash, code.original_bytes());
        }
    }
    for (address, account) in &database.cache.accounts {
        let info = account.info();
        match info.filter(|info| !info.is_empty()) {
            Some(info) => {
                let account =
                    Account { nonce: info.nonce, balance: info.balance, code_hash: info.code_hash };
                inner.accounts.insert(*address, account);
            }
            None => {
                // One that was destroyed and then touched is no longer marked as destroyed.
                inner.accounts.remove(address);
                inner.slots.retain(|(of, _), _| of != address);
            }
        }
        if matches!(account.account_state, AccountState::NotExisting | AccountState::StorageCleared)
        {
            inner.slots.retain(|(of, _), _| of != address);
        }
        for (slot, value) in &account.storage {
            inner.slots.insert((*address, *slot), *value);
        }
    }
    inner.slots.retain(|_, value| !value.is_zero());
    done
}

/// Accounts and slots in which two states differ.
fn differences(left: &Maps, right: &Maps) -> Vec<String> {
    let (left, right) = (left.inner.lock().unwrap(), right.inner.lock().unwrap());
    let accounts = left.accounts.keys().chain(right.accounts.keys());
    let accounts = accounts.filter(|key| left.accounts.get(*key) != right.accounts.get(*key));
    let slots = left.slots.keys().chain(right.slots.keys());
    let slots = slots.filter(|key| left.slots.get(*key) != right.slots.get(*key));
    accounts
        .map(|key| format!("{key}: {:?}, {:?}", left.accounts.get(key), right.accounts.get(key)))
        .chain(
            slots.map(|key| {
                format!("{key:?}: {:?}, {:?}", left.slots.get(key), right.slots.get(key))
            }),
        )
        .collect()
}

#[test]
fn many_random_blocks_equal_plain_revm_under_each_fork() {
    for fork in [
        SpecId::LONDON,
        SpecId::MERGE,
        SpecId::SHANGHAI,
        SpecId::CANCUN,
        SpecId::PRAGUE,
        SpecId::OSAKA,
    ] {
        for seed in 1..=6 {
            let rules = Rules { fork, block_gas_limit: 3_000_000, ..Rules::default() };
            let (ours, theirs) = (Maps::new(&rules, &zoo()), Maps::new(&rules, &zoo()));
            let mut executor = Executor::new(&rules, SHARD, Arc::clone(&ours) as _, 64);
            let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed);
            for height in 1..=6 {
                // Nonces as they are: what was left is not sent again here.
                let mut nonces = [0; 8];
                for (n, nonce) in nonces.iter_mut().enumerate() {
                    *nonce = ours.account_of(user(n as u8)).unwrap().nonce;
                }
                let batch = random_batch(&rules, &mut dice, &mut nonces, 24);
                let executed = commit(&mut executor, &ours, height, batch);
                theirs.put_hash(height, context(height + 1).parent_hash);
                let kept: Vec<_> = executed.included.iter().map(|(t, _)| Arc::clone(t)).collect();
                let done = plain(&rules, &theirs, &context(height), &kept);
                let gas: Vec<_> =
                    executed.included.iter().map(|(t, r)| (Arc::clone(t), r.gas_used)).collect();
                assert_eq!(done, gas, "{fork:?}, seed {seed}, height {height}");
                assert_eq!(
                    differences(&ours, &theirs),
                    Vec::<String>::new(),
                    "{fork:?}, seed {seed}, height {height}"
                );
            }
        }
    }
}

#[test]
fn two_executors_give_the_same_bytes_whatever_they_have_at_hand() {
    let rules = Rules::default();
    let (one, other) = (Maps::new(&rules, &zoo()), Maps::new(&rules, &zoo()));
    let mut large = executor(&rules, &one);
    let mut small = Executor::new(&rules, SHARD, Arc::clone(&other) as _, 2);
    let mut dice = Dice(7);
    let mut nonces = [0; 8];
    let mut waiting = Vec::new();
    for height in 1..=20 {
        waiting.extend(random_batch(&rules, &mut dice, &mut nonces, 10));
        let first = commit(&mut large, &one, height, waiting.clone());
        let second = commit(&mut small, &other, height, waiting);
        assert_eq!(first, second);
        assert_eq!(first.changes.encode(), second.changes.encode());
        waiting = first.left;
    }
}
