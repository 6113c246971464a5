//! Which transactions of a batch conflict, found in one pass over their read and write sets.
//!
//! For each key that was seen we know the last that wrote it, and those that have read it since:
//!
//! ```text
//!   who reads    waits for the last writer, and is one of the readers
//!   who writes   waits for the readers, or if there are none for the last writer;
//!                then it is the last writer, and there are no readers
//! ```
//!
//! 1. Each edge is a conflict, and any two that conflict are connected by a path: the readers wait
//!    for the writer before them, so whoever waits for the readers need not.
//! 2. A reader is waited for by one writer, so there are no more edges than keys in all sets.
//! 3. Where nobody of the batch has written a key, those of earlier batches count that have not
//!    ended.
//!
//! One that has not declared what it touches may have to run alone: it waits for all before it, and
//! all after it wait for it. What came before it is then of no more interest.

use std::hash::Hash;

use crate::transaction::{chain::NONE, edges::Edges, past::Past, table::Table};

/// What the transactions of a batch have done so far.
pub(super) struct Conflicts<K> {
    seen: Table<K, Seen>,
    readers: Vec<Reader>,
    /// The first after the last that runs alone.
    floor: u32,
}

#[derive(Clone, Copy)]
struct Seen {
    writer: u32,
    /// The last of its readers.
    reader: u32,
}

/// One that has read a key, and the one that read it before.
#[derive(Clone, Copy)]
struct Reader {
    index: u32,
    before: u32,
}

impl Seen {
    const NOTHING: Seen = Seen { writer: NONE, reader: NONE };

    fn writer(self, floor: u32) -> Option<u32> {
        Some(self.writer).filter(|writer| *writer != NONE && *writer >= floor)
    }
}

impl<K: Copy + Eq + Hash> Conflicts<K> {
    pub(super) fn new() -> Conflicts<K> {
        Conflicts { seen: Table::new(), readers: Vec::new(), floor: 0 }
    }

    /// Forgets all, and makes room for so many keys.
    pub(super) fn reset(&mut self, keys: usize) {
        self.seen.reset(keys);
        self.readers.clear();
        self.floor = 0;
    }

    /// The next transaction reads and writes these keys.
    #[inline]
    pub(super) fn touch(
        &mut self,
        index: u32,
        (reads, writes): (&[K], &[K]),
        past: &Past<K>,
        edges: &mut Edges<'_>,
    ) {
        for key in reads {
            self.read(index, *key, past, edges);
        }
        for key in writes {
            self.write(index, *key, past, edges);
        }
        self.follow(past, edges);
    }

    #[inline]
    fn read(&mut self, index: u32, key: K, past: &Past<K>, edges: &mut Edges<'_>) {
        let seen = self.seen.get_or_insert(key, Seen::NOTHING);
        match seen.writer(self.floor) {
            Some(writer) => edges.after(writer),
            None if self.floor == 0 => past.before_read(key, edges),
            None => {}
        }
        let last = self.readers.get(seen.reader as usize);
        if last.is_none_or(|reader| reader.index != index) {
            self.readers.push(Reader { index, before: seen.reader });
            seen.reader = self.readers.len() as u32 - 1;
        }
    }

    #[inline]
    fn write(&mut self, index: u32, key: K, past: &Past<K>, edges: &mut Edges<'_>) {
        let seen = self.seen.get_or_insert(key, Seen::NOTHING);
        if seen.writer == index {
            return;
        }
        let readers = Readers { all: &self.readers, next: seen.reader, floor: self.floor };
        let mut is_read = false;
        for reader in readers {
            is_read = true;
            if reader != index {
                edges.after(reader);
            }
        }
        match seen.writer(self.floor) {
            Some(writer) if !is_read => edges.after(writer),
            Some(_) => {}
            None if self.floor == 0 => past.before_write(key, is_read, edges),
            None => {}
        }
        *seen = Seen { writer: index, reader: NONE };
    }

    /// The next transaction may touch anything.
    pub(super) fn alone(&mut self, index: u32, past: &Past<K>, edges: &mut Edges<'_>) {
        if self.floor == 0 {
            past.before_all(edges);
        }
        for before in self.floor..index {
            if !edges.is_awaited(before) {
                edges.after(before);
            }
        }
        self.follow(past, edges);
        self.floor = index + 1;
    }

    /// Everyone comes after the last that ran alone: those that wait for one after it do anyway.
    #[inline]
    fn follow(&self, past: &Past<K>, edges: &mut Edges<'_>) {
        match self.last_alone() {
            Some(alone) if edges.reaches(alone) => {}
            Some(alone) => edges.after(alone),
            None if edges.reaches(0) => {}
            None => past.before_any(edges),
        }
    }

    /// The last that ran alone.
    pub(super) fn last_alone(&self) -> Option<u32> {
        self.floor.checked_sub(1)
    }

    /// Who has written each key last, and who has read it since.
    pub(super) fn each(&self, mut each: impl FnMut(K, Option<u32>, Readers<'_>)) {
        for (key, seen) in self.seen.iter() {
            let readers = Readers { all: &self.readers, next: seen.reader, floor: self.floor };
            each(key, seen.writer(self.floor), readers);
        }
    }
}

/// Those that have read a key, the last first.
pub(super) struct Readers<'a> {
    all: &'a [Reader],
    next: u32,
    floor: u32,
}

impl Iterator for Readers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let reader = self.all.get(self.next as usize)?;
        self.next = reader.before;
        (reader.index >= self.floor).then_some(reader.index)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
