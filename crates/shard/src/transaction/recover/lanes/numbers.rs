//! What are signatures asked about, in digits that lanes can go by?

use std::arch::x86_64::*;

use alloy_primitives::{U256 as Word, hex};
use k256::{
    FieldBytes, Scalar, U256,
    elliptic_curve::{PrimeField, ops::Reduce, scalar::IsHigh},
};

use super::{
    super::together::Signed,
    field::{Each, LANES, Limbs, Mask, from_bytes, splat},
};

/// The bits that a half of a number has.
pub(super) const HALF: usize = 128;
/// The digits of a half of what R is multiplied by, one of them for what is carried from the last; and
/// of what G is.
pub(super) const OF_POINT: usize = HALF / 4 + 1;
pub(super) const OF_GENERATOR: usize = HALF / 8;

/// A third root of 1, modulo the order of the curve: L.
pub(super) const TURN: [u8; 32] =
    hex!("5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72");
/// Pairs of small numbers that are nothing together, the second times L: (a, -b) and (a + b, a). What is
/// left of a number and 0 when the nearest sum of such pairs is taken away is below 2^128, both.
const SMALL_A: [u8; 32] = hex!("000000000000000000000000000000003086d221a7d46bcde86c90e49284eb15");
const SMALL_B: [u8; 32] = hex!("00000000000000000000000000000000e4437ed6010e88286f547fa90abfe4c3");
/// 2^384 times both, by the order, to the nearest whole number.
const SHARE_A: [u8; 32] = hex!("3086d221a7d46bcde86c90e49284eb153daa8a1471e8ca7fe893209a45dbb031");
const SHARE_B: [u8; 32] = hex!("e4437ed6010e88286f547fa90abfe4c4221208ac9df506c61571b4ae8ac47f71");

/// What is asked, by digit and lane.
pub(super) struct Numbers<const GROUPS: usize> {
    /// Lanes with a question that is one.
    pub(super) valid: Mask<GROUPS>,
    /// Lanes whose point has an odd y.
    pub(super) odd: Mask<GROUPS>,
    pub(super) x: Each<Limbs, GROUPS>,
    /// By half, those of R and L R.
    pub(super) of_point: [[Each<i64, GROUPS>; OF_POINT]; 2],
    /// By half, those of G and 2^128 G.
    pub(super) of_generator: [[Each<i64, GROUPS>; OF_GENERATOR]; 2],
}

impl<const GROUPS: usize> Numbers<GROUPS> {
    pub(super) fn of(all: &[Signed]) -> Numbers<GROUPS> {
        assert!(all.len() <= LANES * GROUPS, "{} are more than there are lanes", all.len());
        let mut numbers = Numbers {
            valid: [0; GROUPS],
            odd: [0; GROUPS],
            x: [[Limbs::default(); LANES]; GROUPS],
            of_point: [[[[0; LANES]; GROUPS]; OF_POINT]; 2],
            of_generator: [[[[0; LANES]; GROUPS]; OF_GENERATOR]; 2],
        };
        let mut divisors = Vec::with_capacity(all.len());
        let mut others = Vec::with_capacity(all.len());
        for (at, Signed { signature, hash }) in all.iter().enumerate() {
            let [r, s] = [signature.r(), signature.s()].map(|number| number.to_be_bytes::<32>());
            let valid = |bytes: [u8; 32]| {
                let scalar = Scalar::from_repr(FieldBytes::from(bytes)).into_option();
                scalar.filter(|scalar: &Scalar| *scalar != Scalar::ZERO)
            };
            let Some((divisor, s)) = valid(r).zip(valid(s)) else { continue };
            let (group, lane) = (at / LANES, at % LANES);
            numbers.valid[group] |= 1 << lane;
            numbers.odd[group] |= u8::from(signature.v()) << lane;
            numbers.x[group][lane] = from_bytes(&r);
            divisors.push(divisor);
            others.push((group, lane, s, scalar(hash.0)));
        }
        for (inverse, (group, lane, s, z)) in inverses(&divisors).into_iter().zip(others) {
            for (all, half) in numbers.of_point.iter_mut().zip(halves(&(inverse * s))) {
                let digits = digits::<OF_POINT, 4>(&half);
                all.iter_mut().zip(digits).for_each(|(all, digit)| all[group][lane] = digit);
            }
            let digits = digits::<{ 2 * OF_GENERATOR }, 8>(&-(inverse * z));
            let all = numbers.of_generator.iter_mut().flatten();
            all.zip(digits).for_each(|(all, digit)| all[group][lane] = digit);
        }
        numbers
    }
}

