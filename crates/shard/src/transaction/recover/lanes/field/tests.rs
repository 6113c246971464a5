//! Each step with the numbers at which it could go wrong, against numbers of any length.

use alloy_primitives::{U256, U512, keccak256};

use super::{super::Lanes, *};

fn prime() -> U256 {
    U256::ZERO.wrapping_sub(U256::from(C))
}

/// Limbs as large as rule 1 lets them be, small ones, p and its neighbours, and some in between.
fn numbers() -> Vec<Limbs> {
    let low = LOW_52.cast_unsigned();
    let top = (1 << 48) + (1 << 8) - 1;
    let mut all = vec![[low, low, low, low, top], [0, 0, 0, 0, top], [low, 0, 0, 0, 0], [0; 5]];
    all.extend([[0, low, 0, low, 1 << 48], [low, low, low, low, (1 << 48) - 1]]);
    for near in [U256::ZERO, prime()] {
        for by in 0..3 {
            all.push(from_bytes(&near.wrapping_add(U256::from(by)).to_be_bytes()));
            all.push(from_bytes(&near.wrapping_sub(U256::from(by)).to_be_bytes()));
        }
    }
    all.extend((0..30_u8).map(|n| from_bytes(&keccak256([n]).0)));
    all
}

fn value(limbs: &Limbs) -> U512 {
    limbs.iter().rev().fold(U512::ZERO, |sum, limb| (sum << 52) + U512::from(*limb))
}

fn check(what: &str, field: &Field<2>, expected: [[U512; LANES]; 2]) {
    let prime = U512::from(prime());
    // SAFETY: the processor has it, as was asked below.
    let (all, normal) = unsafe { (store(field), store(&normal(field))) };
    let all = all.as_flattened().iter().zip(normal.as_flattened());
    for ((limbs, normal), expected) in all.zip(expected.as_flattened()) {
        let expected = expected % prime;
        assert!(limbs[..4].iter().all(|limb| *limb < 1 << 52), "{what}: {limbs:x?}");
        assert!(limbs[4] < (1 << 48) + (1 << 8), "{what}: {limbs:x?}");
        assert_eq!(value(limbs) % prime, expected, "{what}");
        assert_eq!(value(normal), expected, "{what}");
        assert_eq!(from_bytes(&to_bytes(normal)), *normal, "{what}");
    }
}

/// In two groups, with the numbers of the one in the other.
#[target_feature(enable = "avx512f,avx512ifma")]
fn steps(a: &[Limbs; LANES], b: &[Limbs; LANES]) {
    let (x, y) = (load(&[*a, *b]), load(&[*b, *a]));
    let prime = U512::from(prime());
    let of = |f: &dyn Fn(U512, U512) -> U512| {
        let group = |a: &[Limbs; LANES], b: &[Limbs; LANES]| {
            std::array::from_fn(|lane| f(value(&a[lane]) % prime, value(&b[lane]) % prime))
        };
        [group(a, b), group(b, a)]
    };
    check("mul", &mul(&x, &y), of(&|a, b| a * b));
    check("square", &square(&x), of(&|a, _| a * a));
    check("add", &add(&x, &y), of(&|a, b| a + b));
    check("sub", &sub(&x, &y), of(&|a, b| a + prime - b));
    check("negate", &negate(&x), of(&|a, _| prime - a));
    check("shift", &shift::<1, _>(&x), of(&|a, _| a * U512::from(2)));
    check("shift", &shift::<3, _>(&x), of(&|a, _| a * U512::from(8)));
    check("invert", &mul(&x, &invert(&x)), of(&|a, _| U512::from(!a.is_zero())));
    let squared = square(&x);
    check("root", &square(&root(&squared)), of(&|a, _| a * a));
    let (zero, odd) = (is_zero(&x), is_odd(&normal(&x)));
    for (group, numbers) in [a, b].into_iter().enumerate() {
        for (lane, number) in numbers.iter().enumerate() {
            let number = value(number) % prime;
            assert_eq!(zero[group] >> lane & 1 == 1, number.is_zero(), "{number:x?}");
            assert_eq!(odd[group] >> lane & 1 == 1, number.bit(0), "{number:x?}");
        }
    }
}

#[test]
fn each_step_is_right_for_numbers_at_the_edges() {
    if Lanes::or_say_that_it_is_skipped().is_none() {
        return;
    }
    let numbers = numbers();
    for first in 0..numbers.len() {
        for second in (0..numbers.len()).step_by(LANES) {
            let a = std::array::from_fn(|lane| numbers[(first + lane) % numbers.len()]);
            let b = std::array::from_fn(|lane| numbers[(second + lane) % numbers.len()]);
            // SAFETY: the processor has it, as was asked above.
            unsafe { steps(&a, &b) }
        }
    }
}
