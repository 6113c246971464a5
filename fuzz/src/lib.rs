//! What the fuzz targets do with a file of bytes, so that a test can do the same without a fuzzer.
//!
//! Each function takes any bytes and panics if the crate `task` or `shard` did what it must never do.
//! None has state: the same bytes give the same run.

mod host_abi;
mod imports;
mod module_loader;
mod transaction_admission;
mod world;

pub use host_abi::host_abi;
pub use module_loader::module_loader;
pub use transaction_admission::transaction_admission;
