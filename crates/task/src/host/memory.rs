//! What a guest's pointers mean: a part of its memory, or nothing at all.

use std::ops::Range;

use crate::abi::Code;

/// A guest's memory.
pub(crate) struct Memory<'a>(pub(crate) &'a mut [u8]);

impl Memory<'_> {
    /// The bytes from `pointer` on, if there are so many. The pointer is an `i32` of the guest's,
    /// zero-extended, and so is the length, or a multiple of one; a length below 0 is none.
    #[inline]
    fn range(&self, pointer: u64, len: u64) -> Result<Range<usize>, Code> {
        let start = pointer as u32 as usize;
        if len > i32::MAX as u64 {
            return Err(Code::BadArgument);
        }
        // Neither can wrap around: a `usize` has room for twice an `i32`.
        let end = start.checked_add(len as usize).ok_or(Code::BadArgument)?;
        if end <= self.0.len() { Ok(start..end) } else { Err(Code::BadArgument) }
    }

    #[inline]
    pub(crate) fn read(&self, pointer: u64, len: u64) -> Result<&[u8], Code> {
        Ok(&self.0[self.range(pointer, len)?])
    }

    #[inline]
    pub(crate) fn write(&mut self, pointer: u64, len: u64) -> Result<&mut [u8], Code> {
        let range = self.range(pointer, len)?;
        Ok(&mut self.0[range])
    }

    /// Writes a number whose place was checked before. A memory never shrinks.
    #[inline]
    pub(crate) fn put<const N: usize>(&mut self, at: u32, bytes: [u8; N]) {
        self.0[at as usize..at as usize + N].copy_from_slice(&bytes);
    }
}

/// A buffer of the guest's, and where the length of what is put there goes. All of it was found to
/// be inside of the memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) at: u32,
    pub(crate) room: u32,
    len_out: u32,
}

impl Buffer {
    /// From the arguments `pointer, capacity, len_out`.
    #[inline]
    pub(crate) fn new(memory: &Memory<'_>, arguments: [u64; 3]) -> Result<Buffer, Code> {
        let [at, room, len_out] = arguments;
        memory.range(at, room)?;
        memory.range(len_out, 4)?;
        Ok(Buffer { at: at as u32, room: room as u32, len_out: len_out as u32 })
    }

    /// Puts bytes there, which are no more than there is room for, and their length.
    #[inline]
    pub(crate) fn fill(self, memory: &mut Memory<'_>, bytes: &[u8]) {
        let at = self.at as usize;
        memory.0[at..at + bytes.len()].copy_from_slice(bytes);
        self.tell(memory, bytes.len());
    }

    /// Says how long it is.
    #[inline]
    pub(crate) fn tell(self, memory: &mut Memory<'_>, len: usize) {
        memory.put(self.len_out, (len as u32).to_le_bytes());
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// An `i32` as engines give it.
    fn i32(value: i64) -> u64 {
        value as u32 as u64
    }

    #[test]
    fn only_what_lies_inside_is_there() {
        let mut bytes = [0; 100];
        let memory = Memory(&mut bytes);
        for (pointer, len) in [(0, 0), (0, 100), (99, 1), (100, 0)] {
            assert_eq!(memory.read(i32(pointer), i32(len)).map(<[u8]>::len), Ok(len as usize));
        }
        let outside = [
            (0, 101),
            (100, 1),
            (101, 0),
            (-1, 1),
            (-1, 2),
            (0, -1),
            (50, -10),
            (i64::from(i32::MIN), 0),
        ];
        for (pointer, len) in outside {
            assert_eq!(
                memory.read(i32(pointer), i32(len)),
                Err(Code::BadArgument),
                "{pointer} {len}"
            );
        }
        // Lists of eight bytes each, longer than any memory.
        for len in [1 << 32, (1 << 32) + 8, 8 * i32::MAX as u64, u64::MAX] {
            assert_eq!(memory.read(0, len), Err(Code::BadArgument), "{len}");
        }
    }

    #[test]
    fn a_guest_without_a_memory_has_nothing_but_nothing() {
        let memory = Memory(&mut []);
        assert_eq!(memory.read(0, 0), Ok(&[][..]));
        assert_eq!(memory.read(0, 1), Err(Code::BadArgument));
    }

    #[test]
    fn a_buffer_and_its_length_are_inside() {
        let mut bytes = [0; 16];
        let mut memory = Memory(&mut bytes);
        assert!(Buffer::new(&memory, [0, 8, 13]).is_err());
        assert!(Buffer::new(&memory, [9, 8, 0]).is_err());
        let buffer = Buffer::new(&memory, [0, 8, 12]).unwrap();
        buffer.fill(&mut memory, b"abc");
        assert_eq!(memory.0[..4], *b"abc\0");
        assert_eq!(memory.0[12..], [3, 0, 0, 0]);
    }
}
