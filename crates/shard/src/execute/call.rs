//! What would a call come to, without being made?
//!
//! As in geth: nonces and the sender's code are not looked at, fees only where the call names
//! them, gas is bounded by a cap, and nothing of it stays.

mod request;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};

use alloy_eips::eip2930::AccessList;
use alloy_primitives::{TxKind, U256, map::HashMap};
use revm::{
    Database, ExecuteEvm, InspectEvm,
    bytecode::opcode,
    context::{
        BlockEnv, TxEnv,
        result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction},
    },
    context_interface::{block::BlobExcessGasAndPrice, either::Either},
    database::{CacheDB, WrapDatabaseRef},
    handler::EthPrecompiles,
    interpreter::Instruction,
    primitives::hardfork::SpecId,
};
use revm_inspectors::access_list::AccessListInspector;

use crate::{
    config::Rules,
    execute::{
        BlockContext,
        evm::{self, Machine},
    },
    shard::message,
    state::{ReaderDatabase, StateReader, bytecode},
    store::StoreError,
};

pub use request::{AccountOverride, BlockOverride, Call, CallError, Outcome, Overrides};
pub(crate) use words::call_error;
pub use words::halt_words;

/// The state with overrides on top.
pub(crate) type Scratch<'a> = CacheDB<ReaderDatabase<'a>>;

/// Gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;
/// What a call with value is given in addition.
const CALL_STIPEND: u64 = 2_300;
/// EIP-7825, from Osaka on.
const TRANSACTION_GAS_MAX: u64 = 1 << 24;
/// The search ends when it is as close as this, in thousandths, as in geth.
const ESTIMATE_ERROR: u128 = 15;
/// An access list changes what is executed, which changes the list. It settles soon, or never.
const ACCESS_LIST_ROUNDS: usize = 8;

/// A call that needs no more than this reads no more than some fifteen contracts or slots.
const SMALL_GAS: u64 = 60_000;
/// What comes of these depends on how much gas is left, or takes longer than it costs.
const NOT_IN_SMALL: [u8; 8] = [
    opcode::BLOCKHASH,
    opcode::GAS,
    opcode::CALL,
    opcode::CALLCODE,
    opcode::DELEGATECALL,
    opcode::STATICCALL,
    opcode::CREATE,
    opcode::CREATE2,
];

/// Where calls are made: a state, and the block that they would be in.
pub struct Calls<'a> {
    pub rules: &'a Rules,
    pub chain_id: u64,
    pub reader: &'a dyn StateReader,
    pub context: &'a BlockContext,
    /// No call gets more gas than this.
    pub gas_cap: u64,
}

impl<'a> Calls<'a> {
    /// What a call would come to.
    pub fn call(&self, call: &Call, overrides: &Overrides) -> Result<Outcome, CallError> {
        caught(|| {
            let mut scratch = self.scratch(overrides)?;
            let env = self.transaction_env(call, &mut scratch, None)?;
            let mut machine = self.machine(scratch, (), &env, overrides);
            machine.transact(env).map(|done| Outcome::new(done.result)).map_err(call_error)
        })
    }

    /// The same for a call that is over soon. `None`: it is not, or may not be, and was not made to
    /// its end.
    ///
    /// It gets 60,000 gas only. With so little gas it could come to something else than with all
    /// of it, but only if it ran out, or looked at what is left, or gave some to another contract;
    /// then it is `None`. So what there is, is what [`Calls::call`] would say.
    pub fn call_if_small(&self, call: &Call, overrides: &Overrides) -> Option<Outcome> {
        let TxKind::Call(to) = call.to else { return None };
        let pays = call.gas_price.is_some_and(|price| price > 0);
        // Some of these take a millisecond for as little gas.
        let precompiled = EthPrecompiles::new(self.rules.fork).precompiles.contains(&to);
        if pays || precompiled || !call.authorizations.is_empty() || !overrides.is_of_block() {
            return None;
        }
        let gas = call.gas.unwrap_or(SMALL_GAS).min(SMALL_GAS);
        let made = caught(|| {
            let mut state = WrapDatabaseRef(ReaderDatabase::new(self.reader, self.context));
            let env = self.transaction_env(call, &mut state, Some(gas))?;
            let mut machine = self.machine(state, (), &env, overrides);
            for opcode in NOT_IN_SMALL {
                machine.instruction.insert_instruction(opcode, Instruction::unknown(), 0);
            }
            machine.transact(env).map(|done| Outcome::new(done.result)).map_err(call_error)
        });
        // Those who make it in full find out what is wrong with it.
        made.ok().filter(|outcome| !matches!(outcome, Outcome::Halted { .. }))
    }

    /// The least gas with which the call succeeds, found as geth finds it: a little above the
    /// least in return for fewer trials.
    pub fn estimate(&self, call: &Call, overrides: &Overrides) -> Result<u64, CallError> {
        caught(|| self.least_gas(call, overrides))
    }

