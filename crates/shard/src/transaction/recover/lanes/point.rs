//! How are points of the curve added, a pair in each lane?
//!
//! None of these formulas knows a special case. What that means is said in rule 2 of `mod.rs`, and it
//! rests on this: the z of each sum is a multiple of the z of both points, and of what their x differ by;
//! and the z of a double is one of z and y, where no point of the curve has a y of 0.

use std::sync::LazyLock;

use alloy_primitives::hex;
use k256::{
    AffinePoint, ProjectivePoint,
    elliptic_curve::{BatchNormalize, point::DecompressPoint, sec1::ToEncodedPoint},
};

use super::{
    field::{
        Each, Field, Limbs, Mask, add, choose, everywhere, from_bytes, mul, shift, square, sub,
    },
    numbers::{HALF, OF_GENERATOR},
};

/// So many multiples of a point are at hand: all that a digit may ask for.
const MULTIPLES: usize = 8;

const ONE: Limbs = [1, 0, 0, 0, 0];

/// A third root of 1: (x, y) taken L times is (this times x, y).
pub(super) const TURN: [u8; 32] =
    hex!("7ae96a2b657c07106e64479eac3434e99cf0497512f58995c1396c28719501ee");

/// x and y of a point whose z is 1.
pub(super) type Plain<const GROUPS: usize> = [Field<GROUPS>; 2];

/// x / z^2 and y / z^3, where z is not 0.
#[derive(Clone, Copy)]
pub(super) struct Point<const GROUPS: usize> {
    pub(super) x: Field<GROUPS>,
    pub(super) y: Field<GROUPS>,
    pub(super) z: Field<GROUPS>,
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn double<const GROUPS: usize>(point: &Point<GROUPS>) -> Point<GROUPS> {
    let (a, b) = (square(&point.x), square(&point.y));
    let c = square(&b);
    let d = shift::<1, _>(&sub(&sub(&square(&add(&point.x, &b)), &a), &c));
    let e = add(&shift::<1, _>(&a), &a);
    let x = sub(&square(&e), &shift::<1, _>(&d));
    let y = sub(&mul(&e, &sub(&d, &x)), &shift::<3, _>(&c));
    Point { x, y, z: shift::<1, _>(&mul(&point.y, &point.z)) }
}

/// The sum of `a` and a point of the same z whose x and y there are u and s, and what the x differ by. Its
/// z is 0 where that is 0, or z is.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn joined<const GROUPS: usize>(
    a: &Point<GROUPS>,
    u: &Field<GROUPS>,
    s: &Field<GROUPS>,
) -> (Point<GROUPS>, Field<GROUPS>) {
    let (h, r) = (sub(u, &a.x), sub(s, &a.y));
    let squared = square(&h);
    let cubed = mul(&h, &squared);
    let v = mul(&a.x, &squared);
    let x = sub(&sub(&square(&r), &cubed), &shift::<1, _>(&v));
    let y = sub(&mul(&r, &sub(&v, &x)), &mul(&a.y, &cubed));
    (Point { x, y, z: mul(&a.z, &h) }, h)
}

/// The sum of a point and one whose z is 1.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn plus_plain<const GROUPS: usize>(
    a: &Point<GROUPS>,
    x: &Field<GROUPS>,
    y: &Field<GROUPS>,
) -> Point<GROUPS> {
    plus_near(a, x, y, &a.z).0
}

/// The same for one from outside, where each z is `outside` times as large.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn plus_outside<const GROUPS: usize>(
    a: &Point<GROUPS>,
    x: &Field<GROUPS>,
    y: &Field<GROUPS>,
    outside: &Field<GROUPS>,
) -> Point<GROUPS> {
    plus_near(a, x, y, &mul(&a.z, outside)).0
}

/// The same where the z of `a` is what the other point has as 1.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn plus_near<const GROUPS: usize>(
    a: &Point<GROUPS>,
    x: &Field<GROUPS>,
    y: &Field<GROUPS>,
    z: &Field<GROUPS>,
) -> (Point<GROUPS>, Field<GROUPS>) {
    let zz = square(z);
    joined(a, &mul(x, &zz), &mul(&mul(y, z), &zz))
}

