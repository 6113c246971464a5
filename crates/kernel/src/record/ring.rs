//! Where the events of one writer are kept: a line of pages.
//!
//! ```text
//!   pages:  [ full ] [ full ] … [ full ] [ written to |      ]
//!              ^ goes first                           ^ written
//! ```
//!
//! One [`Writer`] fills the last page, and takes the next one when it is full: only then it needs
//! the ring's lock. If there are as many as hold the capacity, the first one is dropped for it, or used
//! again. A reader takes the list of pages under the lock, and reads them without.
//!
//! 1. What is in a page is not written over while anybody may read it: a page is used again only by
//!    who holds the last reference to it. So a reader keeps what it has found, whatever is written
//!    meanwhile.
//! 2. A reader sees all events before those it has found, whole: there is no gap. Each page but the last
//!    is full.
//! 3. The wait of a job's turn is filled in after its beginning was written. It is one word, and a
//!    reader sees it or does not; whoever sees a later event of this writer does.
//!
//! Ordering: `written` is released after the words of an event and acquired before a reader looks
//! at them. The words of full pages are released with the lock, that the writer took to get the next page.
//! Who reuses a page has seen by `Arc::get_mut` that readers have let go of it, and
//! their reads come before.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    sync::{
        self, Mutex,
        atomic::{
            AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    world::Nanos,
};

use super::note::{Note, SINCE, WORDS};

/// So many events lie in a page, if the capacity is not smaller.
pub(super) const PAGE: usize = 1024;

/// The place of the event that comes so much later is fetched: the memory of a ring does not stay in
/// the nearest cache, and the next atomic step would wait for it.
const AHEAD: usize = 16;

/// Memory for so many events per ring is touched before it is needed: the system hands it out
/// page by page, which would be paid for by turns.
const TOUCHED_MAX: usize = 1 << 20;

struct Page {
    /// How many of the notes are there.
    written: AtomicUsize,
    notes: Box<[[AtomicU64; WORDS]]>,
}

impl Page {
    fn new(len: usize) -> Arc<Page> {
        let note = |_| std::array::from_fn(|_| AtomicU64::new(0));
        Arc::new(Page { written: AtomicUsize::new(0), notes: (0..len).map(note).collect() })
    }

    /// How many there are. They are seen by whoever knows.
    fn written(&self) -> usize {
        self.written.load(Acquire)
    }

    fn note(&self, place: usize) -> Note {
        Note::of_words(self.notes[place].each_ref().map(|word| word.load(Relaxed)))
    }
}

/// Who writes to a ring. There is one for each.
pub(crate) struct Writer {
    ring: Arc<Ring>,
    page: Option<Arc<Page>>,
    /// The place for the next note.
    place: usize,
}

impl Writer {
    /// The only one of this ring.
    pub(super) fn new(ring: Arc<Ring>) -> Writer {
        Writer { ring, page: None, place: 0 }
    }

