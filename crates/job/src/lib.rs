//! Jobs: work with predecessors, under policies and balancers.
//!
//! A **job** runs once all that it depends on has ended, and *completes* or *fails*. Jobs are
//! submitted one by one or as a **batch**, to a **pool** of workers. In which order those run that
//! are ready is the pool's [`Policy`]; which worker gets one, its [`Balancer`]. Both are the
//! kernel's disciplines and placements.
//!
//! ```
//! use job::{Batch, Job, Pool};
//!
//! let pool = Pool::new()?;
//! let mut batch = Batch::new();
//! let flour = batch.add(Job::new(|_| "flour"));
//! let water = batch.add(Job::new(|_| "water"));
//! let (a, b) = (flour.dep(), water.dep());
//! let dough = batch.add(
//!     Job::fallible(move |cx| match (cx.get(a), cx.get(b)) {
//!         (Some(flour), Some(water)) => Ok(format!("dough of {flour} and {water}")),
//!         _ => Err("something is missing"),
//!     })
//!     .after(&flour)
//!     .after(&water),
//! );
//! let handle = pool.submit_batch(batch)?;
//! assert_eq!(handle.job(dough).join()?, "dough of flour and water");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//! - A job runs at most once, and never before all of its predecessors have ended. It is released
//!   by the end of the last of them, in a step of its own, with no search.
//! - Every job that was taken ends: as completed, failed or cancelled; also when the pool is
//!   dropped. What is refused comes back, and nothing of it was queued.
//! - A result has one owner, the [`JobHandle`]; dependents borrow it. It lives until the batch has
//!   ended and the last handle of the batch is gone.
//! - The policy's order, per worker if there is a balancer. Under
//!   [`WorkStealing`](Policy::WorkStealing) the first job that becomes ready may run at once on the
//!   worker where its predecessor ended.
//!
//! # What is not
//! A job is not interrupted. A plain job that runs for long keeps its worker; a
//! [resumable](Job::resumable) one lets others have theirs.
//!
//! # Policies and balancers
#![doc = include_str!("matrix.md")]

mod about;
mod batch;
mod body;
mod context;
mod error;
mod event;
mod graph;
mod handle;
mod id;
mod job;
mod learn;
mod metrics;
mod policy;
mod pool;
mod sync;
pub mod transaction;

pub use about::{JobInfo, Prioritizer};
pub use batch::{
    Batch, DEPENDENCIES_MAX, OnFailure,
    handle::{BatchHandle, BatchProgress},
    node::{Dep, Node, Predecessor},
    shape::Shape,
    typed::TypedBatch,
};
pub use body::{Body, Fallible, Payload, Progress, Resumable, Sure};
pub use context::Context;
pub use error::{Error, JobError, PoolError, Refused, ShutdownTimeout};
pub use event::{EVENTS_MAX, Event, Events, NextEvent};
pub use graph::times::{EXACT_MAX, Timings};
pub use handle::{Done, JobHandle, JobRef, Status};
pub use id::{BATCH_MAX, CLASSES_MAX, Class, JobId};
pub use job::{Executor, Job};
pub use kernel::WorkerId;
pub use metrics::{Metrics, WorkerMetrics};
pub use policy::{AffinityFn, Balancer, Policy};
pub use pool::{
    Pool, SimulatedPool, SubmitBatch, SubmitJob, Submitted, WorkerStatus, builder::PoolBuilder,
    registry::REMEMBERED_MAX,
};
