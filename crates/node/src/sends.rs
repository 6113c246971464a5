//! How do transactions get from requests into their shards?
//!
//! ```text
//!   requests            line             jobs on workers                    committer
//!   a, b, c ...  ->  a b c d e ...  ->  take some, recover each, then   ->  tells each when
//!                                       one acceptance for each shard       it is durable
//! ```
//!
//! So it is for the transactions of a batch, and for those that take long to recover. Where one that
//! comes alone goes is in `alone.rs`.
//!
//! Most of a transaction's cost is the recovery of its sender, which is less for several of one sender
//! together (`recover_together`). What else there is, the hand to a worker, the pool's lock, the wakes
//! of shard and committer, is paid for once by as many as are in line together, whether they came in one
//! batch or by many connections. A request waits once: until its transaction is durable or refused.
//!
//! 1. What is in line is looked at, even if nobody waits for it any more.
//! 2. There are as many jobs as workers at most. One that finds more in line submits the next. That
//!    stays on its worker while the quantum lasts and then goes to the end of the workers' queue: so a
//!    call waits for a quantum and one group more, and not for the whole line.
//! 3. Those that a job takes together keep their order within each shard. Two groups may be accepted in
//!    any order, as they are on two workers: who needs an order has nonces, or waits for each answer.

mod alone;

use std::{
    collections::VecDeque,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Bytes, TxKind};
