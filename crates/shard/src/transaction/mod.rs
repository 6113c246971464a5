//! A transaction whose sender is known.

use std::sync::Arc;

use alloy_consensus::{Transaction as _, TxEnvelope};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};

/// A transaction that was decoded, and whose sender was recovered: once, at admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    envelope: TxEnvelope,
    encoded: Bytes,
    sender: Address,
    signed: bool,
}

/// Transactions are shared by the pool, the block and those who ask for them.
pub type SharedTransaction = Arc<Transaction>;

impl Transaction {
    /// Its parts as they are. Nothing is checked: for what was checked before.
    pub(crate) fn from_parts(
        envelope: TxEnvelope,
        encoded: Bytes,
        sender: Address,
        signed: bool,
    ) -> Transaction {
        Transaction { envelope, encoded, sender, signed }
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
