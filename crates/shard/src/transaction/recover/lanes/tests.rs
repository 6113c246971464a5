//! What lanes find out is what libsecp256k1 does, one by one.

use alloy_consensus::crypto::secp256k1::{public_key_to_address, sign_message};
use alloy_primitives::{B256, Signature, U256 as Word, keccak256};
use k256::{
    AffinePoint, ProjectivePoint, Scalar, U256,
    elliptic_curve::{PrimeField, ops::Reduce, point::DecompressPoint, sec1::ToEncodedPoint},
};

use super::*;

impl Lanes {
    pub(super) fn or_say_that_it_is_skipped() -> Option<Lanes> {
        let lanes = Lanes::detect();
        if lanes.is_none() {
            eprintln!("skipped: this processor has no AVX-512 IFMA");
        }
        lanes
    }
}

fn signed(key: B256, hash: B256) -> Signed {
    Signed { signature: sign_message(key, hash).unwrap(), hash }
}

fn alone(one: &Signed) -> Option<Address> {
    one.signer().map(public_key_to_address)
}

/// Compares, in groups of so many, and gives how many had a signer.
fn check(all: &[Signed], at_once: usize) -> usize {
    let Some(lanes) = Lanes::detect() else { return all.iter().filter_map(alone).count() };
    let mut count = 0;
    for group in all.chunks(at_once) {
        let signers = lanes.signers(group);
        assert_eq!(signers.len(), group.len());
        for (one, signer) in group.iter().zip(signers) {
            assert_eq!(signer, alone(one), "{:?} {}", one.signature, one.hash);
            count += usize::from(signer.is_some());
        }
    }
    count
}

#[test]
fn signers_are_those_that_are_found_one_by_one() {
    let of = |n: u64| signed(keccak256(n.to_be_bytes()), keccak256((n + 1_000).to_be_bytes()));
    let all: Vec<_> = (0..200).map(of).collect();
    for count in [0, 1, 7, 8, 9, 15, 16, 200] {
        assert_eq!(check(&all[..count], AT_ONCE_MAX), count);
        assert_eq!(check(&all[..count], LANES), count);
    }
}

#[test]
fn where_no_lane_has_a_question_there_is_no_answer() {
    let Some(lanes) = Lanes::or_say_that_it_is_skipped() else { return };
    assert_eq!(lanes.signers(&[]), []);
    for count in [1, 8, 9, 16] {
        let nobody = |_| Signed {
            signature: Signature::new(Word::ZERO, Word::from(1), false),
            hash: B256::ZERO,
        };
        assert_eq!(lanes.signers(&(0..count).map(nobody).collect::<Vec<_>>()), vec![None; count]);
    }
}

/// What a signature would be of which R, and what R and G are multiplied by, are chosen.
fn chosen(point: ProjectivePoint, [of_point, of_generator]: [Scalar; 2]) -> Signed {
    let point = point.to_affine().to_encoded_point(false);
    let r = Word::from_be_slice(point.x().unwrap());
    let odd = point.y().unwrap()[31] & 1 == 1;
    let scalar = <Scalar as Reduce<U256>>::reduce_bytes(&r.to_be_bytes::<32>().into());
    let [s, hash] = [of_point, -of_generator].map(|times| (scalar * times).to_repr());
    let signature = Signature::new(r, Word::from_be_slice(&s), odd);
    Signed { signature, hash: B256::from_slice(&hash) }
}

/// Numbers of long and short halves, with all digits alike, with the largest digits, with few: an R that has
/// nothing to do with anything meets nobody, whatever it is multiplied by.
#[test]
fn an_ordinary_point_has_a_signer_whatever_it_is_multiplied_by() {
    let turn = <Scalar as Reduce<U256>>::reduce_bytes(&numbers::TURN.into());
    let small = |n: u64| Scalar::from(n);
    let power = |bits: u32| (0..bits).fold(Scalar::ONE, |power, _| power + power);
    let alike = |byte: u8| <Scalar as Reduce<U256>>::reduce_bytes(&[byte; 32].into());
    let half = small(2).invert().unwrap();
    let mut edges = vec![small(1), small(127), small(128), small(129), half, half - small(1)];
    edges.extend([power(127), power(128), power(128) - small(1), turn, turn * power(124)]);
    edges.extend([0x08, 0x0f, 0x70, 0x7f, 0x80, 0x88, 0xff].map(alike));
    edges = edges.iter().flat_map(|edge| [*edge, -*edge]).collect();
    let mut all = Vec::new();
    for (at, of_point) in edges.iter().enumerate() {
        for (other, of_generator) in edges.iter().enumerate() {
            let hash = keccak256([at as u8, other as u8]);
            let times = <Scalar as Reduce<U256>>::reduce_bytes(&hash.0.into());
            all.push(chosen(ProjectivePoint::GENERATOR * times, [*of_point, *of_generator]));
        }
    }
    assert_eq!(check(&all, AT_ONCE_MAX), all.len());
}

#[test]
fn the_same_signature_in_all_lanes_has_the_same_signer() {
    let same = |_| signed(keccak256([1]), keccak256([2]));
    assert_eq!(check(&(0..16).map(same).collect::<Vec<_>>(), AT_ONCE_MAX), 16);
}