use shard::{
    shards::SubmitError,
    transaction::{
        Malformed, SharedTransaction, Unrecovered, is_quicker_together, recover_together,
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::{
    context::Context,
    rpc::{
        error::RpcError,
        eth::send::{check_length, decode, refused},
    },
};

/// Permits of the transactions that one job takes, so as many transactions at most: enough that all the
/// rest costs little beside the recoveries, few enough that a call does not wait for long behind them.
/// One with authorisations has a signature to recover in each hundred bytes, so length counts.
const GROUP_MAX: usize = 16;

/// Bytes of transactions in line, for each worker. Those beyond wait outside, where a request that
/// is given up goes with its arguments.
const BYTES_MAX: usize = 4 << 20;

/// What one permit stands for.
const PERMIT_BYTES: usize = 1 << 10;

/// The line.
pub(crate) struct Sends {
    room: Arc<Semaphore>,
    /// All permits that there are.
    permits: usize,
    workers: usize,
    line: Mutex<Line>,
    /// Those that have come alone.
    waiting: Mutex<alone::Waiting>,
}

#[derive(Default)]
struct Line {
    sent: VecDeque<Sent>,
    /// Jobs that take from it.
    jobs: usize,
}

/// A transaction in line.
struct Sent {
    /// Where to; `None`: to the shard that its recipient names.
    shard: Option<Address>,
    encoded: Bytes,
    told: Told,
    permit: OwnedSemaphorePermit,
}

/// One that was read.
struct Read {
    shard: Address,
    unrecovered: Unrecovered,
    told: Told,
}

/// One whose sender is known.
struct Known {
    shard: Address,
    transaction: SharedTransaction,
    told: Told,
}

/// Whoever waits for a transaction.
type Told = oneshot::Sender<Result<B256, RpcError>>;

impl Sends {
    pub(crate) fn new(workers: usize) -> Sends {
        let permits = workers.max(1) * BYTES_MAX / PERMIT_BYTES;
        let room = Arc::new(Semaphore::new(permits));
        let (line, waiting) = (Mutex::default(), Mutex::default());
        Sends { room, permits, workers: workers.max(1), line, waiting }
    }

    fn waiting(&self) -> MutexGuard<'_, alone::Waiting> {
        // The same as for the line.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // Each change is one push, or the number of jobs: a panic leaves it whole.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next ones for a job: a part of the line, so that the workers share it.
    fn take(&self) -> Vec<Sent> {
        let mut line = self.line();
        // What takes less time together is not split more often than there are workers.
        let parts = if is_quicker_together() { self.workers } else { 2 * self.workers };
        let count = line.sent.len().div_ceil(parts);
        let permits = line.sent.iter().map(|sent| sent.permit.num_permits());
        let count = group(permits).min(count);
        line.sent.drain(..count).collect()
    }
}

/// How many of those with so many permits are a group: one at least, if there is one.
fn group(permits: impl Iterator<Item = usize>) -> usize {
    let sums = permits.scan(0, |sum, permits| {
        *sum += permits;
        Some(*sum)
    });
    sums.enumerate().take_while(|(before, sum)| *before == 0 || *sum <= GROUP_MAX).count()
}

/// Puts a transaction in line for a shard, or for the one that its recipient names. Its hash, when
/// it is durable.
pub(crate) async fn send(
    context: &Arc<Context>,
    shard: Option<Address>,
    encoded: Bytes,
    alone: bool,
) -> Result<B256, RpcError> {
    let sends = &context.sends;
    // Before it takes room from others.
    check_length(context, &encoded)?;
    if alone && alone::is_quick(&encoded) {
        return alone::send(context, shard, encoded).await;
    }
    // One that is longer than all the room has it for itself.
    let permits = (encoded.len() / PERMIT_BYTES + 1).min(sends.permits) as u32;
    let permit = sends.room.clone().acquire_many_owned(permits).await;
    let permit = permit.map_err(|_| RpcError::stopping())?;
    let (told, hear) = oneshot::channel();
    put(context, Sent { shard, encoded, told, permit });
    heard(context, hear).await
}

/// What became of it.
async fn heard(
    context: &Context,
    hear: oneshot::Receiver<Result<B256, RpcError>>,
) -> Result<B256, RpcError> {
    hear.await.unwrap_or_else(|_| {
        Err(match context.is_stopping() {
            true => RpcError::stopping(),
            false => panicked(),
        })
    })
}

/// Puts it in line, and sees to it that somebody comes for it.
fn put(context: &Arc<Context>, sent: Sent) {
    let sends = &context.sends;
    let mut line = sends.line();
    line.sent.push_back(sent);
    if line.jobs < sends.workers {
        line.jobs += 1;
        drop(line);
        Job { context: context.clone(), counts: true }.submit();
    }
}

/// A job that takes from the line until there is nothing in it.
struct Job {
    context: Arc<Context>,
    /// Whether the line counts it.
    counts: bool,
}

impl Job {
    fn submit(self) {
        let queries = self.context.queries.clone();
        // Workers that have stopped drop it: see there.
        let _ = queries.submit(move |_| self.run());
    }

    fn run(mut self) {
        let group = self.context.sends.take();
        let _ = catch(|| accept(&self.context, group));
        let mut line = self.context.sends.line();
        if line.sent.is_empty() {
            // Under the same lock: whoever comes next starts another.
            line.jobs -= 1;
            self.counts = false;
            return drop(line);
        }
        drop(line);
        self.submit();
    }
}

impl Drop for Job {
    /// If it still counts it was not run to its end: there are no workers any more, and nobody else
    /// would tell those in line.
    fn drop(&mut self) {
        if self.counts {
            let mut line = self.context.sends.line();
            line.jobs -= 1;
            let left = mem::take(&mut line.sent);
            drop(line);
            drop(left);
        }
    }
}

/// Reads them, finds out who sent them, and puts them into the pools.
fn accept(context: &Context, group: Vec<Sent>) {
    let mut read = Vec::with_capacity(group.len());
    // Given back together, when the transactions are not in line any more but in pools.
    let mut permits: Option<OwnedSemaphorePermit> = None;
    for Sent { shard, encoded, told, permit } in group {
        match &mut permits {
            Some(permits) => permits.merge(permit),
            None => permits = Some(permit),
        }
        match catch(|| read_one(context, shard, encoded)).unwrap_or_else(|| Err(panicked())) {
            Ok((shard, unrecovered)) => read.push(Read { shard, unrecovered, told }),
            Err(why) => drop(told.send(Err(why))),
        }
    }
    accept_read(context, read);
}

/// Finds out who sent them, and puts them into the pools.
fn accept_read(context: &Context, mut read: Vec<Read>) {
    let _ = catch(|| recover_together(read.iter_mut().map(|one| &mut one.unrecovered)));
    let mut all = Vec::with_capacity(read.len());
    for Read { shard, unrecovered, told } in read {
        match catch(|| recover(unrecovered)).unwrap_or_else(|| Err(panicked())) {
            Ok(transaction) => all.push(Known { shard, transaction, told }),
            Err(why) => drop(told.send(Err(why))),
        }
    }
    enter(context, all);
}

/// Puts them into the pools, those of each shard together.
fn enter(context: &Context, all: Vec<Known>) {
    let mut by_shard: Vec<(Address, Vec<_>)> = Vec::new();
    for Known { shard, transaction, told } in all {
        let tell = move |result: Result<B256, SubmitError>| {
            let _ = told.send(result.map_err(|why| refused(why, shard)));
        };
        match by_shard.iter_mut().find(|(address, _)| *address == shard) {
            Some((_, all)) => all.push((transaction, tell)),
            None => by_shard.push((shard, vec![(transaction, tell)])),
        }
    }
    for (shard, all) in by_shard {
        let _ = catch(|| context.shards.accept_all(shard, all));
    }
}

/// Runs what may panic: the others of its group are not to suffer. The panic's words are in the log.
fn catch<R>(run: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

fn panicked() -> RpcError {
    RpcError::internal(&"a worker has panicked")
}

/// Reads a transaction, and finds out where it is to go.
fn read_one(
    context: &Context,
    shard: Option<Address>,
    encoded: Bytes,
) -> Result<(Address, Unrecovered), RpcError> {
    let unrecovered = decode(context, encoded)?;
    match (shard, unrecovered.envelope().kind()) {
        (Some(shard), _) | (None, TxKind::Call(shard)) => Ok((shard, unrecovered)),
        (None, TxKind::Create) => Err(RpcError::invalid(
            "a contract creation has no recipient that names its shard: send it to \
             /shard/<address>, or with shard_sendRawTransaction and the address first",
        )),
    }
}

fn recover(unrecovered: Unrecovered) -> Result<SharedTransaction, RpcError> {
    Ok(unrecovered.recover().map_err(malformed)?.into())
}

fn malformed(why: Malformed) -> RpcError {
    RpcError::server(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_at_least_and_what_can_be_recovered_soon_at_most() {
        let group = |permits: &[usize]| super::group(permits.iter().copied());
        assert_eq!(group(&[]), 0);
        assert_eq!(group(&[129]), 1);
        assert_eq!(group(&[129, 1]), 1);
        assert_eq!(group(&[1, 129, 1]), 1);
        assert_eq!(group(&[GROUP_MAX - 1, 1, 1]), 2);
        assert_eq!(group(&[1; 100]), GROUP_MAX);
    }
}
