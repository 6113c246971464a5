//! How does the virtual machine read a state that nobody keeps at hand?

use std::{cell::RefCell, sync::Arc};

use alloy_primitives::{
    Address, B256, Bytes, U256,
    map::{B256HashMap, HashMap},
};
use revm::{DatabaseRef, bytecode::Bytecode, primitives::KECCAK_EMPTY, state::AccountInfo};

use crate::{block::Account, execute::BlockContext, state::StateReader, store::StoreError};

/// Codes that a thread keeps ready to run. Most calls are of few contracts.
const CODES_MAX: usize = 64;

/// Longer ones are not kept: a chain may allow codes of any length, and each thread has its own.
const CODE_BYTES_MAX: usize = 48 << 10;

thread_local! {
    /// Code that was run lately on this thread, by its hash, which stands for it in every shard and
    /// block. To find the jumps in it took longer than a call of a token.
    static LATELY: RefCell<Lately> = RefCell::default();
}

#[derive(Default)]
struct Lately {
    /// Each with the time when it was used last.
    codes: B256HashMap<(Bytecode, u64)>,
    /// Uses so far.
    time: u64,
}

impl Lately {
    fn get(&mut self, hash: B256) -> Option<Bytecode> {
        self.time += 1;
        let (code, used) = self.codes.get_mut(&hash)?;
        *used = self.time;
        Some(code.clone())
    }

    /// Keeps one more, in place of that which was not used for the longest time, unless it is long.
    fn keep(&mut self, hash: B256, code: Bytecode) {
        if code.original_byte_slice().len() > CODE_BYTES_MAX {
            return;
        }
        if self.codes.len() >= CODES_MAX {
            let oldest =
                self.codes.iter().min_by_key(|(_, (_, used))| *used).map(|(hash, _)| *hash);
            oldest.map(|oldest| self.codes.remove(&oldest));
        }
        self.codes.insert(hash, (code, self.time));
    }
}

/// The code with this hash, ready to run.
fn ready(reader: &dyn StateReader, hash: B256) -> Result<Bytecode, StoreError> {
    if let Some(code) = LATELY.with_borrow_mut(|lately| lately.get(hash)) {
        return Ok(code);
    }
    let code = bytecode(reader.code(hash)?);
    LATELY.with_borrow_mut(|lately| lately.keep(hash, code.clone()));
    Ok(code)
}

/// A [`StateReader`] as revm's database, for calls and traces: of the state it keeps nothing.
#[derive(Clone)]
pub struct ReaderDatabase<'a> {
    reader: &'a dyn StateReader,
    height: u64,
    parent_hash: B256,
    base_hashes: Option<Arc<HashMap<u64, B256>>>,
}

impl<'a> ReaderDatabase<'a> {
    /// Reads from `reader`, the state before the block of this context.
    pub fn new(reader: &'a dyn StateReader, context: &BlockContext) -> ReaderDatabase<'a> {
        ReaderDatabase {
            reader,
            height: context.height,
            parent_hash: context.parent_hash,
            base_hashes: context.base_hashes.clone(),
        }
    }
}

impl DatabaseRef for ReaderDatabase<'_> {
    type Error = StoreError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, StoreError> {
        self.reader.account(address)?.map(|account| info(self.reader, account)).transpose()
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, StoreError> {
        ready(self.reader, hash)
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, StoreError> {
        self.reader.storage(address, slot)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, StoreError> {
        let hash = match &self.base_hashes {
            Some(hashes) => hashes.get(&number).copied(),
            None if number + 1 == self.height => Some(self.parent_hash),
            None if number >= self.height => None,
            None => self.reader.block_hash(number)?,
        };
        Ok(hash.unwrap_or_default())
    }
}

/// An account with its code, as revm has it.
fn info(reader: &dyn StateReader, account: Account) -> Result<AccountInfo, StoreError> {
    let code = if account.code_hash == KECCAK_EMPTY {
        Bytecode::default()
    } else {
        ready(reader, account.code_hash)?
    };
    Ok(AccountInfo::new(account.balance, account.nonce, account.code_hash, code))
}

/// Code as it is stored, made ready to run: a delegation of EIP-7702, or anything else.
pub fn bytecode(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(number: u8) -> (B256, Bytecode) {
        (B256::with_last_byte(number), bytecode(vec![number].into()))
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_makes_room() {
        let mut lately = Lately::default();
        let all: Vec<_> = (0..=CODES_MAX as u8).map(code).collect();
        let (newest, before) = all.split_last().expect("there are some");
        for (hash, code) in before {
            assert_eq!(lately.get(*hash), None);
            lately.keep(*hash, code.clone());
        }
        assert_eq!(lately.get(before[0].0), Some(before[0].1.clone()));
        lately.keep(newest.0, newest.1.clone());
        assert_eq!(lately.codes.len(), CODES_MAX);
        assert_eq!(lately.get(before[1].0), None, "it was the oldest");
        for (hash, code) in all.iter().filter(|(hash, _)| *hash != before[1].0) {
            assert_eq!(lately.get(*hash).as_ref(), Some(code));
        }
    }

    #[test]
    fn a_long_code_is_not_kept() {
        let mut lately = Lately::default();
        for (bytes, kept) in [(CODE_BYTES_MAX, true), (CODE_BYTES_MAX + 1, false)] {
            let hash = B256::from(U256::from(bytes));
            lately.keep(hash, bytecode(vec![0; bytes].into()));
            assert_eq!(lately.get(hash).is_some(), kept);
        }
    }
}
