//! What can be asked about shards that the execution API does not know?

use alloy_eips::BlockId;
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use kernel::Phase;
use serde::Serialize;
use shard::{
    block::{Account, AccountChange, SlotChange},
    pool,
    shard::{Status, TransactionStatus},
};

use super::{
    admin,
    error::RpcError,
    eth::{block_id, send::refused},
    method::{Answer, Call, Kind, Method, Param, Place, answer},
};

/// As many shards are listed at once.
const PAGE_MAX: usize = 1_000;

const HASH: Param = Param::required("hash", Kind::Hash);

pub(crate) const METHODS: &[Method] = &[
    Method::waiting(
        "shard_create",
        &[Param::required("shard", Kind::Address)],
        |call| Box::pin(create(call)),
        "Makes a shard on purpose, as strict mode needs it; with --admin-api only.",
    )
    .at(Place::Root),
    Method::on_worker(
        "shard_listShards",
        &[Param::optional("from", Kind::Quantity), Param::optional("most", Kind::Quantity)],
        list,
        "The shards in the order of their creation, from a place on: 1,000 at most.",
    )
    .at(Place::Root),
    Method::here(
        "shard_chainId",
        &[Param::optional("shard", Kind::Address)],
        chain_id,
        "A shard's chain id, whether it exists or not; without an address the node's own part.",
    )
    .at(Place::Root),
    Method::here(
        "shard_status",
        &[],
        status,
        "How a shard is: its state, height, pool, and why it executes nothing if it does not.",
    ),
    Method::here(
        "shard_getTransactionStatus",
        &[HASH],
        transaction_status,
        "Where a transaction is, or why it was dropped; null if it was never accepted here.",
    ),
    Method::on_worker(
        "shard_getStateUpdate",
        &[Param::optional("block", Kind::Block)],
        state_update,
        "What a block has changed: accounts and slots, before and after; null if there is none.",
    ),
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    shards: Vec<Listed>,
    /// How many there are.
    total: U64,
    /// Where the next page begins; null: this was the last.
    next: Option<U64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    address: Address,
    chain_id: U64,
    height: U64,
}

async fn create(mut call: Call) -> Result<Answer, RpcError> {
    admin::allowed(&call)?;
    let address: Address = call.args.required("shard")?;
    call.args.end()?;
    let shard = call.context.shards.create(address).await.map_err(|why| refused(why, address))?;
    let height = U64::from(shard.tip().number());
    answer(&Listed { address, chain_id: U64::from(shard.chain_id()), height })
}

fn list(call: &mut Call) -> Result<Answer, RpcError> {
    let from: Option<U64> = call.args.optional("from")?;
    let most: Option<U64> = call.args.optional("most")?;
    call.args.end()?;
    let number = |value: Option<U64>, default| {
        value.map_or(default, |value| usize::try_from(value).unwrap_or(usize::MAX))
    };
    let (from, most) = (number(from, 0), number(most, PAGE_MAX));
    if !(1..=PAGE_MAX).contains(&most) {
        return Err(RpcError::invalid(format!("from 1 to {PAGE_MAX} shards are listed at once")));
    }
    let all = call.context.shards.all();
    let shards = all.iter().skip(from).take(most).map(|shard| Listed {
        address: shard.address(),
        chain_id: U64::from(shard.chain_id()),
        height: U64::from(shard.tip().number()),
    });
    let shards: Vec<_> = shards.collect();
    let next = from.saturating_add(shards.len());
    let total = all.len();
    answer(&Page { shards, total: U64::from(total), next: (next < total).then(|| U64::from(next)) })
}

