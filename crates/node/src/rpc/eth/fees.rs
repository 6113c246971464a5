//! What does gas cost?
//!
//! The base fee is fixed, or the base chain's. As long as there is room in the next block, nothing
//! has to be paid on top of it; when more waits than a block takes, as much as others offer.

use alloy_consensus::Header;
use alloy_eips::{BlockNumberOrTag, eip7840::BlobParams};
use alloy_primitives::{U64, U128};
use alloy_rpc_types_eth::FeeHistory;
use serde::Deserialize;
use shard::{Block, Environment, Shard};

use super::block_id;
use crate::{
    context::Context,
    rpc::{
        error::RpcError,
        method::{Answer, Call, Kind, Method, Param, answer},
    },
};

/// Headers that one history looks at. As with geth, who asks for more gets so many.
const HEADERS_MAX: u64 = 1_024;
/// The same where transactions have to be read.
const BLOCKS_MAX: u64 = 128;
/// As in geth.
const PERCENTILES_MAX: usize = 100;
/// What others offer: more than so many percent of them, as in geth.
const PERCENTILE: f64 = 60.0;

pub(crate) const METHODS: &[Method] = &[
    Method::here("eth_gasPrice", &[], gas_price, "What gas costs in the next block, in wei."),
    Method::here(
        "eth_maxPriorityFeePerGas",
        &[],
        priority_fee,
        "What to offer on top of the base fee: nothing, unless the pool holds more than a block.",
    ),
    Method::here("eth_blobBaseFee", &[], blob_base_fee, "What blob gas costs; there are no blobs."),
    Method::on_worker(
        "eth_feeHistory",
        &[
            Param::required("blockCount", Kind::Quantity),
            Param::required("newestBlock", Kind::Block),
            Param::optional("rewardPercentiles", Kind::List),
        ],
        history,
        "Base fees, how full blocks were, and what was paid on top, by percentiles of gas. As \
         `latest` or `pending` the newest block tells the base fee of the next one.",
    ),
];

/// What gas costs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fees {
    pub(crate) base: u128,
    pub(crate) priority: u128,
}

impl Fees {
    pub(crate) fn now(context: &Context, shard: &Shard) -> Fees {
        let rules = context.shards.rules();
        if rules.no_fee {
            return Fees { base: 0, priority: 0 };
        }
        let crowded = shard.pool_counts().pending > rules.block_transactions_max;
        let priority = if crowded { rewards(&shard.tip(), &[PERCENTILE])[0] } else { 0 };
        Fees { base: context.shards.environment().base_fee.into(), priority }
    }
}

/// The base fee that whoever asks for a block by this name is told: that of the next block; `None`: the
/// block's own.
///
/// Wallets offer twice the base fee of the newest block, since it moves by an eighth at most from one
/// block to the next. Ours follows a base chain: a shard that nobody has used for a day, or ever, has a
/// newest block with a base fee that says nothing about today. What is offered by that would wait and
/// nobody would know for what. Those who want the block as it is ask by its number or hash.
pub(crate) fn ahead(context: &Context, name: BlockNumberOrTag) -> Option<u64> {
    let is_newest = matches!(name, BlockNumberOrTag::Latest | BlockNumberOrTag::Pending);
    let counts = is_newest && !context.shards.rules().no_fee;
    counts.then(|| context.shards.environment().base_fee)
}

fn gas_price(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = only_shard(call)?;
    let fees = Fees::now(&call.context, &shard);
    answer(&U128::from(fees.base.saturating_add(fees.priority)))
}

fn priority_fee(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = only_shard(call)?;
    answer(&U128::from(Fees::now(&call.context, &shard).priority))
}

fn blob_base_fee(call: &mut Call) -> Result<Answer, RpcError> {
    only_shard(call)?;
    answer(&U128::from(blob_fee(Some(call.context.shards.environment().excess_blob_gas))))
}

fn only_shard(call: &mut Call) -> Result<Shard, RpcError> {
    let shard = call.shard()?;
    call.args.end()?;
    Ok(shard)
}

fn blob_fee(excess: Option<u64>) -> u128 {
    excess.map_or(0, |excess| BlobParams::osaka().calc_blob_fee(excess))
}

/// A count: tools write it as a number or in hexadecimal.
#[derive(Deserialize)]
#[serde(untagged)]
enum Count {
    Number(u64),
    Quantity(U64),
}

