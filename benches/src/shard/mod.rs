//! The loads that shards, and the virtual machine alone, are given.
//!
//! A load is what is prepared (contracts, tokens, approvals) and what is measured, both as ordered
//! transactions of one shard. The same transactions go to ours and to the floor.

mod load;

pub use load::{Kind, Load, SENDERS, account, config};

/// The workloads, `<kind>_<shards>_<durability>`; others are named for what they ask.
pub const THROUGHPUT: [&str; 18] = [
    "transfer_1_none",
    "transfer_1_sync",
    "transfer_64_none",
    "transfer_64_sync",
    "transfer_1024_none",
    "transfer_1024_sync",
    "token_1_none",
    "token_1_sync",
    "token_64_none",
    "token_64_sync",
    "token_1024_none",
    "token_1024_sync",
    "swap_1_none",
    "swap_1_sync",
    "swap_64_none",
    "swap_64_sync",
    "swap_1024_none",
    "swap_1024_sync",
];

/// What a name of [`THROUGHPUT`] asks for: the kind, how many shards, and whether each commit is
/// synced.
pub fn throughput(workload: &str) -> Option<(Kind, usize, bool)> {
    let mut parts = workload.split('_');
    let kind = Kind::of(parts.next()?)?;
    let shards = parts.next()?.parse().ok()?;
    let sync = match parts.next()? {
        "sync" => true,
        "none" => false,
        _ => return None,
    };
    (parts.next().is_none()).then_some((kind, shards, sync))
}
