//! Which logs does a client look for, and where?

use alloy_rpc_types_eth::{Filter, FilterBlockOption, Log};
use shard::{Shard, events::LogFilter, shard::LogsError};
use tokio::sync::OwnedSemaphorePermit;

use super::{block_id, convert};
use crate::{
    context::Context,
    rpc::{
        error::{INTERNAL, LIMIT, RpcError},
        method::{Kind, Method, Param, answer},
    },
    settings::Limits,
};

/// As many addresses, and as many topics at each place, may be looked for: geth's limits.
const VALUES_MAX: usize = 1_000;

pub(crate) const METHODS: &[Method] = &[Method::on_worker(
    "eth_getLogs",
    &[Param::required("filter", Kind::LogFilter)],
    |call| {
        let shard = call.shard()?;
        let filter: Filter = call.args.required("filter")?;
        call.args.end()?;
        answer(&search(call.context.limits(), &shard, &filter)?)
    },
    "The logs of a range of blocks, or of one by its hash, that match addresses and topics.",
)];

/// The logs that a filter asks for.
pub(super) fn search(
    limits: &Limits,
    shard: &Shard,
    filter: &Filter,
) -> Result<Vec<Log>, RpcError> {
    let wanted = wanted(filter)?;
    let (from, to) = range(limits, shard, filter)?;
    let found = shard.logs(from, to, &wanted, limits.logs).map_err(failed)?;
    Ok(found.into_iter().map(convert::log).collect())
}

/// What is looked for in each block.
pub(crate) fn wanted(filter: &Filter) -> Result<LogFilter, RpcError> {
    let too_many = |what: &str| {
        RpcError::new(LIMIT, format!("exceed max {what}: {VALUES_MAX} at most can be looked for"))
    };
    if filter.address.len() > VALUES_MAX {
        return Err(too_many("addresses"));
    }
    if filter.topics.iter().any(|topics| topics.len() > VALUES_MAX) {
        return Err(too_many("topics"));
    }
    let topics = filter.topics.each_ref().map(|topics| topics.iter().copied().collect());
    Ok(LogFilter::new(filter.address.iter().copied(), topics))
}

/// Makes room for what a filter looks for, as long as it is kept.
pub(crate) fn keep(context: &Context, filter: &Filter) -> Result<OwnedSemaphorePermit, RpcError> {
    let topics: usize = filter.topics.iter().map(|topics| topics.len()).sum();
    // A filter without any is counted elsewhere, by its number.
    let values = (filter.address.len() + topics) as u32;
    context.log_values.clone().try_acquire_many_owned(values).map_err(|_| {
        let most = context.limits().log_values;
        let message = format!(
            "too many addresses and topics: this node keeps {most} for all filters and \
             subscriptions, uninstall some or wait"
        );
        RpcError::new(LIMIT, message)
    })
}

/// In which blocks is looked, the last included.
fn range(limits: &Limits, shard: &Shard, filter: &Filter) -> Result<(u64, u64), RpcError> {
    let (from, to) = match filter.block_option {
        FilterBlockOption::AtBlockHash(hash) => {
            let number = shard.block_number(hash)?;
            let number =
                number.ok_or_else(|| RpcError::server(format!("unknown block: {hash}")))?;
            (number, number)
        }
        FilterBlockOption::Range { from_block, to_block } => {
            // Asked once: the two must not see different tips.
            let tip = shard.tip().number();
            let of = |id: Option<_>| id.map_or(tip, |id| block_id::number_of(id, || tip));
            (of(from_block), of(to_block))
        }
    };
    if from > to {
        return Err(RpcError::invalid(format!("invalid block range params: {from} to {to}")));
    }
    let (last, most) = (to.min(shard.tip().number()), limits.log_blocks);
    if last >= from && last - from >= most {
        return Err(RpcError::new(
            LIMIT,
            format!("query exceeds max block range {most}: {from} to {last}, ask for fewer"),
        ));
    }
    Ok((from, to))
}

pub(super) fn failed(why: LogsError) -> RpcError {
    match why {
        LogsError::TooMany { most, block, .. } => {
            let message = format!(
                "query returned more than {most} results, by block {block}: ask for fewer blocks"
            );
            RpcError::new(LIMIT, message)
        }
        LogsError::TooLong { .. } => RpcError::new(LIMIT, why.to_string()),
        LogsError::NoBlock { .. } => RpcError::server(why.to_string()),
        _ => RpcError::new(INTERNAL, why.to_string()),
    }
}
