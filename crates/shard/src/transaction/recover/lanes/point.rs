//! How are points of the curve added, eight pairs at a time?
//!
//! None of these formulas knows a special case. What that means is said in rule 2 of `mod.rs`, and it
//! rests on this: the z of each sum is a multiple of the z of both points, and of what their x differ by;
//! and the z of a double is one of z and y, where no point of the curve has a y of 0.

use std::{arch::x86_64::*, sync::LazyLock};

use k256::{
    AffinePoint, ProjectivePoint,
    elliptic_curve::{point::DecompressPoint, sec1::ToEncodedPoint},
};

use super::{
    field::{Field, LANES, Limbs, add, choose, from_bytes, mul, shift, square, sub},
    numbers::OF_POINT,
};

/// x / z^2 and y / z^3, where z is not 0.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) x: Field,
    pub(super) y: Field,
    pub(super) z: Field,
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn double(point: &Point) -> Point {
    let (a, b) = (square(&point.x), square(&point.y));
    let c = square(&b);
    let d = shift::<1>(&sub(&sub(&square(&add(&point.x, &b)), &a), &c));
    let e = add(&shift::<1>(&a), &a);
    let x = sub(&square(&e), &shift::<1>(&d));
    let y = sub(&mul(&e, &sub(&d, &x)), &shift::<3>(&c));
    Point { x, y, z: shift::<1>(&mul(&point.y, &point.z)) }
}

/// The sum of two points that have the same z: x and y of the one are u1 and s1, of the other u2 and s2.
/// Its z is 0 where x is the same, or z is 0.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn joined([u1, u2]: [&Field; 2], [s1, s2]: [&Field; 2], z: &Field) -> Point {
    let (h, r) = (sub(u2, u1), sub(s2, s1));
    let squared = square(&h);
    let cubed = mul(&h, &squared);
    let v = mul(u1, &squared);
    let x = sub(&sub(&square(&r), &cubed), &shift::<1>(&v));
    let y = sub(&mul(&r, &sub(&v, &x)), &mul(s1, &cubed));
    Point { x, y, z: mul(z, &h) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn plus(a: &Point, b: &Point) -> Point {
    let (zz_a, zz_b) = (square(&a.z), square(&b.z));
    let (u1, u2) = (mul(&a.x, &zz_b), mul(&b.x, &zz_a));
    let (s1, s2) = (mul(&mul(&a.y, &b.z), &zz_b), mul(&mul(&b.y, &a.z), &zz_a));
    joined([&u1, &u2], [&s1, &s2], &mul(&a.z, &b.z))
}

/// The same for one whose z is 1.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn plus_plain(a: &Point, x: &Field, y: &Field) -> Point {
    let zz = square(&a.z);
    let (u2, s2) = (mul(x, &zz), mul(&mul(y, &a.z), &zz));
    joined([&a.x, &u2], [&a.y, &s2], &a.z)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn choose_point(mask: __mmask8, no: &Point, yes: &Point) -> Point {
    let [x, y, z] =
        [(&no.x, &yes.x), (&no.y, &yes.y), (&no.z, &yes.z)].map(|(no, yes)| choose(mask, no, yes));
    Point { x, y, z }
}

/// Each lane's own of these.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn pick_point(points: &[Point; 8], places: &[usize; LANES]) -> Point {
    let mut picked = points[0];
    for (place, point) in points.iter().enumerate().skip(1) {
        let mut mask = 0;
        for (lane, wanted) in places.iter().enumerate() {
            mask |= u8::from(*wanted == place) << lane;
        }
        picked = choose_point(mask, &picked, point);
    }
    picked
}

/// Points that are always the same.
pub(super) struct Fixed {
    /// 1 to 128 times the generator: x and y of each.
    pub(super) generator: Vec<[Limbs; 2]>,
    /// B.
    pub(super) begin: [Limbs; 2],
    /// -2^252 B.
    pub(super) end: [Limbs; 2],
}

pub(super) static FIXED: LazyLock<Fixed> = LazyLock::new(|| {
    let generator = ProjectivePoint::GENERATOR;
    let multiple = |_: u32, point: &mut ProjectivePoint| {
        let this = *point;
        *point += generator;
        coordinates(&this)
    };
    let mut point = generator;
    let multiples = (0..128).map(|at| multiple(at, &mut point)).collect();
    // Any point will do: the first one whose x is a byte that is repeated.
    let point = |byte: u8| AffinePoint::decompress(&[byte; 32].into(), 0.into()).into_option();
    let begin = ProjectivePoint::from((1..).find_map(point).expect("half of all x have points"));
    let end = -(1..OF_POINT).fold(begin, |point, _| (0..4).fold(point, |point, _| point.double()));
    Fixed { generator: multiples, begin: coordinates(&begin), end: coordinates(&end) }
});

fn coordinates(point: &ProjectivePoint) -> [Limbs; 2] {
    let point = point.to_affine().to_encoded_point(false);
    [point.x(), point.y()].map(|number| from_bytes(number.expect("it is a point").as_ref()))
}
