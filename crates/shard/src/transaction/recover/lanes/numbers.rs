//! What are eight signatures asked about, in digits that lanes can go by?

use std::arch::x86_64::*;

use k256::{
    FieldBytes, Scalar, U256,
    elliptic_curve::{
        PrimeField,
        ops::{BatchInvert, Reduce},
        scalar::IsHigh,
    },
};

use super::{
    super::together::Signed,
    field::{LANES, Limbs, from_bytes, splat},
};

/// The digits of what R and G are multiplied by.
pub(super) const OF_POINT: usize = 64;
pub(super) const OF_GENERATOR: usize = 32;

/// What is asked, by digit and lane.
pub(super) struct Numbers {
    /// Lanes with a question that is one.
    pub(super) valid: __mmask8,
    /// Lanes whose point has an odd y.
    pub(super) odd: __mmask8,
    pub(super) x: [Limbs; LANES],
    pub(super) of_point: [[i64; LANES]; OF_POINT],
    pub(super) of_generator: [[i64; LANES]; OF_GENERATOR],
}

impl Numbers {
    pub(super) fn of(all: &[Signed]) -> Numbers {
        assert!(all.len() <= LANES, "{} are more than there are lanes", all.len());
        let mut numbers = Numbers {
            valid: 0,
            odd: 0,
            x: [Limbs::default(); LANES],
            of_point: [[0; LANES]; OF_POINT],
            of_generator: [[0; LANES]; OF_GENERATOR],
        };
        let (mut divisors, mut others) = ([Scalar::ONE; LANES], [(0, 0); LANES].map(|_| None));
        for (lane, Signed { signature, hash }) in all.iter().enumerate() {
            let [r, s] = [signature.r(), signature.s()].map(|number| number.to_be_bytes::<32>());
            let scalar = |bytes: [u8; 32]| {
                let scalar = Scalar::from_repr(FieldBytes::from(bytes)).into_option();
                scalar.filter(|scalar: &Scalar| *scalar != Scalar::ZERO)
            };
            let Some((divisor, s)) = scalar(r).zip(scalar(s)) else { continue };
            numbers.valid |= 1 << lane;
            numbers.odd |= u8::from(signature.v()) << lane;
            numbers.x[lane] = from_bytes(&r);
            divisors[lane] = divisor;
            others[lane] = Some((s, <Scalar as Reduce<U256>>::reduce_bytes(&hash.0.into())));
        }
        let inverses: Option<Vec<Scalar>> = Scalar::batch_invert(&divisors[..]).into_option();
        let inverses = inverses.expect("none of them is 0");
        for (lane, (inverse, other)) in inverses.into_iter().zip(others).enumerate() {
            let Some((s, z)) = other else { continue };
            let of_point = digits::<OF_POINT, 4>(&(inverse * s));
            numbers.of_point.iter_mut().zip(of_point).for_each(|(all, digit)| all[lane] = digit);
            let of_generator = digits::<OF_GENERATOR, 8>(&-(inverse * z));
            numbers.of_generator.iter_mut().zip(of_generator).for_each(|(all, d)| all[lane] = d);
        }
        numbers
    }
}

/// Rule 1; the lowest digit first.
fn digits<const COUNT: usize, const BITS: usize>(number: &Scalar) -> [i64; COUNT] {
    const { assert!(COUNT * BITS == 256 && 8 % BITS == 0) }
    let negative = bool::from(number.is_high());
    let bytes = if negative { -*number } else { *number }.to_repr();
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
pub(super) struct Digit {
    /// Lanes where it is not 0.
    pub(super) some: __mmask8,
    /// Where it is below 0.
    pub(super) minus: __mmask8,
    /// Where its multiple is in a table that begins with the first; that one for a 0.
    pub(super) places: [usize; LANES],
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn digit(digits: &[i64; LANES]) -> Digit {
    // SAFETY: eight words are read from an array of eight.
    let vector = unsafe { _mm512_loadu_epi64(digits.as_ptr()) };
    Digit {
        some: _mm512_test_epi64_mask(vector, vector),
        minus: _mm512_cmplt_epi64_mask(vector, splat(0)),
        places: digits.map(|digit| (digit.unsigned_abs() as usize).saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

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
        let half = Scalar::from(2_u64).invert().unwrap();
        let small = (0..300_u64).map(Scalar::from);
        let hashed =
            (0..100_u8).map(|n| <Scalar as Reduce<U256>>::reduce_bytes(&keccak256([n]).0.into()));
        for number in small.flat_map(|n| [n, -n, half + n, half - n]).chain(hashed) {
            check::<OF_POINT, 4>(number);
            check::<OF_GENERATOR, 8>(number);
        }
    }
}