/// A number is the first of these, and the second times L. Each or its negative is below 2^128.
fn halves(number: &Scalar) -> [Scalar; 2] {
    let [small_a, small_b, turn] = [SMALL_A, SMALL_B, TURN].map(scalar);
    // Of the product over 2^384, the nearest whole number: one below would leave halves that are too long.
    let share = |of: [u8; 32]| {
        let (_, high) = U256::from(number).mul_wide(&U256::from_be_slice(&of));
        let half = U256::ONE.shl_vartime(HALF - 1);
        <Scalar as Reduce<U256>>::reduce(high.wrapping_add(&half).shr_vartime(HALF))
    };
    let second = share(SHARE_A) * small_b - share(SHARE_B) * small_a;
    [*number - second * turn, second]
}

/// One divided by each, none of which is 0: the product of all is inverted, and multiplied by the others.
/// The numbers are known to everybody, so it is done as fast as they allow. Whether it is right is asked
/// again: with a wrong one each signature would have a signer, and another one than it has.
fn inverses(all: &[Scalar]) -> Vec<Scalar> {
    let mut product = Scalar::ONE;
    let mut inverses = Vec::with_capacity(all.len());
    for number in all {
        inverses.push(product); // of those before it
        product *= number;
    }
    let order = Word::from_be_slice(&(-Scalar::ONE).to_repr()) + Word::ONE;
    let inverse = Word::from_be_slice(&product.to_repr()).inv_mod(order).unwrap_or_default();
    let mut rest = scalar(inverse.to_be_bytes());
    if rest * product != Scalar::ONE {
        rest = product.invert().into_option().expect("a product of numbers that are not 0");
    }
    for (inverse, number) in inverses.iter_mut().zip(all).rev() {
        *inverse *= rest;
        rest *= number;
    }
    inverses
}

/// Of bytes, the highest first.
fn scalar(bytes: [u8; 32]) -> Scalar {
    <Scalar as Reduce<U256>>::reduce_bytes(&bytes.into())
}

/// Rule 1; the lowest digit first.
fn digits<const COUNT: usize, const BITS: usize>(number: &Scalar) -> [i64; COUNT] {
    const { assert!(COUNT * BITS <= 256 && 8 % BITS == 0) }
    let negative = bool::from(number.is_high());
    let bytes = if negative { -*number } else { *number }.to_repr();
    let beyond = 32 - (COUNT * BITS).div_ceil(8);
    assert!(bytes[..beyond].iter().all(|byte| *byte == 0), "it has more digits than are asked for");
    let mut digits = [0; COUNT];
    let mut carried = 0;
    for (at, digit) in digits.iter_mut().enumerate() {
        let byte = i64::from(bytes[31 - at * BITS / 8]);
        let bits = (byte >> (at * BITS % 8)) & ((1 << BITS) - 1);
        let large = at + 1 < COUNT && bits + carried >= 1 << (BITS - 1);
        let signed = if large { bits + carried - (1 << BITS) } else { bits + carried };
        carried = i64::from(large);
        *digit = if negative { -signed } else { signed };
    }
    digits
}

