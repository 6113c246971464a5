//! What is wrong, and what does the log hear of it?
//!
//! The store and all shards are looked at every second, and each change is a line: one when
//! something has gone wrong, and one when it is well again. What was mended between two looks is not
//! told. Where there are so many shards that a look takes long, there are fewer looks.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::Address;
use shard::{shard::Status, shards::OpenError};

use crate::context::Context;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// A pause is so many times as long as the look before it.
const PAUSE_TO_LOOK: u32 = 100;
/// So many shards are named after one look; the others are counted.
const NAMED_MAX: usize = 20;

/// Looks for as long as the node is there.
pub(crate) fn watch(context: &Arc<Context>) -> Result<(), OpenError> {
    let (node, clock) = (Arc::downgrade(context), context.queries.clone());
    let looks = async move {
        let mut troubles = Troubles::default();
        let mut pause = PAUSE;
        loop {
            clock.sleep(pause).await;
            let Some(context) = node.upgrade().filter(|context| !context.is_stopping()) else {
                return;
            };
            let begun = clock.now();
            troubles.look(&context).iter().for_each(News::tell);
            pause = PAUSE.max(clock.now().saturating_sub(begun) * PAUSE_TO_LOOK);
        }
    };
    context.queries.spawn(looks).map(drop).map_err(OpenError::Runtime)
}

/// What was wrong when it was last looked.
#[derive(Debug, Default)]
struct Troubles {
    store: Option<String>,
    /// Those with which something is wrong.
    shards: BTreeMap<Address, Trouble>,
}

/// What is wrong with a shard, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trouble {
    /// It executes nothing until it is released.
    Quarantined(String),
    /// It tries again by itself.
    BackingOff(String),
}

/// What has changed between two looks.
#[derive(Debug, PartialEq, Eq)]
enum News {
    StoreFailed(String),
    StoreWell,
    Shard(Address, Trouble),
    ShardWell(Address),
    /// So many more shards are not as they were.
    More(usize),
}

impl Trouble {
    fn of(status: Status) -> Option<Trouble> {
        let backing_off = status.backing_off.map(|waits| Trouble::BackingOff(waits.why));
        status.quarantine.map(Trouble::Quarantined).or(backing_off)
    }

    fn is_quarantine(&self) -> bool {
        matches!(self, Trouble::Quarantined(_))
    }
}

impl Troubles {
    /// What is not as it was at the last look.
    fn look(&mut self, context: &Context) -> Vec<News> {
        let store = context.shards.store_failure().map(|why| why.to_string());
        let wrong = |shard: shard::Shard| Some((shard.address(), Trouble::of(shard.status())?));
        let shards = context.shards.all().into_iter().filter_map(wrong).collect();
        self.replace(Troubles { store, shards })
    }

    fn replace(&mut self, now: Troubles) -> Vec<News> {
        let before = std::mem::replace(self, now);
        let store = match (&before.store, &self.store) {
            (None, Some(why)) => Some(News::StoreFailed(why.clone())),
            (Some(_), None) => Some(News::StoreWell),
            _ => None,
        };
        // Of the same trouble with other words the log has heard.
        let is_known = |address: &Address, now: &Trouble| {
            before.shards.get(address).is_some_and(|it| it.is_quarantine() == now.is_quarantine())
        };
        let worse = self.shards.iter().filter(|(address, now)| !is_known(address, now));
        let well = before.shards.keys().filter(|address| !self.shards.contains_key(*address));
        let mut shards: Vec<News> =
            worse.map(|(address, now)| News::Shard(*address, now.clone())).collect();
        // Those first that somebody has to do something about.
        shards.sort_by_key(|news| !matches!(news, News::Shard(_, Trouble::Quarantined(_))));
        shards.extend(well.map(|address| News::ShardWell(*address)));
        let more = shards.len().saturating_sub(NAMED_MAX);
        shards.truncate(NAMED_MAX);
        store.into_iter().chain(shards).chain((more > 0).then_some(News::More(more))).collect()
    }
}

impl News {
    fn tell(&self) {
        match self {
            News::StoreFailed(why) => {
                tracing::error!(%why, "the store has failed: nothing is accepted until it works");
            }
            News::StoreWell => tracing::info!("the store is open again"),
            News::Shard(shard, Trouble::Quarantined(why)) => tracing::error!(
                %shard, %why,
                "the shard is quarantined: it does nothing until admin_releaseShard or a restart"
            ),
            News::Shard(shard, Trouble::BackingOff(why)) => {
                tracing::warn!(%shard, %why, "the shard has failed, and tries again by itself");
            }
            News::ShardWell(shard) => tracing::info!(%shard, "the shard is well again"),
            News::More(count) => tracing::warn!(count, "more shards have failed or are well again"),
        }
    }
}

#[cfg(test)]
mod tests;
