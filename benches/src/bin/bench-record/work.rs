//! How is a job made to take so long?

use std::{hint, sync::OnceLock, time::Instant};

/// Rounds that are timed to find out how long one is.
const ROUNDS: u64 = 2_000_000;

/// Works for about `ns` nanoseconds: so many rounds, without a look at the clock.
pub(crate) fn spin(ns: u64) {
    static PER_ROUND: OnceLock<f64> = OnceLock::new();
    let each = *PER_ROUND.get_or_init(|| {
        let start = Instant::now();
        rounds(ROUNDS);
        start.elapsed().as_nanos() as f64 / ROUNDS as f64
    });
    rounds((ns as f64 / each) as u64);
}

fn rounds(count: u64) {
    let mut state = 1u64;
    for _ in 0..count {
        state = hint::black_box(state.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (state >> 29));
    }
    hint::black_box(state);
}
