//! How is a virtual machine made for a shard, and what is read from what it leaves behind?
//!
//! Free functions over any [`Database`], so that all who execute (one by one, side by side, calls,
//! traces) do it alike.

use alloy_consensus::Transaction as _;
use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS};
use alloy_primitives::{B256, Bytes, U256};
use revm::{
    Context, Database, Journal, MainnetEvm, SystemCallEvm,
    context::{
        BlockEnv, CfgEnv, Evm, LocalContext, TxEnv,
        result::{EVMError, ExecutionResult, InvalidTransaction, Output},
    },
    context_interface::{FrameStack, block::BlobExcessGasAndPrice},
    handler::{EthPrecompiles, MainnetContext, instructions::EthInstructions},
    interpreter::interpreter::EthInterpreter,
    primitives::{KECCAK_EMPTY, hardfork::SpecId},
    state::EvmState,
};

use crate::{
    block::{Account, AccountChange, ChangeSet, Receipt, SlotChange},
    config::Rules,
    execute::{BlockContext, DropReason, ExecuteError},
    state::StateReader,
    store::StoreError,
    transaction::Transaction,
};

/// A virtual machine over a database.
pub type Machine<D, I = ()> = MainnetEvm<MainnetContext<D>, I>;

/// A machine for a shard under these rules. It is dear to make (the instruction table, the
/// precompiles): keep it, and give it each block with `set_block`.
pub fn machine<D: Database>(rules: &Rules, chain_id: u64, database: D) -> Machine<D> {
    inspected(rules, chain_id, database, ())
}

/// The same, observed.
pub fn inspected<D: Database, I>(
    rules: &Rules,
    chain_id: u64,
    database: D,
    inspector: I,
) -> Machine<D, I> {
    let instruction = EthInstructions::new_mainnet_with_spec(rules.fork);
    let precompiles = EthPrecompiles::new(rules.fork);
    assembled(world(rules, chain_id, database), inspector, instruction, precompiles)
}

/// A machine without frames: revm would make eight of 32 KiB at once. They are made when they are
/// needed too, and most need one or two.
fn assembled<D: Database, I>(
    ctx: MainnetContext<D>,
    inspector: I,
    instruction: EthInstructions<EthInterpreter, MainnetContext<D>>,
    precompiles: EthPrecompiles,
) -> Machine<D, I> {
    Evm { ctx, inspector, instruction, precompiles, frame_stack: FrameStack::new() }
}

/// A machine between two blocks, when it may change threads: without the frames and the memory of
/// calls, which may not, and which are cheap to make.
pub struct Parked<D: Database> {
    cfg: CfgEnv,
    journal: Journal<D>,
    instruction: EthInstructions<EthInterpreter, MainnetContext<D>>,
    precompiles: EthPrecompiles,
}

impl<D: Database> Parked<D> {
    /// What is left of a machine when it has nothing to do.
    pub fn new(machine: Machine<D>) -> Parked<D> {
        Parked {
            cfg: machine.ctx.cfg,
            journal: machine.ctx.journaled_state,
            instruction: machine.instruction,
            precompiles: machine.precompiles,
        }
    }

    /// The machine again. It must be given a block.
    pub fn unpark(self) -> Machine<D> {
        let ctx = Context {
            block: BlockEnv::default(),
            tx: TxEnv::default(),
            cfg: self.cfg,
            journaled_state: self.journal,
            chain: (),
            local: LocalContext::default(),
            error: Ok(()),
        };
        assembled(ctx, (), self.instruction, self.precompiles)
    }

    /// What it reads from.
    pub fn database(&self) -> &D {
        &self.journal.database
    }

    pub fn database_mut(&mut self) -> &mut D {
        &mut self.journal.database
    }
}

fn world<D: Database>(rules: &Rules, chain_id: u64, database: D) -> MainnetContext<D> {
    let context: MainnetContext<D> =
        Context::<BlockEnv, TxEnv, CfgEnv, D, Journal<D>, ()>::new(database, rules.fork);
    context.modify_cfg_chained(|cfg| {
        cfg.chain_id = chain_id;
        cfg.disable_base_fee = rules.no_fee;
        cfg.disable_fee_charge = rules.no_fee;
        // Without signatures anyone speaks for anyone, contracts included.
        cfg.disable_eip3607 = rules.no_account_validation;
    })
}

