//! What a scheduler does, made visible.
//!
//! - [`snapshot`]: what a running program looks like at one moment, for a page or a terminal.
//! - [`gantt`]: who ran when, as a picture, from a simulated run or the policy laboratory.
//! - [`svg`]: what pictures are drawn with.

pub mod gantt;
pub mod snapshot;
pub mod svg;

pub use gantt::Gantt;
pub use snapshot::Snapshot;