fn history(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let count = match call.args.required("blockCount")? {
        Count::Number(count) => count,
        Count::Quantity(count) => count.to(),
    };
    let newest: BlockNumberOrTag = call.args.required("newestBlock")?;
    let percentiles: Option<Vec<f64>> = call.args.optional("rewardPercentiles")?;
    call.args.end()?;
    // An empty list asks for no rewards.
    let percentiles = percentiles.filter(|percentiles| !percentiles.is_empty());
    check(percentiles.as_deref().unwrap_or_default())?;
    let (tip, most) =
        (shard.tip().number(), if percentiles.is_some() { BLOCKS_MAX } else { HEADERS_MAX });
    let ahead = ahead(&call.context, newest);
    let newest = block_id::number_of(newest, || tip);
    if newest > tip {
        return Err(RpcError::server(format!(
            "request beyond head block: requested {newest}, head {tip}"
        )));
    }
    let count = count.min(most).min(newest + 1);
    if count == 0 {
        return answer(&FeeHistory::default());
    }
    let mut history = FeeHistory { oldest_block: newest + 1 - count, ..FeeHistory::default() };
    for number in history.oldest_block..=newest {
        let gone = || RpcError::server(format!("block not found: {number}"));
        if let Some(percentiles) = &percentiles {
            let block = shard.block(number)?.ok_or_else(gone)?;
            add(&mut history, &block.header);
            history.reward.get_or_insert_default().push(rewards(&block, percentiles));
        } else {
            add(&mut history, &shard.header(number)?.ok_or_else(gone)?.1);
        }
    }
    // Some wallets go by this one, and not by the next one that is here, too.
    if let (Some(ahead), Some(base)) = (ahead, history.base_fee_per_gas.last_mut()) {
        *base = ahead.into();
    }
    let environment = call.context.shards.environment();
    let (base, blob) = after(&shard, newest, tip, &environment)?;
    history.base_fee_per_gas.push(base);
    history.base_fee_per_blob_gas.push(blob);
    answer(&history)
}

fn check(percentiles: &[f64]) -> Result<(), RpcError> {
    if percentiles.len() > PERCENTILES_MAX {
        let count = percentiles.len();
        return Err(RpcError::invalid(format!(
            "invalid reward percentile: {count} of them are over the query limit {PERCENTILES_MAX}"
        )));
    }
    if let Some(wrong) = percentiles.iter().find(|one| !(0.0..=100.0).contains(*one)) {
        return Err(RpcError::invalid(format!("invalid reward percentile: {wrong}")));
    }
    let descends = |pair: &&[f64]| pair[0] >= pair[1];
    match percentiles.windows(2).find(descends) {
        Some(pair) => Err(RpcError::invalid(format!(
            "invalid reward percentile: {} >= {}, they must rise",
            pair[0], pair[1]
        ))),
        None => Ok(()),
    }
}

fn add(history: &mut FeeHistory, header: &Header) {
    history.base_fee_per_gas.push(header.base_fee_per_gas.unwrap_or_default().into());
    #[allow(clippy::cast_precision_loss, reason = "a ratio need not be exact")]
    let ratio = header.gas_used as f64 / header.gas_limit.max(1) as f64;
    history.gas_used_ratio.push(ratio);
    history.base_fee_per_blob_gas.push(blob_fee(header.excess_blob_gas));
    history.blob_gas_used_ratio.push(0.0);
}

/// The fees of the block after the newest one of a history.
fn after(
    shard: &Shard,
    newest: u64,
    tip: u64,
    environment: &Environment,
) -> Result<(u128, u128), RpcError> {
    if newest < tip
        && let Some((_, header)) = shard.header(newest + 1)?
    {
        let base = header.base_fee_per_gas.unwrap_or_default().into();
        return Ok((base, blob_fee(header.excess_blob_gas)));
    }
    let blob = blob_fee(Some(environment.excess_blob_gas));
    Ok((environment.base_fee.into(), blob))
}

/// What transactions paid on top of the base fee, by percentiles of the gas that they used.
fn rewards(block: &Block, percentiles: &[f64]) -> Vec<u128> {
    let base_fee = u128::from(block.header.base_fee_per_gas.unwrap_or_default());
    let mut paid: Vec<(u128, u64)> = block
        .receipts
        .iter()
        .map(|receipt| (receipt.gas_price.saturating_sub(base_fee), receipt.gas_used))
        .collect();
    paid.sort_unstable();
    let Some(highest) = paid.last() else { return vec![0; percentiles.len()] };
    let share = |percentile: &f64| {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the gas need not be exact"
        )]
        let threshold = (block.header.gas_used as f64 * percentile / 100.0) as u64;
        let mut sum = 0;
        let reached = paid.iter().find(|(_, gas)| {
            sum += gas;
            sum >= threshold
        });
        reached.unwrap_or(highest).0
    };
    percentiles.iter().map(share).collect()
}
