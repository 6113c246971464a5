//! Where entries wait, and in which order they leave.
//!
//! Under [`Placement::Any`](crate::Placement) there is one shared queue; under the others each
//! worker has an inbox. Either is a [`Queue`] in the discipline's order. Under
//! [`Discipline::Stealing`] each worker has a deque besides, from which the others may steal.
//!
//! There, without inboxes, a strand that yields goes to a *back line* of its worker, so that its
//! memory stays with one core. Such an entry knows how many had arrived at the global queue
//! before it, so a worker serves the two in one order of arrival (see [`crate::worker`]).

pub(crate) mod deque;
pub(crate) mod feedback;
mod heap;
pub(crate) mod line;
pub(crate) mod priority;

use std::{sync::Arc, time::Duration};

use crossbeam_utils::CachePadded;

use crate::{
    attributes::Rank,
    entry::Entry,
    queue::{
        deque::Stealer,
        feedback::{Epoch, FeedbackQueue},
        line::Line,
        priority::PriorityQueue,
    },
};

/// The order in which queued strands and jobs get their turns.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use kernel::{Discipline, Runtime};
///
/// let runtime = Runtime::builder().workers(1).discipline(Discipline::Fifo).build()?;
/// let order = Arc::new(Mutex::new(Vec::new()));
/// for i in 0..3 {
///     let order = order.clone();
///     runtime.submit(move |_| order.lock().unwrap().push(i))?;
/// }
/// runtime.shutdown();
/// assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Discipline {
    /// One strict order of arrival, over all workers. The shards' discipline.
    Fifo,

    /// Each worker serves its own deque, newest first; then the global queue and those who have
    /// yielded on this worker, oldest first, in batches of up to 16; then it steals half of a
    /// random other worker's deque, from the far end. Who has used up a quantum waits behind those who have not, within limits that the
    /// crate's documentation states. The fastest, and the default.
    ///
    /// ```
    /// use kernel::{Discipline, Runtime};
    ///
    /// let runtime = Runtime::builder().workers(2).discipline(Discipline::Stealing).build()?;
    /// // What a turn submits stays on its worker, unless another is idle and steals it.
    /// runtime.submit(|turn| {
    ///     for _ in 0..8 {
    ///         turn.submit(|_| {});
    ///     }
    /// })?;
    /// runtime.shutdown();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[default]
    Stealing,

    /// The highest key first, ties in order of arrival, where the key is the priority minus
    /// `ageing` times the number of arrivals before it. A rate of 0 is strict; with a positive
    /// one nobody starves.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex, mpsc};
    /// use kernel::{Attributes, Discipline, Runtime};
    ///
    /// let runtime =
    ///     Runtime::builder().workers(1).discipline(Discipline::Priority { ageing: 0.0 }).build()?;
    /// let order = Arc::new(Mutex::new(Vec::new()));
    /// let (go, wait) = mpsc::channel::<()>();
    /// runtime.submit(move |_| wait.recv().unwrap())?; // keeps the one worker busy meanwhile
    /// for priority in [1.0, 3.0, 2.0] {
    ///     let order = order.clone();
    ///     runtime.submit_with(Attributes { priority, ..Attributes::default() }, move |_| {
    ///         order.lock().unwrap().push(priority);
    ///     })?;
    /// }
    /// go.send(())?;
    /// runtime.shutdown();
    /// assert_eq!(*order.lock().unwrap(), [3.0, 2.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Priority {
        /// How much of its priority an entry has lost per earlier arrival.
        ageing: f64,
    },

    /// Several levels, the top one served first. A strand that uses up its slice sinks one
    /// level, one that pauses early rises; a periodic boost lifts all to the top.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kernel::{Discipline, Runtime, Step};
    ///
    /// let feedback = Discipline::Feedback { levels: 3, slice: Duration::from_millis(1) };
    /// let runtime = Runtime::builder().discipline(feedback).build()?;
    /// let mut left = 10_000;
    /// let (_, mut long) = runtime.strand().start(move |turn| {
    ///     while left > 0 && !turn.expired() {
    ///         left -= 1;
    ///     }
    ///     if left == 0 { Step::End("done") } else { Step::Yield }
    /// })?;
    /// assert_eq!(long.join()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Feedback {
        /// How many levels there are: from 1 to [`LEVELS_MAX`](crate::LEVELS_MAX).
        levels: usize,
        /// The quantum of a turn; who uses it up sinks.
        slice: Duration,
    },
}

/// Used blocks of 4 KiB that a line keeps: the one that everyone pushes to, and each other.
const SPARE_MANY: usize = 1024;
const SPARE_FEW: usize = 16;

/// A queue in the order of a discipline.
#[allow(clippy::large_enum_variant, reason = "there are few, and the largest is the usual one")]
pub(crate) enum Queue {
    Fifo(Line<Entry>),
    Priority(PriorityQueue),
    Feedback(FeedbackQueue),
}

