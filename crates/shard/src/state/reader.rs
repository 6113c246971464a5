//! How does the virtual machine read a state that nobody keeps at hand?

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use revm::{DatabaseRef, bytecode::Bytecode, primitives::KECCAK_EMPTY, state::AccountInfo};
use std::sync::Arc;

use crate::{block::Account, execute::BlockContext, state::StateReader, store::StoreError};

/// A [`StateReader`] as revm's database, for calls and traces: it keeps nothing.
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
        self.reader.code(hash).map(bytecode)
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
        bytecode(reader.code(account.code_hash)?)
    };
    Ok(AccountInfo::new(account.balance, account.nonce, account.code_hash, code))
}

/// Code as it is stored, made ready to run: a delegation of EIP-7702, or anything else.
pub fn bytecode(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
}
