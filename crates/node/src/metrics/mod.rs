//! What is counted while the node runs, and what does counting cost?
//!
//! A few atomics per request. What others count (shards, pools, workers) is asked for when somebody
//! looks at `/metrics`: see `page.rs`.

pub(crate) mod calls;
mod histogram;
pub(crate) mod page;
pub(crate) mod store;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use crate::server::refusal::Refusals;
use calls::CallMetrics;
use histogram::Histogram;

/// What the node counts itself.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Requests over HTTP that are being answered.
    pub(crate) requests: Gauge,
    /// Calls over WebSocket that are being answered.
    pub(crate) websocket_calls: Gauge,
    /// Connections, those to WebSockets among them.
    pub(crate) connections: Gauge,
    pub(crate) websockets: Gauge,
    /// Connections so far, also those that were turned away.
    pub(crate) accepted: Counter,
    pub(crate) refusals: Refusals,
    /// By method. There when the methods are known.
    pub(crate) calls: OnceLock<Arc<CallMetrics>>,
    /// How long appending to the log took, with a sync and without.
    pub(crate) appends_synced: Histogram,
    pub(crate) appends: Histogram,
    /// How long syncs of their own took.
    pub(crate) syncs: Histogram,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// How many there are now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<AtomicUsize>);

impl Gauge {
    /// One more, until the guard is dropped.
    pub(crate) fn hold(&self) -> Held {
        self.0.fetch_add(1, Relaxed);
        Held(self.clone())
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// Counts as one while it is there.
#[derive(Debug)]
pub(crate) struct Held(Gauge);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}
