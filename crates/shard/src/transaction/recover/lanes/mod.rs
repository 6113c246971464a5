//! Who has signed each of many, at once?
//!
//! The signer of (r, s, v) for z is `Q = (s / r) R - (z / r) G`, where r and v stand for the point R. That
//! is the same steps whatever the numbers are, so a vector has one lane for each signature, and what
//! is chosen by a number is chosen by lane (`numbers.rs`; `point.rs` and `field.rs` have the arithmetic):
//!
//! ```text
//!   s/r = a + b L, -z/r = c + d 2^128      L R is R with another x; each has half as many bits
//!
//!   sum = B                                of a and b each four bits, of c and d each eight, from the top:
//!   four times doubled, + a digit's multiple of R, + one of L R,
//!                       + every other time one of G, + one of 2^128 G
//!   sum - 2^128 B                          B is the point to begin with, of no meaning
//! ```
//!
//! 1. No digit is larger than 8, or 128, nor is its negative: a number of the upper half is taken as its
//!    negative, and the topmost of a and b is what was carried, 1 at most. A lane whose digit is 0 keeps its
//!    sum.
//! 2. The formulas for sums are not for a point and itself or its negative, nor for no point at all. Each
//!    of these leaves a z of 0, and whatever is done afterwards it stays 0, since each step multiplies
//!    it by something, or leaves the point as it is. So where the last z is not 0, none of them has
//!    happened, and the sum is right. The multiples of R are sums of points that differ: the order of the
//!    curve is a prime above 8.
//! 3. What is not so, an r or s that is 0 or not below the order, an r of no point, a last z of 0: all
//!    these have no answer here, and are asked about one by one. Which may have signers nevertheless: who
//!    knows how R was made can have two points meet on the way.
//! 4. An r + n can not be meant: v says no more than which of two points it is.
//! 5. Until the end, each z is Z times smaller than it is, Z being that of the largest multiple of R. So
//!    all multiples of R have a z of 1, and cost less to be added. The formulas do not know the 7 of the
//!    curve, which is another one then. Points that were there before are added by `plus_outside`.
//!
//! Whoever has points meet on purpose has his own signatures recovered twice: at worst all of them, which
//! then takes 1.2 times as long as one by one. An r of no point is refused soon, as ever.
//!
//! Nothing is secret, nothing random, and each lane's answer depends on that lane alone, though one
//! inversion serves all.

mod field;
mod numbers;
mod point;

use alloy_primitives::Address;

use self::{
    field::{
        Field, LANES, Mask, add, choose, everywhere, invert, is_odd, is_zero, load, mul, negate,
        normal, root, square, store, sub, to_bytes,
    },
    numbers::{Digit, Numbers, OF_GENERATOR, OF_POINT, digit},
    point::{FIXED, begin_at, choose_point, double, pick, plus_outside, plus_plain, table},
};
use super::together::Signed;

/// More than this at a time is no faster: the processor does two vectors in little more than the time of
/// one, since a step waits for the one before it, but not for that of the other vector.
pub(super) const AT_ONCE_MAX: usize = 2 * LANES;

/// The processor can do it.
#[derive(Clone, Copy)]
pub(super) struct Lanes(());

impl Lanes {
    pub(super) fn detect() -> Option<Lanes> {
        let can = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
        can.then_some(Lanes(()))
    }

    /// Who has signed each of these, [`AT_ONCE_MAX`] at most. `None` where that has to be asked for one by
    /// one.
    pub(super) fn signers(self, all: &[Signed]) -> Vec<Option<Address>> {
        let mut signers = if all.len() <= LANES {
            self.recover(&Numbers::<1>::of(all))
        } else {
            self.recover(&Numbers::<2>::of(all))
        };
        signers.truncate(all.len());
        signers
    }

    fn recover<const GROUPS: usize>(self, numbers: &Numbers<GROUPS>) -> Vec<Option<Address>> {
        // SAFETY: `recover` asks for nothing but avx512f and avx512ifma. `detect` alone makes a `Lanes`,
        // and only where the processor and the system have both.
        unsafe { recover(numbers) }
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn recover<const GROUPS: usize>(numbers: &Numbers<GROUPS>) -> Vec<Option<Address>> {
    let fixed = &*FIXED;
    // R, if there is one.
    let x = load(&numbers.x);
    let y = normal(&root(&curve(&x)));
    let begun = is_on_curve(&x, &y);
    let mut other = is_odd(&y);
    other.iter_mut().zip(numbers.odd).for_each(|(is, wanted)| *is ^= wanted);
    let y = choose(other, &y, &negate(&y));
    let (tables, outside) = table(&x, &y);
    let mut sum = begin_at(&fixed.begin, &outside);
    for at in (0..OF_POINT).rev() {
        if at + 1 < OF_POINT {
            for _ in 0..4 {
                sum = double(&sum);
            }
        }
        for (digits, multiples) in numbers.of_point.iter().zip(&tables) {
            let Digit { some, minus, places } = digit(&digits[at]);
            let [x, y] = pick(multiples, &places);
            let y = choose(minus, &y, &negate(&y));
            sum = choose_point(some, &sum, &plus_plain(&sum, &x, &y));
        }
        if at % 2 == 0 && at / 2 < OF_GENERATOR {
            for (digits, multiples) in numbers.of_generator.iter().zip(&fixed.generator) {
                let Digit { some, minus, places } = digit(&digits[at / 2]);
                let all = places.map(|places| places.map(|place| &multiples[place]));
                let [x, y] = [0, 1].map(|which| all.map(|all| all.map(|point| point[which])));
                let (x, y) = (load(&x), load(&y));
                let y = choose(minus, &y, &negate(&y));
                sum = choose_point(some, &sum, &plus_outside(&sum, &x, &y, &outside));
            }
        }
    }
    let [end_x, end_y] = fixed.end.each_ref().map(|limbs| everywhere(limbs));
    sum = plus_outside(&sum, &end_x, &end_y, &outside);
    sum.z = mul(&sum.z, &outside);
    let nowhere = is_zero(&sum.z);
    let inverse = invert(&sum.z);
    let squared = square(&inverse);
    let x = normal(&mul(&sum.x, &squared));
    let y = normal(&mul(&sum.y, &mul(&squared, &inverse)));
    // It always is. Should that ever not be so, nobody is taken for the signer because of it.
    let ended = is_on_curve(&x, &y);
    let (x, y) = (store(&x), store(&y));
    let mut signers = Vec::with_capacity(GROUPS * LANES);
    for group in 0..GROUPS {
        let valid = numbers.valid[group] & begun[group] & !nowhere[group] & ended[group];
        signers.extend((0..LANES).map(|lane| {
            let key = [to_bytes(&x[group][lane]), to_bytes(&y[group][lane])].concat();
            (valid >> lane & 1 == 1).then(|| Address::from_raw_public_key(&key))
        }));
    }
    signers
}

/// x^3 + 7, which is y^2.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn curve<const GROUPS: usize>(x: &Field<GROUPS>) -> Field<GROUPS> {
    add(&mul(&square(x), x), &everywhere(&[7, 0, 0, 0, 0]))
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn is_on_curve<const GROUPS: usize>(x: &Field<GROUPS>, y: &Field<GROUPS>) -> Mask<GROUPS> {
    is_zero(&sub(&square(y), &curve(x)))
}

#[cfg(test)]
mod tests;
