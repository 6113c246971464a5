//! How does the virtual machine see a transaction?

use alloy_consensus::Transaction as _;
use revm::{
    context::TxEnv,
    context_interface::{
        either::Either,
        transaction::{RecoveredAuthority, RecoveredAuthorization},
    },
};

use super::Transaction;

/// What revm executes. Nothing in it has to be recovered again.
pub fn tx_env(transaction: &Transaction) -> TxEnv {
    let envelope = transaction.envelope();
    let authorizations = envelope.authorization_list().unwrap_or_default();
    let authorization_list = authorizations
        .iter()
        .zip(transaction.authorities())
        .map(|(signed, authority)| {
            let authority =
                authority.map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
            Either::Right(RecoveredAuthorization::new_unchecked(signed.inner().clone(), authority))
        })
        .collect();
    TxEnv {
        tx_type: envelope.tx_type().into(),
        caller: transaction.sender(),
        gas_limit: envelope.gas_limit(),
        gas_price: envelope.max_fee_per_gas(),
        kind: envelope.kind(),
        value: envelope.value(),
        data: envelope.input().clone(),
        nonce: envelope.nonce(),
        chain_id: envelope.chain_id(),
        access_list: envelope.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: envelope.max_priority_fee_per_gas(),
        blob_hashes: Vec::new(),
        max_fee_per_blob_gas: 0,
        authorization_list,
    }
}
