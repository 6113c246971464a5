//! Accounts whose keys everybody knows: for development.

use std::fmt;

use alloy_primitives::{Address, B256, U256};
use alloy_signer_local::{LocalSignerError, MnemonicBuilder, PrivateKeySigner};

/// The words that anvil, hardhat and many others begin with.
pub const TEST_MNEMONIC: &str = "test test test test test test test test test test test junk";
/// No more accounts are made: each costs a millisecond.
pub const COUNT_MAX: u32 = 1_000;

/// Which accounts there are, and what they own in every shard's genesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevAccounts {
    pub mnemonic: String,
    pub count: u32,
    /// In wei.
    pub balance: U256,
}

impl Default for DevAccounts {
    fn default() -> DevAccounts {
        DevAccounts {
            mnemonic: TEST_MNEMONIC.to_owned(),
            count: 10,
            balance: U256::from(10_000u64) * U256::from(10u64).pow(U256::from(18)),
        }
    }
}

impl DevAccounts {
    /// The accounts, as every wallet derives them from the words.
    ///
    /// ```
    /// use node::accounts::DevAccounts;
    ///
    /// let accounts = DevAccounts::default().derive().unwrap();
    /// assert_eq!(accounts.len(), 10);
    /// let first = accounts[0].address().to_string();
    /// assert_eq!(first, "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// ```
    ///
    /// # Errors
    /// If the words are no mnemonic, or there are too many accounts.
    pub fn derive(&self) -> Result<Vec<DevAccount>, AccountsError> {
        if self.count > COUNT_MAX {
            return Err(AccountsError::TooMany(self.count));
        }
        let wrong = |why: LocalSignerError| AccountsError::Mnemonic(why.to_string());
        // The words become a key by thousands of hashes: once for all accounts.
        let builder = MnemonicBuilder::english().phrase(self.mnemonic.as_str());
        let parent = builder.build_parent_key().map_err(wrong)?;
        let account =
            |index| Ok(DevAccount { signer: parent.child(index).map_err(wrong)?.signer() });
        (0..self.count).map(account).collect()
    }
}

/// An account and its key.
#[derive(Clone)]
pub struct DevAccount {
    signer: PrivateKeySigner,
}

impl DevAccount {
    pub fn address(&self) -> Address {
        self.signer.address()
    }

    /// Its private key. It is no secret.
    pub fn key(&self) -> B256 {
        self.signer.to_bytes()
    }

    /// What signs for it.
    pub fn signer(&self) -> &PrivateKeySigner {
        &self.signer
    }
}

impl fmt::Debug for DevAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DevAccount").field(&self.address()).finish()
    }
}

/// Why there are no accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccountsError {
    Mnemonic(String),
    TooMany(u32),
}

impl fmt::Display for AccountsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccountsError::Mnemonic(why) => write!(f, "these words are no mnemonic: {why}"),
            AccountsError::TooMany(count) => {
                write!(f, "{count} accounts are too many: ask for {COUNT_MAX} at most")
            }
        }
    }
}

impl std::error::Error for AccountsError {}
