//! How are the bytes of a log laid out?
//!
//! ```text
//!   0       8         12     16      24             32     40       44        4096
//!   +-------+---------+------+-------+--------------+------+--------+---------+--------+--------
//!   | magic | version | zero | epoch | previous end | salt | crc 32 | zeros   | record | record
//!   +-------+---------+------+-------+--------------+------+--------+---------+--------+--------
//!
//!   record:   len (4), crc 32 (4), payload (len, not 0)
//!   mark:     all ones (4), crc 32 (4), synced (8), salt (8)
//! ```
//!
//! Numbers are little-endian. A mark says up to where the epoch was synced when it was written. The
//! checksum of either is over salt, epoch, its offset in the file, the first four bytes and what is
//! behind the eight:
//!
//! 1. A record of one epoch never verifies in another. The two would differ in the epoch alone,
//!    and a CRC-32 finds each difference that lies within 32 bits in a row.
//! 2. Bytes that a stranger has sent, and that lie in the payload of an old record where a log
//!    happens to end, do not verify: the salt is drawn when the store is made and told to nobody.
//! 3. Zeros are no record: len is not 0.
//! 4. A mark is also found where it is not known what is before it, at any offset. It holds the salt:
//!    nobody can send bytes that happen to be one.

use crate::store::{Epoch, StoreError};

pub(super) const MAGIC: [u8; 8] = *b"SHIFTLOG";
/// Of the log's layout. Version 1 had no marks, and would take one for the end.
pub(super) const VERSION: u32 = 2;
/// Where the first record is: the header's page is not written again with records.
pub(super) const FIRST: u64 = 4096;
pub(super) const HEADER_LEN: usize = 44;
pub(super) const HEAD_LEN: usize = 8;
/// What a mark has where a record has its length.
pub(super) const MARK: u32 = u32::MAX;
pub(super) const MARK_LEN: usize = HEAD_LEN + 16;
/// The longest payload.
pub(crate) const RECORD_BYTES_MAX: u64 = 1 << 30;

