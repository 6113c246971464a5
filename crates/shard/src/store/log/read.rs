//! Which records does a log hold, and where do they end?

use super::{
    super::{Replayed, StoreError},
    Checksum, FIRST, HEAD_LEN, Header, Log, RECORD_BYTES_MAX,
    format::{Head, MARK, MARK_LEN},
    index,
};
use crate::disk::File;

impl Log {
    /// Calls `each` with each record that was not folded.
    pub(in crate::store) fn replay(&self, each: &mut Replayed<'_>) -> Result<(), StoreError> {
        for span in self.before.into_iter().chain([self.current]) {
            let header = Header { epoch: span.epoch, previous_end: FIRST, salt: self.salt };
            let end = self.records(&header, span.end, &mut |record| each(span.epoch, record))?;
            if end != span.end {
                let path = self.path(span.epoch);
                return Err(StoreError::Corrupt(format!(
                    "{path} reads up to byte {end}, but was written up to {}",
                    span.end
                )));
            }
        }
        Ok(())
    }

    /// Where the last record ends that can be read.
    pub(super) fn end_of(&self, header: &Header) -> Result<u64, StoreError> {
        self.records(header, self.len(header.epoch)?, &mut |_| Ok(()))
    }

    /// Reads records until one does not verify or would go beyond `limit`. Where that is.
    fn records(
        &self,
        header: &Header,
        limit: u64,
        each: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let checksum = Checksum::new(header);
        let file = &*self.files[index(header.epoch)];
        let mut window = Window { file, limit, at: FIRST, bytes: Vec::new(), chunk: self.chunk() };
        let mut at = FIRST;
        loop {
            let io = |error| StoreError::io("reading the log", self.path(header.epoch), &error);
            let Some(head) = window.read(at, HEAD_LEN).map_err(io)? else { return Ok(at) };
            let head = Head::decode(head.try_into().expect("it is as long as a head"));
            if head.len == MARK {
                let Some(mark) = window.read(at, MARK_LEN).map_err(io)? else { return Ok(at) };
                let mark = mark.first_chunk().expect("it is as long as a mark");
                if checksum.mark(at, mark).is_none() {
                    return Ok(at);
                }
                at += MARK_LEN as u64;
                continue;
            }
            let is_possible = head.len != 0 && u64::from(head.len) <= RECORD_BYTES_MAX;
            let from = at + HEAD_LEN as u64;
            // The length is not trusted: nothing is allocated for more than the file holds.
            let len = if is_possible { head.len as usize } else { return Ok(at) };
            let Some(payload) = window.read(from, len).map_err(io)? else { return Ok(at) };
            if checksum.of(at, payload) != head.crc {
                return Ok(at);
            }
            each(payload)?;
            at = from + len as u64;
        }
    }
}

/// A part of a file in memory, moved forward in large steps.
struct Window<'a> {
    file: &'a dyn File,
    limit: u64,
    at: u64,
    bytes: Vec<u8>,
    /// How much is read at a time.
    chunk: usize,
}

impl Window<'_> {
    /// `None`: the file ends before.
    fn read(&mut self, at: u64, len: usize) -> std::io::Result<Option<&[u8]>> {
        if at + len as u64 > self.limit {
            return Ok(None);
        }
        let end = self.at + self.bytes.len() as u64;
        if at < self.at || at + len as u64 > end {
            let step = ((self.limit - at) as usize).min(self.chunk.max(len));
            self.bytes.resize(step, 0);
            self.at = at;
            self.file.read_at(at, &mut self.bytes)?;
        }
        let from = (at - self.at) as usize;
        Ok(Some(&self.bytes[from..from + len]))
    }
}
