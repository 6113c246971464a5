//! What comes alone: its sender is recovered on a thread that reads requests.
//!
//! To hand one transaction to a worker takes a wake and two switches between threads, and there is
//! nothing to share them with. So that is done where it was read, and what was read meanwhile by other
//! connections is accepted together:
//!
//! 1. Whoever finds none waiting leads. It lets the others run that are ready on its thread, again while
//!    that brings more, and then has all that wait accepted. Where several are recovered together and the
//!    group before was of several, it goes on until nobody has joined for [`PATIENCE`]. If its request is
//!    given up meanwhile, it has them accepted then.
//! 2. When as many wait as make a group, whoever was last has them accepted at once.
//! 3. Where several signatures take less time together, the sender is recovered by who has the group
//!    accepted: alone if nobody else has come. Otherwise each thread does it before its transaction waits, so
//!    that recoveries do not queue up on one thread while another has nothing to do.
//! 4. Whoever is taken along waits for one group at most, and that is recovered outside the lock: meanwhile
//!    others make the next group, with a leader of their own. A request that is given up leaves its
//!    transaction in the group.

use std::{mem, sync::Arc, time::Duration};

use alloy_primitives::{Address, B256, Bytes};
use shard::transaction::is_quicker_together;
use tokio::sync::oneshot;

use super::{Read, accept_read, heard, malformed, read_one};
use crate::{context::Context, rpc::error::RpcError};

/// Those that are longer are for the workers.
const BYTES_MAX: usize = 1 << 10;

/// So are those that have signatures of others in them, each to be recovered (EIP-7702).
const AUTHORISING: u8 = 4;

/// So many are not made to wait for more: fewer cost more wakes and syncs, and more are mostly not
/// ready at once. Where they are recovered side by side that takes a tenth of a millisecond; five times as
/// long where somebody made signatures that have no answer so.
const GROUP_MAX: usize = 16;

/// How long a leader waits for one more, who would cost 5 µs in its group and 26 alone: who waits so long
/// and is joined has lost nothing.
const PATIENCE: Duration = Duration::from_micros(20);

/// Whether a transaction is recovered within microseconds.
pub(super) fn is_quick(encoded: &[u8]) -> bool {
    encoded.len() <= BYTES_MAX && encoded.first() != Some(&AUTHORISING)
}

/// Those that wait to be accepted together. If there are any, somebody leads them.
#[derive(Default)]
pub(super) struct Waiting {
    all: Vec<Read>,
    /// How many groups were there before.
    groups: u64,
    /// The last group was of several: more are likely to come.
    shared: bool,
}

impl Waiting {
    fn take(&mut self) -> Vec<Read> {
        self.groups += 1;
        self.shared = self.all.len() > 1;
        mem::take(&mut self.all)
    }
}

pub(super) async fn send(
    context: &Arc<Context>,
    shard: Option<Address>,
    encoded: Bytes,
) -> Result<B256, RpcError> {
    let (shard, mut unrecovered) = read_one(context, shard, encoded)?;
    if !is_quicker_together() {
        unrecovered.find_sender().map_err(malformed)?;
    }
    let (told, hear) = oneshot::channel();
    if let Some(leader) = put(context, Read { shard, unrecovered, told }) {
        let now = || context.queries.now();
        gather(leader.patience, now, || leader.joined()).await;
        drop(leader);
    }
    heard(context, hear).await
}

/// Lets it wait with the others. Who leads them gets this to be dropped.
fn put(context: &Context, read: Read) -> Option<Leader<'_>> {
    let mut waiting = context.sends.waiting();
    waiting.all.push(read);
    if waiting.all.len() >= GROUP_MAX {
        let all = waiting.take();
        drop(waiting);
        accept_read(context, all);
        return None;
    }
    // Not made unless it is to be: to drop it takes the lock.
    (waiting.all.len() == 1).then(|| {
        let patient = waiting.shared && is_quicker_together();
        let patience = if patient { PATIENCE } else { Duration::ZERO };
        Leader { context, group: waiting.groups, patience }
    })
}

/// Lets others run, once at least, and until nobody has joined for so long or the group is gone.
async fn gather(
    patience: Duration,
    now: impl Fn() -> Duration,
    joined: impl Fn() -> Option<usize>,
) {
    let (mut last, mut were) = (now(), 1);
    loop {
        tokio::task::yield_now().await;
        let Some(are) = joined() else { return };
        let time = now();
        if are > were {
            (last, were) = (time, are);
        } else if time.saturating_sub(last) >= patience {
            return;
        }
    }
}

/// Has its group accepted when it is dropped, unless somebody has done so.
struct Leader<'a> {
    context: &'a Context,
    group: u64,
    /// How long it waits for one more.
    patience: Duration,
}

impl Leader<'_> {
    /// How many are in its group, unless somebody has had it accepted.
    fn joined(&self) -> Option<usize> {
        let waiting = self.context.sends.waiting();
        (waiting.groups == self.group).then(|| waiting.all.len())
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        let mut waiting = self.context.sends.waiting();
        if waiting.groups == self.group {
            let all = waiting.take();
            drop(waiting);
            accept_read(self.context, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How many looks a leader takes, if each takes 8 µs and finds so many.
    fn looks(patience: Duration, joined: impl Fn(u32) -> Option<usize>) -> u32 {
        let looks = Cell::new(0);
        let now = || Duration::from_micros(8) * looks.get();
        let look = || {
            looks.set(looks.get() + 1);
            joined(looks.get())
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(gather(patience, now, look));
        looks.get()
    }

    #[test]
    fn a_leader_without_patience_that_nobody_joins_looks_once() {
        assert_eq!(looks(Duration::ZERO, |_| Some(1)), 1);
    }

    #[test]
    fn a_leader_waits_as_long_after_each_that_has_joined() {
        assert_eq!(looks(PATIENCE, |_| Some(1)), 3);
        assert_eq!(looks(PATIENCE, |look| Some(if look < 3 { 1 } else { 2 })), 6);
    }

    #[test]
    fn a_leader_whose_group_was_accepted_waits_no_longer() {
        assert_eq!(looks(PATIENCE, |look| (look < 2).then_some(1)), 2);
    }
}
