//! How do entries lie side by side in a block?
//!
//! ```text
//!   | entry | entry | ... | where each entry begins: 4 bytes each | how many: 4 |
//!
//!   entry   place's length: 2 | value's length + 1, or 0: deleted: 4 | place | value
//! ```
//!
//! Places ascend. All numbers are little-endian. Bytes may be damaged: whatever they are, reading
//! them is an error and never a panic.

use redb::StorageError;

/// An entry: a place, and what is there, or that nothing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Entry<'a> {
    /// A table's number and a key.
    pub(in crate::store) place: &'a [u8],
    pub(in crate::store) value: Option<&'a [u8]>,
}

/// A block that is being filled.
#[derive(Default)]
pub(super) struct Builder {
    bytes: Vec<u8>,
    starts: Vec<u32>,
}

impl Builder {
    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + 4 * self.starts.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// One more, behind all that are there.
    pub(super) fn push(&mut self, table: u8, key: &[u8], value: Option<&[u8]>) {
        let start =
            u32::try_from(self.bytes.len()).expect("a block is short but for its last entry");
        let place = u16::try_from(key.len() + 1).expect("a key is short");
        let more = value.map_or(0, |value| value.len() + 1);
        let more = u32::try_from(more).expect("a value has less than 4 GiB");
        self.starts.push(start);
        self.bytes.extend_from_slice(&place.to_le_bytes());
        self.bytes.extend_from_slice(&more.to_le_bytes());
        self.bytes.push(table);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    /// The bytes of the block. The next begins after them.
    pub(super) fn finish(&mut self, write: impl FnOnce(&[u8])) {
        for start in &self.starts {
            self.bytes.extend_from_slice(&start.to_le_bytes());
        }
        let count = u32::try_from(self.starts.len()).expect("an entry has more than one byte");
        self.bytes.extend_from_slice(&count.to_le_bytes());
        write(&self.bytes);
        self.bytes.clear();
        self.starts.clear();
    }
}

/// A block to read from.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    entries: &'a [u8],
    starts: &'a [u8],
}

impl<'a> Block<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Block<'a>, StorageError> {
        let (rest, count) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        let starts = (u32::from_le_bytes(*count) as usize).checked_mul(4).ok_or_else(damaged)?;
        let at = rest.len().checked_sub(starts).ok_or_else(damaged)?;
        let (entries, starts) = rest.split_at(at);
        Ok(Block { entries, starts })
    }

    pub(super) fn len(self) -> usize {
        self.starts.len() / 4
    }

    /// The entry at an index, which is below [`Block::len`].
    pub(super) fn entry(self, at: usize) -> Result<Entry<'a>, StorageError> {
        let read = || {
            let start = self.starts.get(4 * at..)?.first_chunk::<4>()?;
            let rest = self.entries.get(u32::from_le_bytes(*start) as usize..)?;
            let (place, rest) = rest.split_first_chunk::<2>()?;
            let (more, rest) = rest.split_first_chunk::<4>()?;
            let (place, rest) = rest.split_at_checked(u16::from_le_bytes(*place).into())?;
            let value = match (u32::from_le_bytes(*more) as usize).checked_sub(1) {
                Some(len) => Some(rest.get(..len)?),
                None => None,
            };
            (!place.is_empty()).then_some(Entry { place, value })
        };
        read().ok_or_else(damaged)
    }

    /// The index of the first entry whose place is this one or behind it.
    pub(super) fn lower_bound(self, place: &[u8]) -> Result<usize, StorageError> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.entry(middle)?.place < place {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

pub(super) fn damaged() -> StorageError {
    StorageError::Corrupted("a run of entries does not read as one".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table, a key, a value.
    type Given<'a> = (u8, &'a [u8], Option<&'a [u8]>);

    fn block(entries: &[Given<'_>]) -> Vec<u8> {
        let mut builder = Builder::default();
        entries.iter().for_each(|(table, key, value)| builder.push(*table, key, *value));
        let mut bytes = Vec::new();
        builder.finish(|written| bytes = written.to_vec());
        assert!(builder.is_empty());
        bytes
    }

    #[test]
    fn entries_come_back_and_are_found_by_their_place() {
        let bytes = block(&[(1, b"a", Some(b"x")), (1, b"ab", None), (2, b"", Some(b""))]);
        let block = Block::new(&bytes).expect("it was just written");
        let entry = |at| block.entry(at).expect("it was just written");
        assert_eq!(entry(0), Entry { place: b"\x01a", value: Some(b"x") });
        assert_eq!(entry(1), Entry { place: b"\x01ab", value: None });
        assert_eq!(entry(2), Entry { place: b"\x02", value: Some(b"") });
        let places: [(&[u8], usize); 6] =
            [(b"", 0), (b"\x01a", 0), (b"\x01aa", 1), (b"\x01b", 2), (b"\x02", 2), (b"\x03", 3)];
        for (place, at) in places {
            assert_eq!(block.lower_bound(place).expect("it was just written"), at, "{place:?}");
        }
    }

    /// What is on disk is read by later programs.
    #[test]
    fn the_bytes_of_a_block_stay_what_they_are() {
        let bytes = block(&[(1, b"a", Some(b"x")), (6, b"b", None)]);
        let expected = [
            &[2, 0, 2, 0, 0, 0, 1, b'a', b'x'][..],
            &[2, 0, 0, 0, 0, 0, 6, b'b'],
            &[0, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0],
        ];
        assert_eq!(bytes, expected.concat());
    }

    #[test]
    fn damaged_bytes_are_an_error_or_other_entries_and_never_a_panic() {
        let bytes = block(&[(1, b"key", Some(b"value")), (1, b"other", None)]);
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                for len in [at, bytes.len()] {
                    let Ok(block) = Block::new(&damaged[..len]) else { continue };
                    let _ = block.lower_bound(b"\x01l");
                    (0..block.len().min(9)).for_each(|at| drop(block.entry(at)));
                }
            }
        }
    }
}