/// What opcodes see of a block.
pub fn block_env(rules: &Rules, context: &BlockContext) -> BlockEnv {
    let fraction = CfgEnv::new_with_spec(rules.fork).blob_base_fee_update_fraction();
    BlockEnv {
        number: U256::from(context.number),
        beneficiary: context.beneficiary,
        timestamp: U256::from(context.timestamp),
        gas_limit: rules.block_gas_limit,
        basefee: context.base_fee,
        difficulty: U256::ZERO,
        prevrandao: Some(context.prevrandao),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice::new(
            context.excess_blob_gas,
            fraction,
        )),
        slot_num: 0,
    }
}

/// Why a transaction can not even be tried, whatever the state is.
pub fn refuse(rules: &Rules, transaction: &Transaction) -> Option<DropReason> {
    let why = if transaction.envelope().is_eip4844() {
        "transactions with blobs are not supported: there is nobody here to keep blobs"
    } else if transaction.gas_limit() > rules.block_gas_limit {
        "its gas limit is above that of a block"
    } else if transaction
        .envelope()
        .max_fee_per_gas()
        .checked_mul(u128::from(transaction.gas_limit()))
        .is_none()
    {
        // revm multiplies the two in 128 bits after execution.
        "its gas limit times its fee is above 2^128"
    } else {
        return None;
    };
    Some(DropReason::Invalid(why.to_owned()))
}

/// What is to be done with a transaction that the machine did not take.
#[derive(Debug)]
#[must_use]
pub enum Verdict {
    /// It will never be in a block.
    Drop(DropReason),
    /// It may be in a later block: it stays in the pool.
    Leave,
    /// It is not the transaction's fault: the batch has failed.
    Fail(ExecuteError),
}

/// What follows from an error of the machine, which has changed nothing.
pub fn verdict(error: EVMError<StoreError>) -> Verdict {
    match error {
        EVMError::Transaction(
            InvalidTransaction::NonceTooHigh { .. } | InvalidTransaction::GasPriceLessThanBasefee,
        ) => Verdict::Leave,
        EVMError::Transaction(InvalidTransaction::NonceTooLow { tx, state }) => {
            Verdict::Drop(DropReason::NonceTooLow { nonce: tx, account: state })
        }
        EVMError::Transaction(InvalidTransaction::LackOfFundForMaxFee { .. }) => {
            Verdict::Drop(DropReason::InsufficientFunds)
        }
        EVMError::Transaction(other) => Verdict::Drop(DropReason::Invalid(other.to_string())),
        EVMError::Database(error) => Verdict::Fail(ExecuteError::Store(error)),
        EVMError::Header(error) => Verdict::Fail(ExecuteError::Fault(error.to_string())),
        // A precompile that failed in a way of its own: another transaction would do well.
        EVMError::Custom(what) => Verdict::Drop(DropReason::Invalid(what)),
        EVMError::CustomAny(what) => Verdict::Drop(DropReason::Invalid(what.to_string())),
    }
}

/// The receipt of a transaction that was executed. `cumulative` is the gas of those before it.
///
/// Where a contract was created the output stays empty: its code is in the state.
pub fn receipt(
    rules: &Rules,
    context: &BlockContext,
    transaction: &Transaction,
    result: ExecutionResult,
    cumulative: u64,
) -> Receipt {
    let gas_used = result.tx_gas_used();
    let (success, created, output, mut logs) = match result {
        ExecutionResult::Success { output: Output::Call(output), logs, .. } => {
            (true, None, output, logs)
        }
        ExecutionResult::Success { output: Output::Create(_, created), logs, .. } => {
            (true, created, Bytes::new(), logs)
        }
        ExecutionResult::Revert { output, .. } => (false, None, output, Vec::new()),
        ExecutionResult::Halt { .. } => (false, None, Bytes::new(), Vec::new()),
    };
    // It is kept for a while, and the machine leaves room for four.
    logs.shrink_to_fit();
    Receipt {
        success,
        gas_used,
        cumulative_gas_used: cumulative + gas_used,
        gas_price: if rules.no_fee { 0 } else { transaction.gas_price(context.base_fee) },
        created,
        output,
        logs,
    }
}