/// What a log says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) epoch: Epoch,
    /// Where the records of the epoch before end, in its file.
    pub(super) previous_end: u64,
    /// The same in all logs of a store.
    pub(super) salt: u64,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.epoch.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.previous_end.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.salt.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..40]);
        bytes[40..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None`: zeros, which is how a header reads that was never written.
    pub(super) fn decode(
        bytes: &[u8; HEADER_LEN],
        path: impl Fn() -> String,
    ) -> Result<Option<Header>, StoreError> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if bytes[..8] != MAGIC {
            return Err(StoreError::Foreign(path()));
        }
        if u32_at(bytes, 40) != crc32fast::hash(&bytes[..40]) {
            return Err(StoreError::Corrupt(format!("the header of {} is damaged", path())));
        }
        let found = u32_at(bytes, 8);
        if found > VERSION {
            return Err(StoreError::Newer { found, known: VERSION });
        }
        Ok(Some(Header {
            epoch: Epoch(u64_at(bytes, 16)),
            previous_end: u64_at(bytes, 24),
            salt: u64_at(bytes, 32),
        }))
    }
}

/// Computes the checksums of one epoch.
#[derive(Clone, Debug)]
pub(super) struct Checksum {
    /// After salt and epoch.
    hasher: crc32fast::Hasher,
    salt: u64,
}

impl Checksum {
    pub(super) fn new(header: &Header) -> Checksum {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header.salt.to_le_bytes());
        hasher.update(&header.epoch.0.to_le_bytes());
        Checksum { hasher, salt: header.salt }
    }

    /// Of a record.
    pub(super) fn of(&self, at: u64, payload: &[u8]) -> u32 {
        self.of_either(at, payload.len() as u32, payload)
    }

    fn of_either(&self, at: u64, first: u32, payload: &[u8]) -> u32 {
        let mut place = [0; 12];
        place[..8].copy_from_slice(&at.to_le_bytes());
        place[8..].copy_from_slice(&first.to_le_bytes());
        let mut hasher = self.hasher.clone();
        hasher.update(&place);
        hasher.update(payload);
        hasher.finalize()
    }

    /// Appends a record that will be at offset `at` of its file.
    pub(super) fn encode(&self, at: u64, payload: &[u8], into: &mut Vec<u8>) {
        into.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        into.extend_from_slice(&self.of(at, payload).to_le_bytes());
        into.extend_from_slice(payload);
    }

    /// Appends a mark that will be at offset `at` of its file.
    pub(super) fn encode_mark(&self, at: u64, synced: u64, into: &mut Vec<u8>) {
        let mut payload = [0; MARK_LEN - HEAD_LEN];
        payload[..8].copy_from_slice(&synced.to_le_bytes());
        payload[8..].copy_from_slice(&self.salt.to_le_bytes());
        into.extend_from_slice(&MARK.to_le_bytes());
        into.extend_from_slice(&self.of_either(at, MARK, &payload).to_le_bytes());
        into.extend_from_slice(&payload);
    }

    /// Up to where the epoch was synced, if these bytes are a mark of it at this offset.
    pub(super) fn mark(&self, at: u64, bytes: &[u8; MARK_LEN]) -> Option<u64> {
        let (head, payload) = bytes.split_at(HEAD_LEN);
        let (synced, salt) = (u64_at(payload, 0), u64_at(payload, 8));
        // The salt first: strangers may send many bytes that look like marks.
        let verifies = u32_at(head, 0) == MARK
            && salt == self.salt
            && self.of_either(at, MARK, payload) == u32_at(head, 4);
        (verifies && synced <= at).then_some(synced)
    }
}

/// The first eight bytes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) len: u32,
    pub(super) crc: u32,
}

impl Head {
    pub(super) fn decode(bytes: &[u8; HEAD_LEN]) -> Head {
        Head { len: u32_at(bytes, 0), crc: u32_at(bytes, 4) }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { epoch: Epoch(7), previous_end: 5_000, salt: 0x5a17 };

    fn decode(bytes: &[u8; HEADER_LEN]) -> Result<Option<Header>, StoreError> {
        Header::decode(bytes, || "log-1".to_owned())
    }

    #[test]
    fn a_header_reads_as_it_was_written() {
        assert_eq!(decode(&HEADER.encode()), Ok(Some(HEADER)));
        assert_eq!(decode(&[0; HEADER_LEN]), Ok(None));
    }

    #[test]
    fn a_header_with_any_bit_flipped_is_refused() {
        for bit in 0..HEADER_LEN * 8 {
            let mut bytes = HEADER.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_newer_layout_is_refused_with_both_versions() {
        let mut bytes = HEADER.encode();
        bytes[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
        let crc = crc32fast::hash(&bytes[..40]);
        bytes[40..].copy_from_slice(&crc.to_le_bytes());
        let newer = StoreError::Newer { found: VERSION + 1, known: VERSION };
        assert_eq!(decode(&bytes), Err(newer));
    }

    #[test]
    fn a_mark_reads_as_it_was_written_and_not_with_any_bit_flipped_or_anywhere_else() {
        let checksum = Checksum::new(&HEADER);
        let mut bytes = Vec::new();
        checksum.encode_mark(9_000, 8_000, &mut bytes);
        let mark: [u8; MARK_LEN] = bytes.try_into().expect("it is as long as a mark");
        assert_eq!(checksum.mark(9_000, &mark), Some(8_000));
        assert_eq!(checksum.mark(9_001, &mark), None);
        let next = Checksum::new(&Header { epoch: Epoch(9), ..HEADER });
        assert_eq!(next.mark(9_000, &mark), None, "it is of an earlier epoch");
        for bit in 0..MARK_LEN * 8 {
            let mut damaged = mark;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(checksum.mark(9_000, &damaged), None, "bit {bit}");
        }
    }

    #[test]
    fn a_record_of_one_epoch_never_verifies_in_another() {
        let checksum = |epoch| Checksum::new(&Header { epoch: Epoch(epoch), ..HEADER });
        let own = checksum(7).of(4_096, b"a record");
        for epoch in (0..100_000).chain([u64::from(u32::MAX)]).filter(|epoch| *epoch != 7) {
            assert_ne!(own, checksum(epoch).of(4_096, b"a record"), "epoch {epoch}");
        }
    }
}