/// 1 to 8 times a point, and the same times L, all with the same z; and that z, which is taken for 1.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn table<const GROUPS: usize>(
    x: &Field<GROUPS>,
    y: &Field<GROUPS>,
) -> ([[Plain<GROUPS>; MULTIPLES]; 2], Field<GROUPS>) {
    let first = Point { x: *x, y: *y, z: everywhere(&ONE) };
    let second = double(&first);
    let (mut all, mut steps) = ([second; MULTIPLES], [second.z; MULTIPLES]);
    all[0] = first;
    for at in 2..MULTIPLES {
        // Its z is that of the one before, times this.
        (all[at], steps[at]) = plus_near(&all[at - 1], x, y, &all[at - 1].z);
    }
    let mut multiples = all.map(|point| [point.x, point.y]);
    let mut missing = steps[MULTIPLES - 1];
    for at in (0..MULTIPLES - 1).rev() {
        let squared = square(&missing);
        let [x, y] = &mut multiples[at];
        (*x, *y) = (mul(x, &squared), mul(&mul(y, &missing), &squared));
        if at > 0 {
            missing = mul(&missing, &steps[at]);
        }
    }
    let turn = everywhere(&from_bytes(&TURN));
    let turned = multiples.each_ref().map(|[x, y]| [mul(x, &turn), *y]);
    ([multiples, turned], all[MULTIPLES - 1].z)
}

/// A point from outside.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn begin_at<const GROUPS: usize>(
    [x, y]: &[Limbs; 2],
    outside: &Field<GROUPS>,
) -> Point<GROUPS> {
    let squared = square(outside);
    let (x, y) = (mul(&everywhere(x), &squared), mul(&everywhere(y), &mul(&squared, outside)));
    Point { x, y, z: everywhere(&ONE) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn choose_point<const GROUPS: usize>(
    mask: Mask<GROUPS>,
    no: &Point<GROUPS>,
    yes: &Point<GROUPS>,
) -> Point<GROUPS> {
    let [x, y, z] =
        [(&no.x, &yes.x), (&no.y, &yes.y), (&no.z, &yes.z)].map(|(no, yes)| choose(mask, no, yes));
    Point { x, y, z }
}

/// Each lane's own of these.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn pick<const GROUPS: usize>(
    multiples: &[Plain<GROUPS>; MULTIPLES],
    places: &Each<usize, GROUPS>,
) -> Plain<GROUPS> {
    let mut picked = multiples[0];
    for (place, multiple) in multiples.iter().enumerate().skip(1) {
        let mut mask = [0; GROUPS];
        for (mask, places) in mask.iter_mut().zip(places) {
            for (lane, wanted) in places.iter().enumerate() {
                *mask |= u8::from(*wanted == place) << lane;
            }
        }
        for (picked, wanted) in picked.iter_mut().zip(multiple) {
            *picked = choose(mask, picked, wanted);
        }
    }
    picked
}

/// Points that are always the same: x and y of each.
pub(super) struct Fixed {
    /// 1 to 128 times the generator, and 2^128 times the generator.
    pub(super) generator: [Vec<[Limbs; 2]>; 2],
    /// B.
    pub(super) begin: [Limbs; 2],
    /// -2^128 B.
    pub(super) end: [Limbs; 2],
}

pub(super) static FIXED: LazyLock<Fixed> = LazyLock::new(|| {
    let generator = ProjectivePoint::GENERATOR;
    // Any point will do: the first one whose x is a byte that is repeated.
    let point = |byte: u8| AffinePoint::decompress(&[byte; 32].into(), 0.into()).into_option();
    let begin = ProjectivePoint::from((1..).find_map(point).expect("half of all x have points"));
    let end = -times_half(begin);
    Fixed {
        generator: [generator, times_half(generator)].map(multiples),
        begin: coordinates(&begin.to_affine()),
        end: coordinates(&end.to_affine()),
    }
});

/// 2^128 times the point.
fn times_half(point: ProjectivePoint) -> ProjectivePoint {
    (0..HALF).fold(point, |point, _| point.double())
}

fn multiples(of: ProjectivePoint) -> Vec<[Limbs; 2]> {
    let next = |point: &ProjectivePoint| Some(*point + of);
    let all = std::iter::successors(Some(of), next).take(1 << (HALF / OF_GENERATOR - 1));
    let all: Vec<ProjectivePoint> = all.collect();
    ProjectivePoint::batch_normalize(&all[..]).iter().map(coordinates).collect()
}

fn coordinates(point: &AffinePoint) -> [Limbs; 2] {
    let point = point.to_encoded_point(false);
    [point.x(), point.y()].map(|number| from_bytes(number.expect("it is a point").as_ref()))
}
