//! What happened, in order: a bounded log of events per worker.
//!
//! Off, a place that could record costs one relaxed load. On, each worker writes to a ring of its
//! own, so that writing shares nothing; the last ring is for all threads that are not workers. A
//! full ring overwrites its oldest events, and how many is known from its count.
//!
//! A ring has a lock. Its worker takes it for a few stores, and nobody else wants it but a reader:
//! an uncontended lock costs some nanoseconds, less than the clock. A reader copies [`CHUNK`]
//! events at a time, so a worker waits for no more than that. Events have absolute numbers, so
//! what was overwritten between two chunks is missing at the old end, and nowhere else.
//!
//! 1. A turn whose beginning was recorded records its end, be the recorder off by then; and one
//!    whose beginning was not, none. A reader leaves out the ends of turns that began in an earlier
//!    recording. So it finds turns properly nested per worker, but for those whose beginning no longer
//!    fitted, and those that have not ended yet.
//! 2. The times of a worker's events never go back (on real threads). A simulated turn writes its end
//!    before what it does meanwhile takes effect; there events are numbered over all rings.
//! 3. The time of a wake is that which the turn it leads to says about itself (`since`), and that turn
//!    does not begin before.

mod event;
mod names;

pub use event::{Event, EventKind, NAMES_MAX, Recording};

use std::{collections::HashMap, time::Duration};

use crossbeam_utils::CachePadded;

use crate::{
    attributes::WorkerId,
    strand::StrandId,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    world::Nanos,
};
use names::Names;

/// Events kept per worker when nothing else is said.
pub(crate) const EVENTS_DEFAULT: usize = 65_536;

/// So many events are copied at a time.
const CHUNK: usize = 1024;

/// Memory for so many events per ring is touched before it is needed: the system hands it out
/// page by page, which would be paid for by turns.
const TOUCHED_MAX: usize = 1 << 20;

/// On real threads somebody counts what waits once in so many nanoseconds. It takes a look at the
/// queues of all workers.
const LOOK_EVERY: Nanos = 100_000;

const NOBODY: u16 = u16::MAX;
const UNSEEN: u32 = u32::MAX;

/// An event as it is kept.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    pub(crate) at: Nanos,
    /// 0: none.
    pub(crate) strand: u64,
    /// 0: not known. Times of wakes are stored as 1 at least.
    pub(crate) since: Nanos,
    number: u64,
    queued: u32,
    victim: u16,
    pub(crate) kind: EventKind,
}

impl Note {
    #[inline]
    pub(crate) fn new(at: Nanos, kind: EventKind, strand: Option<StrandId>) -> Note {
        let strand = strand.map_or(0, |strand| strand.0);
        Note { at, strand, since: 0, number: 0, queued: UNSEEN, victim: NOBODY, kind }
    }

    pub(crate) fn from(mut self, victim: usize) -> Note {
        self.victim = u16::try_from(victim).unwrap_or(NOBODY);
        self
    }

    #[inline]
    pub(crate) fn waited(mut self, since: Nanos, queued: Option<usize>) -> Note {
        self.since = since;
        self.queued = queued.map_or(UNSEEN, |n| u32::try_from(n).unwrap_or(UNSEEN - 1));
        self
    }

    fn event(&self, worker: Option<WorkerId>) -> Event {
        Event {
            at: Duration::from_nanos(self.at),
            worker,
            kind: self.kind,
            strand: (self.strand != 0).then_some(StrandId(self.strand)),
            since: (self.since != 0).then_some(Duration::from_nanos(self.since)),
            victim: (self.victim != NOBODY).then_some(WorkerId(self.victim.into())),
            queued: (self.queued != UNSEEN).then_some(self.queued),
        }
    }
}

