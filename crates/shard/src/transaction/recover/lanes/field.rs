//! How is one computed with eight numbers at a time, modulo the prime of the curve?
//!
//! ```text
//!   p = 2^256 - C,  C = 2^32 + 977        limbs of 52, 52, 52, 52 and 48 bits, a vector each
//! ```
//!
//! The processor multiplies 52 bits by 52, and takes no more of its operands, so between two steps each
//! number is as rule 1 has it:
//!
//! 1. The first four limbs are below 2^52, and the last one below 2^48 + 2^8. The number may be p or a
//!    little more than 2^256.
//! 2. [`settle`] makes it so where all limbs are below 2^58: what the last one has above 48 bits, 10 at
//!    most, comes back times C, which has 33, so that the first is below 2^58 + 2^43. Each carry is 64 at
//!    most, and the last limb, of 48 bits, gets one.
//! 3. Each of a product's ten limbs is a sum of nine parts at most that are below 2^52: below 2^56. The
//!    tenth is one part, below 2^45. Carries from the fifth on leave 52 bits in each of the upper five, and
//!    the tenth is still below 2^45. With 2^260 = 16 C, of 37 bits, the upper five are added to the lower
//!    ones, which are then below 2^56 + 2^54: enough for rule 2.
//! 4. Before a number is taken away 2p is added, whose limbs are larger than any of rule 1.
//!
//! Each step waits for the one before it, while the processor could do several at once. So where there are
//! more than eight numbers, two steps are done side by side, with the numbers of two groups.
//!
//! It takes the same time for all numbers, though nothing here is secret.

use std::arch::x86_64::*;

/// The limbs of one number.
pub(super) type Limbs = [u64; 5];

/// The numbers of some groups.
#[derive(Clone, Copy)]
pub(super) struct Field<const GROUPS: usize>(pub(super) [Group; GROUPS]);

/// Eight numbers, of which each vector has a limb.
pub(super) type Group = [__m512i; 5];

/// Some lanes of each group.
pub(super) type Mask<const GROUPS: usize> = [__mmask8; GROUPS];

/// What a group has of each number.
pub(super) type Each<T, const GROUPS: usize> = [[T; LANES]; GROUPS];

/// The numbers of a group.
pub(super) const LANES: usize = 8;

const LOW_52: i64 = (1 << 52) - 1;
const LOW_48: i64 = (1 << 48) - 1;
const C: i64 = (1 << 32) + 977;
const P: [i64; 5] = [LOW_52 + 1 - C, LOW_52, LOW_52, LOW_52, LOW_48];

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn splat(number: i64) -> __m512i {
    _mm512_set1_epi64(number)
}

/// Moves what is above 52 bits to the limb above, up to the last one.
#[inline]
#[target_feature(enable = "avx512f")]
fn carry(limbs: &mut [__m512i]) {
    for at in 1..limbs.len() {
        let above = _mm512_srli_epi64(limbs[at - 1], 52);
        limbs[at - 1] = _mm512_and_si512(limbs[at - 1], splat(LOW_52));
        limbs[at] = _mm512_add_epi64(limbs[at], above);
    }
}

/// Rule 2.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn settle(mut limbs: Group) -> Group {
    let above = _mm512_srli_epi64(limbs[4], 48);
    limbs[4] = _mm512_and_si512(limbs[4], splat(LOW_48));
    limbs[0] = _mm512_madd52lo_epu64(limbs[0], above, splat(C));
    carry(&mut limbs);
    limbs
}

