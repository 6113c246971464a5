//! When a job was ready, started and ended: of each job, or of one in so many.
//!
//! Reading the clock costs as much as running a small job. So of large batches one job in
//! [`STRIDE`] is timed, unless the batch asks for all. While those that were timed are [`LONG`] on
//! average, every job of the batch is: the clock is cheap beside it, and who executed what is known
//! exactly, where a few samples could be all on one worker.

use std::time::Duration;

use kernel::Share;

use crate::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed,
};

/// Of a batch with fewer jobs each is timed.
pub const EXACT_MAX: usize = 128;

/// Of a larger one, one in so many.
const STRIDE: usize = 64;

/// From so many nanoseconds on, the clock and the longer way to it cost next to nothing beside the job.
const LONG: i64 = 100_000;

/// What is remembered of earlier jobs: some ten short ones outweigh any that was long by accident.
const REMEMBERED: i64 = 10 * LONG;

/// Up to so many nanoseconds, another worker takes as long to fetch a job as to run it.
const TINY: i64 = 250;

/// What is remembered of earlier jobs here: a few.
const TINY_REMEMBERED: i64 = 4 * TINY;

const EAGER: u8 = 0;
const USUAL: u8 = 1;
const KEPT: u8 = 2;

pub(crate) struct Times {
    /// An index is timed if these bits of it are 0.
    mask: AtomicU32,
    /// Of so many jobs one has stamps.
    stride: u32,
    /// By how much those that were timed were longer than [`LONG`], together. Workers that end jobs at
    /// the same time may miss each other's: it is a guess.
    excess: AtomicI64,
    /// By how much they were shorter than [`TINY`], as far as that is remembered.
    lack: AtomicI64,
    /// What one of them took at least.
    least: AtomicU64,
    /// Whether they are not shared if they are tiny.
    apart: AtomicBool,
    /// What follows from it.
    share: AtomicU8,
    jobs: u32,
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
    /// When the last of its predecessors had ended; in a batch that runs
    /// [by levels](crate::Batch::by_levels), when its level began.
    pub ready: Option<Duration>,
    /// When it started.
    pub started: Option<Duration>,
    /// When the last of its turns ended. `None` also of a job that was not run, or was cancelled between
    /// its turns.
    pub ended: Option<Duration>,
    /// How long its turns have taken so far, without what others took that ran inside of them.
    pub execution: Duration,
}

impl Timings {
    /// How long it waited for a worker.
    pub fn waiting(&self) -> Option<Duration> {
        Some(self.started?.saturating_sub(self.ready?))
    }
}

impl Times {
    /// If tiny jobs are kept `apart`, they pass for tiny until they are seen not to be.
    pub(crate) fn new(jobs: usize, all: bool, submitted: u64, apart: bool) -> Times {
        let stride = if all || jobs < EXACT_MAX { 1 } else { STRIDE };
        let stamps = (0..jobs.div_ceil(stride)).map(|_| Stamps::default()).collect();
        let stride = stride as u32;
        let mask = AtomicU32::new(stride - 1);
        let (excess, lack) = (AtomicI64::new(0), AtomicI64::new(apart.into()));
        let share = AtomicU8::new(if apart { KEPT } else { EAGER });
        let (least, apart) = (AtomicU64::new(u64::MAX), AtomicBool::new(apart));
        Times {
            mask,
            stride,
            excess,
            lack,
            least,
            apart,
            share,
            jobs: jobs as u32,
            submitted,
            stamps,
        }
    }

    pub(crate) fn submitted(&self) -> u64 {
        self.submitted
    }

    /// How many jobs one that has stamps stands for: those up to the next one, or to the end.
    pub(crate) fn weight(&self, index: u32) -> u64 {
        u64::from(self.stride.min(self.jobs - index))
    }

    /// A turn of a job that is timed took so long, and those before it were `pace` apart, if that is known.
    /// Returns for how many jobs that counts: for itself alone while every one is timed.
    pub(crate) fn weight_after(&self, index: u32, nanos: u64, pace: Option<u64>) -> u64 {
        if self.stride == 1 {
            return 1;
        }
        if nanos < self.least.load(Relaxed) {
            self.least.store(nanos, Relaxed);
        }
        // The one that is timed is often the first to touch a line of the cache.
        let pace = i64::try_from(pace.map_or(nanos, |pace| pace.min(nanos))).unwrap_or(i64::MAX);
        let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
        let was = self.excess.load(Relaxed);
        let excess = was.saturating_add(nanos - LONG).clamp(-REMEMBERED, REMEMBERED);
        let all = excess >= 0;
        let mask = if all { 0 } else { self.stride - 1 };
        // All workers read what lies here for each job, so it is not written without need: after some
        // ten jobs of a kind nothing changes any more.
        if excess != was {
            self.excess.store(excess, Relaxed);
        }
        if mask != self.mask.load(Relaxed) {
            self.mask.store(mask, Relaxed);
        }
        let was = self.lack.load(Relaxed);
        let lack = (was + TINY - pace.min(2 * TINY)).clamp(-TINY_REMEMBERED, TINY_REMEMBERED);
        if lack != was {
            self.lack.store(lack, Relaxed);
            self.settle();
        }
        if all || !index.is_multiple_of(self.stride) { 1 } else { self.weight(index) }
    }

