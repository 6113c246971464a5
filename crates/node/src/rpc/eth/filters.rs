//! What has happened since a client asked last?
//!
//! A filter for blocks or logs keeps nothing but the number of the next block to look at: what is
//! new is read from the blocks when somebody asks. One for transactions of the pool has a seat among
//! the subscribers, with room for a fixed number; when that is full it has ended, and says so.
//!
//! 1. There are at most so many filters, and one that nobody asks for goes after a while. No thread
//!    or timer waits for that: those that are too old are looked for when a filter is made, and one
//!    that is found too old is not there.
//! 2. A filter belongs to the shard it was made for.
//! 3. No answer has more than the limit; the rest is in the next one.
//! 4. A filter for logs of blocks that were pruned before anyone asked has ended, and says so.

use std::{
    collections::HashMap,
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use alloy_primitives::{Address, B256};
use alloy_rpc_types_eth::{Filter, FilterBlockOption, FilterChanges, FilterId};
use shard::{
    Shard,
    events::{AcceptedEvent, Ended, LogFilter, Subscription},
    shard::LogsError,
    store::StoreError,
};
use tokio::sync::OwnedSemaphorePermit;

use super::{convert, logs};
use crate::{
    context::Context,
    rpc::{
        error::{LIMIT, RpcError},
        id,
        method::{Answer, Call, Kind, Method, Param, answer},
    },
    settings::Limits,
};

/// Transactions of the pool that a filter keeps.
const PENDING_ROOM: NonZeroUsize = NonZeroUsize::new(2_048).expect("not 0");
/// As many filters may keep such: each takes some 64 KiB.
const PENDING_MAX: usize = 1_024;

const ID: Param = Param::required("filter", Kind::Quantity);

pub(crate) const METHODS: &[Method] = &[
    Method::here(
        "eth_newFilter",
        &[Param::required("filter", Kind::LogFilter)],
        new_logs,
        "Makes a filter for logs of blocks to come.",
    ),
    Method::here("eth_newBlockFilter", &[], new_blocks, "Makes a filter for blocks to come."),
    Method::here(
        "eth_newPendingTransactionFilter",
        &[Param::optional("full", Kind::Bool)],
        new_pending,
        "Makes a filter for transactions that will be accepted, whole or by their hashes.",
    ),
    Method::on_worker(
        "eth_getFilterChanges",
        &[ID],
        changes,
        "What a filter has found since it was asked last.",
    ),
    Method::on_worker(
        "eth_getFilterLogs",
        &[ID],
        all_logs,
        "All logs that a filter asks for, also of blocks before it was made.",
    ),
    Method::here("eth_uninstallFilter", &[ID], uninstall, "Ends a filter; whether it was there."),
];

/// The filters of all clients.
#[derive(Default)]
pub(crate) struct Filters(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_id: HashMap<String, Entry>,
    /// When those that are too old were looked for.
    swept: Duration,
}

struct Entry {
    shard: Address,
    /// When it was asked last, by the runtime's clock.
    asked: Duration,
    what: What,
}

enum What {
    Blocks {
        next: u64,
    },
    Logs {
        filter: Box<Filter>,
        wanted: Arc<LogFilter>,
        next: u64,
        last: Option<u64>,
        /// Its share of what all filters may keep.
        _share: OwnedSemaphorePermit,
    },
    Pending {
        accepted: Subscription<AcceptedEvent>,
        full: bool,
    },
}

/// What is to be read from blocks for an answer.
enum Reading {
    Nothing,
    Hashes { from: u64, to: u64 },
    Logs { wanted: Arc<LogFilter>, from: u64, to: u64 },
    Done(FilterChanges),
}

impl Filters {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes those that are too old, if it is some time since that was done.
    fn sweep(&self, context: &Context) {
        self.lock().sweep(context.limits(), context.queries.now());
    }

    fn add(&self, context: &Context, shard: Address, what: What) -> Result<String, RpcError> {
        let limits = context.limits();
        let now = context.queries.now();
        let mut kept = self.lock();
        kept.sweep(limits, now);
        let is_pending = |what: &What| matches!(what, What::Pending { .. });
        let pending = || kept.by_id.values().filter(|entry| is_pending(&entry.what)).count();
        let full = |most| {
            let message = format!("too many filters: {most} at most, uninstall some or wait");
            Err(RpcError::new(LIMIT, message))
        };
        if kept.by_id.len() >= limits.filters {
            return full(limits.filters);
        }
        if is_pending(&what) && pending() >= PENDING_MAX {
            return full(PENDING_MAX);
        }
        let id = id::random();
        kept.by_id.insert(id.clone(), Entry { shard, asked: now, what });
        Ok(id)
    }

    /// Does something with a filter of this shard that is not too old.
    fn with<R>(
        &self,
        context: &Context,
        shard: Address,
        id: &FilterId,
        f: impl FnOnce(&mut What) -> R,
    ) -> Result<R, RpcError> {
        let missing = || RpcError::server("filter not found");
        let FilterId::Str(id) = id else { return Err(missing()) };
        let now = context.queries.now();
        let mut kept = self.lock();
        let entry = kept
            .by_id
            .get_mut(id)
            .filter(|entry| entry.shard == shard && entry.is_young(context.limits(), now));
        let entry = entry.ok_or_else(missing)?;
        entry.asked = now;
        Ok(f(&mut entry.what))
    }

    fn remove(&self, context: &Context, shard: Address, id: &FilterId) -> bool {
        let removed = self.with(context, shard, id, |_| ()).is_ok();
        if let (true, FilterId::Str(id)) = (removed, id) {
            let entry = self.lock().by_id.remove(id);
            drop(entry);
        }
        removed
    }
}

impl Kept {
    /// Forgets those that are too old, now and then.
    fn sweep(&mut self, limits: &Limits, now: Duration) {
        let is_due = now.saturating_sub(self.swept) >= limits.filter_expiry / 4;
        if is_due || self.by_id.len() >= limits.filters {
            self.swept = now;
            self.by_id.retain(|_, entry| entry.is_young(limits, now));
        }
    }
}

impl Entry {
    fn is_young(&self, limits: &Limits, now: Duration) -> bool {
        now.saturating_sub(self.asked) < limits.filter_expiry
    }
}

fn new_logs(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let filter: Box<Filter> = call.args.required("filter")?;
    call.args.end()?;
    let wanted = Arc::new(logs::wanted(&filter)?);
    call.context.filters.sweep(&call.context);
    let share = logs::keep(&call.context, &filter)?;
    let tip = shard.tip().number();
    let (next, last) = match filter.block_option {
        FilterBlockOption::Range { from_block, to_block } => {
            let first = from_block.and_then(|from| from.as_number()).unwrap_or(0);
            (first.max(tip + 1), to_block.and_then(|to| to.as_number()))
        }
        // There is nothing to come.
        FilterBlockOption::AtBlockHash(_) => (tip + 1, Some(0)),
    };
    add(call, &shard, What::Logs { filter, wanted, next, last, _share: share })
}

fn new_blocks(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    call.args.end()?;
    let next = shard.tip().number() + 1;
    add(call, &shard, What::Blocks { next })
}

fn new_pending(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let full = call.args.optional("full")?.unwrap_or(false);
    call.args.end()?;
    let accepted = call.context.shards.subscribe_accepted(PENDING_ROOM, Some(shard.address()));
    add(call, &shard, What::Pending { accepted, full })
}

fn add(call: &Call, shard: &Shard, what: What) -> Result<Answer, RpcError> {
    answer(&call.context.filters.add(&call.context, shard.address(), what)?)
}

fn changes(call: &mut Call) -> Result<Answer, RpcError> {
    let (shard, id) = named(call)?;
    let context = &call.context;
    let limits = context.limits();
    let tip = shard.tip().number();
    let reading =
        context.filters.with(context, shard.address(), &id, |what| what.begin(limits, tip))?;
    let end = |why: &dyn fmt::Display| {
        context.filters.remove(context, shard.address(), &id);
        RpcError::server(format!("filter not found any more: {why}"))
    };
    let (changes, read) = match reading {
        Ok(Reading::Nothing) => (FilterChanges::Empty, None),
        Ok(Reading::Done(changes)) => (changes, None),
        Ok(Reading::Hashes { from, to }) => {
            (FilterChanges::Hashes(hashes(&shard, from, to)?), Some((from, to)))
        }
        Ok(Reading::Logs { wanted, from, to }) => {
            match read_logs(limits, &shard, &wanted, from, to) {
                Ok((found, read)) => (FilterChanges::Logs(found), Some((from, read))),
                Err(why @ LogsError::NoBlock { .. }) => return Err(end(&why)),
                Err(why) => return Err(logs::failed(why)),
            }
        }
        Err(ended) => return Err(end(&ended)),
    };
    let answer = answer(&changes)?;
    if let Some((from, read)) = read {
        // Only now: what could not be read or written is there for the next answer.
        let _ = context.filters.with(context, shard.address(), &id, |what| what.go_on(from, read));
    }
    Ok(answer)
}

fn all_logs(call: &mut Call) -> Result<Answer, RpcError> {
    let (shard, id) = named(call)?;
    let context = &call.context;
    let filter = context.filters.with(context, shard.address(), &id, |what| match what {
        What::Logs { filter, .. } => Ok(filter.clone()),
        _ => Err(RpcError::server("filter not found: this one is not for logs")),
    })??;
    answer(&logs::search(context.limits(), &shard, &filter)?)
}

fn uninstall(call: &mut Call) -> Result<Answer, RpcError> {
    let (shard, id) = named(call)?;
    answer(&call.context.filters.remove(&call.context, shard.address(), &id))
}

fn named(call: &mut Call) -> Result<(Shard, FilterId), RpcError> {
    let shard = call.shard()?;
    let id = call.args.required("filter")?;
    call.args.end()?;
    Ok((shard, id))
}

impl What {
    /// What there is to answer now.
    fn begin(&mut self, limits: &Limits, tip: u64) -> Result<Reading, Ended> {
        match self {
            What::Blocks { next } => {
                let (from, to) =
                    (*next, tip.min(next.saturating_add((limits.logs as u64).saturating_sub(1))));
                Ok(if from > to { Reading::Nothing } else { Reading::Hashes { from, to } })
            }
            What::Logs { wanted, next, last, .. } => {
                let from = *next;
                let to = tip.min(last.unwrap_or(tip));
                let to = to.min(from.saturating_add(limits.log_blocks.saturating_sub(1)));
                Ok(if from > to {
                    Reading::Nothing
                } else {
                    Reading::Logs { wanted: wanted.clone(), from, to }
                })
            }
            What::Pending { accepted, full } => take(accepted, *full).map(Reading::Done),
        }
    }

    /// The blocks up to `read` are answered for: the next answer begins after them. Of two who ask at
    /// once one may be told the same again, neither misses anything.
    fn go_on(&mut self, from: u64, read: u64) {
        if let What::Logs { next, .. } | What::Blocks { next } = self
            && *next == from
        {
            *next = read + 1;
        }
    }
}

/// The transactions that were accepted since. There is room for so many, so it ends.
fn take(accepted: &mut Subscription<AcceptedEvent>, full: bool) -> Result<FilterChanges, Ended> {
    let mut taken = Vec::new();
    while taken.len() < PENDING_ROOM.get()
        && let Some(event) = accepted.try_next()?
    {
        taken.push(event.transaction);
    }
    Ok(if full {
        let all = taken.iter().map(|one| convert::transaction(one, None));
        FilterChanges::Transactions(all.collect())
    } else {
        FilterChanges::Hashes(taken.iter().map(|one| one.hash()).collect())
    })
}

fn hashes(shard: &Shard, from: u64, to: u64) -> Result<Vec<B256>, RpcError> {
    let mut hashes = Vec::new();
    for number in from..=to {
        match shard.header(number) {
            // One that is not kept any more is passed over.
            Err(StoreError::Pruned { .. }) => {}
            found => hashes.extend(found?.map(|(hash, _)| hash)),
        }
    }
    Ok(hashes)
}

/// The logs of these blocks, or of the first of them if there are too many. Also the last block
/// that was read.
fn read_logs(
    limits: &Limits,
    shard: &Shard,
    wanted: &LogFilter,
    from: u64,
    to: u64,
) -> Result<(Vec<alloy_rpc_types_eth::Log>, u64), LogsError> {
    let (mut to, mut most) = (to, limits.logs);
    loop {
        match shard.logs(from, to, wanted, most) {
            Ok(found) => return Ok((found.into_iter().map(convert::log).collect(), to)),
            Err(LogsError::TooMany { block, .. } | LogsError::TooLong { block, .. })
                if block > from =>
            {
                to = block - 1;
            }
            // A block is answered for as a whole: its gas bounds what it logs.
            Err(LogsError::TooMany { .. } | LogsError::TooLong { .. }) if most < usize::MAX => {
                (to, most) = (from, usize::MAX);
            }
            Err(why) => return Err(why),
        }
    }
}