pub(crate) struct Recorder {
    on: AtomicBool,
    /// Numbers events over all rings in a simulation, where many happen at the same moment.
    numbers: Option<AtomicU64>,
    /// In a simulation, the worker on whose behalf an effect takes place outside of all workers.
    behalf: AtomicUsize,
    /// When somebody is to count what waits.
    next_look: AtomicU64,
    /// One per worker, and the last one.
    rings: Vec<CachePadded<Mutex<Ring>>>,
    /// Of strands that are gone.
    names: Mutex<Names>,
    /// Held by whoever switches.
    switching: Mutex<()>,
}

struct Ring {
    capacity: usize,
    /// Event `n` lies at `n` modulo the capacity.
    notes: Vec<Note>,
    /// The number of the next event, and of the first one of this recording.
    next: u64,
    first: u64,
}

impl Ring {
    #[inline]
    fn write(&mut self, note: Note) {
        let place = (self.next % self.capacity as u64) as usize;
        match self.notes.get_mut(place) {
            Some(oldest) => *oldest = note,
            None => self.notes.push(note),
        }
        self.next += 1;
    }

    /// The oldest one that is there.
    fn oldest(&self) -> u64 {
        self.first.max(self.next.saturating_sub(self.capacity as u64))
    }

    fn note(&self, number: u64) -> Note {
        self.notes[(number % self.capacity as u64) as usize]
    }

    /// Brings the memory here.
    fn touch(&mut self) {
        let room = self.capacity.min(TOUCHED_MAX);
        if self.next == 0 && self.notes.capacity() < room {
            // Numbers begin with 0, so what lies there is written over before it is read.
            self.notes.resize(room, Note::new(0, EventKind::Spawn, None));
        }
    }
}

impl Recorder {
    pub(crate) fn new(workers: usize, capacity: Option<usize>, simulated: bool) -> Recorder {
        let ring = || Ring {
            capacity: capacity.unwrap_or(EVENTS_DEFAULT).max(1),
            notes: Vec::new(),
            next: 0,
            first: 0,
        };
        let recorder = Recorder {
            on: AtomicBool::new(false),
            numbers: simulated.then(|| AtomicU64::new(0)),
            behalf: AtomicUsize::new(usize::MAX),
            next_look: AtomicU64::new(0),
            rings: (0..=workers).map(|_| CachePadded::new(Mutex::new(ring()))).collect(),
            names: Mutex::default(),
            switching: Mutex::new(()),
        };
        recorder.switch(capacity.is_some());
        recorder
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Switched on, it begins anew.
    pub(crate) fn switch(&self, on: bool) {
        let _one = self.switching.lock();
        if on && !self.is_on() {
            self.names.lock().clear();
            for ring in &self.rings {
                let mut ring = ring.lock();
                ring.first = ring.next;
                if self.numbers.is_none() {
                    ring.touch();
                }
            }
        }
        self.on.store(on, Relaxed);
    }

    /// Writes an event of `worker`, or of a thread that is none.
    #[inline]
    pub(crate) fn write(&self, worker: Option<usize>, mut note: Note) {
        if let Some(numbers) = &self.numbers {
            note.number = numbers.fetch_add(1, Relaxed);
        }
        self.ring(worker).write(note);
    }

    /// Writes an event of a thread that is no worker, at a time that is not earlier than those
    /// that others wrote.
    pub(crate) fn write_outside(
        &self,
        now: impl FnOnce() -> Nanos,
        note: impl FnOnce(Nanos) -> Note,
    ) {
        if self.numbers.is_some() {
            let behalf = self.behalf.load(Relaxed);
            return self.write((behalf != usize::MAX).then_some(behalf), note(now()));
        }
        let mut ring = self.ring(None);
        let note = note(now());
        ring.write(note);
    }

    /// In a simulation: what `effect` does is recorded as done by `worker`, whose turn has caused it.
    pub(crate) fn on_behalf_of(&self, worker: Option<usize>, effect: impl FnOnce()) {
        self.behalf.store(worker.unwrap_or(usize::MAX), Relaxed);
        effect();
        self.behalf.store(usize::MAX, Relaxed);
    }

    /// Says of the turn of a job that has just begun on `worker` when it was put in line.
    pub(crate) fn began_after(&self, worker: usize, since: Nanos) {
        let mut ring = self.ring(Some(worker));
        let Some(last) = ring.next.checked_sub(1) else { return };
        let place = (last % ring.capacity as u64) as usize;
        let note = &mut ring.notes[place];
        if note.kind == EventKind::Run && note.strand == 0 && note.since == 0 {
            note.since = since.max(1);
            note.at = note.at.max(since);
        }
    }

    #[inline]
    fn ring(&self, worker: Option<usize>) -> crate::sync::MutexGuard<'_, Ring> {
        self.rings[worker.unwrap_or(self.rings.len() - 1)].lock()
    }

