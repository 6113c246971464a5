//! How is Keccak computed on vectors?
//!
//! Eight lanes with AVX-512, four with AVX2, otherwise one message after the other. A value of
//! [`Eight`] or [`Four`] is the proof that the processor can do it.

use std::{arch::x86_64::*, mem::transmute};

use alloy_primitives::{B256, keccak256};

/// The bytes that one permutation takes in.
const RATE: usize = 136;

const ROUNDS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// The states of several messages: each of the 25 words, of all of them.
#[repr(C, align(64))]
struct States<const N: usize>([[u64; N]; 25]);

/// Writes the hash of each message to the same place in `hashes`.
pub(super) fn each(messages: &[&[u8]], hashes: &mut [B256]) {
    if let Some(eight) = Eight::detect() {
        in_groups::<8>(messages, hashes, |states| eight.permute(states));
    } else if let Some(four) = Four::detect() {
        in_groups::<4>(messages, hashes, |states| four.permute(states));
    } else {
        one_by_one(messages, hashes);
    }
}

fn one_by_one(messages: &[&[u8]], hashes: &mut [B256]) {
    for (message, hash) in messages.iter().zip(hashes) {
        *hash = keccak256(message);
    }
}

fn in_groups<const N: usize>(
    messages: &[&[u8]],
    hashes: &mut [B256],
    permute: impl Fn(&mut States<N>),
) {
    for (messages, hashes) in messages.chunks(N).zip(hashes.chunks_mut(N)) {
        let blocks = messages.iter().map(|message| message.len() / RATE + 1);
        let (longest, all) = (blocks.clone().max().unwrap_or(0), blocks.sum::<usize>());
        // Where most lanes would be idle most of the time, one lane is faster.
        if all < 2 * longest {
            one_by_one(messages, hashes);
        } else {
            group(messages, hashes, longest, &permute);
        }
    }
}

/// Hashes as many messages as there are lanes, or fewer. A lane whose message has ended goes on
/// with nonsense.
fn group<const N: usize>(
    messages: &[&[u8]],
    hashes: &mut [B256],
    longest: usize,
    permute: impl Fn(&mut States<N>),
) {
    let mut states = States([[0; N]; 25]);
    for block in 0..longest {
        let at = block * RATE;
        for (lane, message) in messages.iter().enumerate() {
            if let Some(full) = message.get(at..).and_then(|rest| rest.first_chunk()) {
                states.absorb(lane, full);
            } else if let Some(rest) = message.get(at..) {
                states.absorb(lane, &padded(rest));
            }
        }
        permute(&mut states);
        for (lane, (message, hash)) in messages.iter().zip(&mut *hashes).enumerate() {
            if message.len() / RATE == block {
                *hash = states.hash(lane);
            }
        }
    }
}

/// The last block of a message, which has less than a block.
fn padded(rest: &[u8]) -> [u8; RATE] {
    let mut block = [0; RATE];
    block[..rest.len()].copy_from_slice(rest);
    block[rest.len()] = 0x01;
    block[RATE - 1] |= 0x80;
    block
}

impl<const N: usize> States<N> {
    fn absorb(&mut self, lane: usize, block: &[u8; RATE]) {
        for (word, bytes) in self.0.iter_mut().zip(block.as_chunks().0) {
            word[lane] ^= u64::from_le_bytes(*bytes);
        }
    }

    fn hash(&self, lane: usize) -> B256 {
        let mut hash = B256::ZERO;
        for (word, bytes) in self.0.iter().zip(hash.as_chunks_mut().0) {
            *bytes = word[lane].to_le_bytes();
        }
        hash
    }
}

