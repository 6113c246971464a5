//! What a scheduler does, made visible.
//!
//! - [`snapshot`]: what a running program looks like at one moment, for a page or a terminal.
//! - [`timeline`]: when did who run where, as a trace for Perfetto and Chrome.

pub mod snapshot;
pub mod timeline;

pub use snapshot::Snapshot;