/// A digit in each lane.
pub(super) struct Digit<const GROUPS: usize> {
    /// Lanes where it is not 0.
    pub(super) some: Mask<GROUPS>,
    /// Where it is below 0.
    pub(super) minus: Mask<GROUPS>,
    /// Where its multiple is in a table that begins with the first; that one for a 0.
    pub(super) places: Each<usize, GROUPS>,
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn digit<const GROUPS: usize>(digits: &Each<i64, GROUPS>) -> Digit<GROUPS> {
    let (mut some, mut minus) = ([0; GROUPS], [0; GROUPS]);
    for (at, digits) in digits.iter().enumerate() {
        // SAFETY: eight words are read from an array of eight.
        let vector = unsafe { _mm512_loadu_epi64(digits.as_ptr()) };
        some[at] = _mm512_test_epi64_mask(vector, vector);
        minus[at] = _mm512_cmplt_epi64_mask(vector, splat(0));
    }
    let place = |digit: i64| (digit.unsigned_abs() as usize).saturating_sub(1);
    Digit { some, minus, places: digits.map(|digits| digits.map(place)) }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;
    use k256::{ProjectivePoint, elliptic_curve::sec1::ToEncodedPoint};

    use super::{super::point, *};

    fn numbers() -> impl Iterator<Item = Scalar> {
        let half = Scalar::from(2_u64).invert().unwrap();
        let third = Scalar::from(3_u64).invert().unwrap();
        let small = (0..300_u64).map(Scalar::from);
        let hashed =
            (0..100_u8).map(|n| <Scalar as Reduce<U256>>::reduce_bytes(&keccak256([n]).0.into()));
        let turn = scalar(TURN);
        let near =
            move |n: Scalar| [n, -n, half + n, half - n, third + n, turn * n, turn * half - n];
        small.flat_map(near).chain(hashed)
    }

    /// Numbers whose halves are as long as they get: those farthest from all that small pairs add up to.
    fn corners() -> impl Iterator<Item = Scalar> {
        let half = Scalar::from(2_u64).invert().unwrap();
        let [a, b, turn] = [SMALL_A, SMALL_B, TURN].map(scalar);
        let signs = [(a, b), (a, -b), (-a, b), (-a, -b)];
        let corner = move |(a, b): (Scalar, Scalar)| {
            [(a + a + b) * half + turn * (a - b) * half, b * half + turn * (a + a) * half]
        };
        let near = (0..4_u64).map(Scalar::from).flat_map(move |n| [n, -n, turn * n, -turn * n]);
        let corners: Vec<_> = signs.into_iter().flat_map(corner).collect();
        near.flat_map(move |n| corners.clone().into_iter().map(move |corner| corner + n))
    }

    #[test]
    fn digits_add_up_to_the_number() {
        fn check<const COUNT: usize, const BITS: usize>(number: Scalar) {
            let digits = digits::<COUNT, BITS>(&number);
            let base = Scalar::from(1_u64 << BITS);
            let sum = digits.iter().rev().fold(Scalar::ZERO, |sum, digit| {
                let size = Scalar::from(digit.unsigned_abs());
                sum * base + if *digit < 0 { -size } else { size }
            });
            assert_eq!(sum, number);
            assert!(digits.iter().all(|digit| digit.unsigned_abs() <= 1 << (BITS - 1)));
        }
        for number in numbers().chain(corners()) {
            check::<{ 2 * OF_GENERATOR }, 8>(number);
            halves(&number).into_iter().for_each(check::<OF_POINT, 4>);
        }
    }

    #[test]
    fn halves_are_short_and_add_up_to_the_number() {
        for number in numbers().chain(corners()) {
            let [first, second] = halves(&number);
            assert_eq!(first + second * scalar(TURN), number);
            for half in [first, second] {
                let size = if half.is_high().into() { -half } else { half };
                assert!(size.to_repr()[..16].iter().all(|byte| *byte == 0), "{number:?}");
            }
        }
    }

    #[test]
    fn a_point_taken_l_times_has_another_x() {
        let both = [Scalar::ONE, scalar(TURN)].map(|times| {
            let point = (ProjectivePoint::GENERATOR * times).to_affine().to_encoded_point(false);
            [point.x(), point.y()].map(|number| Word::from_be_slice(number.unwrap()))
        });
        let prime = Word::ZERO.wrapping_sub(Word::from((1_u64 << 32) + 977));
        let [[x, y], [turned, same]] = both;
        assert_eq!(x.mul_mod(Word::from_be_bytes(point::TURN), prime), turned);
        assert_eq!(y, same);
    }
}
