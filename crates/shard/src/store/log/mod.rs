//! How do records get to disk with one write and one sync, and which of them are found again?
//!
//! ```text
//!   log-0   | header, epoch 4 | r | r | r | what epoch 2 left ...          over, being folded
//!   log-1   | header, epoch 5 | r | r |     what epoch 3 left ...          records are appended
//!                                     ^ written
//! ```
//!
//! Epoch `e` is in the file `log-(e mod 2)`, from 1 on. A file is used again, not cut, and where it has to
//! grow zeros are written ahead: its blocks are there already, so that a sync has only data to write.
//!
//! 1. What was appended and synced is read again, since nothing is ever written over it before its
//!    epoch was folded.
//! 2. An epoch begins when all of the one before is on disk, and its header says where that one
//!    ends. So a record that is missing from the middle is an error and not an end.
//! 3. What was discarded can not come back. Reading ends at the first record that does not verify,
//!    and what lies behind it may be whole records: of an earlier epoch, which do not verify
//!    (`format`, 1), or of this one, whose append failed or was torn by a crash. The latter would
//!    verify as soon as a new record fills the place before them exactly. So opening, and opening
//!    again after a failure, cut the file at the last record that counts and sync that, before
//!    anything is appended: there is nothing behind the end that could verify. A process that dies
//!    before the cut is on disk has acknowledged nothing after it.
//! 4. After a failure nothing is taken. After a failed sync the system may show what is not on disk
//!    and never write it, so what counts then is what was synced, and not what reads well. A failed
//!    write leaves what was acknowledged before it.
//! 5. The two headers are those of the current epoch and of the one before it. When beginning an
//!    epoch failed its header may be there; the old one is put back before the current epoch goes
//!    on, which would otherwise go on behind its end.
//! 6. What opening has read of the current epoch is written again and synced before anything is
//!    appended. A process that died after a failed sync leaves what the system shows and will not
//!    write: records behind it would be records behind a gap.
//! 7. What was synced is not cut unless somebody asks for that. An append that finds more synced than
//!    the last mark says begins with a mark. What a mark says was true when it was written and stays
//!    so (1), whatever becomes of the append that it is part of. So a mark that is found behind the
//!    end and says that more was synced tells damage from a crash, which tears only what was not.
//!    Damage in the last append is not told from a torn one: no later one says that it was synced.

mod format;
mod marks;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::format::RECORD_BYTES_MAX;
use self::format::{Checksum, FIRST, HEAD_LEN, HEADER_LEN, Header};
use super::{Epoch, Options, StoreError};
use crate::disk::{Disk, File};

const NAMES: [&str; 2] = ["log-0", "log-1"];
/// How much is read at a time.
const CHUNK: u64 = 1 << 20;
/// How much memory is kept for the next append.
const BUFFER_KEPT: usize = 8 << 20;

/// Both files, and where records go next.
#[derive(Debug)]
pub(super) struct Log {
    disk: Arc<dyn Disk>,
    files: [Box<dyn File>; 2],
    salt: u64,
    /// How much a log grows by when it has to.
    step: u64,
    current: Span,
    /// The epoch before, as long as it was not folded.
    before: Option<Span>,
    /// Of the current epoch, where that ends which is on disk for sure.
    synced: u64,
    /// Of the current epoch, what its last mark says (7).
    marked: u64,
    /// How long the current file is.
    allocated: u64,
    failed: bool,
    checksum: Checksum,
    /// What is written next; kept for its memory.
    buffer: Vec<u8>,
}

/// An epoch and where its records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) epoch: Epoch,
    pub(super) end: u64,
}

fn index(epoch: Epoch) -> usize {
    (epoch.0 % 2) as usize
}