    /// Whether it is time for somebody to count what waits.
    #[inline]
    pub(crate) fn may_look(&self, now: Nanos) -> bool {
        if self.numbers.is_some() {
            return true;
        }
        if now < self.next_look.load(Relaxed) {
            return false;
        }
        // Two who come at the same moment both count, which does no harm.
        self.next_look.store(now + LOOK_EVERY, Relaxed);
        true
    }

    /// A strand with a name is gone.
    pub(crate) fn keep_name(&self, id: StrandId, name: Box<str>) {
        self.names.lock().keep(id, name);
    }

    /// What was recorded since `since`. Names come from strands that are gone, and from `living`.
    pub(crate) fn read(
        &self,
        since: Nanos,
        living: &Mutex<HashMap<StrandId, Box<str>>>,
    ) -> Recording {
        let mut all = Vec::new();
        let mut dropped = 0;
        for (worker, ring) in self.rings.iter().enumerate() {
            let worker = (worker < self.rings.len() - 1).then_some(WorkerId(worker));
            dropped +=
                copy(ring, since, |note| all.push((note.at, note.number, note.event(worker))));
        }
        // Stable: of the same moment, those of one worker stay in their order.
        all.sort_by_key(|(at, number, _)| (*at, *number));
        let events: Vec<Event> = all.into_iter().map(|(_, _, event)| event).collect();
        let mut names = std::collections::BTreeMap::new();
        let (gone, living) = (self.names.lock(), living.lock());
        for id in events.iter().filter_map(|event| event.strand) {
            if let Some(name) = living.get(&id).map(|name| &**name).or_else(|| gone.get(id)) {
                names.entry(id).or_insert_with(|| name.to_owned());
            }
        }
        Recording { events, dropped, names, workers: self.rings.len() - 1, ..Recording::default() }
    }
}

/// Copies what is in a ring since then, some at a time, and the beginnings of turns that had not
/// ended by then. Returns how many of these may be missing.
fn copy(ring: &Mutex<Ring>, since: Nanos, mut take: impl FnMut(&Note)) -> u64 {
    let (mut at, end) = {
        let ring = ring.lock();
        (ring.first, ring.next)
    };
    let (mut dropped, mut whole) = (0, false);
    // Turns that have not ended as far as we have come.
    let mut open: Vec<Note> = Vec::new();
    while at < end {
        let ring = ring.lock();
        let from = at.max(ring.oldest());
        dropped += from.min(end) - at;
        at = from;
        for _ in 0..CHUNK {
            if at >= end {
                break;
            }
            let note = ring.note(at);
            at += 1;
            if note.kind == EventKind::Run {
                open.push(note);
            } else if note.kind.ends_a_turn() {
                match open.pop() {
                    Some(begun) if begun.at < since && note.at >= since => take(&begun),
                    // Its beginning is in an earlier recording.
                    None if dropped == 0 => continue,
                    _ => {}
                }
            }
            if note.at >= since {
                take(&note);
            } else {
                // What is older than this is not asked for.
                whole = true;
            }
        }
    }
    open.iter().filter(|begun| begun.at < since).for_each(take);
    if whole { 0 } else { dropped }
}
