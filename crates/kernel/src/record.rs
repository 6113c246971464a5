//! What happened, in order: a bounded log of events per worker.
//!
//! Off, a place that could record costs one relaxed load. On, each worker writes to a ring of its
//! own (the last one is for threads that are not workers) under a lock that nobody else wants but
//! a reader. A full ring overwrites its oldest events and counts them.

use std::{collections::VecDeque, fmt, time::Duration};

use crate::{
    attributes::WorkerId,
    strand::StrandId,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    world::Nanos,
};

/// What happened to a strand, a job or a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// A strand was made.
    Spawn,
    /// A strand was woken and queued, or a job was queued.
    Wake,
    /// A turn began.
    Run,
    /// A turn ended; the strand waits for a wake.
    Pause,
    /// A turn ended; the strand goes to the back of the line.
    Yield,
    /// The last turn ended, or a job's only one.
    End,
    /// The worker took an entry from another's deque or inbox.
    Steal,
    /// The worker parked.
    Park,
    /// The worker was unparked.
    Unpark,
    /// The strand's turn goes on with the next strand, on the same worker.
    HandOff,
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EventKind::Spawn => "spawn",
            EventKind::Wake => "wake",
            EventKind::Run => "run",
            EventKind::Pause => "pause",
            EventKind::Yield => "yield",
            EventKind::End => "end",
            EventKind::Steal => "steal",
            EventKind::Park => "park",
            EventKind::Unpark => "unpark",
            EventKind::HandOff => "hand-off",
        })
    }
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Since the runtime started.
    pub at: Duration,
    /// Where; `None` for a thread that is not a worker.
    pub worker: Option<WorkerId>,
    /// What.
    pub kind: EventKind,
    /// Which strand; `None` for a job, or where no strand is concerned.
    pub strand: Option<StrandId>,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12} ns  ", self.at.as_nanos())?;
        match self.worker {
            Some(worker) => write!(f, "{worker}")?,
            None => f.write_str("outside ")?,
        }
        write!(f, "  {}", self.kind)?;
        match self.strand {
            Some(strand) => write!(f, " {strand}"),
            None => Ok(()),
        }
    }
}

/// The events of a runtime, in order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// How many older ones no longer fitted.
    pub dropped: u64,
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dropped > 0 {
            writeln!(f, "({} earlier events no longer fitted)", self.dropped)?;
        }
        for event in &self.events {
            writeln!(f, "{event}")?;
        }
        Ok(())
    }
}

pub(crate) struct Recorder {
    on: AtomicBool,
    capacity: AtomicUsize,
    /// Numbers events over all rings, so that those of the same moment are told apart.
    numbers: AtomicU64,
    rings: Vec<Mutex<Ring>>,
}

#[derive(Default)]
struct Ring {
    events: VecDeque<(u64, Event)>,
    dropped: u64,
}

/// Events kept per worker when nothing else is said.
pub(crate) const EVENTS_DEFAULT: usize = 65_536;

impl Recorder {
    pub(crate) fn new(workers: usize, capacity: Option<usize>) -> Recorder {
        Recorder {
            on: AtomicBool::new(capacity.is_some()),
            capacity: AtomicUsize::new(capacity.unwrap_or(EVENTS_DEFAULT)),
            numbers: AtomicU64::new(0),
            rings: (0..=workers).map(|_| Mutex::new(Ring::default())).collect(),
        }
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    pub(crate) fn switch(&self, on: bool) {
        self.on.store(on, Relaxed);
    }

    /// Writes an event of `worker`, or of a thread that is none.
    #[cold]
    pub(crate) fn write(
        &self,
        at: Nanos,
        worker: Option<usize>,
        kind: EventKind,
        strand: Option<StrandId>,
    ) {
        let event =
            Event { at: Duration::from_nanos(at), worker: worker.map(WorkerId), kind, strand };
        let mut ring = self.rings[worker.unwrap_or(self.rings.len() - 1)].lock();
        if ring.events.len() >= self.capacity.load(Relaxed) {
            ring.events.pop_front();
            ring.dropped += 1;
        }
        ring.events.push_back((self.numbers.fetch_add(1, Relaxed), event));
    }

    pub(crate) fn read(&self) -> Recording {
        let mut all = Vec::new();
        let mut dropped = 0;
        for ring in &self.rings {
            let ring = ring.lock();
            dropped += ring.dropped;
            all.extend(ring.events.iter().copied());
        }
        all.sort_by_key(|(number, event)| (event.at, *number));
        Recording { events: all.into_iter().map(|(_, event)| event).collect(), dropped }
    }
}
