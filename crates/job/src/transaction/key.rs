//! Who sends a transaction, and what it touches.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// The 20 bytes that name an account.
///
/// ```
/// use job::transaction::Address;
///
/// let address = Address::new([0xab; 20]);
/// assert_eq!(address.to_string(), format!("0x{}", "ab".repeat(20)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Address([u8; 20]);

impl Address {
    /// The account with these bytes.
    pub const fn new(bytes: [u8; 20]) -> Address {
        Address(bytes)
    }

    /// Its bytes.
    pub const fn get(self) -> [u8; 20] {
        self.0
    }
}

impl From<[u8; 20]> for Address {
    fn from(bytes: [u8; 20]) -> Address {
        Address(bytes)
    }
}

impl From<Address> for [u8; 20] {
    fn from(address: Address) -> [u8; 20] {
        address.0
    }
}

impl Hash for Address {
    /// The bytes alone: all addresses have as many.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Something in the state of a chain that transactions read and write.
///
/// Two transactions conflict if one of them writes a key that the other reads or writes. An account
/// and its slots are different keys: a transfer to a contract does not conflict with a change of
/// what the contract stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// An account itself: its balance, its nonce, its code.
    Account(Address),
    /// One slot of what a contract stores.
    Slot(Address, [u8; 32]),
}

impl Hash for Key {
    /// The bytes alone: the two are of different length.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Key::Account(address) => state.write(&address.0),
            Key::Slot(address, slot) => {
                state.write(&address.0);
                state.write(slot);
            }
        }
    }
}

impl From<Address> for Key {
    fn from(address: Address) -> Key {
        Key::Account(address)
    }
}
