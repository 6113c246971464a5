//! What does the virtual machine of a lane read?
//!
//! ```text
//!   a guess:    the latest write below its place (versions) --+--> before the batch (cache, store)
//!   the state:  what was committed (net) ---------------------+
//! ```
//!
//! Guesses are noted: they are looked at again when the transaction is committed. The state needs
//! no noting: whoever reads it holds the frontier, and nobody commits meanwhile.
//!
//! Accounts go between lanes without code that was there before the batch. Each lane adds its own
//! copy: see [`Codes`].

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{Database, bytecode::Bytecode, state::AccountInfo};

use crate::{
    block::Account,
    config::Rules,
    execute::{
        BlockContext,
        parallel::{
            codes::Codes,
            effects::account_of,
            net::{Net, Read},
            versions::{OPENING, SlotKey, Source, Standing, Versions},
        },
    },
    state::{StateReader, bytecode, cache::Cache},
    store::StoreError,
    transaction::SharedTransaction,
};

/// As much as a swap reads.
const READS: usize = 24;

/// What all lanes of a batch read.
pub(super) struct Common {
    pub(super) rules: Rules,
    pub(super) chain_id: u64,
    pub(super) context: BlockContext,
    pub(super) batch: Vec<SharedTransaction>,
    /// As it was before the batch. Nobody writes it while there are lanes.
    pub(super) cache: Cache,
    pub(super) versions: Versions,
}

impl Common {
    /// The account as it was before the batch, for this lane.
    pub(super) fn account_before(
        &self,
        lane: usize,
        address: Address,
    ) -> Result<Standing, StoreError> {
        Ok(self.account_at(lane, address, OPENING)?.0)
    }

    fn slot_before(&self, lane: usize, address: Address, slot: U256) -> Result<U256, StoreError> {
        Ok(self.slot_at(lane, SlotKey { address, slot }, OPENING)?.0)
    }

    fn account_at(
        &self,
        lane: usize,
        address: Address,
        place: u32,
    ) -> Result<(Standing, Source), StoreError> {
        let cache = &self.cache;
        let at_hand = || Some(cache.account_at_hand(address)?.as_ref().map(without_code));
        self.versions.account(lane, address, place, at_hand, || cache.account_shared(address))
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

    fn slot_at(&self, lane: usize, key: SlotKey, place: u32) -> Result<(U256, Source), StoreError> {
        let (cache, SlotKey { address, slot }) = (&self.cache, key);
        let at_hand = || cache.slot_at_hand(address, slot);
        self.versions.slot(lane, key, place, at_hand, || cache.storage(address, slot))
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
    pub(super) codes: Codes,
    mode: Mode,
    reads: Vec<Read>,
    hashes: Vec<(u64, B256)>,
}

enum Mode {
    /// For the transaction at this place.
    Guesses {
        place: u32,
    },
    Settled(Net),
}

/// What a transaction was told.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// None if it was told the state.
    pub(super) reads: Vec<Read>,
    /// The hashes that BLOCKHASH has given out.
    pub(super) hashes: Vec<(u64, B256)>,
}

impl LaneState {
    pub(super) fn new(common: Arc<Common>, lane: usize) -> LaneState {
        let mode = Mode::Guesses { place: OPENING };
        LaneState { common, lane, codes: Codes::new(), mode, reads: Vec::new(), hashes: Vec::new() }
    }

    /// From now on it is asked for the transaction at this place.
    pub(super) fn guess(&mut self, place: u32) {
        self.forget();
        self.mode = Mode::Guesses { place };
    }

    /// From now on it tells the state.
    pub(super) fn settle(&mut self, net: Net) {
        self.forget();
        self.mode = Mode::Settled(net);
    }

    /// The state comes back, unchanged.
    pub(super) fn unsettle(&mut self) -> Net {
        match std::mem::replace(&mut self.mode, Mode::Guesses { place: OPENING }) {
            Mode::Settled(net) => net,
            Mode::Guesses { .. } => unreachable!("there is no state in guesses"),
        }
    }

    /// What it was asked for since the last time.
    pub(super) fn take_told(&mut self) -> Told {
        Told {
            // The next one reads about as much.
            reads: std::mem::replace(&mut self.reads, Vec::with_capacity(READS)),
            hashes: std::mem::take(&mut self.hashes),
        }
    }

    fn forget(&mut self) {
        self.reads.clear();
        self.hashes.clear();
    }
}

impl Database for LaneState {
    type Error = StoreError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, StoreError> {
        let common = &*self.common;
        let mut standing = match &self.mode {
            Mode::Guesses { place } => {
                let (standing, source) = common.account_at(self.lane, address, *place)?;
                let seen = standing.as_ref().map(account_of);
                self.reads.push(Read::Account(address, seen, source));
                standing
            }
            Mode::Settled(net) => match net.account(address) {
                Some(standing) => standing.clone(),
                None => common.account_before(self.lane, address)?,
            },
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
        let common = &*self.common;
        match &self.mode {
            Mode::Guesses { place } => {
                let key = SlotKey { address, slot };
                let (value, source) = common.slot_at(self.lane, key, *place)?;
                self.reads.push(Read::Slot(address, slot, value, source));
                Ok(value)
            }
            Mode::Settled(net) => match net.slot(address, slot) {
                Some(value) => Ok(value),
                None => common.slot_before(self.lane, address, slot),
            },
        }
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StoreError> {
        let Some(hash) = self.common.cache.block_hash(number)? else { return Ok(B256::ZERO) };
        self.hashes.push((number, hash));
        Ok(hash)
    }
}

/// The state with what was committed on top.
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
            None => self.common.slot_before(self.lane, address, slot),
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