/// The calls that a block begins with, where they are on: the parent's hash (EIP-2935) and the
/// beacon root (EIP-4788) are written into their contracts. Where there is no such contract,
/// nothing happens.
///
/// With a base chain the hash is the base chain's, as BLOCKHASH has it; one that is not known is
/// not written.
pub fn system_calls<D, I>(
    machine: &mut Machine<D, I>,
    rules: &Rules,
    context: &BlockContext,
) -> Result<(), ExecuteError>
where
    D: Database<Error = StoreError>,
{
    if !rules.system_calls {
        return Ok(());
    }
    let call = |machine: &mut Machine<D, I>, contract, word: B256| match machine
        .system_call_one(contract, Bytes::copy_from_slice(word.as_slice()))
    {
        Ok(_) => Ok(()),
        Err(EVMError::Database(error)) => Err(ExecuteError::Store(error)),
        Err(other) => Err(ExecuteError::Fault(format!("a system call failed: {other}"))),
    };
    if rules.fork.is_enabled_in(SpecId::PRAGUE) && context.number > 0 {
        let hash = if context.base_hashes.is_some() {
            machine.ctx.journaled_state.database.block_hash(context.number - 1)?
        } else {
            context.parent_hash
        };
        if !hash.is_zero() {
            call(machine, HISTORY_STORAGE_ADDRESS, hash)?;
        }
    }
    if rules.fork.is_enabled_in(SpecId::CANCUN) {
        call(machine, BEACON_ROOTS_ADDRESS, context.parent_beacon_block_root)?;
    }
    Ok(())
}

/// What a block has changed, in order: `state` is what the machine's journal holds at its end, and is
/// empty afterwards; `before` is the state at its beginning.
///
/// The original values in the journal are those at the beginning of the last transaction that
/// loaded them, so they are no use here.
pub fn changes(state: &mut EvmState, before: &dyn StateReader) -> Result<ChangeSet, StoreError> {
    // What is kept as long as the block takes no more room than it needs.
    let mut set = ChangeSet { accounts: Vec::with_capacity(state.len()), codes: Vec::new() };
    for (address, account) in state.drain() {
        if !account.is_touched() && !account.is_selfdestructed() {
            continue;
        }
        let old = before.account(address)?;
        // One that was destroyed in its last transaction is still there in the journal.
        let gone = account.is_selfdestructed_locally() || account.info.is_empty();
        let new = (!gone).then_some(Account {
            nonce: account.info.nonce,
            balance: account.info.balance,
            code_hash: account.info.code_hash,
        });

        let mut slots = Vec::with_capacity(account.storage.len());
        let anew = gone || account.is_selfdestructed() || account.is_created();
        if !anew {
            for (slot, value) in account.storage {
                let (before, after) = (before.storage(address, slot)?, value.present_value);
                if before != after {
                    slots.push(SlotChange { slot, before, after });
                }
            }
        } else {
            let had = if old.is_some() { before.slots(address)? } else { Vec::new() };
            let mut has = if gone { Default::default() } else { account.storage };
            for (slot, before) in had {
                let after = has.remove(&slot).map_or(U256::ZERO, |value| value.present_value);
                if before != after {
                    slots.push(SlotChange { slot, before, after });
                }
            }
            for (slot, value) in has {
                let after = value.present_value;
                if !after.is_zero() {
                    slots.push(SlotChange { slot, before: U256::ZERO, after });
                }
            }
        }
        if old == new && slots.is_empty() {
            continue;
        }
        slots.sort_unstable_by_key(|change| change.slot);

        if let Some(new) = new
            && new.code_hash != KECCAK_EMPTY
            && old.is_none_or(|old| old.code_hash != new.code_hash)
            && let Some(code) = account.info.code
        {
            set.codes.push((new.code_hash, code.original_bytes()));
        }
        set.accounts.push(AccountChange { address, before: old, after: new, slots });
    }
    set.accounts.sort_unstable_by_key(|change| change.address);
    set.codes.sort_unstable_by_key(|(hash, _)| *hash);
    set.codes.dedup_by_key(|(hash, _)| *hash);
    Ok(set)
}
