//! How does whoever runs the node step in?
//!
//! Only where the node was started with `--admin-api`. A worker that is paused must be able to go on
//! whatever else is paused, so nothing here needs a worker.

use alloy_primitives::Address;
use kernel::{Handle, NoSuchWorker, WorkerId};

use super::{
    args::Args,
    dev::Number,
    error::{METHOD_NOT_FOUND, RpcError},
    method::{Answer, Call, Kind, Method, Param, Place, answer},
};

const WORKER: &[Param] =
    &[Param::required("runtime", Kind::Text), Param::required("worker", Kind::Quantity)];

pub(crate) const METHODS: &[Method] = &[
    Method::here(
        "admin_pauseWorker",
        WORKER,
        |call| switch(call, Handle::pause_worker),
        "Has a worker of the runtime `shards` or `queries` take nothing more when its turn is over; \
         with --admin-api only.",
    )
    .at(Place::Root),
    Method::here(
        "admin_resumeWorker",
        WORKER,
        |call| switch(call, Handle::resume_worker),
        "Lets a worker that was paused go on; with --admin-api only.",
    )
    .at(Place::Root),
    Method::here(
        "admin_releaseShard",
        &[Param::required("shard", Kind::Address)],
        release,
        "Ends a shard's quarantine: it tries again, with all that its pool holds. False: it was in \
         none; with --admin-api only.",
    )
    .at(Place::Root),
];

/// These methods are there only where they were asked for.
pub(crate) fn allowed(call: &Call) -> Result<(), RpcError> {
    if call.context.settings.admin_api {
        return Ok(());
    }
    Err(RpcError::new(
        METHOD_NOT_FOUND,
        "the method is for whoever runs the node and not available: start it with --admin-api",
    ))
}

fn release(call: &mut Call) -> Result<Answer, RpcError> {
    allowed(call)?;
    let address: Address = call.args.required("shard")?;
    call.args.end()?;
    let shard = call.context.existing(address)?;
    let was_quarantined = shard.status().quarantine.is_some();
    if was_quarantined {
        shard.release();
    }
    answer(&was_quarantined)
}

/// Pauses a worker, or lets it go on.
pub(crate) type Switch = fn(&Handle, WorkerId) -> Result<(), NoSuchWorker>;

fn switch(call: &mut Call, switch: Switch) -> Result<Answer, RpcError> {
    allowed(call)?;
    let runtimes = [("shards", &call.context.workers), ("queries", &call.context.queries)];
    answer(&switch_worker(&mut call.args, &runtimes, switch)?)
}

/// Does so with the worker that the arguments name: `true`.
pub(crate) fn switch_worker(
    args: &mut Args,
    runtimes: &[(&str, &Handle)],
    switch: Switch,
) -> Result<bool, RpcError> {
    let runtime: String = args.required("runtime")?;
    let worker: Number = args.required("worker")?;
    args.end()?;
    let Some((_, handle)) = runtimes.iter().find(|(name, _)| *name == runtime) else {
        let names: Vec<_> = runtimes.iter().map(|(name, _)| format!("`{name}`")).collect();
        return Err(RpcError::invalid(format!("the runtimes are {}", names.join(" and "))));
    };
    let worker = usize::try_from(worker.get()).unwrap_or(usize::MAX);
    switch(handle, WorkerId::new(worker)).map_err(|why| RpcError::invalid(why.to_string()))?;
    Ok(true)
}
