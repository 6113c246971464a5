//! How does whoever runs the node step in?
//!
//! Only where the node was started with `--admin-api`. A worker that is paused must be able to go on
//! whatever else is paused, so nothing here needs a worker.

use kernel::{Handle, NoSuchWorker, WorkerId};

use super::{
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

type Switch = fn(&Handle, WorkerId) -> Result<(), NoSuchWorker>;

fn switch(call: &mut Call, switch: Switch) -> Result<Answer, RpcError> {
    allowed(call)?;
    let runtime: String = call.args.required("runtime")?;
    let worker: Number = call.args.required("worker")?;
    call.args.end()?;
    let handle = match runtime.as_str() {
        "shards" => &call.context.workers,
        "queries" => &call.context.queries,
        _ => return Err(RpcError::invalid("the runtimes are `shards` and `queries`")),
    };
    let worker = usize::try_from(worker.get()).unwrap_or(usize::MAX);
    switch(handle, WorkerId::new(worker)).map_err(|why| RpcError::invalid(why.to_string()))?;
    answer(&true)
}