impl Log {
    /// Reads what is there, or begins.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        folded: Epoch,
        options: &Options,
    ) -> Result<Log, StoreError> {
        let (salt, step) = (options.salt, options.log_step_bytes.max(1));
        let open = |name| {
            disk.open(name).map_err(|error| StoreError::io("opening", disk.path(name), &error))
        };
        let files = [open(NAMES[0])?, open(NAMES[1])?];
        let header = Header { epoch: folded.next(), previous_end: FIRST, salt };
        let mut log = Log {
            disk,
            files,
            salt,
            step,
            current: Span { epoch: folded.next(), end: FIRST },
            before: None,
            synced: FIRST,
            marked: FIRST,
            allocated: FIRST,
            failed: false,
            checksum: Checksum::new(&header),
            buffer: Vec::new(),
        };
        log.find(folded, options.cut_damaged)?;
        Ok(log)
    }

    /// Finds out from the headers which epochs there are, and from the records where they end.
    fn find(&mut self, folded: Epoch, cut_damaged: bool) -> Result<(), StoreError> {
        let headers = [self.header(0)?, self.header(1)?];
        let is_unused = |header: Option<Header>| header.is_none_or(|h| h.epoch == Epoch::NONE);
        if folded == Epoch::NONE && headers.into_iter().all(is_unused) {
            // The header of the first epoch is written last: nothing was ever appended.
            for epoch in [Epoch::NONE, Epoch::NONE.next()] {
                self.write_header(&Header { epoch, previous_end: FIRST, salt: self.salt })?;
            }
            return Ok(());
        }
        let [Some(a), Some(b)] = headers else { return Err(self.out_of_order(headers, folded)) };
        let (header, before) = if a.epoch > b.epoch { (a, b) } else { (b, a) };
        let is_next = header.epoch == folded.next() || before.epoch == folded.next();
        if before.epoch.next() != header.epoch || !is_next {
            return Err(self.out_of_order(headers, folded));
        }
        self.salt = header.salt;
        self.checksum = Checksum::new(&header);
        if before.epoch > folded {
            let (end, synced) = (self.end_of(&before)?, header.previous_end);
            if end != synced {
                let path = self.path(before.epoch);
                let what = format!(
                    "{path} reads up to byte {end}, but was synced up to {synced}: restore a copy of \
                     the directory"
                );
                return Err(StoreError::Corrupt(what));
            }
            self.before = Some(Span { epoch: before.epoch, end: synced });
        }
        self.current = Span { epoch: header.epoch, end: self.end_of(&header)? };
        if !cut_damaged {
            self.refuse_damaged(&header)?;
        }
        self.write_again(&header)?;
        self.cut()
    }

    fn out_of_order(&self, headers: [Option<Header>; 2], folded: Epoch) -> StoreError {
        let epoch = |header: Option<Header>| {
            header.map_or("nothing".to_owned(), |header| format!("epoch {}", header.epoch.0))
        };
        StoreError::Corrupt(format!(
            "{} holds {}, {} holds {}, and the tables hold everything up to epoch {}: a file was \
             lost, or is of another time",
            self.disk.path(NAMES[0]),
            epoch(headers[0]),
            self.disk.path(NAMES[1]),
            epoch(headers[1]),
            folded.0
        ))
    }

    /// Writes what was just read (6).
    fn write_again(&self, header: &Header) -> Result<(), StoreError> {
        let file = &self.files[index(header.epoch)];
        let io = |error| StoreError::io("writing the log again", self.path(header.epoch), &error);
        file.write_at(0, &header.encode()).map_err(io)?;
        let mut bytes = vec![0; self.chunk()];
        let mut at = FIRST;
        while at < self.current.end {
            bytes.truncate((self.current.end - at) as usize);
            file.read_at(at, &mut bytes).and_then(|()| file.write_at(at, &bytes)).map_err(io)?;
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// The header of a file; `None` when it has none yet.
    fn header(&self, file: usize) -> Result<Option<Header>, StoreError> {
        let path = || self.disk.path(NAMES[file]);
        let io = |error| StoreError::io("reading the log", path(), &error);
        let len = self.files[file].len().map_err(io)?;
        let mut bytes = [0; HEADER_LEN];
        let there = (len as usize).min(HEADER_LEN);
        self.files[file].read_at(0, &mut bytes[..there]).map_err(io)?;
        let header = Header::decode(&bytes, path)?;
        // A header is on disk before its file grows beyond it.
        if header.is_none() && len > FIRST {
            return Err(StoreError::Corrupt(format!("the header of {} is gone", path())));
        }
        Ok(header)
    }

    /// Cuts the current file at the last record that counts (3), and puts back the header of the
    /// epoch before (5).
    fn cut(&mut self) -> Result<(), StoreError> {
        let Span { epoch, end } = self.current;
        let file = &self.files[index(epoch)];
        let io = |error| StoreError::io("cutting the log", self.path(epoch), &error);
        let cut = file.set_len(end).and_then(|()| file.sync()).map_err(io);
        if cut.is_err() {
            self.current.end = self.synced;
        }
        cut?;
        // The last mark may have been behind the end.
        (self.synced, self.marked) = (end, FIRST);
        if self.before.is_none() {
            let before = Epoch(epoch.0 - 1);
            let header = Header { epoch: before, previous_end: FIRST, salt: self.salt };
            let other = &self.files[index(before)];
            let put_back = other.write_at(0, &header.encode()).and_then(|()| other.sync());
            let io = |error| StoreError::io("cutting the log", self.path(before), &error);
            put_back.map_err(io)?;
        }
        (self.allocated, self.failed) = (end, false);
        Ok(())
    }

    fn write_header(&mut self, header: &Header) -> Result<(), StoreError> {
        let file = &self.files[index(header.epoch)];
        let io = |error| StoreError::io("beginning a log", self.path(header.epoch), &error);
        file.write_at(0, &header.encode()).map_err(io)?;
        let mut len = file.len().map_err(io)?;
        if len < FIRST {
            file.set_len(FIRST).map_err(io)?;
            len = FIRST;
        }
        file.sync().map_err(io)?;
        self.current = Span { epoch: header.epoch, end: FIRST };
        (self.synced, self.marked, self.allocated) = (FIRST, FIRST, len);
        self.checksum = Checksum::new(header);
        Ok(())
    }

    pub(super) fn append(&mut self, records: &[&[u8]], sync: bool) -> Result<(), StoreError> {
        self.check()?;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let synced = self.synced;
        if synced > self.marked {
            self.checksum.encode_mark(self.current.end, synced, &mut buffer);
        }
        for record in records {
            assert!(!record.is_empty(), "a record has at least one byte");
            let bytes = record.len() as u64;
            if bytes > RECORD_BYTES_MAX {
                return Err(StoreError::TooLong { bytes, max: RECORD_BYTES_MAX });
            }
            let at = self.current.end + buffer.len() as u64;
            self.checksum.encode(at, record, &mut buffer);
        }
        let written = self.write(&mut buffer);
        buffer.shrink_to(BUFFER_KEPT);
        self.buffer = buffer;
        written?;
        self.marked = synced;
        if sync { self.sync() } else { Ok(()) }
    }

    /// Writes `bytes` behind what is there. Where the file has to grow they get zeros behind them.
    fn write(&mut self, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let Span { epoch, end } = self.current;
        let after = end + bytes.len() as u64;
        let grown = after.next_multiple_of(self.step);
        let must_grow = after > self.allocated;
        if must_grow {
            // Not by its length alone: then each sync would have blocks to find and to note.
            bytes.resize((grown - end) as usize, 0);
        }
        if let Err(error) = self.files[index(epoch)].write_at(end, bytes) {
            self.failed = true;
            return Err(StoreError::io("appending to the log", self.path(epoch), &error));
        }
        if must_grow {
            self.allocated = grown;
        }
        self.current.end = after;
        Ok(())
    }

    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.check()?;
        if self.synced == self.current.end {
            return Ok(());
        }
        let epoch = self.current.epoch;
        if let Err(error) = self.files[index(epoch)].sync() {
            self.failed = true;
            self.current.end = self.synced;
            return Err(StoreError::io("syncing the log", self.path(epoch), &error));
        }
        self.synced = self.current.end;
        Ok(())
    }

    pub(super) fn rotate(&mut self) -> Result<Epoch, StoreError> {
        assert!(self.before.is_none(), "the epoch before the current one was not folded");
        self.sync()?;
        let over = self.current;
        let header = Header { epoch: over.epoch.next(), previous_end: over.end, salt: self.salt };
        if let Err(error) = self.write_header(&header) {
            self.failed = true;
            return Err(error);
        }
        self.before = Some(over);
        Ok(header.epoch)
    }

    /// After a failure: what counts is cut out, and records are taken again.
    pub(super) fn reopen(&mut self) -> Result<(), StoreError> {
        self.failed = true;
        self.cut()
    }

    /// The tables hold what these epochs held.
    pub(super) fn forget(&mut self, up_to: Epoch) {
        self.before = self.before.filter(|before| before.epoch > up_to);
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.failed { Err(StoreError::Failed) } else { Ok(()) }
    }

    /// Where records are appended.
    pub(super) fn current(&self) -> Span {
        self.current
    }

    /// Bytes of records, with their heads, that were not folded.
    pub(super) fn bytes(&self) -> u64 {
        self.before.into_iter().chain([self.current]).map(|span| span.end - FIRST).sum()
    }

    fn chunk(&self) -> usize {
        self.step.min(CHUNK) as usize
    }

    fn len(&self, epoch: Epoch) -> Result<u64, StoreError> {
        let len = self.files[index(epoch)].len();
        len.map_err(|error| StoreError::io("reading the log", self.path(epoch), &error))
    }

    fn path(&self, epoch: Epoch) -> String {
        self.disk.path(NAMES[index(epoch)])
    }
}

/// How many bytes of records an epoch has that ends there.
pub(super) fn bytes_of(span: Span) -> u64 {
    span.end - FIRST
}
