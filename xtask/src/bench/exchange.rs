//! How long does a cache line take to the other core and back?
//!
//! Where work goes from one core to another, little else counts, and it is no property of the model:
//! a machine's virtual cores may be neighbours on the real one, or far from each other, and change
//! places between two runs.

use std::{
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Release},
    },
    thread,
    time::Instant,
};

/// So often one line goes to and fro …
const ROUNDS: u32 = 2_000;
/// … in each of so many tries.
const TRIES: usize = 21;
/// Whoever waits for longer may keep the other off the only core.
const SPINS: u32 = 1 << 14;

/// A line of its own.
#[repr(align(128))]
struct Ball(AtomicU32);

impl Ball {
    fn wait_for(&self, value: u32) {
        let mut spins = 0;
        while self.0.load(Acquire) != value {
            spins += 1;
            if spins % SPINS == 0 {
                thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// Nanoseconds, the median of some tries. `None`: there is no other core.
pub(super) fn round_trip() -> Option<f64> {
    if thread::available_parallelism().map_or(1, |cores| cores.get()) < 2 {
        return None;
    }
    let mut tries: Vec<f64> = (0..TRIES).map(|_| one_try()).collect();
    tries.sort_by(f64::total_cmp);
    Some(tries[TRIES / 2])
}

fn one_try() -> f64 {
    let ball = Ball(AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                ball.wait_for(2 * round + 1);
                ball.0.store(2 * round + 2, Release);
            }
        });
        // The first round waits for the thread to start.
        ball.0.store(1, Release);
        ball.wait_for(2);
        let begun = Instant::now();
        for round in 1..ROUNDS {
            ball.0.store(2 * round + 1, Release);
            ball.wait_for(2 * round + 2);
        }
        begun.elapsed().as_nanos() as f64 / f64::from(ROUNDS - 1)
    })
}

/// In words.
pub(super) fn said(measured: &[f64]) -> Option<String> {
    let least = measured.iter().copied().min_by(f64::total_cmp)?;
    let most = measured.iter().copied().max_by(f64::total_cmp)?;
    let range = if format!("{least:.0}") == format!("{most:.0}") {
        format!("{least:.0}")
    } else {
        format!("{least:.0} to {most:.0}")
    };
    Some(format!("a cache line takes {range} ns to the other core and back"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back() {
        assert!(round_trip().is_none_or(|nanos| nanos > 0.0));
    }

    #[test]
    fn range_is_said_where_there_is_one() {
        assert_eq!(said(&[]), None);
        let one = said(&[71.2, 71.4]).unwrap();
        assert_eq!(one, "a cache line takes 71 ns to the other core and back");
        assert!(said(&[367.0, 70.6]).unwrap().contains("takes 71 to 367 ns"));
    }
}