/// Whatever is changed, in whichever lane: another signer or none, and the other lanes keep theirs.
#[test]
fn one_that_was_changed_has_the_signer_that_it_has_alone() {
    let of = |r, s, v, hash| Signed { signature: Signature::new(r, s, v), hash };
    let order = Word::from_be_slice(&(-Scalar::ONE).to_repr()) + Word::from(1);
    for lane in 0..AT_ONCE_MAX {
        let change = |with: &dyn Fn(Word, Word, bool, B256) -> Signed| {
            let mut all: Vec<_> = (0..AT_ONCE_MAX as u8)
                .map(|n| signed(B256::with_last_byte(n + 1), keccak256([n, lane as u8])))
                .collect();
            let Signed { signature, hash } = &all[lane];
            all[lane] = with(signature.r(), signature.s(), signature.v(), *hash);
            assert!(check(&all, AT_ONCE_MAX) >= AT_ONCE_MAX - 1);
        };
        change(&|r, s, v, hash| of(r, s, !v, hash));
        change(&|r, s, v, hash| of(r, order - s, !v, hash));
        change(&|r, s, v, hash| of(r, s, v, keccak256(hash)));
        for edge in [Word::ZERO, Word::from(1), order - Word::from(1), order, Word::MAX] {
            change(&|_, s, v, hash| of(edge, s, v, hash));
            change(&|r, _, v, hash| of(r, edge, v, hash));
            change(&|r, s, v, _| of(r, s, v, edge.into()));
        }
        for x in 2..8 {
            change(&|_, s, v, hash| of(Word::from(x), s, v, hash));
            change(&|_, s, v, hash| of(order - Word::from(x), s, v, hash));
        }
    }
}

/// Small numbers of which the signer has made all: points meet on the way, or there is none at the end.
/// Then there is no answer here, and never a wrong one.
#[test]
fn where_points_meet_there_is_no_answer_or_the_right_one() {
    let Some(lanes) = Lanes::or_say_that_it_is_skipped() else { return };
    let mut all = Vec::new();
    for point in 1..40_u64 {
        // R is a small multiple of G, and so are s/r and z/r small.
        let scalar = Scalar::from(point);
        let affine = (ProjectivePoint::GENERATOR * scalar).to_affine().to_encoded_point(false);
        let r = Word::from_be_slice(affine.x().unwrap());
        let odd = affine.y().unwrap()[31] & 1 == 1;
        let r_scalar = <Scalar as Reduce<U256>>::reduce_bytes(&r.to_be_bytes::<32>().into());
        for times in [1_u64, 2, 7, 8, 9, 16, 128] {
            for minus in [0, 1, point * times, point * times + 1, 129] {
                let word = |scalar: Scalar| B256::from_slice(&scalar.to_repr());
                let s = word(r_scalar * Scalar::from(times));
                let hash = word(r_scalar * Scalar::from(minus));
                all.push(Signed { signature: Signature::new(r, s.into(), odd), hash });
            }
        }
    }
    for group in all.chunks(AT_ONCE_MAX) {
        for (one, signer) in group.iter().zip(lanes.signers(group)) {
            assert!(signer.is_none() || signer == alone(one), "{:?}", one.signature);
        }
    }
}

/// Rule 2: points that are made to meet, or to be each other's negatives, at the beginning, on the way and
/// at the end. There is no answer, where one by one there is, and the other lanes keep theirs.
#[test]
fn where_points_are_made_to_meet_there_is_no_answer() {
    let Some(lanes) = Lanes::or_say_that_it_is_skipped() else { return };
    let [x, y] = FIXED.begin;
    let begin = AffinePoint::decompress(&to_bytes(&x).into(), (y[0] as u8 & 1).into()).unwrap();
    let power = |bits: u32| (0..bits).fold(Scalar::ONE, |power, _| power + power);
    // R is so many times B when its first digit that is not 0 is added, or its negative is.
    let on_the_way = |digits: u32| (power(4 * digits), power(128 - 4 * digits));
    let (first, later) = (on_the_way(1), on_the_way(2));
    let turn = <Scalar as Reduce<U256>>::reduce_bytes(&numbers::TURN.into());
    let back = turn.invert().unwrap();
    // How many times B is R, and how many times R is taken.
    let meet = [
        first,
        (-first.0, first.1),
        later,
        (-later.0, later.1),
        (later.0 * back, later.1 * turn),
        (Scalar::ONE, -power(129)),
    ];
    let begin = ProjectivePoint::from(begin);
    let mut meet: Vec<_> =
        meet.map(|(of_begin, times)| chosen(begin * of_begin, [times, Scalar::ZERO])).into();
    // R is so chosen that B and it come to a digit's multiple of G, or of 2^128 G, when that is added.
    for (digit, half) in [(15, 0), (15, 128), (3, 0), (3, 128)] {
        let at = 2 * digit;
        let generator = ProjectivePoint::GENERATOR * (Scalar::from(5_u64) * power(half));
        let point = generator - begin * power(4 * (32 - at));
        let of_generator = Scalar::from(5_u64) * power(8 * digit + half);
        for of_generator in [of_generator, -of_generator] {
            meet.push(chosen(point, [power(4 * at), of_generator]));
        }
    }
    for group in meet.chunks(6) {
        let honest = (0..10).map(|n| signed(keccak256([n]), keccak256([n, n])));
        let mut all: Vec<_> = honest.collect();
        all.splice(2..2, group.iter().map(|one| Signed { ..*one }));
        let signers = lanes.signers(&all);
        for (lane, one) in all.iter().enumerate() {
            let (found, met) = (alone(one), (2..2 + group.len()).contains(&lane));
            assert!(found.is_some(), "{lane}");
            assert_eq!(signers[lane], found.filter(|_| !met), "{lane}");
        }
    }
}
