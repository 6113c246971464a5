//! How can a developer change the state of a shard without a transaction?
//!
//! By a block that holds no transactions, and whose change set is the amendment. It follows the
//! newest block like any other: the chain of a shard never goes back. To go back to an earlier state
//! is to make a block that changes everything to what it was then.
//!
//! 1. An account that is empty (EIP-161) is none, and has no storage: one that an amendment empties
//!    loses its slots, and storage for one that stays empty is refused.
//! 2. Where the per-block system calls are on, such a block makes them too; and what they have
//!    written is not taken back, since it tells of the chain.

mod error;
mod request;
mod resolve;

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256};

pub use error::AmendError;
pub(crate) use request::{Outcome, Request};
pub(crate) use resolve::{Undo, resolve};

/// Accounts and slots that an amendment may name.
pub const ENTRIES_MAX: usize = 1 << 16;
/// Bytes of code that an amendment may bring, in all.
pub const CODE_BYTES_MAX: usize = 8 << 20;
/// Accounts and slots that may have changed since the block to which a shard is set back.
pub const REVERT_ENTRIES_MAX: usize = 1 << 18;

/// What is to be changed in the state of a shard, for development.
///
/// ```
/// use std::sync::Arc;
///
/// use alloy_primitives::{Address, U256};
/// use kernel::Runtime;
/// use shard::{Config, Shards, amend::Amendment, state::StateReader, store::MemoryStore};
///
/// let (market, bob) = (Address::repeat_byte(0x3a), Address::repeat_byte(0xb0));
/// let runtime = Runtime::new()?;
/// let store = Arc::new(MemoryStore::new());
/// let shards = Shards::open(&runtime, Config::default(), store, 1_700_000_000)?;
/// let rich = Amendment::new().balance(bob, U256::from(5)).nonce(bob, 7);
/// let block = shards.amend(market, rich).wait()?;
/// assert_eq!((block.number(), block.transactions.len()), (1, 0));
///
/// let shard = shards.get(market).expect("the amendment has made it");
/// assert_eq!(shard.state().account(bob)?.expect("it has funds").nonce, 7);
/// shard.amend(Amendment::revert_to(0)).wait()?;
/// assert_eq!(shard.state().account(bob)?, None);
/// assert_eq!(shard.tip().number(), 2, "the chain goes on");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amendment {
    back_to: Option<u64>,
    accounts: BTreeMap<Address, Amended>,
}

/// What is to be changed in one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Amended {
    balance: Option<U256>,
    nonce: Option<u64>,
    code: Option<Bytes>,
    slots: BTreeMap<U256, U256>,
}

impl Amendment {
    /// One that changes nothing: its block is empty.
    pub fn new() -> Amendment {
        Amendment::default()
    }

    /// Sets everything back to what it was at the end of this block. What else is set applies on top.
    pub fn revert_to(number: u64) -> Amendment {
        Amendment { back_to: Some(number), accounts: BTreeMap::new() }
    }

    /// An account's balance.
    #[must_use]
    pub fn balance(mut self, address: Address, balance: U256) -> Amendment {
        self.account(address).balance = Some(balance);
        self
    }

    /// An account's nonce: that of its next transaction.
    #[must_use]
    pub fn nonce(mut self, address: Address, nonce: u64) -> Amendment {
        self.account(address).nonce = Some(nonce);
        self
    }

    /// An account's code. Nothing takes it away.
    #[must_use]
    pub fn code(mut self, address: Address, code: Bytes) -> Amendment {
        self.account(address).code = Some(code);
        self
    }

    /// One slot of an account's storage.
    #[must_use]
    pub fn slot(mut self, address: Address, slot: U256, value: U256) -> Amendment {
        self.account(address).slots.insert(slot, value);
        self
    }

    fn account(&mut self, address: Address) -> &mut Amended {
        self.accounts.entry(address).or_default()
    }

    /// The block whose state it begins from, if that is not the newest.
    pub(crate) fn back_to(&self) -> Option<u64> {
        self.back_to
    }

    /// What can be said without a state.
    pub(crate) fn check(&self) -> Result<(), AmendError> {
        let slots: usize = self.accounts.values().map(|amended| amended.slots.len()).sum();
        let entries = self.accounts.len() + slots;
        if entries > ENTRIES_MAX {
            let what = "accounts and slots";
            return Err(AmendError::TooLarge { what, count: entries, count_max: ENTRIES_MAX });
        }
        let codes = self.accounts.values().filter_map(|amended| amended.code.as_ref());
        let bytes: usize = codes.map(|code| code.len()).sum();
        if bytes > CODE_BYTES_MAX {
            let what = "bytes of code";
            return Err(AmendError::TooLarge { what, count: bytes, count_max: CODE_BYTES_MAX });
        }
        let highest = |(_, amended): &(&Address, &Amended)| amended.nonce == Some(u64::MAX);
        match self.accounts.iter().find(highest) {
            Some((address, _)) => Err(AmendError::NonceTooHigh(*address)),
            None => Ok(()),
        }
    }
}
