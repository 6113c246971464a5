//! What a scheduler does, made visible.
//!
//! - [`snapshot`]: what a running program looks like at one moment, for a page or a terminal.

pub mod snapshot;

pub use snapshot::Snapshot;
