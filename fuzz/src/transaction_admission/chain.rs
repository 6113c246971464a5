//! A pool over a small state, a machine that executes what it gives, and the books of both.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use alloy_primitives::{Address, B256, U256};
use arbitrary::Arbitrary;
use revm::{
    Context, Database, ExecuteCommitEvm, MainBuilder, MainContext,
    context::{BlockEnv, CfgEnv},
    context_interface::block::BlobExcessGasAndPrice,
    database::{CacheDB, EmptyDB},
    primitives::hardfork::SpecId,
    state::AccountInfo,
};
use shard::{
    Transaction,
    config::{PoolLimits, PoolOrder, Rules},
    pool::{Dropped, Pool, SenderAccount, Status},
    transaction::{SharedTransaction, tx_env},
};

use super::send::SENDERS;

const SHARD: Address = Address::repeat_byte(0x51);

/// What anyone has at first: some hundred transactions, or two that offer the highest fee.
const BALANCE: u64 = 10_000_000_000;

#[derive(Debug, Default, Arbitrary)]
pub(super) struct Options {
    fork: Fork,
    allow_unprotected: bool,
    no_account_validation: bool,
    fifo: bool,
    tight: bool,
    base_fee: u8,
}

#[derive(Debug, Default, Clone, Copy, Arbitrary)]
enum Fork {
    London,
    Shanghai,
    Cancun,
    Prague,
    #[default]
    Osaka,
}

impl Fork {
    fn spec(self) -> SpecId {
        match self {
            Fork::London => SpecId::LONDON,
            Fork::Shanghai => SpecId::SHANGHAI,
            Fork::Cancun => SpecId::CANCUN,
            Fork::Prague => SpecId::PRAGUE,
            Fork::Osaka => SpecId::OSAKA,
        }
    }
}

pub(super) struct Chain {
    rules: Rules,
    limits: PoolLimits,
    pool: Pool,
    state: CacheDB<EmptyDB>,
    base_fee: u64,
    now: Duration,
    /// What was collected and under which base fee, the oldest first.
    batches: Vec<(Vec<SharedTransaction>, u64)>,
    accepted: BTreeSet<B256>,
    gone: BTreeSet<B256>,
}

impl Chain {
    pub(super) fn new(options: &Options) -> Chain {
        let rules = Rules {
            fork: options.fork.spec(),
            allow_unprotected: options.allow_unprotected,
            no_account_validation: options.no_account_validation,
            ..Rules::default()
        };
        let mut limits = PoolLimits { expiry: Duration::from_secs(600), ..PoolLimits::default() };
        if options.fifo {
            limits.order = PoolOrder::Fifo;
        }
        if options.tight {
            (limits.transactions_max, limits.sender_max, limits.bytes_max) = (6, 3, 1_000);
        }
        let mut state = CacheDB::new(EmptyDB::default());
        for sender in SENDERS {
            let rich = AccountInfo { balance: U256::from(BALANCE), ..AccountInfo::default() };
            state.insert_account_info(sender, rich);
        }
        let base_fee = u64::from(options.base_fee);
        let pool = Pool::new(SHARD, &rules, limits.clone(), base_fee);
        Chain {
            rules,
            limits,
            pool,
            state,
            base_fee,
            now: Duration::ZERO,
            batches: Vec::new(),
            accepted: BTreeSet::new(),
            gone: BTreeSet::new(),
        }
    }

    pub(super) fn chain_id(&self) -> u64 {
        self.rules.chain_id(SHARD)
    }

    /// The one that is expected of a sender.
    pub(super) fn next_nonce(&mut self, sender: Address) -> u64 {
        self.pool.next_nonce(sender).unwrap_or_else(|| self.nonce(sender))
    }

    fn nonce(&mut self, sender: Address) -> u64 {
        self.account(sender).nonce
    }

    fn account(&mut self, sender: Address) -> SenderAccount {
        let info = self.state.basic(sender).expect("it is in memory").unwrap_or_default();
        let code = info.code.filter(|code| !code.is_empty());
        let is_contract = code.is_some_and(|code| !code.is_eip7702());
        SenderAccount { nonce: info.nonce, balance: info.balance, is_contract }
    }

