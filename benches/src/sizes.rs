//! How large are the workloads that need no code of their own here?

use crate::Args;

/// Leaves of a spawn tree of the usual size.
const TREE_LEAVES: u64 = 1 << 20;

/// Strands or tasks that yield in turn.
pub const YIELDING: u64 = 1_000;

/// How often each of them yields, in a run of the usual size.
pub const YIELDS_EACH: u64 = 1_000;

/// Levels below the root of the spawn tree. It has `1 << depth` leaves, and `2 << depth` nodes
/// but one.
pub fn tree_depth(args: &Args) -> u32 {
    args.items(TREE_LEAVES).max(2).ilog2()
}
