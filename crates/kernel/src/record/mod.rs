//! What happened, in order: a bounded log of events per worker.
//!
//! Off, a place that could record costs one relaxed load. On, each worker writes to a ring of its
//! own, so that writing shares nothing; the last ring is for all threads that are not workers. A
//! full ring overwrites its oldest events, and how many is known from its count.
//!
//! A ring has a lock. Its worker takes it for a few stores, and nobody else wants it but a reader:
//! an uncontended lock costs some nanoseconds, less than the clock. A reader copies [`CHUNK`]
//! events at a time, so a worker waits for no more than that. Events have absolute numbers, so the
//! reader sees what was overwritten between two chunks, and leaves out all that came before: there is
//! never a gap in what it returns.
//!
//! 1. A turn whose beginning was recorded records its end, be the recorder off by then; and one
//!    whose beginning was not, none. A reader leaves out the ends of turns that began in an earlier
//!    recording. So it finds turns properly nested per worker, but for those whose beginning no longer
//!    fitted, and those that have not ended yet. Who asks for what happened since some time gets the
//!    beginnings of turns that were under way by then, if they are among the [`LOOK_BACK`] events
//!    before it: it does not read all that came before.
//! 2. The times of a worker's events never go back (on real threads). A simulated turn writes its end
//!    before what it does meanwhile takes effect; there events are numbered over all rings.
//! 3. The time of a wake is that which the turn it leads to says about itself (`since`), and that turn
//!    does not begin before.

mod event;
mod names;

pub use event::{Event, EventKind, NAMES_MAX, Recording};

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

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
const CHUNK: u64 = 1024;

/// So many events before those that are asked for are searched for turns that were under way.
const LOOK_BACK: u64 = 4 * CHUNK;

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
    /// Event `n` lies at `n` modulo the capacity; where the next one comes is kept beside, since to
    /// divide takes longer than to write.
    notes: Vec<Note>,
    place: usize,
    /// The number of the next event, and of the first one of this recording.
    next: u64,
    first: u64,
}

impl Ring {
    #[inline]
    fn write(&mut self, note: Note) {
        match self.notes.get_mut(self.place) {
            Some(oldest) => *oldest = note,
            None => self.notes.push(note),
        }
        self.next += 1;
        self.place += 1;
        if self.place == self.capacity {
            self.place = 0;
        }
    }

    /// The one that was written last, if any was.
    #[inline]
    fn last(&mut self) -> Option<&mut Note> {
        self.next.checked_sub(1)?;
        let last = self.place.checked_sub(1).unwrap_or(self.capacity - 1);
        self.notes.get_mut(last)
    }

    /// The oldest one that is there.
    fn oldest(&self) -> u64 {
        self.first.max(self.next.saturating_sub(self.capacity as u64))
    }

    fn note(&self, number: u64) -> Note {
        self.notes[(number % self.capacity as u64) as usize]
    }