/// Rule 3.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn fold(mut limbs: [__m512i; 10]) -> Group {
    let factor = splat(C << 4);
    carry(&mut limbs[4..]);
    let [mut low @ .., _, _, _, _, _] = limbs;
    for at in 0..5 {
        low[at] = _mm512_madd52lo_epu64(low[at], limbs[5 + at], factor);
    }
    for at in 0..4 {
        low[at + 1] = _mm512_madd52hi_epu64(low[at + 1], limbs[5 + at], factor);
    }
    // Once more at 2^260: 45 bits times 37, without the lower 52.
    let top = _mm512_madd52hi_epu64(splat(0), limbs[9], factor);
    low[0] = _mm512_madd52lo_epu64(low[0], top, factor);
    low[1] = _mm512_madd52hi_epu64(low[1], top, factor);
    settle(low)
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn mul<const GROUPS: usize>(a: &Field<GROUPS>, b: &Field<GROUPS>) -> Field<GROUPS> {
    let mut product = *a;
    for (a, b) in product.0.iter_mut().zip(&b.0) {
        *a = mul_group(a, b);
    }
    product
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn mul_group(a: &Group, b: &Group) -> Group {
    // Two sums for each limb: what is added to one waits for what was added before.
    let (mut low, mut high) = ([splat(0); 10], [splat(0); 10]);
    for i in 0..5 {
        for j in 0..5 {
            low[i + j] = _mm512_madd52lo_epu64(low[i + j], a[i], b[j]);
            high[i + j + 1] = _mm512_madd52hi_epu64(high[i + j + 1], a[i], b[j]);
        }
    }
    for at in 0..10 {
        low[at] = _mm512_add_epi64(low[at], high[at]);
    }
    fold(low)
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square<const GROUPS: usize>(a: &Field<GROUPS>) -> Field<GROUPS> {
    let mut squared = *a;
    for group in &mut squared.0 {
        *group = square_group(group);
    }
    squared
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_group(a: &Group) -> Group {
    let mut limbs = [splat(0); 10];
    for i in 0..5 {
        for j in i + 1..5 {
            limbs[i + j] = _mm512_madd52lo_epu64(limbs[i + j], a[i], a[j]);
            limbs[i + j + 1] = _mm512_madd52hi_epu64(limbs[i + j + 1], a[i], a[j]);
        }
    }
    for limb in &mut limbs {
        *limb = _mm512_add_epi64(*limb, *limb);
    }
    for i in 0..5 {
        limbs[2 * i] = _mm512_madd52lo_epu64(limbs[2 * i], a[i], a[i]);
        limbs[2 * i + 1] = _mm512_madd52hi_epu64(limbs[2 * i + 1], a[i], a[i]);
    }
    fold(limbs)
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add<const GROUPS: usize>(a: &Field<GROUPS>, b: &Field<GROUPS>) -> Field<GROUPS> {
    let mut sum = *a;
    for (a, b) in sum.0.iter_mut().zip(&b.0) {
        for (limb, other) in a.iter_mut().zip(b) {
            *limb = _mm512_add_epi64(*limb, *other);
        }
        *a = settle(*a);
    }
    sum
}

/// Rule 4.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sub<const GROUPS: usize>(a: &Field<GROUPS>, b: &Field<GROUPS>) -> Field<GROUPS> {
    let mut difference = *a;
    for (a, b) in difference.0.iter_mut().zip(&b.0) {
        for at in 0..5 {
            let enough = _mm512_add_epi64(a[at], splat(2 * P[at]));
            a[at] = _mm512_sub_epi64(enough, b[at]);
        }
        *a = settle(*a);
    }
    difference
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn negate<const GROUPS: usize>(a: &Field<GROUPS>) -> Field<GROUPS> {
    sub(&everywhere(&[0; 5]), a)
}

/// Times 2, 4 or 8: 2, 4 or 8 times 2^52 is below 2^58.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn shift<const BITS: u32, const GROUPS: usize>(a: &Field<GROUPS>) -> Field<GROUPS> {
    const { assert!(BITS <= 3) }
    let mut shifted = *a;
    for group in &mut shifted.0 {
        for limb in group.iter_mut() {
            *limb = _mm512_slli_epi64::<BITS>(*limb);
        }
        *group = settle(*group);
    }
    shifted
}

/// `yes` in the lanes of the mask, `no` in the others.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn choose<const GROUPS: usize>(
    mask: Mask<GROUPS>,
    no: &Field<GROUPS>,
    yes: &Field<GROUPS>,
) -> Field<GROUPS> {
    let mut chosen = *no;
    for ((no, yes), mask) in chosen.0.iter_mut().zip(&yes.0).zip(mask) {
        for (limb, other) in no.iter_mut().zip(yes) {
            *limb = _mm512_mask_blend_epi64(mask, *limb, *other);
        }
    }
    chosen
}

/// The one below p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn normal<const GROUPS: usize>(a: &Field<GROUPS>) -> Field<GROUPS> {
    let mut normal = *a;
    for group in &mut normal.0 {
        // Below 2^256 for good: by rule 1 what is left of a larger one has 217 bits at most.
        let below = settle(*group);
        // It is p or more if adding C makes it 2^256 or more, and then that is what is left.
        let mut limbs = below;
        limbs[0] = _mm512_add_epi64(limbs[0], splat(C));
        carry(&mut limbs);
        let more = _mm512_cmpgt_epu64_mask(limbs[4], splat(LOW_48));
        limbs[4] = _mm512_and_si512(limbs[4], splat(LOW_48));
        *group = choose([more], &Field([below]), &Field([limbs])).0[0];
    }
    normal
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn is_zero<const GROUPS: usize>(a: &Field<GROUPS>) -> Mask<GROUPS> {
    let mut zero = [0; GROUPS];
    for (zero, [first, rest @ ..]) in zero.iter_mut().zip(normal(a).0) {
        let mut any = first;
        for limb in rest {
            any = _mm512_or_si512(any, limb);
        }
        *zero = _mm512_testn_epi64_mask(any, any);
    }
    zero
}

/// Of [`normal`] numbers, those that are odd.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn is_odd<const GROUPS: usize>(a: &Field<GROUPS>) -> Mask<GROUPS> {
    let mut odd = [0; GROUPS];
    for (odd, limbs) in odd.iter_mut().zip(&a.0) {
        *odd = _mm512_test_epi64_mask(limbs[0], splat(1));
    }
    odd
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn squares<const GROUPS: usize>(a: &Field<GROUPS>, count: usize) -> Field<GROUPS> {
    let mut power = *a;
    for _ in 0..count {
        power = square(&power);
    }
    power
}

/// a to the powers of 2^223 - 1, 2^22 - 1 and 3, with which both exponents below begin or go on.
#[target_feature(enable = "avx512f,avx512ifma")]
fn ones<const GROUPS: usize>(a: &Field<GROUPS>) -> [Field<GROUPS>; 3] {
    let two = mul(&square(a), a);
    let three = mul(&square(&two), a);
    let six = mul(&squares(&three, 3), &three);
    let nine = mul(&squares(&six, 3), &three);
    let eleven = mul(&squares(&nine, 2), &two);
    let all_22 = mul(&squares(&eleven, 11), &eleven);
    let all_44 = mul(&squares(&all_22, 22), &all_22);
    let all_88 = mul(&squares(&all_44, 44), &all_44);
    let all_176 = mul(&squares(&all_88, 88), &all_88);
    let all_220 = mul(&squares(&all_176, 44), &all_44);
    [mul(&squares(&all_220, 3), &three), all_22, two]
}

/// To the power of p - 2: 1 / a, and 0 for 0.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn invert<const GROUPS: usize>(a: &Field<GROUPS>) -> Field<GROUPS> {
    let [all_223, all_22, two] = ones(a);
    let power = mul(&squares(&all_223, 23), &all_22);
    let power = mul(&squares(&power, 5), a);
    let power = mul(&squares(&power, 3), &two);
    mul(&squares(&power, 2), a)
}

/// To the power of (p + 1) / 4: a root of a, if there is one.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn root<const GROUPS: usize>(a: &Field<GROUPS>) -> Field<GROUPS> {
    let [all_223, all_22, two] = ones(a);
    let power = mul(&squares(&all_223, 23), &all_22);
    squares(&mul(&squares(&power, 6), &two), 2)
}

