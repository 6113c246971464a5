//! What comes alone: its sender is recovered where it was read.
//!
//! To hand one transaction to a worker takes a wake and two switches between threads, and there is
//! nothing to share them with. So the thread that has read the request recovers the sender, too, and what
//! was read meanwhile by other connections is accepted together:
//!
//! 1. Whoever finds none waiting leads. It lets the others run that are ready on its thread, and then
//!    has all that wait accepted. If its request is given up meanwhile, it does so then.
//! 2. When as many wait as make a group, whoever was last has them accepted at once.

use std::{mem, sync::Arc};

use alloy_primitives::{Address, B256, Bytes};
use tokio::sync::oneshot;

use super::{Known, enter, heard, read_one, recover};
use crate::{context::Context, rpc::error::RpcError};

/// Those that are longer are for the workers.
const BYTES_MAX: usize = 1 << 10;

/// So are those that have signatures of others in them, each to be recovered (EIP-7702).
const AUTHORISING: u8 = 4;

/// So many are not made to wait for more: fewer cost more wakes and syncs, and more are mostly not
/// ready at once.
const GROUP_MAX: usize = 16;

/// Whether a transaction is recovered within microseconds.
pub(super) fn is_quick(encoded: &[u8]) -> bool {
    encoded.len() <= BYTES_MAX && encoded.first() != Some(&AUTHORISING)
}

/// Those that wait to be accepted together. If there are any, somebody leads them.
#[derive(Default)]
pub(super) struct Waiting {
    all: Vec<Known>,
    /// How many groups were there before.
    groups: u64,
}

impl Waiting {
    fn take(&mut self) -> Vec<Known> {
        self.groups += 1;
        mem::take(&mut self.all)
    }
}

pub(super) async fn send(
    context: &Arc<Context>,
    shard: Option<Address>,
    encoded: Bytes,
) -> Result<B256, RpcError> {
    let (shard, unrecovered) = read_one(context, shard, encoded)?;
    let transaction = recover(unrecovered)?;
    let (told, hear) = oneshot::channel();
    if let Some(leader) = put(context, Known { shard, transaction, told }) {
        tokio::task::yield_now().await;
        drop(leader);
    }
    heard(context, hear).await
}

/// Lets it wait with the others. Who leads them gets this to be dropped.
fn put(context: &Context, known: Known) -> Option<Leader<'_>> {
    let mut waiting = context.sends.waiting();
    waiting.all.push(known);
    if waiting.all.len() >= GROUP_MAX {
        let all = waiting.take();
        drop(waiting);
        enter(context, all);
        return None;
    }
    // Not made unless it is to be: to drop it takes the lock.
    (waiting.all.len() == 1).then(|| Leader { context, group: waiting.groups })
}

/// Has its group accepted when it is dropped, unless somebody has done so.
struct Leader<'a> {
    context: &'a Context,
    group: u64,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        let mut waiting = self.context.sends.waiting();
        if waiting.groups == self.group {
            let all = waiting.take();
            drop(waiting);
            enter(self.context, all);
        }
    }
}