/// The permutation, on words of the type `$word` with so many lanes and its operations.
macro_rules! permutation {
    ($states:ident, $word:ty, $lanes:literal, $($operations:ident)::+) => {{
        use $($operations)::+::{chi, rotate, splat, xor, xor3};
        // SAFETY: both are 25 times as many bytes, and any bytes are a value of either.
        let mut a = unsafe { transmute::<[[u64; $lanes]; 25], [$word; 25]>($states.0) };
        for constant in ROUNDS {
            // Theta.
            let mut c = [a[0]; 5];
            for x in 0..5 {
                c[x] = xor3(xor3(a[x], a[x + 5], a[x + 10]), a[x + 15], a[x + 20]);
            }
            for x in 0..5 {
                let turned = rotate::<1, 63>(c[(x + 1) % 5]);
                for y in 0..5 {
                    a[x + 5 * y] = xor3(a[x + 5 * y], c[(x + 4) % 5], turned);
                }
            }
            // Rho and pi: each word is turned and takes the place of the next.
            let mut moving = a[1];
            macro_rules! to {
                ($place:literal, $left:literal) => {
                    let next = a[$place];
                    a[$place] = rotate::<$left, { 64 - $left }>(moving);
                    moving = next;
                };
            }
            to!(10, 1);
            to!(7, 3);
            to!(11, 6);
            to!(17, 10);
            to!(18, 15);
            to!(3, 21);
            to!(5, 28);
            to!(16, 36);
            to!(8, 45);
            to!(21, 55);
            to!(24, 2);
            to!(4, 14);
            to!(15, 27);
            to!(23, 41);
            to!(19, 56);
            to!(13, 8);
            to!(12, 25);
            to!(2, 43);
            to!(20, 62);
            to!(14, 18);
            to!(22, 39);
            to!(9, 61);
            to!(6, 20);
            a[1] = rotate::<44, 20>(moving);
            // Chi.
            for y in 0..5 {
                let row = [a[5 * y], a[5 * y + 1], a[5 * y + 2], a[5 * y + 3], a[5 * y + 4]];
                for x in 0..5 {
                    a[5 * y + x] = chi(row[x], row[(x + 1) % 5], row[(x + 2) % 5]);
                }
            }
            // Iota.
            a[0] = xor(a[0], splat(constant));
        }
        // SAFETY: as above.
        $states.0 = unsafe { transmute::<[$word; 25], [[u64; $lanes]; 25]>(a) };
    }};
}

/// The processor has AVX-512: eight lanes.
#[derive(Clone, Copy)]
struct Eight(());

impl Eight {
    fn detect() -> Option<Eight> {
        is_x86_feature_detected!("avx512f").then_some(Eight(()))
    }

    fn permute(self, states: &mut States<8>) {
        // SAFETY: `self` exists only where the processor has this.
        unsafe { permute_eight(states) }
    }
}

#[target_feature(enable = "avx512f")]
fn permute_eight(states: &mut States<8>) {
    permutation!(states, __m512i, 8, self::eight);
}

mod eight {
    use super::*;

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn splat(word: u64) -> __m512i {
        _mm512_set1_epi64(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn xor(a: __m512i, b: __m512i) -> __m512i {
        _mm512_xor_si512(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0x96>(a, b, c)
    }

    /// `a ^ (!b & c)`
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn chi(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0xd2>(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn rotate<const LEFT: i32, const RIGHT: i32>(a: __m512i) -> __m512i {
        _mm512_rol_epi64::<LEFT>(a)
    }
}

/// The processor has AVX2: four lanes.
#[derive(Clone, Copy)]
struct Four(());

impl Four {
    fn detect() -> Option<Four> {
        is_x86_feature_detected!("avx2").then_some(Four(()))
    }

    fn permute(self, states: &mut States<4>) {
        // SAFETY: `self` exists only where the processor has this.
        unsafe { permute_four(states) }
    }
}

#[target_feature(enable = "avx2")]
fn permute_four(states: &mut States<4>) {
    permutation!(states, __m256i, 4, self::four);
}

mod four {
    use super::*;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn splat(word: u64) -> __m256i {
        _mm256_set1_epi64x(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn xor(a: __m256i, b: __m256i) -> __m256i {
        _mm256_xor_si256(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        xor(xor(a, b), c)
    }

    /// `a ^ (!b & c)`
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn chi(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        xor(a, _mm256_andnot_si256(b, c))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn rotate<const LEFT: i32, const RIGHT: i32>(a: __m256i) -> __m256i {
        _mm256_or_si256(_mm256_slli_epi64::<LEFT>(a), _mm256_srli_epi64::<RIGHT>(a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The width that this processor does not choose is right too, if it has it.
    #[test]
    fn four_lanes_give_the_hashes_of_one() {
        let Some(four) = Four::detect() else { return };
        let bytes: Vec<u8> = (0..1_000u32).map(|n| ((n * n) >> 3) as u8).collect();
        let messages: Vec<&[u8]> = (0..600).map(|len| &bytes[..len]).collect();
        let mut hashes = vec![B256::ZERO; messages.len()];
        in_groups::<4>(&messages, &mut hashes, |states| four.permute(states));
        for (message, hash) in messages.iter().zip(hashes) {
            assert_eq!(hash, keccak256(message), "of {} bytes", message.len());
        }
    }
}
