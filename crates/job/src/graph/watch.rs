//! Who waits for the end of a job: a thread or a task, or a job of another batch.

use std::{
    collections::HashMap,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use crate::graph::{Core, cell::Fate};

/// The table of a batch, under its lock.
#[derive(Default)]
pub(crate) struct Watchers {
    /// By job.
    jobs: HashMap<u32, Vec<Watcher>>,
    /// For the end of the batch.
    batch: Vec<(u64, Waker)>,
    /// Why jobs that still wait for others will not run.
    fates: HashMap<u32, Fate>,
    /// What dependents are told of jobs that have failed.
    failures: HashMap<u32, Fate>,
    keys: u64,
}

pub(crate) enum Watcher {
    Waker(u64, Waker),
    /// A job of another batch, and the batch, which stays since that job has not ended.
    Dependent(Arc<Core>, u32),
}

impl Watchers {
    pub(crate) fn take_batch(&mut self) -> Vec<Waker> {
        self.batch.drain(..).map(|(_, waker)| waker).collect()
    }
}

/// Somebody's place in the table, given back when they stop waiting.
#[derive(Default, Debug)]
pub(crate) struct Place(Option<u64>);

impl Place {
    /// Whether somebody stands there.
    #[inline]
    pub(crate) fn is_taken(&self) -> bool {
        self.0.is_some()
    }
}

impl Core {
    /// Waits for the end of a job.
    pub(crate) fn poll_job(
        &self,
        index: u32,
        place: &mut Place,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        if self.word(index).is_done() {
            return Poll::Ready(());
        }
        // Cloned before the lock: it is foreign code.
        let waker = context.waker().clone();
        let mut side = self.side.open().lock();
        let watchers = &mut side.watchers;
        let key = watchers.key(place);
        let list = watchers.jobs.entry(index).or_default();
        let before = list.iter_mut().find_map(|watcher| match watcher {
            Watcher::Waker(theirs, waker) if *theirs == key => Some(waker),
            _ => None,
        });
        let old = match before {
            Some(before) => Some(std::mem::replace(before, waker)),
            None => {
                list.push(Watcher::Waker(key, waker));
                None
            }
        };
        drop(side);
        drop(old);
        if self.word(index).watch() {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Waits for the end of the batch.
    pub(crate) fn poll_batch(&self, place: &mut Place, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let mut side = self.side.open().lock();
        if self.has_ended() {
            return Poll::Ready(());
        }
        let watchers = &mut side.watchers;
        let key = watchers.key(place);
        let old = match watchers.batch.iter_mut().find(|(theirs, _)| *theirs == key) {
            Some((_, before)) => Some(std::mem::replace(before, waker)),
            None => {
                watchers.batch.push((key, waker));
                None
            }
        };
        drop(side);
        drop(old);
        Poll::Pending
    }

    /// Whoever waited has stopped waiting.
    pub(crate) fn leave(&self, index: Option<u32>, place: &mut Place) {
        let Some(key) = place.0.take() else { return };
        let mut side = self.side.open().lock();
        let watchers = &mut side.watchers;
        let left: Vec<Waker> = match index.map(|index| watchers.jobs.get_mut(&index)) {
            Some(Some(list)) => {
                let ours = |watcher: &mut Watcher| matches!(watcher, Watcher::Waker(theirs, _) if *theirs == key);
                list.extract_if(.., ours)
                    .filter_map(|watcher| match watcher {
                        Watcher::Waker(_, waker) => Some(waker),
                        Watcher::Dependent(..) => None,
                    })
                    .collect()
            }
            Some(None) => Vec::new(),
            None => {
                let ours = |(theirs, _): &mut (u64, Waker)| *theirs == key;
                watchers.batch.extract_if(.., ours).map(|(_, waker)| waker).collect()
            }
        };
        drop(side);
        drop(left);
    }

    /// A job of another batch waits for this one. False: it has ended already.
    pub(crate) fn add_dependent(&self, index: u32, dependent: Arc<Core>, its: u32) -> bool {
        let ours = Arc::as_ptr(&dependent);
        let mut side = self.side.open().lock();
        let list = side.watchers.jobs.entry(index).or_default();
        list.push(Watcher::Dependent(dependent, its));
        drop(side);
        if !self.word(index).watch() {
            return true;
        }
        // It ended meanwhile. Either that found our entry, or we take it back.
        let mut side = self.side.open().lock();
        let Some(list) = side.watchers.jobs.get_mut(&index) else { return true };
        let at = list.iter().position(|watcher| match watcher {
            Watcher::Dependent(core, at) => *at == its && Arc::as_ptr(core) == ours,
            Watcher::Waker(..) => false,
        });
        let ours = at.map(|at| list.swap_remove(at));
        drop(side);
        ours.is_none()
    }

    /// Takes those who wait for a job.
    pub(crate) fn take_watchers(&self, index: u32) -> Vec<Watcher> {
        self.side.open().lock().watchers.jobs.remove(&index).unwrap_or_default()
    }

    /// Why a job that still waits for others will not run: the first reason counts.
    pub(crate) fn set_fate(&self, index: u32, fate: Fate) {
        self.side.open().lock().watchers.fates.entry(index).or_insert(fate);
    }

    /// For whoever ends a job as failed, before it does.
    pub(crate) fn set_failure(&self, index: u32, fate: Fate) {
        self.side.open().lock().watchers.failures.insert(index, fate);
    }

    /// Where the failure of a job began; it has ended as failed.
    pub(crate) fn failure(&self, index: u32) -> Fate {
        let failure = self.side.open().lock().watchers.failures.get(&index).cloned();
        failure.expect("it was set before the job ended")
    }

    /// Why a job does not run: what was set, or it was cancelled.
    pub(crate) fn take_fate(&self, index: u32) -> Fate {
        self.side.open().lock().watchers.fates.remove(&index).unwrap_or(Fate::Cancelled)
    }
}

impl Watchers {
    fn key(&mut self, place: &mut Place) -> u64 {
        *place.0.get_or_insert_with(|| {
            self.keys += 1;
            self.keys
        })
    }
}