impl Queue {
    fn new(discipline: Discipline, spare_max: usize, epoch: &Arc<Epoch>) -> Queue {
        match discipline {
            Discipline::Fifo | Discipline::Stealing => Queue::Fifo(Line::new(spare_max)),
            Discipline::Priority { ageing } => Queue::Priority(PriorityQueue::new(ageing)),
            Discipline::Feedback { levels, .. } => {
                Queue::Feedback(FeedbackQueue::new(levels, epoch.clone()))
            }
        }
    }

    #[inline]
    pub(crate) fn push(&self, entry: Entry, rank: &Rank) {
        match self {
            Queue::Fifo(queue) => queue.push(entry),
            Queue::Priority(queue) => queue.push(entry, rank.priority),
            Queue::Feedback(queue) => queue.push(entry, rank.level),
        }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<Entry> {
        match self {
            Queue::Fifo(queue) => queue.pop(),
            Queue::Priority(queue) => queue.pop(),
            Queue::Feedback(queue) => queue.pop(),
        }
    }

    /// Takes the next entry, also one that is just being placed: nothing is left behind.
    fn pop_surely(&self) -> Option<Entry> {
        match self {
            Queue::Fifo(queue) => queue.pop_surely(),
            Queue::Priority(_) | Queue::Feedback(_) => self.pop(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Queue::Fifo(queue) => queue.len(),
            Queue::Priority(queue) => queue.len(),
            Queue::Feedback(queue) => queue.len(),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Queue::Fifo(queue) => queue.is_empty(),
            Queue::Priority(queue) => queue.len() == 0,
            Queue::Feedback(queue) => queue.len() == 0,
        }
    }
}

/// All the queues of a runtime.
pub(crate) struct Queues {
    /// The one shared queue, and the back of the line under `Stealing`.
    pub(crate) global: CachePadded<Queue>,
    /// Under `Stealing`, those who have used up a quantum (see [`crate::worker`]).
    pub(crate) spent: Option<CachePadded<Queue>>,
    /// One per worker under `Stealing`, if the placement is `Any`: those who have yielded there.
    pub(crate) backs: Vec<CachePadded<Line<Entry>>>,
    /// One per worker, unless the placement is `Any`.
    pub(crate) inboxes: Vec<CachePadded<Queue>>,
    /// One per worker under `Stealing`.
    pub(crate) stealers: Vec<Stealer<Entry>>,
}

impl Queues {
    pub(crate) fn new(
        discipline: Discipline,
        inboxes: usize,
        stealers: Vec<Stealer<Entry>>,
    ) -> Queues {
        let backs = if inboxes == 0 { stealers.len() } else { 0 };
        let epoch = Arc::default();
        let queue = |spare_max| CachePadded::new(Queue::new(discipline, spare_max, &epoch));
        Queues {
            backs: (0..backs).map(|_| CachePadded::new(Line::new(SPARE_FEW))).collect(),
            global: queue(SPARE_MANY),
            spent: (discipline == Discipline::Stealing).then(|| queue(SPARE_FEW)),
            inboxes: (0..inboxes).map(|_| queue(SPARE_FEW)).collect(),
            stealers,
        }
    }

    /// Whether nothing waits anywhere. Exact for whoever fences before.
    pub(crate) fn all_empty(&self) -> bool {
        self.all_but_deques_empty() && self.stealers.iter().all(Stealer::is_empty)
    }

    /// The same without the workers' own deques.
    pub(crate) fn all_but_deques_empty(&self) -> bool {
        self.lines_are_empty()
            && self.spent.as_ref().is_none_or(|spent| spent.is_empty())
            && self.inboxes.iter().all(|inbox| inbox.is_empty())
    }

    /// Whether nobody waits in the global queue and the back lines.
    pub(crate) fn lines_are_empty(&self) -> bool {
        self.global.is_empty() && self.backs.iter().all(|back| back.is_empty())
    }

    /// Whether somebody who has not used up a quantum waits for this worker: in a line, or on the
    /// worker's own deque, where it may have taken a part of the line.
    pub(crate) fn somebody_waits_for(&self, worker: usize) -> bool {
        !self.lines_are_empty() || self.stealers.get(worker).is_some_and(|own| !own.is_empty())
    }

    /// How many entries wait.
    pub(crate) fn len(&self) -> usize {
        self.global.len()
            + self.backs.iter().map(|back| back.len()).sum::<usize>()
            + self.spent.as_ref().map_or(0, |spent| spent.len())
            + self.inboxes.iter().map(|inbox| inbox.len()).sum::<usize>()
            + self.stealers.iter().map(Stealer::len).sum::<usize>()
    }

    /// Takes any entry from anywhere: for emptying the queues of a runtime that has stopped.
    pub(crate) fn take_any(&self) -> Option<Entry> {
        self.global
            .pop_surely()
            .or_else(|| self.backs.iter().find_map(|back| back.pop_surely()))
            .or_else(|| self.spent.as_ref()?.pop_surely())
            .or_else(|| self.inboxes.iter().find_map(|inbox| inbox.pop_surely()))
            .or_else(|| self.stealers.iter().find_map(Stealer::steal))
    }
}
