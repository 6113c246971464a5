//! What jobs, batches and classes are called.

use std::fmt;

/// The bit that tells a number of ours from one that the user has chosen.
const OURS: u64 = 1 << 63;

/// The bits of the index in one of ours; the rest number the batches.
const INDEX_BITS: u32 = 24;

/// So many jobs a batch can have.
pub const BATCH_MAX: usize = 1 << INDEX_BITS;

/// Names a job of a pool, for errors, events and dependencies.
///
/// A job that is given no id gets one of the pool's own, never reused: `#3.17` is the job with the
/// index 17 of the third batch. (In the error of a batch that was refused, the batch is 0.) Whoever
/// wants to name a job before, or long after it was submitted, chooses an id:
///
/// ```
/// use job::{Batch, Job, JobId, Pool};
///
/// let pool = Pool::new()?;
/// let mut batch = Batch::new();
/// batch.add(Job::new(|_| println!("compiled")).id(JobId::new(7)));
/// batch.add(Job::new(|_| println!("linked")).after_id(JobId::new(7)));
/// pool.submit_batch(batch)?.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(u64);

impl JobId {
    /// An id of your own choice, below 2⁶³.
    ///
    /// # Panics
    /// If it is not below 2⁶³: the upper half is for ids that a pool gives.
    pub fn new(number: u64) -> JobId {
        assert!(number < OURS, "a job id must be below 2^63, and {number} is not");
        JobId(number)
    }

    /// The id that a pool gives to a job of a batch; 0 is a batch that was not submitted.
    #[inline(always)]
    pub(crate) fn ours(batch: u64, index: u32) -> JobId {
        JobId(OURS | batch << INDEX_BITS | u64::from(index))
    }

    /// A number for it that is never 0.
    #[inline(always)]
    pub(crate) fn to_raw(self) -> u64 {
        !self.0
    }

    pub(crate) fn from_raw(raw: u64) -> JobId {
        JobId(!raw)
    }

    /// Whether the user has chosen it.
    pub fn is_chosen(self) -> bool {
        self.0 & OURS == 0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_chosen() {
            return write!(f, "job {}", self.0);
        }
        let (batch, index) = ((self.0 & !OURS) >> INDEX_BITS, self.0 & ((1 << INDEX_BITS) - 1));
        write!(f, "job #{batch}.{index}")
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A kind of jobs that take about as long as each other. What they take is learnt, and used as the
/// estimate of those that come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(u32);

impl Class {
    /// The class with this number, below [`CLASSES_MAX`].
    ///
    /// # Panics
    /// If there is no such class.
    pub fn new(number: u32) -> Class {
        assert!(number < CLASSES_MAX, "a class must be below {CLASSES_MAX}, and {number} is not");
        Class(number)
    }

    /// The class's number.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// So many classes a pool can learn.
pub const CLASSES_MAX: u32 = 4096;
