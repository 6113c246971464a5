//! A workload from a seed, for those who have no trace.

use std::fmt;

use clap::ValueEnum;

use super::trace::{Job, Trace};

/// What kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// Durations from half to one and a half times the mean, arriving by chance
    Uniform,
    /// The same durations, arriving some 32 at once
    Bursty,
    /// Mostly short jobs and a few very long ones, arriving by chance
    HeavyTailed,
    /// As uniform, and most jobs wait for up to three others that came not long before
    Dependent,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("no shape is hidden").get_name())
    }
}

/// What is asked of the generator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) shape: Shape,
    pub(crate) jobs: usize,
    pub(crate) seed: u64,
    /// The share of the workers' time that arrives as work.
    pub(crate) load: f64,
    pub(crate) workers: usize,
    /// In microseconds.
    pub(crate) mean: u64,
}

/// How many jobs a burst has on average.
const BURST: u64 = 32;
/// How far back a dependency goes, in jobs.
const REACH: u64 = 64;
/// The tail of long jobs: the smaller, the heavier.
const TAIL: f64 = 1.2;
/// No job takes longer than so many times the shortest.
const LONGEST: f64 = 10_000.0;

impl Plan {
    /// The workload: the same for the same plan.
    pub(crate) fn generate(&self) -> Trace {
        let mut dice = Dice(self.seed);
        let gap = self.mean as f64 / (self.load * self.workers as f64);
        let mut now = 0.0;
        let mut jobs: Vec<Job> = Vec::with_capacity(self.jobs);
        let mut left_of_burst = 0;
        while jobs.len() < self.jobs {
            if self.shape != Shape::Bursty {
                now += dice.exponential(gap);
            } else if left_of_burst == 0 {
                left_of_burst = 1 + dice.below(2 * BURST - 1);
                now += dice.exponential(gap * BURST as f64);
            }
            left_of_burst = left_of_burst.saturating_sub(1);
            let duration = self.duration(&mut dice);
            let after = match self.shape {
                Shape::Dependent => dependencies(jobs.len() as u64, &mut dice),
                _ => Vec::new(),
            };
            jobs.push(Job {
                arrival: now as u64,
                duration,
                priority: dice.below(10) as f64,
                // As if jobs of one kind took about as long as each other.
                class: Some(duration.ilog2()),
                // Off by up to a factor of two.
                estimate: Some((duration as f64 * (dice.share() * 2.0 - 1.0).exp2()) as u64 + 1),
                // Every other job would rather run somewhere.
                affinity: (dice.below(2) == 0).then(|| dice.below(self.workers as u64) as u32),
                after,
            });
        }
        Trace { jobs }
    }

    fn duration(&self, dice: &mut Dice) -> u64 {
        let mean = self.mean as f64;
        let duration = match self.shape {
            Shape::HeavyTailed => mean * dice.pareto() / Dice::pareto_mean(),
            _ => mean * (0.5 + dice.share()),
        };
        (duration.round() as u64).max(1)
    }
}

/// None, or up to three of those that came before.
fn dependencies(jobs_before: u64, dice: &mut Dice) -> Vec<u32> {
    let mut after: Vec<u32> = (0..dice.below(4).min(jobs_before))
        .map(|_| (jobs_before - 1 - dice.below(REACH.min(jobs_before))) as u32)
        .collect();
    after.sort_unstable();
    after.dedup();
    after
}

/// Chance from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// From 0 up to, and without, 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.share()).ln()
    }

    /// A bounded Pareto distribution from 1 to [`LONGEST`].
    fn pareto(&mut self) -> f64 {
        let bound = 1.0 - LONGEST.powf(-TAIL);
        (1.0 - self.share() * bound).powf(-1.0 / TAIL)
    }

    fn pareto_mean() -> f64 {
        let bound = 1.0 - LONGEST.powf(-TAIL);
        TAIL / (TAIL - 1.0) * (1.0 - LONGEST.powf(1.0 - TAIL)) / bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 4] =
        [Shape::Uniform, Shape::Bursty, Shape::HeavyTailed, Shape::Dependent];

    fn plan(shape: Shape) -> Plan {
        Plan { shape, jobs: 20_000, seed: 7, load: 0.5, workers: 4, mean: 1_000 }
    }

    #[test]
    fn the_same_seed_gives_the_same_workload_and_another_gives_another() {
        for shape in SHAPES {
            let first = plan(shape).generate();
            assert_eq!(plan(shape).generate(), first);
            assert_ne!(Plan { seed: 8, ..plan(shape) }.generate(), first);
        }
    }

    #[test]
    fn it_has_the_mean_and_the_load_that_were_asked_for() {
        for shape in SHAPES {
            let trace = plan(shape).generate();
            assert_eq!(trace.jobs.len(), 20_000);
            let work = trace.work().as_secs_f64();
            let mean = work / 20_000.0 * 1e6;
            assert!((900.0..1100.0).contains(&mean), "{shape:?}: mean {mean}");
            let load = work / (4.0 * trace.last_arrival().as_secs_f64());
            assert!((0.45..0.55).contains(&load), "{shape:?}: load {load}");
        }
    }

    #[test]
    fn every_shape_can_be_written_and_read_back() {
        for shape in SHAPES {
            let trace = Plan { jobs: 500, ..plan(shape) }.generate();
            let mut text = Vec::new();
            trace.write(&mut text).unwrap();
            assert_eq!(Trace::parse(&text).unwrap(), trace);
        }
    }
}
