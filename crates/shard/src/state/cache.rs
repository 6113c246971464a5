//! Which part of its state does a shard keep at hand, and for how long?
//!
//! The working cache belongs to the shard's strand: no lock is taken, and what is at hand costs
//! one look into one table.
//!
//! 1. What a block has written that is not committed yet is never evicted: nobody else has it.
//! 2. Nothing is evicted while a block is executed: what was read in it is at hand at its end.
//! 3. What is at hand never decides about a result: it is what the reader would say, with the
//!    writes of uncommitted blocks on top.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use revm::{Database, bytecode::Bytecode, primitives::KECCAK_EMPTY, state::AccountInfo};

use crate::{
    block::{Account, ChangeSet},
    execute::BlockContext,
    state::{StateReader, bytecode},
    store::StoreError,
};

/// Accounts, slots and code of one shard.
pub struct Cache {
    reader: Arc<dyn StateReader>,
    entries_max: usize,
    accounts: HashMap<Address, Entry<Option<AccountInfo>>>,
    slots: HashMap<(Address, U256), Entry<U256>>,
    codes: HashMap<B256, Entry<Bytecode>>,
    /// What blocks have changed that are not committed, for those who want all slots of an account.
    uncommitted: VecDeque<(u64, Arc<ChangeSet>)>,
    /// Hashes of blocks that may not be committed yet, by their height.
    own_hashes: BTreeMap<u64, B256>,
    /// The height up to which blocks are committed.
    committed: u64,
    /// The block that is being executed.
    height: u64,
    base_hashes: Option<Arc<HashMap<u64, B256>>>,
    hashes_read: BTreeMap<u64, B256>,
    /// When there are so many entries, some go.
    sweep_at: usize,
    /// The block that was being executed when some went.
    swept: u64,
}

struct Entry<T> {
    value: T,
    /// The block that wrote it; 0: it was read.
    written: u64,
    /// The last block that asked for it.
    used: u64,
}

impl Cache {
    /// An empty one over the committed state, for about so many accounts, slots and codes.
    pub fn new(reader: Arc<dyn StateReader>, entries_max: usize) -> Cache {
        Cache {
            reader,
            entries_max,
            accounts: HashMap::default(),
            slots: HashMap::default(),
            codes: HashMap::default(),
            uncommitted: VecDeque::new(),
            own_hashes: BTreeMap::new(),
            committed: 0,
            height: 0,
            base_hashes: None,
            hashes_read: BTreeMap::new(),
            sweep_at: entries_max,
            swept: 0,
        }
    }

