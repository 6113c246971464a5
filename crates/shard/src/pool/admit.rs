//! Could a transaction ever be executed in this shard?
//!
//! What is checked here depends on the transaction, the rules and the sender's account alone, not
//! on what else is in the pool. A transaction that passes is one that the virtual machine takes as
//! soon as its nonce is next and the base fee allows it.

use alloy_consensus::{Transaction as _, TxEnvelope};
use alloy_primitives::{Address, U256};
use revm::{
    context::CfgEnv,
    context_interface::{
        Cfg,
        cfg::gas_params::{Eip2780TxInfo, GasParams},
    },
    primitives::{KECCAK_EMPTY, hardfork::SpecId},
};

use super::Refusal;
use crate::{
    config::{PoolLimits, Rules},
    state::StateReader,
    store::StoreError,
    transaction::Transaction,
};

/// What an account's code begins with if it only names another's, EIP-7702.
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// What admission asks about a sender, in the latest state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderAccount {
    pub nonce: u64,
    pub balance: U256,
    /// It has code of its own, not a delegation: it is a contract (EIP-3607).
    pub is_contract: bool,
}

impl SenderAccount {
    /// Reads it from a state. One that does not exist has nothing.
    ///
    /// # Errors
    /// If the state can not be read.
    pub fn read(state: &dyn StateReader, sender: Address) -> Result<SenderAccount, StoreError> {
        let Some(account) = state.account(sender)? else { return Ok(SenderAccount::default()) };
        let is_contract = account.code_hash != KECCAK_EMPTY && {
            let code = state.code(account.code_hash)?;
            !code.is_empty() && !is_delegation(&code)
        };
        Ok(SenderAccount { nonce: account.nonce, balance: account.balance, is_contract })
    }
}

fn is_delegation(code: &[u8]) -> bool {
    code.len() == DELEGATION.len() + Address::len_bytes() && code.starts_with(&DELEGATION)
}

/// What transactions must fulfil: the rules and limits, made ready for one shard.
#[derive(Debug)]
pub(super) struct Terms {
    chain_id: u64,
    rules: Rules,
    bytes_max: usize,
    nonce_ahead_max: u64,
    /// What the virtual machine goes by under this fork.
    machine: CfgEnv,
    gas: GasParams,
}

impl Terms {
    pub(super) fn new(shard: Address, rules: &Rules, limits: &PoolLimits) -> Terms {
        Terms {
            chain_id: rules.chain_id(shard),
            rules: rules.clone(),
            bytes_max: limits.transaction_bytes_max,
            nonce_ahead_max: limits.nonce_ahead_max,
            machine: CfgEnv::new_with_spec(rules.fork),
            gas: GasParams::new_spec(rules.fork),
        }
    }

    /// Everything that can be said without what else is in the pool.
    pub(super) fn check(
        &self,
        transaction: &Transaction,
        account: &SenderAccount,
    ) -> Result<(), Refusal> {
        self.check_form(transaction)?;
        self.check_chain(transaction.envelope())?;
        self.check_gas(transaction)?;
        let (fee, priority_fee) = (transaction.fee_max(), transaction.priority_fee_max());
        if priority_fee > fee {
            return Err(Refusal::PriorityFeeAboveMaxFee { priority_fee, fee });
        }
        // Nobody has a contract's key. Who is believed without a signature may speak for one, too.
        if account.is_contract && transaction.is_signed() {
            return Err(Refusal::SenderHasCode { sender: transaction.sender() });
        }
        self.check_nonce(transaction.nonce(), account.nonce)
    }

    fn check_form(&self, transaction: &Transaction) -> Result<(), Refusal> {
        if !transaction.is_signed() && !self.rules.no_account_validation {
            return Err(Refusal::Unsigned);
        }
        let bytes = transaction.encoded().len();
        if bytes > self.bytes_max {
            return Err(Refusal::TooLarge { bytes, bytes_max: self.bytes_max });
        }
        let (envelope, fork) = (transaction.envelope(), self.rules.fork);
        let since = match envelope {
            TxEnvelope::Legacy(_) => SpecId::FRONTIER,
            TxEnvelope::Eip2930(_) => SpecId::BERLIN,
            TxEnvelope::Eip1559(_) => SpecId::LONDON,
            TxEnvelope::Eip7702(_) => SpecId::PRAGUE,
            TxEnvelope::Eip4844(_) => {
                return Err(Refusal::TypeNotSupported { kind: envelope.tx_type().into(), fork });
            }
        };
        if !fork.is_enabled_in(since) {
            return Err(Refusal::TypeNotSupported { kind: envelope.tx_type().into(), fork });
        }
        if envelope.authorization_list().is_some_and(<[_]>::is_empty) {
            return Err(Refusal::NoAuthorizations);
        }
        let (bytes, bytes_max) = (envelope.input().len(), self.machine.max_initcode_size());
        if envelope.is_create() && fork.is_enabled_in(SpecId::SHANGHAI) && bytes > bytes_max {
            return Err(Refusal::InitcodeTooLarge { bytes, bytes_max });
        }
        Ok(())
    }

