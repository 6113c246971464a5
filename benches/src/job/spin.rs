//! How does a node work for a microsecond without looking at a clock?
//!
//! By a chain of arithmetic in which each step waits for the one before. It leaves most of a core
//! unused, so that two of them do not slow each other down where two cores are one. Everyone does
//! the same number of steps; how long they take on this machine is measured and shown.

use std::{hint::black_box, time::Instant};

/// Takes about 1 µs on the machine that the targets were set on.
pub(super) const STEPS_PER_US: u32 = 720;

/// Chains per sample, and samples, of which the fastest counts: nothing disturbed it.
const CHAINS: u32 = 2_000;
const SAMPLES: u32 = 5;

#[inline]
pub(super) fn spin(seed: u64, steps: u32) -> u64 {
    let mut x = seed;
    for _ in 0..steps {
        x ^= x >> 7;
        x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    x
}

/// What so many steps take here and now.
pub(super) fn measured_ns(steps: u32) -> f64 {
    let chains = (CHAINS * STEPS_PER_US / steps).max(1);
    let sample = || {
        let start = Instant::now();
        (0..chains).for_each(|chain| {
            black_box(spin(black_box(u64::from(chain)), black_box(steps)));
        });
        start.elapsed().as_nanos() as f64 / f64::from(chains)
    };
    (0..SAMPLES).map(|_| sample()).fold(f64::INFINITY, f64::min)
}