    /// Accounts, slots and codes at hand.
    pub fn len(&self) -> usize {
        self.accounts.len() + self.slots.len() + self.codes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// From here on a block is executed under this context.
    pub fn begin(&mut self, context: &BlockContext) {
        self.height = context.height;
        self.base_hashes.clone_from(&context.base_hashes);
        self.hashes_read.clear();
        if let Some(parent) = context.height.checked_sub(1) {
            self.own_hashes.insert(parent, context.parent_hash);
        }
        if self.len() > self.sweep_at {
            self.sweep();
        }
    }

    /// The hashes that BLOCKHASH has given out since the block began, in order.
    pub fn hashes_read(&self) -> Vec<(u64, B256)> {
        self.hashes_read.iter().map(|(number, hash)| (*number, *hash)).collect()
    }

    /// A block was executed that has changed this. It is not committed yet.
    pub fn apply(&mut self, height: u64, changes: &Arc<ChangeSet>) {
        for (hash, code) in &changes.codes {
            let entry = Entry { value: bytecode(code.clone()), written: height, used: height };
            self.codes.insert(*hash, entry);
        }
        for change in &changes.accounts {
            if change.before != change.after {
                let value = change.after.map(|account| self.info_at_hand(change.address, account));
                let entry = Entry { value, written: height, used: height };
                self.accounts.insert(change.address, entry);
            }
            for slot in &change.slots {
                let entry = Entry { value: slot.after, written: height, used: height };
                self.slots.insert((change.address, slot.slot), entry);
            }
        }
        self.uncommitted.push_back((height, Arc::clone(changes)));
    }

    /// Blocks up to this height are committed, and the reader knows them.
    pub fn committed(&mut self, height: u64) {
        self.committed = self.committed.max(height);
        self.own_hashes = self.own_hashes.split_off(&(self.committed + 1));
        while self.uncommitted.front().is_some_and(|(height, _)| *height <= self.committed) {
            self.uncommitted.pop_front();
        }
    }

    /// The height up to which blocks are committed.
    pub(crate) fn committed_up_to(&self) -> u64 {
        self.committed
    }

    /// Forgets everything, uncommitted blocks too: they have failed, and are executed anew.
    pub fn clear(&mut self) {
        self.accounts.clear();
        self.slots.clear();
        self.codes.clear();
        self.uncommitted.clear();
        self.own_hashes.clear();
        self.hashes_read.clear();
        self.sweep_at = self.entries_max;
    }

    /// An empty one over the same state.
    pub(crate) fn emptied(&self) -> Cache {
        Cache::new(Arc::clone(&self.reader), self.entries_max)
    }

    /// The account, if it is at hand, for those to whom the cache is lent and who share it.
    #[inline]
    pub(crate) fn account_at_hand(&self, address: Address) -> Option<&Option<AccountInfo>> {
        self.accounts.get(&address).map(|entry| &entry.value)
    }

    /// The slot, if it is at hand.
    #[inline]
    pub(crate) fn slot_at_hand(&self, address: Address, slot: U256) -> Option<U256> {
        self.slots.get(&(address, slot)).map(|entry| entry.value)
    }

    /// The account with its code, wherever it is.
    pub(crate) fn account_shared(
        &self,
        address: Address,
    ) -> Result<Option<AccountInfo>, StoreError> {
        if let Some(entry) = self.accounts.get(&address) {
            return Ok(entry.value.clone());
        }
        let Some(account) = self.reader.account(address)? else { return Ok(None) };
        let code = if account.code_hash == KECCAK_EMPTY {
            Bytecode::default()
        } else if let Some(entry) = self.codes.get(&account.code_hash) {
            entry.value.clone()
        } else {
            bytecode(self.reader.code(account.code_hash)?)
        };
        Ok(Some(AccountInfo::new(account.balance, account.nonce, account.code_hash, code)))
    }

    /// What those have read to whom it was lent, as it was at the beginning of the block.
    pub(crate) fn returned(
        &mut self,
        accounts: impl IntoIterator<Item = (Address, Option<AccountInfo>)>,
        slots: impl IntoIterator<Item = ((Address, U256), U256)>,
    ) {
        let used = self.height;
        for (address, value) in accounts {
            if let Some(AccountInfo { code_hash, code: Some(code), .. }) = &value
                && *code_hash != KECCAK_EMPTY
            {
                let entry = || Entry { value: code.clone(), written: 0, used };
                self.codes.entry(*code_hash).or_insert_with(entry).used = used;
            }
            let entry = self.accounts.entry(address);
            entry.or_insert_with(|| Entry { value, written: 0, used }).used = used;
        }
        for (slot, value) in slots {
            self.slots.entry(slot).or_insert(Entry { value, written: 0, used }).used = used;
        }
    }

    /// Forgets what the reader has too.
    pub fn forget_committed(&mut self) {
        let committed = self.committed;
        self.accounts.retain(|_, entry| entry.written > committed);
        self.slots.retain(|_, entry| entry.written > committed);
        self.codes.retain(|_, entry| entry.written > committed);
    }

    /// An account that is written, with its code, which is at hand: it has just run or was made.
    fn info_at_hand(&self, address: Address, account: Account) -> AccountInfo {
        let code = if account.code_hash == KECCAK_EMPTY {
            Some(Bytecode::default())
        } else {
            let same = self.accounts.get(&address).and_then(|entry| entry.value.as_ref());
            match same.filter(|info| info.code_hash == account.code_hash) {
                Some(info) => info.code.clone(),
                None => self.codes.get(&account.code_hash).map(|entry| entry.value.clone()),
            }
        };
        AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            account_id: None,
            code,
        }
    }

    /// What nobody has asked for since the last time goes first, then anything, until a quarter
    /// is free: so it is cheap in the long run, whatever is asked for.
    #[cold]
    fn sweep(&mut self) {
        let (committed, since) = (self.committed, self.swept);
        let stays = |written: u64, used: u64| written > committed || used > since;
        self.accounts.retain(|_, entry| stays(entry.written, entry.used));
        self.slots.retain(|_, entry| stays(entry.written, entry.used));
        self.codes.retain(|_, entry| stays(entry.written, entry.used));

        let enough = self.entries_max - self.entries_max / 4;
        let mut excess = self.len().saturating_sub(enough);
        let mut stays = |written: u64| {
            let goes = excess > 0 && written <= committed;
            excess -= usize::from(goes);
            !goes
        };
        self.slots.retain(|_, entry| stays(entry.written));
        self.accounts.retain(|_, entry| stays(entry.written));
        self.codes.retain(|_, entry| stays(entry.written));

        self.swept = self.height.saturating_sub(1);
        self.sweep_at = self.entries_max.max(self.len() + self.entries_max / 4);
    }

