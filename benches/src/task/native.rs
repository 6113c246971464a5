//! What the guests compute, in Rust: the least that it can take, and the results to compare with.

use std::hint::black_box;

/// Of the memory that is walked.
const WORDS: usize = 1 << 17;

/// The `n`-th Fibonacci number, by as many calls.
pub fn fib(n: i64) -> i64 {
    // Hidden, so that it stays a recursion.
    let n = black_box(n);
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

/// Reads and writes words all over a mebibyte.
pub fn walk(steps: i64) -> i64 {
    let mut words = vec![0_i64; WORDS];
    let (mut place, mut sum) = (0_u32, 0_i64);
    for left in (1..=steps).rev() {
        place = place.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let word = &mut words[place as usize % (WORDS * 8) / 8];
        sum = sum.wrapping_add(*word);
        *word = sum.wrapping_add(left);
    }
    sum
}

/// How many primes there are below `limit`.
pub fn sieve(limit: i64) -> i64 {
    let end = limit as usize;
    let mut struck = vec![false; end];
    let mut count = 0;
    for prime in 2..end {
        if !struck[prime] {
            count += 1;
            struck[prime..].iter_mut().step_by(prime).skip(1).for_each(|one| *one = true);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_come_out() {
        assert_eq!((fib(10), fib(20)), (55, 6_765));
        assert_eq!((sieve(100), sieve(1_000)), (25, 168));
        // The first steps meet words that are still 0.
        assert_eq!((walk(1), walk(2)), (0, 0));
    }
}
