//! When a job was ready, started and ended: of each job, or of one in so many.
//!
//! Reading the clock costs as much as running a small job. So of large batches one job in
//! [`STRIDE`] is timed, unless the batch asks for all.

use std::time::Duration;

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Of a batch with fewer jobs each is timed.
pub const EXACT_MAX: usize = 128;

/// Of a larger one, one in so many.
const STRIDE: usize = 64;

pub(crate) struct Times {
    /// An index is timed if these bits of it are 0.
    mask: u32,
    submitted: u64,
    stamps: Box<[Stamps]>,
}

#[derive(Default)]
pub(crate) struct Stamps {
    ready: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    worked: AtomicU64,
}

/// When things happened to a job, counted from the start of the pool's runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// When it was submitted.
    pub created: Duration,
    /// When the last of its predecessors had ended.
    pub ready: Option<Duration>,
    /// When it started.
    pub started: Option<Duration>,
    /// When it ended.
    pub ended: Option<Duration>,
    /// How long its turns have taken so far.
    pub execution: Duration,
}

impl Timings {
    /// How long it waited for a worker.
    pub fn waiting(&self) -> Option<Duration> {
        Some(self.started?.saturating_sub(self.ready?))
    }
}

impl Times {
    pub(crate) fn new(jobs: usize, all: bool, submitted: u64) -> Times {
        let stride = if all || jobs < EXACT_MAX { 1 } else { STRIDE };
        let stamps = (0..jobs.div_ceil(stride)).map(|_| Stamps::default()).collect();
        Times { mask: stride as u32 - 1, submitted, stamps }
    }

    /// How many jobs one that is timed stands for.
    pub(crate) fn weight(&self) -> u64 {
        u64::from(self.mask) + 1
    }

    #[inline(always)]
    pub(crate) fn of(&self, index: u32) -> Option<&Stamps> {
        if index & self.mask == 0 { self.timed(index) } else { None }
    }

    #[cold]
    fn timed(&self, index: u32) -> Option<&Stamps> {
        self.stamps.get((index / (self.mask + 1)) as usize)
    }

    pub(crate) fn read(&self, index: u32) -> Option<Timings> {
        let stamps = self.of(index)?;
        Some(Timings {
            created: Duration::from_nanos(self.submitted),
            ready: at(&stamps.ready),
            started: at(&stamps.started),
            ended: at(&stamps.ended),
            execution: Duration::from_nanos(stamps.worked.load(Relaxed)),
        })
    }
}

/// When the stamped moment was, if it has come.
fn at(stamp: &AtomicU64) -> Option<Duration> {
    Some(stamp.load(Relaxed)).filter(|at| *at > 0).map(Duration::from_nanos)
}

/// Of a job that was submitted alone: it was ready then, and takes one turn.
pub(crate) struct Moments {
    submitted: u64,
    started: AtomicU64,
    ended: AtomicU64,
}

impl Moments {
    #[inline]
    pub(crate) fn new(submitted: u64) -> Moments {
        Moments { submitted, started: AtomicU64::new(0), ended: AtomicU64::new(0) }
    }

    pub(crate) fn read(&self) -> Timings {
        let (started, ended) = (at(&self.started), at(&self.ended));
        Timings {
            created: Duration::from_nanos(self.submitted),
            ready: Some(Duration::from_nanos(self.submitted.max(1))),
            started,
            ended,
            execution: ended.zip(started).map_or(Duration::ZERO, |(e, s)| e.saturating_sub(s)),
        }
    }
}

/// Where the times of a job are noted.
#[derive(Clone, Copy)]
pub(crate) enum Noted<'a> {
    Stamps(&'a Stamps),
    Moments(&'a Moments),
}

impl Noted<'_> {
    #[inline]
    pub(crate) fn ready(self, now: u64) {
        if let Noted::Stamps(stamps) = self {
            stamps.ready(now);
        }
    }

    /// A turn starts; at the first, tells how long it had waited.
    pub(crate) fn started(self, now: u64, waited: impl FnOnce(u64)) {
        match self {
            Noted::Stamps(stamps) => stamps.started(now, waited),
            Noted::Moments(moments) => {
                moments.started.store(now.max(1), Relaxed);
                waited(now.saturating_sub(moments.submitted));
            }
        }
    }

    /// A turn took so long. Returns what all of them took.
    pub(crate) fn worked(self, took: u64) -> u64 {
        match self {
            Noted::Stamps(stamps) => stamps.worked(took),
            Noted::Moments(_) => took,
        }
    }

    pub(crate) fn ended(self, now: u64) {
        match self {
            Noted::Stamps(stamps) => stamps.ended(now),
            Noted::Moments(moments) => moments.ended.store(now.max(1), Relaxed),
        }
    }
}

impl Stamps {
    /// 0 says that it has not happened, so the very first moment counts as the one after it.
    pub(crate) fn ready(&self, now: u64) {
        self.ready.store(now.max(1), Relaxed);
    }

    /// A turn starts; at the first, tells how long it had waited.
    fn started(&self, now: u64, waited: impl FnOnce(u64)) {
        if self.started.load(Relaxed) == 0 {
            self.started.store(now.max(1), Relaxed);
            waited(now.saturating_sub(self.ready.load(Relaxed)));
        }
    }

    /// A turn took so long. Returns what all of them took.
    fn worked(&self, took: u64) -> u64 {
        let sum = self.worked.load(Relaxed).saturating_add(took);
        self.worked.store(sum, Relaxed);
        sum
    }

    fn ended(&self, now: u64) {
        self.ended.store(now.max(1), Relaxed);
    }
}
