//! What a scheduler does, made visible.
//!
//! - [`snapshot`]: what a running program looks like at one moment, for a page or a terminal.
//! - [`metrics`]: the numbers of every layer under one scheme of names, as text for Prometheus or for
//!   the crate `metrics`.
//! - [`timeline`]: when did who run where, as a trace for Perfetto and Chrome.
//! - [`gantt`]: who ran when, as a picture, from a simulated run or the policy laboratory.
//! - [`svg`]: what pictures are drawn with.

pub mod gantt;
pub mod metrics;
pub mod snapshot;
pub mod svg;
pub mod timeline;

pub use gantt::Gantt;
pub use snapshot::Snapshot;