    /// Where to begin to read what happened since then: a little before, if times never go back here.
    fn begin(&self, since: Nanos) -> u64 {
        let (mut from, mut to) = (self.oldest(), self.next);
        while from < to {
            let middle = from.midpoint(to);
            if self.note(middle).at < since {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        let begin = from.saturating_sub(LOOK_BACK);
        if begin > self.oldest() { begin } else { self.first }
    }

    /// Brings the memory here.
    fn touch(&mut self) {
        let room = self.capacity.min(TOUCHED_MAX);
        if self.notes.len() < room {
            // The ring has not been full, so what lies there is written over before it is read.
            self.notes.resize(room, Note::new(0, EventKind::Spawn, None));
        }
    }

    /// Gives the memory back. Numbers go on, from one that belongs to the first place: who reads
    /// meanwhile sees that what it had in mind is gone.
    fn forget(&mut self) {
        self.notes = Vec::new();
        self.next = self.next.next_multiple_of(self.capacity as u64);
        self.first = self.next;
        self.place = 0;
    }
}

impl Recorder {
    pub(crate) fn new(workers: usize, capacity: Option<usize>, simulated: bool) -> Recorder {
        let ring = || Ring {
            capacity: capacity.unwrap_or(EVENTS_DEFAULT).max(1),
            notes: Vec::new(),
            place: 0,
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

    /// Gives back the memory of what was recorded, unless it is on.
    pub(crate) fn forget(&self) {
        let _one = self.switching.lock();
        if self.is_on() {
            return;
        }
        self.names.lock().clear();
        for ring in &self.rings {
            ring.lock().forget();
        }
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

    /// Says of the turn of a job that has just begun on `worker` when it was put in line. Returns when
    /// it began, if that was recorded.
    pub(crate) fn began_after(&self, worker: usize, since: Nanos) -> Option<Nanos> {
        let mut ring = self.ring(Some(worker));
        let note = ring.last()?;
        if note.kind != EventKind::Run || note.strand != 0 || note.since != 0 {
            return None;
        }
        note.since = since.max(1);
        note.at = note.at.max(since);
        Some(note.at)
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
            // In a simulation times go back.
            let begin = if self.numbers.is_some() { 0 } else { since };
            let copied = copy(ring, begin, || ());
            dropped += part(&copied, since, |note| {
                all.push((note.at, note.number, note.event(worker)));
            });
        }
        // Stable: of the same moment, those of one worker stay in their order.
        all.sort_by_key(|(at, number, _)| (*at, *number));
        let events: Vec<Event> = all.into_iter().map(|(_, _, event)| event).collect();
        // Without the locks, on which whoever makes a strand with a name waits.
        let ids: BTreeSet<StrandId> = events.iter().filter_map(|event| event.strand).collect();
        let (gone, living) = (self.names.lock(), living.lock());
        let name = |id: &StrandId| living.get(id).map(|name| &**name).or_else(|| gone.get(*id));
        let names = ids.into_iter().filter_map(|id| Some((id, name(&id)?.to_owned()))).collect();
        Recording { events, dropped, names, workers: self.rings.len() - 1, ..Recording::default() }
    }
}

/// What was in a ring.
struct Copied {
    notes: Vec<Note>,
    /// How many events before these are missing.
    dropped: u64,
    /// What came before these was not asked for.
    skipped: bool,
}

/// Copies what is in a ring since then and a little before, some at a time. What is overwritten
/// meanwhile would leave a gap, so all that came before a gap is left out.
fn copy(ring: &Mutex<Ring>, since: Nanos, mut between: impl FnMut()) -> Copied {
    let (mut at, end, skipped) = {
        let ring = ring.lock();
        let begin = ring.begin(since);
        (begin, ring.next, begin > ring.first)
    };
    let (mut notes, mut dropped) = (Vec::new(), 0);
    while at < end {
        {
            let ring = ring.lock();
            let oldest = ring.oldest().min(end);
            if oldest > at {
                dropped += oldest - at + notes.len() as u64;
                notes.clear();
                at = oldest;
            }
            let to = end.min(at + CHUNK);
            notes.extend((at..to).map(|number| ring.note(number)));
            at = to;
        }
        between();
    }
    Copied { notes, dropped, skipped }
}

/// Leaves what is asked for: what happened since then, and the beginnings of turns that had not ended
/// by then. Returns how many of these may be missing.
fn part(copied: &Copied, since: Nanos, mut take: impl FnMut(&Note)) -> u64 {
    let Copied { notes, dropped, skipped } = copied;
    // Turns that have not ended as far as we have come.
    let mut open: Vec<&Note> = Vec::new();
    let mut whole = false;
    for note in notes {
        if note.kind == EventKind::Run {
            open.push(note);
        } else if note.kind.ends_a_turn() {
            match open.pop() {
                Some(begun) if begun.at < since && note.at >= since => take(begun),
                // Its beginning is in an earlier recording.
                None if *dropped == 0 && !skipped => continue,
                _ => {}
            }
        }
        if note.at >= since {
            take(note);
        } else {
            // What is older than this is not asked for.
            whole = true;
        }
    }
    open.into_iter().filter(|begun| begun.at < since).for_each(take);
    if whole { 0 } else { *dropped }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
