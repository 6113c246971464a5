//! What comes of executing transactions side by side? The same as one by one.
//!
//! ```text
//!   batch     0  1  2  3 | 4  5  6  7  8  9 10 11 | 12 13 ...
//!              stretch   |        stretch         |
//!   share     0     2    | 4        7  8       11 |           of some senders
//!   share        1     3 |    5  6        9 10    |           of others
//! ```
//!
//! 1. A stretch of the batch is divided into shares, the transactions of one sender into one. Lanes
//!    (jobs) execute shares, each in order and in one journal, on the state before the stretch, and
//!    note what they read and what they write.
//! 2. Where no share has read what another one has written, each has done what it would have done
//!    in any order, so also in that of the batch. The lane that comes when all shares are there looks
//!    at that, and takes the stretch as a whole.
//! 3. Shares that get into each other's way are put together and executed again, until none does.
//!    One share of all would be one by one execution.
//! 4. The beneficiary's fees are added up apart, unless a share has looked at him: otherwise each
//!    would depend on the one before.
//! 5. What a share can not tell (a panic, a failed read, a transaction that may not fit the block)
//!    is executed one by one, on the state. So is the rest where too much was executed again.
//! 6. No lane ever waits. One that finds nothing to do ends. The last that ends makes the block's
//!    roots, with whoever has time, and calls back.
//!
//! A journal asks only for what it does not hold yet, and is read once, at its end. So a share pays
//! for what its senders use once, not with each transaction, and a core passes nothing to another one
//! while shares are executed.

mod attempt;
mod bases;
mod closing;
mod codes;
mod effects;
mod fees;
mod frontier;
mod lane;
mod net;
mod schedule;
mod share;
mod state;
mod stretch;
mod touched;
mod worth;

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use alloy_primitives::map::DefaultHashBuilder;
use job::Pool;

pub use worth::Worth;

use crate::{
    block::ListRoots,
    config::Rules,
    execute::{
        BlockContext, ExecuteError, Executed,
        parallel::{
            bases::Bases,
            frontier::Frontier,
            lane::{Ending, Lane, Run},
            schedule::Schedule,
            state::Common,
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
    /// What [`Worth::calm`] says: the more batches went well, the longer is the first stretch.
    pub calm: u32,
}

/// A batch that was executed, or was not.
pub struct Finished {
    /// With what the batch has changed, if it was executed: as one by one execution leaves it.
    pub cache: Cache,
    pub result: Result<Executed, ExecuteError>,
    /// Those of what the block holds, if several workers have made them.
    pub(crate) roots: Option<ListRoots>,
    /// How many transactions were executed in shares that were taken.
    pub together: usize,
    /// How many transactions were executed again, for each time.
    pub conflicts: usize,
    /// How many were executed one by one in the end, since there were too many of these.
    pub alone: usize,
}

impl fmt::Debug for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finished")
            .field("result", &self.result)
            .field("together", &self.together)
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
    let Work { rules, chain_id, context, batch, cache, calm } = work;
    let lanes = lanes.clamp(1, batch.len().max(1));
    let bases = Bases::new(lanes);
    let hasher = DefaultHashBuilder::default();
    let common = Arc::new(Common { rules, chain_id, context, batch, cache, bases, hasher });
    let run = Arc::new(Run {
        schedule: Schedule::new(Box::new(Frontier::new(&common, lanes, calm)), lanes),
        ending: Mutex::new(Some(Ending { common: Arc::clone(&common), done: Box::new(done) })),
    });
    // The first knows how many others there is something to do for.
    Lane::start(0, run, common, pool);
}

#[cfg(test)]
mod tests;
