//! What happened, in order: a bounded log of events per worker.
//!
//! Off, a place that could record costs one relaxed load. On, each worker writes to a ring of its
//! own, so that writing shares nothing; the last ring is for all threads that are not workers. A
//! full ring overwrites its oldest events, and how many is known from its count.
//!
//! What is shared is known to `ring.rs`: a worker takes a lock once in a thousand events, and a reader
//! keeps nobody from writing. Threads that are not workers share a writer under a lock, and so does
//! everything in a simulation.
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
mod note;
mod ring;

pub use event::{Event, EventKind, NAMES_MAX, Recording};
pub(crate) use note::Note;
pub(crate) use ring::Writer;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

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
use ring::{Ring, View};

/// Events kept per worker when nothing else is said.
pub(crate) const EVENTS_DEFAULT: usize = 65_536;

/// So many events before those that are asked for are searched for turns that were under way.
const LOOK_BACK: usize = 4096;

/// On real threads somebody counts what waits once in so many nanoseconds. It takes a look at the
/// queues of all workers.
const LOOK_EVERY: Nanos = 100_000;

pub(crate) struct Recorder {
    on: AtomicBool,
    /// Numbers events over all rings in a simulation, where many happen at the same moment.
    numbers: Option<AtomicU64>,
    /// In a simulation, the worker on whose behalf an effect takes place outside of all workers.
    behalf: AtomicUsize,
    /// When somebody is to count what waits.
    next_look: AtomicU64,
    /// One per worker, and the last one.
    rings: Vec<Arc<Ring>>,
    /// Of the last ring, for all threads that are not workers. In a simulation, of all rings.
    writers: Vec<Mutex<Writer>>,
    /// Of strands that are gone.
    names: Mutex<Names>,
    /// Held by whoever switches.
    switching: Mutex<()>,
}

impl Recorder {
    pub(crate) fn new(workers: usize, capacity: Option<usize>, simulated: bool) -> Recorder {
        let ring = |_| Arc::new(Ring::new(capacity.unwrap_or(EVENTS_DEFAULT)));
        let rings: Vec<Arc<Ring>> = (0..=workers).map(ring).collect();
        let shared = if simulated { 0 } else { workers };
        let writer = |ring: &Arc<Ring>| Mutex::new(Writer::new(ring.clone()));
        let recorder = Recorder {
            on: AtomicBool::new(false),
            numbers: simulated.then(|| AtomicU64::new(0)),
            behalf: AtomicUsize::new(usize::MAX),
            next_look: AtomicU64::new(0),
            writers: rings[shared..].iter().map(writer).collect(),
            rings,
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
                ring.begin_anew(self.numbers.is_none());
            }
        }
        self.on.store(on, Relaxed);
    }

    /// Gives back the memory of what was recorded, but for some that workers hold, unless it is on.
    pub(crate) fn forget(&self) {
        let _one = self.switching.lock();
        if self.is_on() {
            return;
        }
        self.names.lock().clear();
        for ring in &self.rings {
            ring.forget();
        }
    }

    /// For a worker, which writes by itself unless this is a simulation.
    pub(crate) fn writer(&self, worker: usize) -> Option<Writer> {
        self.numbers.is_none().then(|| Writer::new(self.rings[worker].clone()))
    }

    /// In a simulation: writes an event of `worker`, or of a thread that is none.
    #[inline(never)]
    pub(crate) fn write_simulated(&self, worker: Option<usize>, note: Note) {
        let numbers = self.numbers.as_ref().expect("this is a simulation");
        let note = note.numbered(numbers.fetch_add(1, Relaxed));
        self.writers[worker.unwrap_or(self.writers.len() - 1)].lock().write(note);
    }

    /// Writes an event of a thread that is no worker, at a time that is not earlier than those
    /// that others wrote.
    #[inline(never)]
    pub(crate) fn write_outside(
        &self,
        now: impl FnOnce() -> Nanos,
        note: impl FnOnce(Nanos) -> Note,
    ) {
        if self.numbers.is_some() {
            let behalf = self.behalf.load(Relaxed);
            return self.write_simulated((behalf != usize::MAX).then_some(behalf), note(now()));
        }
        let mut writer = self.writers[0].lock();
        let note = note(now());
        writer.write(note);
    }

    /// In a simulation: what `effect` does is recorded as done by `worker`, whose turn has caused it.
    pub(crate) fn on_behalf_of(&self, worker: Option<usize>, effect: impl FnOnce()) {
        self.behalf.store(worker.unwrap_or(usize::MAX), Relaxed);
        effect();
        self.behalf.store(usize::MAX, Relaxed);
    }

    /// In a simulation, as [`Writer::began_after`].
    pub(crate) fn began_after_simulated(&self, worker: usize, since: Nanos) -> Option<Nanos> {
        self.writers[worker].lock().began_after(since)
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
            dropped += part(&ring.look(), begin, since, |note| all.push((note, worker)));
        }
        // Stable: of the same moment, those of one worker stay in their order.
        let next = self.numbers.as_ref().map_or(0, |numbers| numbers.load(Relaxed));
        all.sort_by_key(|(note, _)| (note.at(), Reverse(note.age(next))));
        let events: Vec<Event> = all.iter().map(|(note, worker)| note.event(*worker)).collect();
        // Without the locks, on which whoever makes a strand with a name waits.
        let ids: BTreeSet<StrandId> = events.iter().filter_map(|event| event.strand).collect();
        let (gone, living) = (self.names.lock(), living.lock());
        let name = |id: &StrandId| living.get(id).map(|name| &**name).or_else(|| gone.get(*id));
        let names = ids.into_iter().filter_map(|id| Some((id, name(&id)?.to_owned()))).collect();
        Recording { events, dropped, names, workers: self.rings.len() - 1, ..Recording::default() }
    }
}

/// Hands over what is asked for: what happened since then, and the beginnings of turns that had not
/// ended by then. Returns how many of these may be missing. It begins to look a little before `begin`,
/// which is 0 where times go back.
fn part(view: &View, begin: Nanos, since: Nanos, mut take: impl FnMut(Note)) -> u64 {
    let (mut from, mut to) = (0, view.len());
    while from < to {
        let middle = from.midpoint(to);
        if view.note(middle).at() < begin {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    let first = from.saturating_sub(LOOK_BACK);
    let all = first == 0 && view.dropped == 0;
    // Turns that have not ended as far as we have come.
    let mut open: Vec<Note> = Vec::new();
    // What came before these is not asked for.
    let mut whole = first > 0;
    for note in view.notes(first) {
        if note.kind() == EventKind::Run {
            open.push(note);
        } else if note.kind().ends_a_turn() {
            match open.pop() {
                Some(begun) if begun.at() < since && note.at() >= since => take(begun),
                // Its beginning is in an earlier recording.
                None if all => continue,
                _ => {}
            }
        }
        if note.at() >= since {
            take(note);
        } else {
            whole = true;
        }
    }
    open.into_iter().filter(|begun| begun.at() < since).for_each(take);
    if whole { 0 } else { view.dropped }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
