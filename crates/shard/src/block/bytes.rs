//! How are numbers and strings of bytes written compactly, and read without trust?
//!
//! What is read may be anything: each length is checked against what is there before anything is
//! allocated.

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::store::StoreError;

/// 7 bits per byte, the lowest first; the highest bit says that more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, value: u64) {
    put_varint_128(out, u128::from(value));
}

pub(crate) fn put_varint_128(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Its length in bytes, then the bytes, the highest first, without leading zeros.
pub(crate) fn put_u256(out: &mut Vec<u8>, value: U256) {
    let len = value.byte_len();
    out.push(len as u8);
    out.extend_from_slice(&value.to_be_bytes::<32>()[32 - len..]);
}

/// Its length, then the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what was written by the functions above, from the front.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// What is being read, for errors.
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { rest: bytes, what }
    }

    #[cold]
    pub(crate) fn corrupt(&self, why: &str) -> StoreError {
        StoreError::Corrupt(format!("{}: {why}", self.what))
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], StoreError> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.corrupt("it ends too early"));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, StoreError> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<usize, StoreError> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, StoreError> {
        u64::try_from(self.varint_128()?).map_err(|_| self.corrupt("a number is too large"))
    }

    pub(crate) fn varint_128(&mut self) -> Result<u128, StoreError> {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = self.u8()?;
            let bits = u128::from(byte & 0x7f);
            if shift > 126 || shift == 126 && bits > 3 {
                return Err(self.corrupt("a number is too large"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    pub(crate) fn u256(&mut self) -> Result<U256, StoreError> {
        let len = usize::from(self.u8()?);
        if len > 32 {
            return Err(self.corrupt("a number has more than 32 bytes"));
        }
        let bytes = self.take(len)?;
        if bytes.first() == Some(&0) {
            return Err(self.corrupt("a number begins with zero"));
        }
        Ok(U256::from_be_slice(bytes))
    }

    pub(crate) fn address(&mut self) -> Result<Address, StoreError> {
        Ok(Address::new(self.array()?))
    }

    pub(crate) fn hash(&mut self) -> Result<B256, StoreError> {
        Ok(B256::new(self.array()?))
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, StoreError> {
        let len = self.varint()?;
        let len = usize::try_from(len).map_err(|_| self.corrupt("a length is too large"))?;
        self.take(len).map(Bytes::copy_from_slice)
    }

    /// How many things follow, of which each takes so many bytes at least.
    pub(crate) fn count(&mut self, size_min: usize) -> Result<usize, StoreError> {
        let count = self.varint()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() / size_min => Ok(count),
            _ => Err(self.corrupt("it holds less than it says")),
        }
    }

    /// All must have been read.
    pub(crate) fn end(&self) -> Result<(), StoreError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.corrupt("something follows")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size_come_back() {
        for bits in 0..=128u32 {
            for value in [
                u128::MAX.checked_shr(128 - bits).unwrap_or(0),
                1u128.checked_shl(bits).unwrap_or(0),
            ] {
                let mut bytes = Vec::new();
                put_varint_128(&mut bytes, value);
                let mut reader = Reader::new(&bytes, "a number");
                assert_eq!(reader.varint_128(), Ok(value));
                assert_eq!(reader.end(), Ok(()));
            }
        }
        for value in [U256::ZERO, U256::ONE, U256::from(256), U256::MAX] {
            let mut bytes = Vec::new();
            put_u256(&mut bytes, value);
            assert_eq!(Reader::new(&bytes, "a number").u256(), Ok(value));
        }
    }

    #[test]
    fn a_number_above_its_type_is_an_error() {
        let mut bytes = Vec::new();
        put_varint_128(&mut bytes, u128::from(u64::MAX) + 1);
        assert!(Reader::new(&bytes, "a number").varint().is_err());
        assert!(Reader::new(&[0xff; 64], "a number").varint_128().is_err());
        let mut above = [0x80; 19];
        above[18] = 4;
        assert!(Reader::new(&above, "a number").varint_128().is_err());
    }

    #[test]
    fn a_count_beyond_what_is_there_is_an_error_before_anything_is_allocated() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::MAX);
        bytes.extend_from_slice(&[0; 100]);
        assert!(Reader::new(&bytes, "a list").count(1).is_err());
        assert!(Reader::new(&bytes, "a string").bytes().is_err());
    }
}
