//! What waits in a shard's pool?

use std::collections::BTreeMap;

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, TxKind, U64};
use serde::Serialize;
use shard::{
    pool::{Queued, Status},
    transaction::SharedTransaction,
};

use super::{
    error::RpcError,
    eth::convert::{self, RpcTransaction},
    method::{Answer, Call, Kind, Method, Param, Place, answer},
};

/// Transactions that one answer holds.
const CONTENT_MAX: usize = 10_000;

pub(crate) const METHODS: &[Method] = &[
    Method::here(
        "txpool_status",
        &[],
        status,
        "How many transactions can be executed, and how many wait for a nonce.",
    )
    .at(Place::OwnOnly),
    Method::on_worker(
        "txpool_content",
        &[],
        |call| content(call, of_all, |one| convert::transaction(one, None)),
        "The pool's transactions by sender and nonce: 10,000 at most.",
    )
    .at(Place::OwnOnly),
    Method::on_worker(
        "txpool_inspect",
        &[],
        |call| content(call, of_all, summary),
        "The same, a line for each.",
    )
    .at(Place::OwnOnly),
    Method::on_worker(
        "txpool_contentFrom",
        &[Param::required("address", Kind::Address)],
        content_from,
        "A sender's transactions in the pool, by nonce.",
    )
    .at(Place::OwnOnly),
];

/// What can be executed, and what waits for a nonce.
#[derive(Default, Serialize)]
struct Split<T> {
    pending: T,
    queued: T,
}

/// By nonce, in decimal, as geth has it.
type ByNonce<T> = BTreeMap<String, T>;
type Content = Vec<(SharedTransaction, Status)>;

impl<T> Split<T> {
    fn part(&mut self, status: Status) -> &mut T {
        match status {
            Status::Queued(Queued::Missing { .. }) => &mut self.queued,
            Status::Queued(_) | Status::Executing => &mut self.pending,
        }
    }
}

fn status(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    call.args.end()?;
    let counts = shard.pool_counts();
    answer(&Split { pending: U64::from(counts.pending), queued: U64::from(counts.waiting) })
}

fn of_all(call: &mut Call) -> Result<Content, RpcError> {
    let shard = call.shard()?;
    call.args.end()?;
    Ok(shard.pool_content(CONTENT_MAX))
}

fn content<T: Serialize>(
    call: &mut Call,
    find: fn(&mut Call) -> Result<Content, RpcError>,
    show: fn(&SharedTransaction) -> T,
) -> Result<Answer, RpcError> {
    let mut split: Split<BTreeMap<String, ByNonce<T>>> =
        Split { pending: BTreeMap::new(), queued: BTreeMap::new() };
    for (one, status) in find(call)? {
        let sender = split.part(status).entry(one.sender().to_string()).or_default();
        sender.insert(one.nonce().to_string(), show(&one));
    }
    answer(&split)
}

fn content_from(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let address: Address = call.args.required("address")?;
    call.args.end()?;
    let mut split: Split<ByNonce<RpcTransaction>> = Split::default();
    for (one, status) in shard.pool_content_of(address) {
        let shown = convert::transaction(&one, None);
        split.part(status).insert(one.nonce().to_string(), shown);
    }
    answer(&split)
}

/// A transaction in a line, as geth writes it.
fn summary(one: &SharedTransaction) -> String {
    let to = match one.kind() {
        TxKind::Call(to) => to.to_string(),
        TxKind::Create => "contract creation".to_owned(),
    };
    let (value, gas, price) = (one.envelope().value(), one.gas_limit(), one.fee_max());
    format!("{to}: {value} wei + {gas} gas × {price} wei")
}