    pub(super) fn send(&mut self, transaction: Transaction) {
        let transaction = Arc::new(transaction);
        let (hash, account) = (transaction.hash(), self.account(transaction.sender()));
        let before = self.pool.counts();
        match self.pool.insert(transaction, &account, self.now) {
            Ok(inserted) => {
                assert!(self.pool.status(hash).is_some());
                self.gone.remove(&hash);
                self.accepted.insert(hash);
                self.leave(inserted.dropped(hash).collect());
            }
            Err(refusal) => {
                assert!(refusal.to_string().len() > 10, "this explains nothing: {refusal}");
                assert_eq!(self.pool.counts(), before, "a refusal has changed something");
            }
        }
    }

    pub(super) fn collect(&mut self, transactions_max: usize, gas_limit: u64) {
        let batch = self.pool.collect(transactions_max, gas_limit, self.base_fee);
        assert!(batch.len() <= transactions_max);
        let gas: u64 = batch.iter().skip(1).map(|it| it.gas_limit()).sum();
        assert!(gas <= gas_limit);
        for transaction in &batch {
            assert_eq!(self.pool.status(transaction.hash()), Some(Status::Executing));
        }
        self.batches.push((batch, self.base_fee));
    }

    pub(super) fn block(&mut self, room: usize) {
        if self.batches.is_empty() {
            return;
        }
        let (batch, base_fee) = self.batches.remove(0);
        let (mut included, mut left) = (Vec::new(), Vec::new());
        for transaction in batch {
            let (hash, nonce) = (transaction.hash(), self.nonce(transaction.sender()));
            if transaction.nonce() < nonce {
                // An authorisation has used it.
                assert_eq!(self.pool.dropped(hash), Some(transaction));
                assert!(self.gone.insert(hash));
            } else if transaction.nonce() > nonce || included.len() >= room {
                left.push(hash);
            } else {
                self.execute(&transaction, base_fee);
                assert!(self.nonce(transaction.sender()) > nonce);
                assert!(self.gone.insert(hash));
                included.push(hash);
            }
        }
        self.pool.included(&included);
        for sender in SENDERS.into_iter().chain(self.pool.senders()) {
            let account = self.account(sender);
            let dropped = self.pool.account_changed(sender, account.nonce, account.balance);
            self.leave(dropped);
        }
        let dropped = self.pool.give_back(&left);
        self.leave(dropped);
    }

    /// What the pool gives to execute, the machine takes.
    fn execute(&mut self, transaction: &Transaction, basefee: u64) {
        let mut rules = CfgEnv::new_with_spec(self.rules.fork);
        rules.chain_id = self.chain_id();
        let block = BlockEnv {
            basefee,
            gas_limit: self.rules.block_gas_limit,
            prevrandao: Some(B256::ZERO),
            blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
                excess_blob_gas: 0,
                blob_gasprice: 1,
            }),
            ..BlockEnv::default()
        };
        let context = Context::mainnet().with_db(&mut self.state).with_cfg(rules).with_block(block);
        let executed = context.build_mainnet().transact_commit(tx_env(transaction));
        assert!(executed.is_ok(), "accepted, but refused: {executed:?} {transaction:?}");
    }

    pub(super) fn fail(&mut self, newest: bool) {
        if newest {
            self.batches.reverse();
        }
        for (batch, _) in std::mem::take(&mut self.batches) {
            let hashes: Vec<B256> = batch.iter().map(|it| it.hash()).collect();
            let dropped = self.pool.give_back(&hashes);
            self.leave(dropped);
        }
    }

    pub(super) fn set_base_fee(&mut self, base_fee: u64) {
        self.base_fee = base_fee;
        self.pool.set_base_fee(base_fee);
    }

    pub(super) fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        let dropped = self.pool.expire(self.now);
        self.leave(dropped);
    }

    fn leave(&mut self, dropped: Vec<Dropped>) {
        for (transaction, _) in dropped {
            assert!(self.gone.insert(transaction.hash()), "it had gone before");
        }
    }

    /// What was accepted is in the pool or has gone with a word, and the limits are kept.
    pub(super) fn check(&self) {
        let here: BTreeSet<B256> = self.pool.iter().map(|(it, _)| it.hash()).collect();
        assert_eq!(here.len(), self.pool.len());
        assert!(here.is_disjoint(&self.gone));
        assert_eq!(here.union(&self.gone).copied().collect::<BTreeSet<_>>(), self.accepted);
        let counts = self.pool.counts();
        assert_eq!(counts.pending + counts.waiting, here.len());
        assert!(here.len() <= self.limits.transactions_max);
        assert!(counts.bytes <= self.limits.bytes_max);
        let bytes: usize = self.pool.iter().map(|(it, _)| it.encoded().len()).sum();
        assert_eq!(counts.bytes, bytes);
    }
}
