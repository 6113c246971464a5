//! An event as it is kept: four words.

use std::time::Duration;

use crate::{attributes::WorkerId, strand::StrandId, world::Nanos};

use super::{Event, EventKind};

/// By their numbers.
const KINDS: [EventKind; 10] = [
    EventKind::Spawn,
    EventKind::Wake,
    EventKind::Run,
    EventKind::Pause,
    EventKind::Yield,
    EventKind::End,
    EventKind::Steal,
    EventKind::Park,
    EventKind::Unpark,
    EventKind::HandOff,
];

/// Where in the last word the kind lies, and the count or worker; a number fills the other half.
const KIND: u64 = 0xff;
const COUNT_AT: u32 = 8;
const COUNT: u64 = 0xff_ffff;
const NUMBER_AT: u32 = 32;

/// No count and no worker.
const NOTHING: u64 = COUNT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    at: Nanos,
    /// 0: none.
    strand: u64,
    /// Of a turn that began: 0, or when it was put in line, which is 1 at least.
    since: Nanos,
    /// The kind, how many waited or who was stolen from, and the number.
    rest: u64,
}

impl Note {
    #[inline]
    pub(crate) fn new(at: Nanos, kind: EventKind, strand: Option<StrandId>) -> Note {
        let strand = strand.map_or(0, |strand| strand.0);
        Note { at, strand, since: 0, rest: NOTHING << COUNT_AT | kind as u64 }
    }

    /// Of a steal: from whom.
    pub(crate) fn from(self, victim: usize) -> Note {
        self.with_count(victim)
    }

    /// Of a turn that began: since when it had waited, and how many others did.
    #[inline]
    pub(crate) fn waited(self, since: Nanos, queued: Option<usize>) -> Note {
        let note = Note { since, ..self };
        queued.map_or(note, |queued| note.with_count(queued))
    }

    /// Among those of the same moment in a simulation: its place, see [`Note::age`].
    pub(super) fn numbered(self, number: u64) -> Note {
        Note { rest: self.rest | number << NUMBER_AT, ..self }
    }

    fn with_count(self, count: usize) -> Note {
        let count = (count as u64).min(NOTHING - 1);
        Note { rest: self.rest & !(COUNT << COUNT_AT) | count << COUNT_AT, ..self }
    }

    /// When. A turn does not begin before it was put in line, by whichever clock.
    #[inline]
    pub(crate) fn at(&self) -> Nanos {
        // What was put in line at the very beginning says 1.
        if self.since > 1 { self.at.max(self.since) } else { self.at }
    }

    #[inline]
    pub(super) fn kind(&self) -> EventKind {
        KINDS[(self.rest & KIND) as usize]
    }

    /// How many events later `next` was the next number. Only half of it is kept: that is enough
    /// for those of one moment.
    pub(super) fn age(&self, next: u64) -> u32 {
        (next as u32).wrapping_sub((self.rest >> NUMBER_AT) as u32)
    }

    /// Whether it is the beginning of a job's turn that has not said when it was put in line.
    #[inline]
    pub(super) fn wants_since(&self) -> bool {
        self.kind() == EventKind::Run && self.strand == 0 && self.since == 0
    }

    #[inline]
    pub(super) fn words(self) -> [u64; WORDS] {
        [self.at, self.strand, self.since, self.rest]
    }

    #[inline]
    pub(super) fn of_words([at, strand, since, rest]: [u64; WORDS]) -> Note {
        Note { at, strand, since, rest }
    }

    pub(super) fn event(&self, worker: Option<WorkerId>) -> Event {
        let (kind, count) = (self.kind(), self.rest >> COUNT_AT & COUNT);
        let counted = |of| (kind == of && count != NOTHING).then_some(count);
        Event {
            at: Duration::from_nanos(self.at()),
            worker,
            kind,
            strand: (self.strand != 0).then_some(StrandId(self.strand)),
            since: (self.since != 0).then_some(Duration::from_nanos(self.since)),
            victim: counted(EventKind::Steal).map(|victim| WorkerId(victim as usize)),
            queued: counted(EventKind::Run).map(|queued| queued as u32),
        }
    }
}

/// How many words a note has, and which of them says since when a turn had waited.
pub(super) const WORDS: usize = 4;
pub(super) const SINCE: usize = 2;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn event_is_what_was_noted() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let note = Note::new(7, kind, Some(StrandId(3))).numbered(u64::MAX);
            let event = Note::of_words(note.words()).event(None);
            assert_eq!(
                (event.at.as_nanos(), event.kind, event.strand),
                (7, kind, Some(StrandId(3)))
            );
            assert_eq!((event.since, event.victim, event.queued), (None, None, None));
        }
        let steal = Note::new(7, EventKind::Steal, None).numbered(5).from(4095).event(None);
        assert_eq!((steal.victim, steal.queued), (Some(WorkerId(4095)), None));
        let run = |queued| Note::new(7, EventKind::Run, None).waited(3, queued).event(None);
        assert_eq!((run(None).since, run(None).queued), (Some(Duration::from_nanos(3)), None));
        assert_eq!((run(Some(0)).queued, run(Some(9)).queued), (Some(0), Some(9)));
        assert_eq!(run(Some(usize::MAX)).queued, Some(0xff_fffe), "there is room for so many");
    }

    #[test]
    fn turn_does_not_begin_before_its_wake() {
        let event = Note::new(7, EventKind::Run, None).waited(9, None).event(None);
        assert_eq!(
            (event.at, event.since),
            (Duration::from_nanos(9), Some(Duration::from_nanos(9)))
        );
    }

    #[test]
    fn older_events_have_a_greater_age_also_where_numbers_begin_anew() {
        let noted = |number| Note::new(7, EventKind::Park, None).numbered(number);
        for first in [0, u64::from(u32::MAX) - 1, 3 << 32] {
            let ages = [0, 1, 2].map(|later| noted(first + later).age(first + 3));
            assert_eq!(ages, [3, 2, 1]);
        }
    }
}
