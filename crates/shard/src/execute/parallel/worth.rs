//! Is a batch worth several workers?
//!
//! To wake others, to divide a batch and to put together what comes of it takes a while, whatever
//! the transactions do. So a batch is worth it if its transactions take several times that, if they
//! can run side by side at all, and if somebody has nothing else to do.

use alloy_primitives::{Address, map::HashMap};

use crate::{
    config::Rules,
    execute::{Executed, parallel::Finished},
    transaction::SharedTransaction,
};

/// What takes less gas gains little: a transfer of tokens takes less, a swap more. Where the two ways
/// are equal was measured when each transaction was executed apart: at about 13 µs of each.
const GAS_MIN: u64 = 70_000;
/// A batch with fewer is done before another worker is awake.
const TRANSACTIONS_MIN: usize = 16;
/// Of a batch, so many sixteenths may be of one sender: they run one after the other.
const CHAIN_MAX: usize = 10;
/// What is executed again may be one part in so many of what was taken in shares.
const CONFLICTS_MAX: usize = 4;
/// After so many batches another try is made, however often it was in vain.
const PATIENCE_MAX: u32 = 64;

/// What a shard has learnt about its batches.
///
/// ```
/// use shard::{config::Rules, execute::parallel::Worth};
///
/// // Nobody knows how heavy the transactions of this shard are: one by one, and look.
/// let mut worth = Worth::new();
/// assert!(!worth.worthwhile(&Rules::default(), &[], || 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Worth {
    /// Gas per transaction, of late.
    gas: u64,
    /// So many batches are executed one by one, since too much was executed again or by one lane.
    wait: u32,
    /// How many that will be the next time.
    patience: u32,
    /// In so many batches on several workers in a row nothing was executed again.
    calm: u32,
}

impl Worth {
    /// Nothing is known: the first batch is executed one by one.
    pub fn new() -> Worth {
        Worth::default()
    }

    /// A batch was executed, in whichever way.
    pub fn observe(&mut self, executed: &Executed) {
        let Some(gas) = executed.gas_used.checked_div(executed.included.len() as u64) else {
            return;
        };
        // The last four batches or so count.
        self.gas = if self.gas == 0 { gas } else { (3 * self.gas + gas) / 4 };
    }

    /// A batch was executed on several workers.
    pub fn observe_parallel(&mut self, finished: &Finished) {
        let Ok(executed) = &finished.result else {
            self.calm = 0;
            return;
        };
        self.observe(executed);
        let all = executed.included.len() + executed.dropped.len();
        // Most went one by one: there was no room that is certain, or what is hard to tell came too often.
        let mostly_alone = 2 * finished.together < all;
        self.calm =
            if finished.conflicts == 0 && !mostly_alone { self.calm.saturating_add(1) } else { 0 };
        let too_many = CONFLICTS_MAX * finished.conflicts > finished.together;
        if finished.alone > 0 || too_many || mostly_alone {
            self.patience = (2 * self.patience).clamp(1, PATIENCE_MAX);
            self.wait = self.patience;
        } else {
            self.patience = 0;
        }
    }

    /// In how many batches on several workers, up to the last one, nothing was executed again.
    pub fn calm(&self) -> u32 {
        self.calm
    }

    /// Whether to execute this batch on several workers. `idle` says how many have nothing to do; it
    /// is asked only where it matters.
    pub fn worthwhile(
        &mut self,
        rules: &Rules,
        batch: &[SharedTransaction],
        idle: impl FnOnce() -> usize,
    ) -> bool {
        let room = batch.len().min(rules.block_transactions_max);
        if room < TRANSACTIONS_MIN || self.gas < GAS_MIN || idle() == 0 {
            return false;
        }
        if let Some(less) = self.wait.checked_sub(1) {
            self.wait = less;
            return false;
        }
        longest_chain(batch) * 16 <= batch.len() * CHAIN_MAX
    }
}

/// How many transactions are of the sender who has the most.
fn longest_chain(batch: &[SharedTransaction]) -> usize {
    let mut chains: HashMap<Address, usize> = HashMap::default();
    let lengths = batch.iter().map(|transaction| {
        let length = chains.entry(transaction.sender()).or_default();
        *length += 1;
        *length
    });
    lengths.max().unwrap_or(0)
}