    #[inline(always)]
    pub(crate) fn write(&mut self, note: Note) {
        if let Some(page) = &self.page
            && let Some(place) = page.notes.get(self.place)
        {
            sync::prefetch(place.as_ptr().wrapping_add(WORDS * AHEAD).cast(), size_of_val(place));
            for (word, value) in place.iter().zip(note.words()) {
                word.store(value, Relaxed);
            }
            self.place += 1;
            page.written.store(self.place, Release);
        } else {
            self.write_to_next_page(note);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_to_next_page(&mut self, note: Note) {
        (self.page, self.place) = (Some(self.ring.next_page()), 0);
        self.write(note);
    }

    /// Says of the turn of a job that has just begun when it was put in line. Returns when it began, if
    /// that was recorded.
    #[inline]
    pub(crate) fn began_after(&self, since: Nanos) -> Option<Nanos> {
        let (page, last) = (self.page.as_ref()?, self.place.checked_sub(1)?);
        let note = page.note(last);
        if !note.wants_since() {
            return None;
        }
        let since = since.max(1);
        page.notes[last][SINCE].store(since, Relaxed);
        Some(note.waited(since, None).at())
    }
}

/// What a writer has written last.
pub(super) struct Ring {
    capacity: usize,
    pages: Mutex<Pages>,
}

struct Pages {
    /// The oldest first; the last one is written to.
    line: VecDeque<Arc<Page>>,
    /// Nobody reads these.
    spare: Vec<Arc<Page>>,
    /// So many events of the first page are of an earlier recording.
    earlier: usize,
    /// So many of this recording were in pages that are gone.
    gone: u64,
}

impl Pages {
    /// Keeps a page for later, unless somebody reads it.
    fn put_aside(&mut self, mut page: Arc<Page>) {
        // Rule 1.
        if let Some(unread) = Arc::get_mut(&mut page) {
            unread.written.store(0, Relaxed);
            self.spare.push(page);
        }
    }

    /// What was written so far is no longer part of it.
    fn begin_anew(&mut self) {
        let Some(last) = self.line.pop_back() else { return };
        for page in std::mem::take(&mut self.line) {
            self.put_aside(page);
        }
        (self.earlier, self.gone) = (last.written(), 0);
        self.line.push_back(last);
    }
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Ring {
        let (line, spare) = (VecDeque::new(), Vec::new());
        let pages = Pages { line, spare, earlier: 0, gone: 0 };
        Ring { capacity: capacity.max(1), pages: Mutex::new(pages) }
    }

    /// How many events lie in a page.
    fn page_len(&self) -> usize {
        self.capacity.min(PAGE)
    }

    /// As many pages: the full ones hold the capacity.
    fn pages_max(&self) -> usize {
        self.capacity.div_ceil(self.page_len()) + 1
    }

    /// For the writer, whose page is full.
    fn next_page(&self) -> Arc<Page> {
        let mut pages = self.pages.lock();
        if pages.line.len() >= self.pages_max()
            && let Some(oldest) = pages.line.pop_front()
        {
            pages.gone += (self.page_len() - std::mem::take(&mut pages.earlier)) as u64;
            pages.put_aside(oldest);
        }
        let next = pages.spare.pop().unwrap_or_else(|| Page::new(self.page_len()));
        pages.line.push_back(next.clone());
        next
    }

    /// What was written so far is no longer part of it, and memory is there for what comes, if it is
    /// wanted before that.
    pub(super) fn begin_anew(&self, touch: bool) {
        let mut pages = self.pages.lock();
        pages.begin_anew();
        let wanted = if touch { self.pages_max().min(TOUCHED_MAX / PAGE) } else { 0 };
        while pages.line.len() + pages.spare.len() < wanted {
            pages.spare.push(Page::new(self.page_len()));
        }
    }

    /// As [`begin_anew`](Ring::begin_anew), and gives the memory back, but for the page that is
    /// written to.
    pub(super) fn forget(&self) {
        let mut pages = self.pages.lock();
        pages.begin_anew();
        pages.spare = Vec::new();
    }

    /// What it holds now.
    pub(super) fn look(&self) -> View {
        let pages = self.pages.lock();
        let line: Vec<Arc<Page>> = pages.line.iter().cloned().collect();
        let end = line
            .split_last()
            .map_or(0, |(last, full)| full.len() * self.page_len() + last.written());
        let begin = pages.earlier.max(end.saturating_sub(self.capacity));
        let dropped = pages.gone + (begin - pages.earlier) as u64;
        View { line, page_len: self.page_len(), begin, end, dropped }
    }

    /// How many pages it has.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn pages(&self) -> usize {
        let pages = self.pages.lock();
        pages.line.len() + pages.spare.len()
    }
}

/// What a ring held when somebody looked.
pub(super) struct View {
    line: Vec<Arc<Page>>,
    page_len: usize,
    begin: usize,
    end: usize,
    /// How many events of this recording came before these.
    pub(super) dropped: u64,
}

impl View {
    pub(super) fn len(&self) -> usize {
        self.end - self.begin
    }

    pub(super) fn note(&self, number: usize) -> Note {
        let number = self.begin + number;
        self.line[number / self.page_len].note(number % self.page_len)
    }

    /// All from this one on.
    pub(super) fn notes(&self, from: usize) -> impl Iterator<Item = Note> {
        let (from, len) = (self.begin + from, self.page_len);
        (from / len..self.line.len()).flat_map(move |page| {
            let first = page * len;
            let places = from.max(first) - first..(self.end - first).min(len);
            places.map(move |place| self.line[page].note(place))
        })
    }
}

#[cfg(all(test, loom))]
#[path = "ring_models.rs"]
mod models;