    #[cold]
    fn load_account(&mut self, address: Address) -> Result<Option<AccountInfo>, StoreError> {
        let value = match self.reader.account(address)? {
            None => None,
            Some(account) => {
                let code = if account.code_hash == KECCAK_EMPTY {
                    Bytecode::default()
                } else {
                    self.code_by_hash(account.code_hash)?
                };
                Some(AccountInfo::new(account.balance, account.nonce, account.code_hash, code))
            }
        };
        let entry = Entry { value: value.clone(), written: 0, used: self.height };
        self.accounts.insert(address, entry);
        Ok(value)
    }

    #[cold]
    fn load_slot(&mut self, address: Address, slot: U256) -> Result<U256, StoreError> {
        let value = self.reader.storage(address, slot)?;
        self.slots.insert((address, slot), Entry { value, written: 0, used: self.height });
        Ok(value)
    }

    fn hash_of(&self, number: u64) -> Result<Option<B256>, StoreError> {
        if let Some(hashes) = &self.base_hashes {
            return Ok(hashes.get(&number).copied());
        }
        if number >= self.height {
            return Ok(None);
        }
        match self.own_hashes.get(&number) {
            Some(hash) => Ok(Some(*hash)),
            None => self.reader.block_hash(number),
        }
    }
}

impl Database for Cache {
    type Error = StoreError;

    #[inline]
    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, StoreError> {
        match self.accounts.get_mut(&address) {
            Some(entry) => {
                entry.used = self.height;
                Ok(entry.value.clone())
            }
            None => self.load_account(address),
        }
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, StoreError> {
        if let Some(entry) = self.codes.get_mut(&hash) {
            entry.used = self.height;
            return Ok(entry.value.clone());
        }
        let value = bytecode(self.reader.code(hash)?);
        let entry = Entry { value: value.clone(), written: 0, used: self.height };
        self.codes.insert(hash, entry);
        Ok(value)
    }

    #[inline]
    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, StoreError> {
        match self.slots.get_mut(&(address, slot)) {
            Some(entry) => {
                entry.used = self.height;
                Ok(entry.value)
            }
            None => self.load_slot(address, slot),
        }
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StoreError> {
        let Some(hash) = self.hash_of(number)? else { return Ok(B256::ZERO) };
        self.hashes_read.insert(number, hash);
        Ok(hash)
    }
}

/// The state with the uncommitted blocks on top: at the end of a block that was not applied yet,
/// the state at its beginning.
impl StateReader for Cache {
    fn account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        match self.accounts.get(&address) {
            Some(entry) => Ok(entry.value.as_ref().map(|info| Account {
                nonce: info.nonce,
                balance: info.balance,
                code_hash: info.code_hash,
            })),
            None => self.reader.account(address),
        }
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, StoreError> {
        match self.slots.get(&(address, slot)) {
            Some(entry) => Ok(entry.value),
            None => self.reader.storage(address, slot),
        }
    }

    fn slots(&self, address: Address) -> Result<Vec<(U256, U256)>, StoreError> {
        let mut slots: BTreeMap<U256, U256> = self.reader.slots(address)?.into_iter().collect();
        for (_, changes) in &self.uncommitted {
            let accounts = &changes.accounts;
            let Ok(at) = accounts.binary_search_by_key(&address, |change| change.address) else {
                continue;
            };
            slots.extend(accounts[at].slots.iter().map(|change| (change.slot, change.after)));
        }
        slots.retain(|_, value| !value.is_zero());
        Ok(slots.into_iter().collect())
    }

    fn code(&self, hash: B256) -> Result<Bytes, StoreError> {
        match self.codes.get(&hash) {
            Some(entry) => Ok(entry.value.original_bytes()),
            None => self.reader.code(hash),
        }
    }

    fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError> {
        self.hash_of(number)
    }
}

#[cfg(test)]
mod tests;
