//! Which bytes stand for what a block has changed?
//!
//! ```text
//!   version  count  accounts ...  count  codes ...
//!   account: address  flags  [nonce balance [code hash]]  [nonce balance [code hash]]  count  slots ...
//!   slot:    slot  before  after
//!   code:    hash  length  bytes
//! ```
//!
//! Counts, lengths and nonces are varints, balances and slots their significant bytes. A code hash
//! is left out where there is no code, and the second where it is the first.

use alloy_primitives::B256;
use revm::primitives::KECCAK_EMPTY;

use crate::{
    block::{
        Account, AccountChange, ChangeSet, SlotChange,
        bytes::{Reader, put_bytes, put_u256, put_varint},
    },
    store::StoreError,
};

const VERSION: u8 = 1;

const BEFORE: u8 = 1;
const AFTER: u8 = 1 << 1;
const CODE_BEFORE: u8 = 1 << 2;
const CODE_AFTER: u8 = 1 << 3;
const CODE_SAME: u8 = 1 << 4;
const FLAGS: u8 = BEFORE | AFTER | CODE_BEFORE | CODE_AFTER | CODE_SAME;

impl ChangeSet {
    /// Its bytes.
    ///
    /// ```
    /// use shard::{block::{ChangeSet, genesis_changes}, config::{Genesis, Rules}};
    ///
    /// let changes = genesis_changes(&Rules::default(), &Genesis::default());
    /// assert_eq!(ChangeSet::decode(&changes.encode())?, changes);
    /// # Ok::<(), shard::store::StoreError>(())
    /// ```
    pub fn encode(&self) -> Vec<u8> {
        let slots: usize = self.accounts.iter().map(|account| account.slots.len()).sum();
        let codes: usize = self.codes.iter().map(|(_, code)| code.len() + 40).sum();
        let mut out = Vec::with_capacity(16 + self.accounts.len() * 64 + slots * 64 + codes);
        self.encode_into(&mut out);
        out
    }

    /// The same, after what is there.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put_varint(out, self.accounts.len() as u64);
        for change in &self.accounts {
            put_account_change(out, change);
        }
        put_varint(out, self.codes.len() as u64);
        for (hash, code) in &self.codes {
            out.extend_from_slice(hash.as_slice());
            put_bytes(out, code);
        }
    }

    /// What these bytes stand for.
    pub fn decode(bytes: &[u8]) -> Result<ChangeSet, StoreError> {
        let mut reader = Reader::new(bytes, "a change set");
        if reader.u8()? != VERSION {
            return Err(reader.corrupt("its version is not known"));
        }
        // An address, the flags, and the number of slots.
        let count = reader.count(22)?;
        let mut accounts = Vec::with_capacity(count);
        for _ in 0..count {
            accounts.push(read_account_change(&mut reader)?);
        }
        if !accounts.is_sorted_by(|a, b| a.address < b.address) {
            return Err(reader.corrupt("its accounts are not in order"));
        }
        let count = reader.count(33)?;
        let mut codes = Vec::with_capacity(count);
        for _ in 0..count {
            codes.push((reader.hash()?, reader.bytes()?));
        }
        reader.end()?;
        Ok(ChangeSet { accounts, codes })
    }
}

fn put_account_change(out: &mut Vec<u8>, change: &AccountChange) {
    let mut flags = 0;
    let mut first = None;
    if let Some(account) = change.before {
        flags |= BEFORE;
        if account.code_hash != KECCAK_EMPTY {
            flags |= CODE_BEFORE;
            first = Some(account.code_hash);
        }
    }
    if let Some(account) = change.after {
        flags |= AFTER;
        if account.code_hash != KECCAK_EMPTY {
            flags |= if first == Some(account.code_hash) { CODE_SAME } else { CODE_AFTER };
        }
    }
    out.extend_from_slice(change.address.as_slice());
    out.push(flags);
    for (account, coded) in [(change.before, CODE_BEFORE), (change.after, CODE_AFTER)] {
        let Some(account) = account else { continue };
        put_varint(out, account.nonce);
        put_u256(out, account.balance);
        if flags & coded != 0 {
            out.extend_from_slice(account.code_hash.as_slice());
        }
    }
    put_varint(out, change.slots.len() as u64);
    for slot in &change.slots {
        put_u256(out, slot.slot);
        put_u256(out, slot.before);
        put_u256(out, slot.after);
    }
}

fn read_account_change(reader: &mut Reader<'_>) -> Result<AccountChange, StoreError> {
    let address = reader.address()?;
    let flags = reader.u8()?;
    let has = |flag| flags & flag != 0;
    if flags & !FLAGS != 0
        || has(CODE_BEFORE) && !has(BEFORE)
        || has(CODE_AFTER) && !has(AFTER)
        || has(CODE_SAME) && (!has(AFTER) || !has(CODE_BEFORE) || has(CODE_AFTER))
    {
        return Err(reader.corrupt("its flags contradict each other"));
    }
    let mut account = |is, coded, otherwise: B256| -> Result<Option<Account>, StoreError> {
        if !has(is) {
            return Ok(None);
        }
        let (nonce, balance) = (reader.varint()?, reader.u256()?);
        let code_hash = if has(coded) { reader.hash()? } else { otherwise };
        Ok(Some(Account { nonce, balance, code_hash }))
    };
    let before = account(BEFORE, CODE_BEFORE, KECCAK_EMPTY)?;
    let same = match before {
        Some(before) if has(CODE_SAME) => before.code_hash,
        _ => KECCAK_EMPTY,
    };
    let after = account(AFTER, CODE_AFTER, same)?;
    let count = reader.count(3)?;
    let mut slots = Vec::with_capacity(count);
    for _ in 0..count {
        let (slot, before, after) = (reader.u256()?, reader.u256()?, reader.u256()?);
        slots.push(SlotChange { slot, before, after });
    }
    if !slots.is_sorted_by(|a, b| a.slot < b.slot) {
        return Err(reader.corrupt("its slots are not in order"));
    }
    Ok(AccountChange { address, before, after, slots })
}
