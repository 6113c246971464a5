//! Who has signed each of eight, at once?
//!
//! The signer of (r, s, v) for z is `Q = (s / r) R - (z / r) G`, where r and v stand for the point R. That
//! is the same steps whatever the numbers are, so a vector has one lane for each signature, and what
//! is chosen by a number is chosen by lane (`numbers.rs`; `point.rs` and `field.rs` have the arithmetic):
//!
//! ```text
//!   sum = B                            of s/r each four bits, of z/r each eight, from the top:
//!   four times doubled, + a digit's multiple of R, + every other time a digit's multiple of G
//!   sum - 2^252 B                      B is the point to begin with, of no meaning
//! ```
//!
//! 1. A digit is from -8 to 7, or -128 to 127; the topmost may be 8, or 128. A number of the upper half is
//!    taken as its negative, so that the topmost is no larger. A lane whose digit is 0 keeps its sum.
//! 2. The formulas for sums are not for a point and itself or its negative, nor for no point at all. Each
//!    of these leaves a z of 0, and whatever is done afterwards it stays 0, since each step multiplies
//!    it by something, or leaves the point as it is. So where the last z is not 0, none of them has
//!    happened, and the sum is right. The multiples of R are sums of points that differ: the order of the
//!    curve is a prime above 8.
//! 3. What is not so, an r or s that is 0 or not below the order, an r of no point, a last z of 0: all
//!    these have no answer here, and are asked about one by one. Which may have signers nevertheless: who
//!    knows how R was made can have two points meet on the way.
//! 4. An r + n can not be meant: v says no more than which of two points it is.
//!
//! Whoever has points meet on purpose has his own signatures recovered twice: at worst all eight, which
//! then takes 1.4 times as long as one by one. An r of no point is refused soon, as ever.
//!
//! Nothing is secret, nothing random, and each lane's answer depends on that lane alone.

mod field;
mod numbers;
mod point;

use std::arch::x86_64::*;

use alloy_primitives::Address;

use self::{
    field::{
        Field, add, choose, everywhere, invert, is_zero, load, mul, negate, normal, root, splat,
        square, store, sub, to_bytes,
    },
    numbers::{Digit, Numbers, OF_POINT, digit},
    point::{FIXED, Point, choose_point, double, pick_point, plus, plus_plain},
};
use super::together::Signed;

pub(super) use self::field::LANES;

/// The processor can do it.
#[derive(Clone, Copy)]
pub(super) struct Lanes(());

impl Lanes {
    pub(super) fn detect() -> Option<Lanes> {
        let can = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
        can.then_some(Lanes(()))
    }

    /// Who has signed each of these, eight at most. `None` where that has to be asked for one by one.
    pub(super) fn signers(self, all: &[Signed]) -> [Option<Address>; LANES] {
        let numbers = Numbers::of(all);
        // SAFETY: `recover` asks for nothing but avx512f and avx512ifma. `detect` alone makes a `Lanes`,
        // and only where the processor and the system have both.
        unsafe { recover(&numbers) }
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn recover(numbers: &Numbers) -> [Option<Address>; LANES] {
    let fixed = &*FIXED;
    let mut valid = numbers.valid;
    let one = everywhere(&[1, 0, 0, 0, 0]);
    // R, if there is one.
    let x = load(&numbers.x);
    let y = normal(&root(&curve(&x)));
    valid &= is_on_curve(&x, &y);
    let odd = _mm512_test_epi64_mask(y.0[0], splat(1));
    let y = choose(odd ^ numbers.odd, &y, &negate(&y));
    // Its multiples, 1 to 8.
    let mut multiples = [Point { x, y, z: one }; 8];
    for at in 1..8 {
        let before = &multiples[at - 1];
        multiples[at] = if at == 1 { double(before) } else { plus_plain(before, &x, &y) };
    }
    let [begin_x, begin_y] = fixed.begin.each_ref().map(|limbs| everywhere(limbs));
    let mut sum = Point { x: begin_x, y: begin_y, z: one };
    for at in (0..OF_POINT).rev() {
        if at + 1 < OF_POINT {
            for _ in 0..4 {
                sum = double(&sum);
            }
        }
        let Digit { some, minus, places } = digit(&numbers.of_point[at]);
        let of = pick_point(&multiples, &places);
        let of = Point { y: choose(minus, &of.y, &negate(&of.y)), ..of };
        sum = choose_point(some, &sum, &plus(&sum, &of));
        if at % 2 == 0 {
            let Digit { some, minus, places } = digit(&numbers.of_generator[at / 2]);
            let all = places.map(|place| &fixed.generator[place]);
            let (x, y) = (load(&all.map(|[x, _]| *x)), load(&all.map(|[_, y]| *y)));
            let y = choose(minus, &y, &negate(&y));
            sum = choose_point(some, &sum, &plus_plain(&sum, &x, &y));
        }
    }
    let [end_x, end_y] = fixed.end.each_ref().map(|limbs| everywhere(limbs));
    sum = plus_plain(&sum, &end_x, &end_y);
    valid &= !is_zero(&sum.z);
    let inverse = invert(&sum.z);
    let squared = square(&inverse);
    let x = normal(&mul(&sum.x, &squared));
    let y = normal(&mul(&sum.y, &mul(&squared, &inverse)));
    // It always is. Should that ever not be so, nobody is taken for the signer because of it.
    valid &= is_on_curve(&x, &y);
    let (x, y) = (store(&x), store(&y));
    std::array::from_fn(|lane| {
        let key = [to_bytes(&x[lane]), to_bytes(&y[lane])].concat();
        (valid >> lane & 1 == 1).then(|| Address::from_raw_public_key(&key))
    })
}

/// x^3 + 7, which is y^2.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn curve(x: &Field) -> Field {
    add(&mul(&square(x), x), &everywhere(&[7, 0, 0, 0, 0]))
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn is_on_curve(x: &Field, y: &Field) -> __mmask8 {
    is_zero(&sub(&square(y), &curve(x)))
}

#[cfg(test)]
mod tests;
