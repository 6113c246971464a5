//! What does the virtual machine of a lane read?
//!
//! ```text
//!   what was taken of the batch (net) ----> before the batch (cache, or read and kept: bases)
//! ```
//!
//! Nobody takes anything while shares are executed, so all shares of a stretch read the same.
//!
//! Accounts go between lanes without code that was there before the batch. Each lane adds its own
//! copy: see [`Codes`].

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, Hash},
    mem,
    sync::Arc,
};

use alloy_primitives::{Address, B256, Bytes, U256, map::DefaultHashBuilder};
use revm::{Database, bytecode::Bytecode, state::AccountInfo};

use crate::{
    block::Account,
    config::Rules,
    execute::{
        BlockContext,
        parallel::{
            bases::Bases,
            codes::Codes,
            effects::account_of,
            net::{Net, SlotKey, Standing},
            touched::Touched,
        },
    },
    state::{StateReader, bytecode, cache::Cache},
    store::StoreError,
    transaction::SharedTransaction,
};

/// What all lanes of a batch read.
pub(super) struct Common {
    pub(super) rules: Rules,
    pub(super) chain_id: u64,
    pub(super) context: BlockContext,
    pub(super) batch: Vec<SharedTransaction>,
    /// As it was before the batch. Nobody writes it while there are lanes.
    pub(super) cache: Cache,
    pub(super) bases: Bases,
    /// With it keys are noted.
    pub(super) hasher: DefaultHashBuilder,
}

impl Common {
    /// The account as it was before the batch, for this lane.
    pub(super) fn account_before(
        &self,
        lane: usize,
        address: Address,
    ) -> Result<Standing, StoreError> {
        match self.cache.account_at_hand(address) {
            Some(standing) => Ok(standing.as_ref().map(without_code)),
            None => self.bases.account(lane, address, || self.cache.account_shared(address)),
        }
    }

    fn slot_before(&self, lane: usize, key: SlotKey) -> Result<U256, StoreError> {
        let SlotKey { address, slot } = key;
        match self.cache.slot_at_hand(address, slot) {
            Some(value) => Ok(value),
            None => self.bases.slot(lane, key, || self.cache.storage(address, slot)),
        }
    }

    /// As what an account or a slot is noted.
    pub(super) fn key(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }

    /// The code that an account had before the batch.
    fn code_before(&self, address: Address, hash: B256) -> Result<Bytecode, StoreError> {
        match self.cache.account_at_hand(address) {
            Some(Some(AccountInfo { code_hash, code: Some(code), .. })) if *code_hash == hash => {
                Ok(code.clone())
            }
            _ => self.cache.code(hash).map(bytecode),
        }
    }
}

/// The account, and its code by its hash alone: no count of references is touched.
fn without_code(info: &AccountInfo) -> AccountInfo {
    let &AccountInfo { balance, nonce, code_hash, account_id, code: _ } = info;
    AccountInfo { balance, nonce, code_hash, account_id, code: None }
}

/// What one machine reads.
pub(super) struct LaneState {
    pub(super) common: Arc<Common>,
    pub(super) lane: usize,
    codes: Codes,
    net: Arc<Net>,
    pub(super) touched: Touched,
    hashes: Vec<(u64, B256)>,
}

impl LaneState {
    pub(super) fn new(common: Arc<Common>, lane: usize) -> LaneState {
        LaneState {
            common,
            lane,
            codes: Codes::new(),
            net: Arc::default(),
            touched: Touched::default(),
            hashes: Vec::new(),
        }
    }

    /// From now on it tells the state with this on top.
    pub(super) fn begin(&mut self, net: &Arc<Net>) {
        self.net = Arc::clone(net);
        self.touched = Touched::default();
        self.hashes.clear();
    }

    /// Gives back what was on top. Says what was touched since, and which hashes were given out.
    pub(super) fn end(&mut self) -> (Touched, Vec<(u64, B256)>) {
        self.net = Arc::default();
        (mem::take(&mut self.touched), mem::take(&mut self.hashes))
    }

    /// A transaction may have changed an account: notes it if it `has`.
    pub(super) fn wrote_account(&mut self, address: Address, has: impl FnOnce() -> bool) {
        let key = self.common.key(address);
        self.wrote(key, has);
    }

    /// The same for a slot.
    pub(super) fn wrote_slot(&mut self, address: Address, slot: U256, has: impl FnOnce() -> bool) {
        let key = self.common.key(SlotKey { address, slot });
        self.wrote(key, has);
    }

    fn wrote(&mut self, key: u64, has: impl FnOnce() -> bool) {
        // Most are noted already, by those before.
        if !self.touched.writes.contains(&key) && has() {
            self.touched.writes.insert(key);
        }
    }
}

impl Database for LaneState {
    type Error = StoreError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, StoreError> {
        let key = self.common.key(address);
        self.touched.reads.push(key);
        let common = &*self.common;
        self.touched.looks |= address == common.context.beneficiary;
        let mut standing = match self.net.account(address) {
            Some(standing) => standing.clone(),
            None => common.account_before(self.lane, address)?,
        };
        if let Some(AccountInfo { code_hash, code: code @ None, .. }) = &mut standing {
            let before = || common.code_before(address, *code_hash);
            *code = Some(self.codes.get(*code_hash, before)?);
        }
        Ok(standing)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, StoreError> {
        // Accounts come with their code: this is for those who ask all the same.
        let common = &*self.common;
        self.codes.get(hash, || common.cache.code(hash).map(bytecode))
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, StoreError> {
        let slot_key = SlotKey { address, slot };
        let key = self.common.key(slot_key);
        self.touched.reads.push(key);
        match self.net.slot(address, slot) {
            Some(value) => Ok(value),
            None => self.common.slot_before(self.lane, slot_key),
        }
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StoreError> {
        let Some(hash) = self.common.cache.block_hash(number)? else { return Ok(B256::ZERO) };
        self.hashes.push((number, hash));
        Ok(hash)
    }
}

/// The state with what was taken on top.
pub(super) struct Settled<'a> {
    pub(super) common: &'a Common,
    /// The lane that asks.
    pub(super) lane: usize,
    pub(super) net: &'a Net,
}

impl StateReader for Settled<'_> {
    fn account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        Ok(match self.net.account(address) {
            Some(standing) => standing.as_ref().map(account_of),
            None => self.common.account_before(self.lane, address)?.as_ref().map(account_of),
        })
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, StoreError> {
        match self.net.slot(address, slot) {
            Some(value) => Ok(value),
            None => self.common.slot_before(self.lane, SlotKey { address, slot }),
        }
    }

    fn slots(&self, address: Address) -> Result<Vec<(U256, U256)>, StoreError> {
        let before = self.common.cache.slots(address)?;
        let mut slots: BTreeMap<U256, U256> = before.into_iter().collect();
        slots.extend(self.net.slots(address));
        slots.retain(|_, value| !value.is_zero());
        Ok(slots.into_iter().collect())
    }

    fn code(&self, hash: B256) -> Result<Bytes, StoreError> {
        self.common.cache.code(hash)
    }

    fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError> {
        self.common.cache.block_hash(number)
    }
}