    fn least_gas(&self, call: &Call, overrides: &Overrides) -> Result<u64, CallError> {
        let mut scratch = self.scratch(overrides)?;
        let block_gas = overrides.block.gas_limit.unwrap_or(self.rules.block_gas_limit);
        let mut most = call.gas.filter(|gas| *gas >= TRANSFER_GAS).unwrap_or(block_gas);
        if self.rules.fork.is_enabled_in(SpecId::OSAKA) {
            most = most.min(TRANSACTION_GAS_MAX);
        }
        let env = self.transaction_env(call, &mut scratch, Some(most))?;
        let mut high = env.gas_limit;
        let plain = match call.to {
            TxKind::Call(to) => {
                call.input.is_empty()
                    && call.authorizations.is_empty()
                    && scratch.basic(to)?.is_none_or(|info| info.is_empty_code_hash())
            }
            TxKind::Create => false,
        };
        let mut machine = self.machine(scratch, (), &env, overrides);
        let mut attempt = |gas| attempt(&mut machine, &env, gas);

        if plain && high >= TRANSFER_GAS && attempt(TRANSFER_GAS)?.is_ok() {
            return Ok(TRANSFER_GAS);
        }
        let first = match attempt(high)? {
            Ok(first) => first,
            Err(Some(ExecutionResult::Revert { output, .. })) => {
                return Err(CallError::Reverted(output));
            }
            Err(Some(ExecutionResult::Halt { reason, .. }))
                if !matches!(reason, HaltReason::OutOfGas(_)) =>
            {
                return Err(CallError::Halted(reason));
            }
            Err(_) => return Err(CallError::GasAbove(high)),
        };
        let used = first.tx_gas_used();
        let mut low = used.saturating_sub(1);
        // With what it used before refunds, and what a call keeps back, it mostly succeeds.
        let spent = first.gas().total_gas_spent() + CALL_STIPEND;
        let optimistic = spent.saturating_mul(64) / 63;
        if optimistic < high {
            if attempt(optimistic)?.is_ok() { high = optimistic } else { low = optimistic }
        }
        while low + 1 < high {
            if u128::from(high - low) * 1_000 < u128::from(high) * ESTIMATE_ERROR {
                break;
            }
            // Most need hardly more than the least: the middle would be far too high.
            let middle = (low + (high - low) / 2).min(low.saturating_mul(2));
            if attempt(middle)?.is_ok() { high = middle } else { low = middle }
        }
        Ok(high)
    }

    /// The addresses and slots that the call touches, and what it comes to with that list.
    pub fn access_list(
        &self,
        call: &Call,
        overrides: &Overrides,
    ) -> Result<(AccessList, Outcome), CallError> {
        caught(|| self.settled_list(call.clone(), overrides))
    }

    fn settled_list(
        &self,
        mut call: Call,
        overrides: &Overrides,
    ) -> Result<(AccessList, Outcome), CallError> {
        for _ in 0..ACCESS_LIST_ROUNDS {
            let mut scratch = self.scratch(overrides)?;
            let env = self.transaction_env(&call, &mut scratch, None)?;
            let inspector = AccessListInspector::new(call.access_list.clone());
            let mut machine = self.machine(scratch, inspector, &env, overrides);
            let done = machine.inspect_tx(env).map_err(call_error)?;
            let list = machine.inspector.access_list();
            if list == call.access_list {
                return Ok((list, Outcome::new(done.result)));
            }
            call.access_list = list;
        }
        let outcome = self.call(&call, overrides)?;
        Ok((call.access_list, outcome))
    }

