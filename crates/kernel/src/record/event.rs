//! What a recording says: which events, of whom, and by which names.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

use crate::{attributes::WorkerId, strand::StrandId};

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

impl EventKind {
    /// Whether a turn ended.
    pub fn ends_a_turn(self) -> bool {
        matches!(self, EventKind::Pause | EventKind::Yield | EventKind::End)
    }
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
#[non_exhaustive]
pub struct Event {
    /// Since the runtime started.
    pub at: Duration,
    /// Where; `None` for a thread that is not a worker.
    pub worker: Option<WorkerId>,
    /// What.
    pub kind: EventKind,
    /// Which strand; `None` for a job, or where no strand is concerned.
    pub strand: Option<StrandId>,
    /// Of a turn that began: when its strand or job was put in line, if that was seen. It is the
    /// time of the wake that led to it.
    pub since: Option<Duration>,
    /// Of a steal: from whom.
    pub victim: Option<WorkerId>,
    /// Of a turn that began: how many others waited, if somebody looked.
    pub queued: Option<u32>,
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
#[non_exhaustive]
pub struct Recording {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// How many older ones no longer fitted.
    pub dropped: u64,
    /// The names of strands in it that have one. Not more than [`NAMES_MAX`] of strands that have
    /// ended are kept.
    pub names: BTreeMap<StrandId, String>,
    /// How many workers the runtime has.
    pub workers: usize,
    /// When it was read, since the runtime started: later than all its events.
    pub until: Duration,
    /// When the runtime started, so that several can be shown beside each other; `None` for
    /// virtual time.
    pub origin: Option<Instant>,
}

/// So many names of strands that have ended are kept for a recording.
pub const NAMES_MAX: usize = 65_536;

impl Recording {
    /// What to call a strand, or a job.
    pub fn name_of(&self, strand: Option<StrandId>) -> String {
        match strand {
            None => "job".to_owned(),
            Some(id) => self.names.get(&id).cloned().unwrap_or_else(|| format!("strand {id}")),
        }
    }
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
