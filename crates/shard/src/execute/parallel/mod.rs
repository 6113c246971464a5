//! What comes of executing transactions side by side? The same as one by one.
//!
//! ```text
//!   batch   0   1   2   3   4   5   6   7
//!           |   |   |   |   |   |   |
//!   lanes   speculate, on guesses about those before       in any order, at the same time
//!           |   |   |
//!   commit  0 > 1 > 2 >                                     in order, one at a time
//! ```
//!
//! 1. Lanes (jobs) take transactions and execute them on what is known of those before: what these
//!    have written so far, otherwise the state before the batch. What a transaction has read is
//!    noted. Transactions of one sender wait for each other, since each needs the nonce of the one
//!    before.
//! 2. Transactions are committed in order, by whichever lane comes by. One whose reads are still
//!    true has done what it would do now. One whose reads are not is executed again, on the state.
//!    So each is executed twice at most, and nothing else than the state decides about the result.
//! 3. The beneficiary's fees are added up apart, unless a transaction has looked at him: otherwise
//!    each would depend on the one before.
//! 4. Where guesses fail too often, the rest is executed one by one.
//! 5. No lane ever waits. One that finds nothing to do ends. The last that ends makes the block's
//!    roots, with whoever has time, and calls back.
//!
//! But for a bitmap of hints there is no lock-free code here: the few short locks that a transaction
//! takes are hardly ever contended.

mod attempt;
mod closing;
mod codes;
mod effects;
mod frontier;
mod lane;
mod net;
mod schedule;
mod state;
mod versions;
mod worth;

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use alloy_primitives::{Address, map::HashMap};
use job::Pool;

pub use worth::Worth;

use crate::{
    block::ListRoots,
    config::Rules,
    execute::{
        BlockContext, ExecuteError, Executed,
        parallel::{
            frontier::Frontier,
            lane::{Ending, Lane, Run},
            schedule::{NONE, Schedule},
            state::Common,
            versions::Versions,
        },
    },
    state::cache::Cache,
    transaction::SharedTransaction,
};

/// A batch to be executed.
pub struct Work {
    pub rules: Rules,
    pub chain_id: u64,
    pub context: BlockContext,
    pub batch: Vec<SharedTransaction>,
    /// The shard's state, lent until the batch is done.
    pub cache: Cache,
}

/// A batch that was executed, or was not.
pub struct Finished {
    /// With what the batch has changed, if it was executed: as one by one execution leaves it.
    pub cache: Cache,
    pub result: Result<Executed, ExecuteError>,
    /// Those of what the block holds, if several workers have made them.
    pub(crate) roots: Option<ListRoots>,
    /// How many transactions were executed twice.
    pub conflicts: usize,
    /// How many were executed one by one in the end, since there were too many of these.
    pub alone: usize,
}

impl fmt::Debug for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finished")
            .field("result", &self.result)
            .field("conflicts", &self.conflicts)
            .field("alone", &self.alone)
            .finish_non_exhaustive()
    }
}

/// Executes a batch on up to so many workers of the pool, and calls `done` there.
///
/// `done` is called once, whatever happens: also if the pool stops, and then perhaps on this
/// thread.
pub fn start(
    pool: &Pool,
    mut work: Work,
    lanes: usize,
    done: impl FnOnce(Finished) + Send + 'static,
) {
    work.cache.begin(&work.context);
    let Work { rules, chain_id, context, batch, cache } = work;
    let chains = chains(&batch);
    let lanes = lanes.clamp(1, batch.len().max(1));
    let versions = Versions::new(lanes);
    let common = Arc::new(Common { rules, chain_id, context, batch, cache, versions });
    let run = Arc::new(Run {
        schedule: Schedule::new(chains, Box::new(Frontier::new(&common)), lanes),
        ending: Mutex::new(Some(Ending { common: Arc::clone(&common), done: Box::new(done) })),
    });
    for lane in 1..lanes {
        Lane::start(lane, Arc::clone(&run), Arc::clone(&common), pool);
    }
    Lane::start(0, run, common, pool);
}

/// For each transaction, which is the next of the same sender.
fn chains(batch: &[SharedTransaction]) -> Vec<u32> {
    let mut chains = vec![NONE; batch.len()];
    let mut last: HashMap<Address, u32> = HashMap::default();
    for (at, transaction) in (0u32..).zip(batch) {
        if let Some(before) = last.insert(transaction.sender(), at) {
            chains[before as usize] = at;
        }
    }
    chains
}

#[cfg(test)]
mod tests;