    /// The state with the overrides.
    pub(crate) fn scratch(&self, overrides: &Overrides) -> Result<Scratch<'a>, CallError> {
        let mut scratch = CacheDB::new(ReaderDatabase::new(self.reader, self.context));
        for (address, change) in &overrides.accounts {
            let mut info = scratch.basic(*address)?.unwrap_or_default();
            if let Some(balance) = change.balance {
                info.balance = balance;
            }
            if let Some(nonce) = change.nonce {
                info.nonce = nonce;
            }
            if let Some(code) = &change.code {
                info.set_code(bytecode(code.clone()));
            }
            scratch.insert_account_info(*address, info);
            if let Some(state) = &change.state {
                let state: HashMap<U256, U256> =
                    state.iter().map(|(slot, value)| ((*slot).into(), (*value).into())).collect();
                scratch.replace_account_storage(*address, state.into_iter().collect())?;
            }
            for (slot, value) in &change.state_diff {
                scratch.insert_account_storage(*address, (*slot).into(), (*value).into())?;
            }
        }
        for (number, hash) in &overrides.block.hashes {
            scratch.cache.block_hashes.insert(U256::from(*number), *hash);
        }
        Ok(scratch)
    }

    /// The call as a transaction. `gas` is what it gets where it does not say; the cap holds.
    pub(crate) fn transaction_env(
        &self,
        call: &Call,
        state: &mut impl Database<Error = StoreError>,
        gas: Option<u64>,
    ) -> Result<TxEnv, CallError> {
        if !call.authorizations.is_empty() && call.to.is_create() {
            return Err(CallError::Invalid(
                "with authorisations nothing can be created".to_owned(),
            ));
        }
        let sender = state.basic(call.from)?.unwrap_or_default();
        let gas_price = call.gas_price.unwrap_or(0);
        let mut gas_limit = gas.or(call.gas).unwrap_or(self.gas_cap).min(self.gas_cap);
        if gas_price > 0 && !self.rules.no_fee {
            let Some(rest) = sender.balance.checked_sub(call.value) else {
                return Err(CallError::Invalid("insufficient funds for transfer".to_owned()));
            };
            let allowance = rest / U256::from(gas_price);
            gas_limit = gas_limit.min(u64::try_from(allowance).unwrap_or(u64::MAX));
        }
        if gas_price.checked_mul(u128::from(gas_limit)).is_none() {
            // revm multiplies the two in 128 bits after execution.
            return Err(CallError::Invalid("gas times price is above 2^128".to_owned()));
        }
        let tx_type = if !call.authorizations.is_empty() {
            4
        } else if call.priority_fee.is_some() {
            2
        } else if !call.access_list.is_empty() {
            1
        } else {
            0
        };
        Ok(TxEnv {
            tx_type,
            caller: call.from,
            gas_limit,
            gas_price,
            kind: call.to,
            value: call.value,
            data: call.input.clone(),
            nonce: call.nonce.unwrap_or(sender.nonce),
            chain_id: Some(self.chain_id),
            access_list: call.access_list.clone(),
            gas_priority_fee: call.priority_fee,
            blob_hashes: Vec::new(),
            max_fee_per_blob_gas: 0,
            authorization_list: call.authorizations.iter().cloned().map(Either::Left).collect(),
        })
    }

    /// A machine that looks at nothing but the call itself.
    pub(crate) fn machine<D: Database, I>(
        &self,
        state: D,
        inspector: I,
        env: &TxEnv,
        overrides: &Overrides,
    ) -> Machine<D, I> {
        let mut machine = evm::inspected(self.rules, self.chain_id, state, inspector);
        machine.ctx.modify_cfg(|cfg| {
            cfg.disable_nonce_check = true;
            cfg.disable_eip3607 = true;
            cfg.disable_block_gas_limit = true;
            cfg.tx_gas_limit_cap = Some(u64::MAX);
        });
        let mut block = evm::block_env(self.rules, self.context);
        change_block(&mut block, &overrides.block);
        if env.gas_price == 0 {
            // A call that pays nothing sees no base fee, as in geth.
            block.basefee = 0;
        }
        machine.set_block(block);
        machine
    }
}

/// A panic of the virtual machine or of a precompile is an error of this call and of nothing else:
/// all that it had in hand is gone with it.
pub(crate) fn caught<R>(run: impl FnOnce() -> Result<R, CallError>) -> Result<R, CallError> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|panic| Err(CallError::Panicked(message(&*panic))))
}

fn change_block(block: &mut BlockEnv, change: &BlockOverride) {
    if let Some(number) = change.number {
        block.number = U256::from(number);
    }
    if let Some(timestamp) = change.timestamp {
        block.timestamp = U256::from(timestamp);
    }
    if let Some(base_fee) = change.base_fee {
        block.basefee = base_fee;
    }
    if let Some(price) = change.blob_base_fee {
        let excess = block.blob_excess_gas_and_price.map_or(0, |blob| blob.excess_blob_gas);
        let changed = BlobExcessGasAndPrice { excess_blob_gas: excess, blob_gasprice: price };
        block.blob_excess_gas_and_price = Some(changed);
    }
    if let Some(difficulty) = change.difficulty {
        block.difficulty = difficulty;
    }
    if let Some(gas_limit) = change.gas_limit {
        block.gas_limit = gas_limit;
    }
    if let Some(prevrandao) = change.prevrandao {
        block.prevrandao = Some(prevrandao);
    }
    if let Some(beneficiary) = change.beneficiary {
        block.beneficiary = beneficiary;
    }
}

/// `Ok` with the result of a success; `Err` with that of a failure, or with nothing where the gas
/// did not even suffice to begin.
fn attempt(
    machine: &mut Machine<Scratch<'_>>,
    env: &TxEnv,
    gas: u64,
) -> Result<Result<ExecutionResult, Option<ExecutionResult>>, CallError> {
    match machine.transact(TxEnv { gas_limit: gas, ..env.clone() }) {
        Ok(done) if done.result.is_success() => Ok(Ok(done.result)),
        Ok(done) => Ok(Err(Some(done.result))),
        Err(EVMError::Transaction(
            InvalidTransaction::CallGasCostMoreThanGasLimit { .. }
            | InvalidTransaction::GasFloorMoreThanGasLimit { .. },
        )) => Ok(Err(None)),
        Err(error) => Err(call_error(error)),
    }
}

#[cfg(test)]
mod tests;
