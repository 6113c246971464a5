//! What the fuzz targets do with a file of bytes, so that a test can do the same without a fuzzer.
//!
//! Each function takes any bytes and panics if the crate `task`, `shard` or `node` did what it must never do.
//! None has state, so the same bytes give the same run; only `request_path` asks one node for all.

mod host_abi;
mod imports;
mod module_loader;
mod request_path;
mod transaction_admission;
mod world;

pub use host_abi::host_abi;
pub use module_loader::module_loader;
pub use request_path::request_path;
pub use transaction_admission::transaction_admission;