/// The same number in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn everywhere<const GROUPS: usize>(limbs: &Limbs) -> Field<GROUPS> {
    let mut all = [splat(0); 5];
    for (all, limb) in all.iter_mut().zip(limbs) {
        *all = splat(limb.cast_signed());
    }
    Field([all; GROUPS])
}

#[target_feature(enable = "avx512f")]
pub(super) fn load<const GROUPS: usize>(numbers: &Each<Limbs, GROUPS>) -> Field<GROUPS> {
    let mut all = [[splat(0); 5]; GROUPS];
    for (all, numbers) in all.iter_mut().zip(numbers) {
        for (at, all) in all.iter_mut().enumerate() {
            let limbs = numbers.map(|number| number[at]);
            // SAFETY: eight words are read from an array of eight.
            *all = unsafe { _mm512_loadu_epi64(limbs.as_ptr().cast()) };
        }
    }
    Field(all)
}

#[target_feature(enable = "avx512f")]
pub(super) fn store<const GROUPS: usize>(field: &Field<GROUPS>) -> Each<Limbs, GROUPS> {
    let mut numbers = [[Limbs::default(); LANES]; GROUPS];
    for (numbers, group) in numbers.iter_mut().zip(&field.0) {
        for (at, vector) in group.iter().enumerate() {
            let mut limbs = [0_u64; LANES];
            // SAFETY: eight words are written to an array of eight.
            unsafe { _mm512_storeu_epi64(limbs.as_mut_ptr().cast(), *vector) };
            for (number, limb) in numbers.iter_mut().zip(limbs) {
                number[at] = limb;
            }
        }
    }
    numbers
}

/// A number of 32 bytes, the highest first.
pub(super) fn from_bytes(bytes: &[u8; 32]) -> Limbs {
    let [d, c, b, a] = [0, 8, 16, 24]
        .map(|at| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes")));
    let limbs = [a, a >> 52 | b << 12, b >> 40 | c << 24, c >> 28 | d << 36, d >> 16];
    limbs.map(|limb| limb & LOW_52.cast_unsigned())
}

/// For one that is [`normal`].
pub(super) fn to_bytes(limbs: &Limbs) -> [u8; 32] {
    let [a, b, c, d, e] = *limbs;
    let words = [d >> 36 | e << 16, c >> 24 | d << 28, b >> 12 | c << 40, a | b << 52];
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests;
