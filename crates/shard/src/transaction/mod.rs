//! What is a transaction whose sender is known, and how does one come to be?
//!
//! ```text
//!   bytes --decode--> Unrecovered --recover--> Transaction <--unsigned-- fields and a sender
//!                                               |      ^
//!                                               +------+  to_bytes, from_bytes
//! ```
//!
//! Recovering is the dear step, some 30 µs for each signature, or a fifth of that for each of 16 where
//! the processor can do them at once: it is done on the way in, side by side on the workers
//! ([`recover_all`]). Whatever is stored keeps who has sent it. Who has signed its authorisations
//! (EIP-7702) is kept with what waits in a pool; of a block that is recovered again whenever it is
//! read.

mod compact;
mod decode;
mod evm;
mod recover;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use alloy_consensus::{SignableTransaction, Transaction as _, TxEnvelope, TypedTransaction};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};

pub use compact::Corrupt;
pub use decode::{Malformed, Unrecovered};
pub use evm::tx_env;
pub use recover::{Recovered, is_quicker_together, recover_all, recover_together};

/// A transaction that was decoded, and whose sender was recovered: once, at admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    envelope: TxEnvelope,
    encoded: Bytes,
    sender: Address,
    signed: bool,
    /// Who signed each authorisation of EIP-7702; `None` where nobody did.
    authorities: Vec<Option<Address>>,
}

/// Transactions are shared by the pool, the block and those who ask for them.
pub type SharedTransaction = Arc<Transaction>;

impl Transaction {
    /// Its parts as they are. The sender is taken for granted: for what was checked before. Those
    /// who signed its authorisations are recovered here.
    pub(crate) fn from_parts(
        envelope: TxEnvelope,
        encoded: Bytes,
        sender: Address,
        signed: bool,
    ) -> Transaction {
        let authorities = recover::authorities(&envelope);
        Transaction { envelope, encoded, sender, signed, authorities }
    }

    /// A transaction that nobody has signed, for nodes that ask for no signature.
    ///
    /// In place of the signature stands the sender, and an `s` of 0. So the hash depends on the
    /// sender, and no signed transaction can have the same one: an `s` of 0 is never valid.
    ///
    /// ```
    /// use alloy_consensus::{TxEip1559, TypedTransaction};
    /// use alloy_primitives::Address;
    /// use shard::Transaction;
    ///
    /// let sender = Address::repeat_byte(7);
    /// let transaction = Transaction::unsigned(TypedTransaction::Eip1559(TxEip1559::default()), sender);
    /// assert_eq!(transaction.sender(), sender);
    /// assert!(!transaction.is_signed());
    /// ```
    pub fn unsigned(fields: TypedTransaction, sender: Address) -> Transaction {
        let stand_in = Signature::new(U256::from_be_slice(sender.as_slice()), U256::ZERO, false);
        let envelope = TxEnvelope::from(fields.into_signed(stand_in));
        let encoded = envelope.encoded_2718().into();
        Transaction::from_parts(envelope, encoded, sender, false)
    }

    /// As Ethereum has it.
    pub fn envelope(&self) -> &TxEnvelope {
        &self.envelope
    }

    /// The bytes of EIP-2718, as they were sent.
    pub fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// Who sent it.
    pub fn sender(&self) -> Address {
        self.sender
    }

    /// Whether a signature stands for the sender; without, it was sent where none is asked for.
    pub fn is_signed(&self) -> bool {
        self.signed
    }

    /// Who signed each of its authorisations (EIP-7702), in order; `None` where the signature is
    /// none, which makes that authorisation void and nothing else.
    pub fn authorities(&self) -> &[Option<Address>] {
        &self.authorities
    }

    /// The hash that it is known by.
    pub fn hash(&self) -> B256 {
        *self.envelope.tx_hash()
    }

    pub fn nonce(&self) -> u64 {
        self.envelope.nonce()
    }

    pub fn gas_limit(&self) -> u64 {
        self.envelope.gas_limit()
    }

    pub fn kind(&self) -> TxKind {
        self.envelope.kind()
    }

    /// The most that it pays per gas: the gas price, where it names only one.
    pub fn fee_max(&self) -> u128 {
        self.envelope.max_fee_per_gas()
    }

    /// The most of it that goes to the beneficiary: the gas price, where it names only one.
    pub fn priority_fee_max(&self) -> u128 {
        self.envelope.max_priority_fee_per_gas().unwrap_or_else(|| self.fee_max())
    }

    /// The most that it may cost: gas at its highest price, and the value. Saturates.
    pub fn cost_max(&self) -> U256 {
        let gas = U256::from(self.gas_limit())
            .saturating_mul(U256::from(self.envelope.max_fee_per_gas()));
        gas.saturating_add(self.envelope.value())
    }

    /// What it pays per gas under a base fee.
    pub fn gas_price(&self, base_fee: u64) -> u128 {
        self.envelope.effective_gas_price(Some(base_fee))
    }
}