    /// An authorisation for a chain that is not this one is void, but does no harm.
    fn check_chain(&self, envelope: &TxEnvelope) -> Result<(), Refusal> {
        match envelope.chain_id() {
            Some(have) if have != self.chain_id => {
                return Err(Refusal::WrongChainId { have, want: self.chain_id });
            }
            None if !self.rules.allow_unprotected => return Err(Refusal::Unprotected),
            _ => {}
        }
        let authorizations = envelope.authorization_list().unwrap_or_default();
        match authorizations.iter().position(|signed| signed.chain_id.is_zero()) {
            Some(index) if !self.rules.allow_unprotected => {
                Err(Refusal::UnprotectedAuthorization { index })
            }
            _ => Ok(()),
        }
    }

    fn check_gas(&self, transaction: &Transaction) -> Result<(), Refusal> {
        let gas = transaction.gas_limit();
        if gas > self.rules.block_gas_limit {
            return Err(Refusal::ExceedsBlockGasLimit { gas, gas_max: self.rules.block_gas_limit });
        }
        let gas_max = self.machine.tx_gas_limit_cap();
        if gas > gas_max {
            return Err(Refusal::GasLimitTooHigh { gas, gas_max });
        }
        let fee = transaction.fee_max();
        // Where fees count nobody has as much.
        if self.rules.no_fee && fee.checked_mul(u128::from(gas)).is_none() {
            return Err(Refusal::FeeTooHigh { gas, fee });
        }
        let envelope = transaction.envelope();
        let (accounts, slots) = envelope.access_list().map_or((0, 0), |list| {
            (list.0.len() as u64, list.0.iter().map(|item| item.storage_keys.len() as u64).sum())
        });
        let transfer = self.machine.is_amsterdam_eip2780_enabled().then(|| Eip2780TxInfo {
            value: envelope.value(),
            is_self_transfer: envelope.to() == Some(transaction.sender()),
        });
        let needed = self.gas.initial_tx_gas(
            envelope.input(),
            envelope.is_create(),
            accounts,
            slots,
            transaction.authorities().len() as u64,
            transfer,
        );
        if needed.initial_total_gas() > gas {
            return Err(Refusal::IntrinsicGasTooLow { gas, needed: needed.initial_total_gas() });
        }
        if self.rules.fork.is_enabled_in(SpecId::PRAGUE) && needed.floor_gas() > gas {
            return Err(Refusal::FloorGasTooLow { gas, needed: needed.floor_gas() });
        }
        Ok(())
    }

    fn check_nonce(&self, nonce: u64, next: u64) -> Result<(), Refusal> {
        if nonce < next {
            return Err(Refusal::NonceTooLow { nonce, next });
        }
        if nonce == u64::MAX {
            return Err(Refusal::NonceIsMax);
        }
        let nonce_max = next.saturating_add(self.nonce_ahead_max);
        if nonce > nonce_max {
            return Err(Refusal::NonceTooHigh { nonce, nonce_max });
        }
        Ok(())
    }

    /// The most that a transaction takes from its sender; `None`: more than anyone can have.
    pub(super) fn cost(&self, transaction: &Transaction) -> Option<U256> {
        let value = transaction.envelope().value();
        if self.rules.no_fee {
            return Some(value);
        }
        // 64 and 128 bits: this does not overflow.
        let gas = U256::from(transaction.gas_limit()) * U256::from(transaction.fee_max());
        gas.checked_add(value)
    }

    /// Whether a transaction may be executed under this base fee.
    pub(super) fn pays(&self, transaction: &Transaction, base_fee: u64) -> bool {
        transaction.fee_max() >= u128::from(self.base_fee(base_fee))
    }

    /// The base fee that counts: none where fees are not charged.
    pub(super) fn base_fee(&self, base_fee: u64) -> u64 {
        if self.rules.no_fee { 0 } else { base_fee }
    }
}
