//! What a scheduler does, made visible.
//!
//! - [`snapshot`]: what a running program looks like at one moment, for a page or a terminal.
//! - [`metrics`]: the numbers of every layer under one scheme of names, as text for Prometheus or for
//!   the crate `metrics`.
//! - [`timeline`]: when did who run where, as a trace for Perfetto and Chrome.

pub mod metrics;
pub mod snapshot;
pub mod timeline;

pub use snapshot::Snapshot;