    pub(crate) fn keep_apart(&self) {
        self.apart.store(true, Relaxed);
        self.settle();
    }

    /// Whom a worker's deque is for while it runs jobs of the batch.
    #[inline(always)]
    pub(crate) fn share(&self) -> Share {
        match self.share.load(Relaxed) {
            EAGER => Share::Eager,
            KEPT => Share::Kept,
            _ => Share::Usual,
        }
    }

    /// What is known of its jobs has changed.
    fn settle(&self) {
        let share = match (self.are_tiny(), self.apart.load(Relaxed)) {
            (false, _) => EAGER,
            (true, true) => KEPT,
            (true, false) => USUAL,
        };
        if share != self.share.load(Relaxed) {
            self.share.store(share, Relaxed);
        }
    }

    pub(crate) fn least_if_shared(&self) -> Option<u64> {
        let shared = !self.apart.load(Relaxed) && self.are_tiny();
        shared.then(|| self.least.load(Relaxed))
    }

    /// Whether its jobs are so short that it does not pay to share a few of them.
    #[inline(always)]
    pub(crate) fn are_tiny(&self) -> bool {
        self.lack.load(Relaxed) > 0
    }

    /// Whether the clock is read for a job.
    #[inline(always)]
    pub(crate) fn is_timed(&self, index: u32) -> bool {
        index & self.mask.load(Relaxed) == 0
    }

    /// Where the times of a job are kept, for those who ask about it.
    #[inline(always)]
    pub(crate) fn of(&self, index: u32) -> Option<&Stamps> {
        if self.is_timed(index) { self.stamps(index) } else { None }
    }

    #[cold]
    fn stamps(&self, index: u32) -> Option<&Stamps> {
        if !index.is_multiple_of(self.stride) {
            return None;
        }
        self.stamps.get((index / self.stride) as usize)
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

    /// If others ran `inside` of its turn for so long.
    pub(crate) fn read(&self, inside: u64) -> Timings {
        let (started, ended) = (at(&self.started), at(&self.ended));
        let turn = ended.zip(started).map_or(Duration::ZERO, |(e, s)| e.saturating_sub(s));
        Timings {
            created: Duration::from_nanos(self.submitted),
            ready: Some(Duration::from_nanos(self.submitted.max(1))),
            started,
            ended,
            execution: turn.saturating_sub(Duration::from_nanos(inside)),
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_sample_stands_for_those_that_are_left() {
        let times = Times::new(130, false, 0, false);
        assert_eq!([0, 64, 128].map(|index| times.weight_after(index, 100, None)), [64, 64, 2]);
        let exact = Times::new(EXACT_MAX - 1, false, 0, false);
        assert_eq!([0, 1, 64].map(|index| exact.weight_after(index, 100, None)), [1; 3]);
    }

    #[test]
    fn all_are_timed_while_they_are_long_and_a_sample_when_they_are_short_again() {
        let times = Times::new(6_400, false, 0, false);
        assert!(times.is_timed(64) && !times.is_timed(65));
        assert_eq!(times.weight_after(0, 2 * LONG as u64, None), 1);
        assert!(times.is_timed(1));
        assert!(times.of(1).is_none(), "for the metrics only");
        assert_eq!(times.weight_after(1, 2 * LONG as u64, None), 1);
        let short = (2..).find(|index| {
            times.weight_after(*index, 100, None);
            !times.is_timed(1)
        });
        assert_eq!(short, Some(4), "what they were too long is made up for");
    }

    #[test]
    fn jobs_are_tiny_once_some_were_and_one_that_is_long_by_accident_is_soon_forgotten() {
        let times = Times::new(6_400, false, 0, false);
        assert!(!times.are_tiny(), "nothing is known");
        let after = |nanos: &[u64]| {
            for nanos in nanos {
                times.weight_after(0, *nanos, None);
            }
            times.are_tiny()
        };
        assert!(after(&[40]));
        assert!(after(&[40; 10]));
        assert!(after(&[u64::MAX]));
        assert!(!after(&[1_000; 10]));
        assert!(after(&[40; 10]));
    }

    /// As when a worker loses its processor in the middle of a short job.
    #[test]
    fn one_that_is_long_by_accident_is_soon_forgotten() {
        let times = Times::new(6_400, false, 0, false);
        assert_eq!(times.weight_after(0, u64::MAX, None), 1);
        let timed = (1..6_400).take_while(|index| times.is_timed(*index)).inspect(|index| {
            times.weight_after(*index, 100, None);
        });
        assert_eq!(timed.count(), 11);
        for index in (128..6_400).step_by(64) {
            times.weight_after(index, 100, None);
        }
        // Among many that were short it changes nothing.
        assert_eq!(times.weight_after(64, 9 * LONG as u64, None), 64);
        assert!(!times.is_timed(65));
    }
}