fn chain_id(call: &mut Call) -> Result<Answer, RpcError> {
    let address: Option<Address> = call.args.optional("shard")?;
    call.args.end()?;
    let rules = call.context.shards.rules();
    answer(&U64::from(match address {
        Some(address) => rules.chain_id(address),
        None => u64::from(rules.base_chain_id.get()),
    }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShardStatus {
    address: Address,
    chain_id: U64,
    /// `false`: this is what it would be.
    exists: bool,
    state: &'static str,
    /// About how many shards are before it, if it is queued.
    queue_position: Option<U64>,
    height: U64,
    /// Transactions in blocks since the node was started.
    included: U64,
    pool: PoolStatus,
    backing_off: Option<BackingOff>,
    /// Why it executes nothing, if it does not.
    quarantine: Option<String>,
}

#[derive(Serialize)]
struct PoolStatus {
    /// Those that no nonce is missing before.
    pending: U64,
    /// Those that wait for a nonce.
    queued: U64,
    executing: U64,
    bytes: U64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BackingOff {
    left_milliseconds: U64,
    why: String,
}

fn status(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    call.args.end()?;
    let (status, counts) = (shard.status(), shard.pool_counts());
    let state = state(&status);
    answer(&ShardStatus {
        address: status.address,
        chain_id: U64::from(status.chain_id),
        exists: shard.exists(),
        state,
        queue_position: status.queue_position.map(U64::from),
        height: U64::from(status.height),
        included: U64::from(status.included),
        pool: PoolStatus {
            pending: U64::from(counts.pending),
            queued: U64::from(counts.waiting),
            executing: U64::from(counts.executing),
            bytes: U64::from(counts.bytes),
        },
        backing_off: status.backing_off.map(|backing_off| BackingOff {
            left_milliseconds: U64::from(backing_off.left.as_millis()),
            why: backing_off.why,
        }),
        quarantine: status.quarantine,
    })
}

fn state(status: &Status) -> &'static str {
    if status.quarantine.is_some() {
        return "quarantined";
    }
    if status.backing_off.is_some() {
        return "backingOff";
    }
    match status.phase {
        Phase::Idle => "idle",
        Phase::Queued => "queued",
        Phase::Running => "running",
        Phase::Done => "stopped",
    }
}

/// Where a transaction is.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Fate {
    /// In the pool.
    Queued {
        reason: String,
    },
    Executing,
    Included {
        block_number: U64,
        transaction_index: U64,
    },
    /// It will never be in a block.
    Dropped {
        reason: String,
    },
}

fn transaction_status(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let hash: B256 = call.args.required("hash")?;
    call.args.end()?;
    let status = shard.transaction_status(hash)?;
    answer(&status.map(|status| match status {
        TransactionStatus::Queued(pool::Status::Queued(why)) => {
            Fate::Queued { reason: why.to_string() }
        }
        TransactionStatus::Queued(pool::Status::Executing) => Fate::Executing,
        TransactionStatus::Included(position) => Fate::Included {
            block_number: U64::from(position.number),
            transaction_index: U64::from(position.index),
        },
        TransactionStatus::Dropped(why) => Fate::Dropped { reason: why.to_string() },
    }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StateUpdate {
    block_number: U64,
    block_hash: B256,
    accounts: Vec<ChangedAccount>,
    codes: Vec<Code>,
}

#[derive(Serialize)]
struct ChangedAccount {
    address: Address,
    /// Null: it was not there.
    before: Option<AccountState>,
    /// Null: it is not there any more.
    after: Option<AccountState>,
    storage: Vec<ChangedSlot>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountState {
    nonce: U64,
    balance: U256,
    code_hash: B256,
}

#[derive(Serialize)]
struct ChangedSlot {
    slot: B256,
    before: B256,
    after: B256,
}

#[derive(Serialize)]
struct Code {
    hash: B256,
    code: Bytes,
}

fn state_update(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let id: Option<BlockId> = call.args.optional("block")?;
    call.args.end()?;
    let block = block_id::block(&shard, id.unwrap_or_default())?;
    answer(&block.map(|block| {
        StateUpdate {
            block_number: U64::from(block.number()),
            block_hash: block.hash,
            accounts: block.changes.accounts.iter().map(changed).collect(),
            codes: block
                .changes
                .codes
                .iter()
                .map(|(hash, code)| Code { hash: *hash, code: code.clone() })
                .collect(),
        }
    }))
}

fn changed(change: &AccountChange) -> ChangedAccount {
    let state = |account: Account| AccountState {
        nonce: U64::from(account.nonce),
        balance: account.balance,
        code_hash: account.code_hash,
    };
    let slot = |slot: &SlotChange| ChangedSlot {
        slot: slot.slot.into(),
        before: slot.before.into(),
        after: slot.after.into(),
    };
    ChangedAccount {
        address: change.address,
        before: change.before.map(state),
        after: change.after.map(state),
        storage: change.slots.iter().map(slot).collect(),
    }
}
