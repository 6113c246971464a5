//! When is it time to look again?
//!
//! ```text
//!   nobody ──first viewer──> a maker: look, tell, rest 100 ms, wait ──last viewer goes──> nobody
//! ```
//!
//! 1. While there is a viewer, there is a maker, and never more than one.
//! 2. The maker waits for a new block, and a second at most. While shards wait for turns or have
//!    them it waits no longer than it rests. Viewers are told when something has changed, and once in
//!    a second.
//! 3. When it ends, those who wait for it see that: what they hold is the other end of what it
//!    holds. What was kept for viewers is let go, unless there is another maker by then.

use std::{
    num::NonZeroUsize,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use shard::events::{BlockEvent, Ended, Interest, Subscription};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, watch},
    time::{Instant, sleep_until, timeout_at},
};

use super::{Dashboard, look};
use crate::context::Context;

/// Between two looks.
pub(super) const REST: Duration = Duration::from_millis(100);
/// Viewers hear something at the latest after this.
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// So many blocks are kept between two looks. They may be large.
const BLOCKS_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("not 0");

/// Who looks.
#[derive(Default)]
pub(super) struct Looking {
    viewers: usize,
    /// Where the maker tells that there is something new.
    ticks: Option<watch::Receiver<()>>,
    /// Where the maker is told to look at once.
    nudge: Arc<Notify>,
}

/// One who looks, until it is dropped.
pub(super) struct Viewer {
    context: Arc<Context>,
    ticks: watch::Receiver<()>,
    _place: OwnedSemaphorePermit,
}

impl Viewer {
    /// One more. The first one starts the maker.
    pub(super) fn new(context: &Arc<Context>, place: OwnedSemaphorePermit) -> Viewer {
        let mut looking = context.dashboard.looking();
        looking.viewers += 1;
        let running = looking.ticks.clone().filter(|ticks| ticks.has_changed().is_ok());
        let ticks = running.unwrap_or_else(|| {
            let (tell, ticks) = watch::channel(());
            tokio::spawn(make(context.clone(), tell));
            looking.ticks = Some(ticks.clone());
            ticks
        });
        looking.nudge.notify_one();
        drop(looking);
        Viewer { context: context.clone(), ticks, _place: place }
    }

    /// Waits until there is something new. `false`: there will be nothing.
    pub(super) async fn tick(&mut self) -> bool {
        self.ticks.changed().await.is_ok()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let mut looking = self.context.dashboard.looking();
        looking.viewers -= 1;
        looking.nudge.notify_one();
    }
}

impl Dashboard {
    fn looking(&self) -> MutexGuard<'_, Looking> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the maker is to go on. If not, there is none from now on.
    fn goes_on(&self) -> bool {
        let mut looking = self.looking();
        if looking.viewers == 0 {
            looking.ticks = None;
        }
        looking.viewers > 0
    }

    /// Whether there is a maker.
    fn is_looked_at(&self) -> bool {
        self.looking().ticks.as_ref().is_some_and(|ticks| ticks.has_changed().is_ok())
    }
}

/// Looks, and tells the viewers, as long as there are any.
async fn make(context: Arc<Context>, tell: watch::Sender<()>) {
    make_until_over(&context, tell).await;
    // Another maker is seen before it looks, so what it finds stays.
    look(&context, |board, context| {
        if !context.dashboard.is_looked_at() {
            board.forget();
        }
    })
    .await;
}

async fn make_until_over(context: &Arc<Context>, tell: watch::Sender<()>) {
    let nudge = context.dashboard.looking().nudge.clone();
    let mut news = News::subscribe(context);
    let begun = look(context, |board, context| {
        board.look(context, &[], true);
        board.find_blocks();
    });
    if begun.await.is_none() {
        return;
    }
    let mut told = Instant::now();
    tell.send_replace(());
    let mut lively = false;
    while context.dashboard.goes_on() {
        let looked_at = Instant::now();
        sleep_until(looked_at + REST).await;
        let late = told + SILENCE_MAX;
        let nudged = tokio::select! {
            () = nudge.notified() => true,
            waited = timeout_at(late, news.wait()), if !lively => match waited {
                Ok(Err(Ended::Closed)) => return,
                Ok(Ok(()) | Err(Ended::Lagged)) | Err(_) => false,
            },
            () = std::future::ready(()), if lively => false,
        };
        let (blocks, missed) = match news.take() {
            Ok(blocks) => (blocks, false),
            Err(Ended::Lagged) => {
                let blocks = std::mem::take(&mut news.blocks);
                news = News::subscribe(context);
                (blocks, true)
            }
            Err(Ended::Closed) => return,
        };
        let looked = look(context, move |board, context| {
            let before = board.heights();
            let looked = board.look(context, &blocks, missed);
            if missed {
                // About so many: others may have come since.
                let all = board.heights().saturating_sub(before);
                board.blocks.miss(all.saturating_sub(blocks.len() as u64));
            }
            looked
        });
        let Some(looked) = looked.await else { return };
        lively = looked.lively;
        if looked.changed || nudged || Instant::now() >= late {
            told = Instant::now();
            tell.send_replace(());
        }
    }
}

/// New blocks, as they come.
struct News {
    subscription: Subscription<BlockEvent>,
    /// Those that were taken from it and not yet looked at.
    blocks: Vec<BlockEvent>,
}

impl News {
    fn subscribe(context: &Context) -> News {
        let subscription = context.shards.subscribe(BLOCKS_MAX, Interest::default());
        News { subscription, blocks: Vec::new() }
    }

    /// Waits for the next one.
    async fn wait(&mut self) -> Result<(), Ended> {
        self.blocks.push(self.subscription.next().await?);
        Ok(())
    }

    /// All that are there.
    fn take(&mut self) -> Result<Vec<BlockEvent>, Ended> {
        while let Some(block) = self.subscription.try_next()? {
            self.blocks.push(block);
        }
        Ok(std::mem::take(&mut self.blocks))
    }
}
