//! `cargo xtask sim`: seeded worlds in the simulated runtime, and the replay of one seed.
//!
//! Many worlds are run a stretch of seeds at a time, so that one sees how far they are.

use std::{process::Command, time::Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use progress::Progress;

use crate::shell;

/// So many worlds are a matter of seconds.
const STRETCH_MIN: u64 = 500;
/// Each stretch starts the programs anew, so there are not too many.
const STRETCHES_MAX: u64 = 50;

/// What the worlds' tests take for a discipline.
const DISCIPLINES: [&str; 4] = ["fifo", "stealing", "priority", "feedback"];

#[derive(Args)]
pub(crate) struct Options {
    /// The seed of the first world
    seed: u64,
    /// How many worlds, with the seeds that follow
    #[arg(long, default_value_t = 1, value_name = "N")]
    seeds: u64,
    /// Only this discipline
    #[arg(long, value_parser = DISCIPLINES)]
    discipline: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let Options { seed, seeds, discipline } = options;
    if *seeds <= STRETCH_MIN {
        return shell::run(command(*seed, *seeds, discipline.as_deref()));
    }
    let begun = Instant::now();
    let mut progress = Progress::stderr("seeds").of(*seeds);
    let mut done = 0;
    for (first, count) in stretches(*seed, *seeds) {
        progress.show(begun.elapsed(), done, &format!("from seed {first} on"));
        let mut command = command(first, count, discipline.as_deref());
        let line = shell::show(&command);
        let output = command.output().with_context(|| format!("could not start `{line}`"))?;
        if !output.status.success() {
            progress.finish();
            // It names the seed, and how to replay it.
            print!("{}", String::from_utf8_lossy(&output.stdout));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            bail!("`{line}` ended with {}", output.status);
        }
        done += count;
    }
    progress.finish();
    println!("{seeds} seeds from {seed} on: all is well, {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// First seed and number of seeds, one after the other.
fn stretches(seed: u64, seeds: u64) -> Vec<(u64, u64)> {
    let length = seeds.div_ceil(STRETCHES_MAX).max(STRETCH_MIN);
    let starts = (0..seeds.div_ceil(length)).map(|n| n * length);
    starts.map(|start| (seed.saturating_add(start), length.min(seeds - start))).collect()
}

pub(crate) fn command(seed: u64, seeds: u64, discipline: Option<&str>) -> Command {
    let mut command = shell::cargo([
        "test",
        "--package",
        "shiftwork-kernel",
        "--package",
        "shiftwork-process",
        "--release",
        "--test",
        "simulation",
        "--test",
        "tree",
        "--",
        "--nocapture",
    ]);
    command.env("SHIFTWORK_SEED", seed.to_string()).env("SHIFTWORK_SEEDS", seeds.to_string());
    if let Some(discipline) = discipline {
        command.env("SHIFTWORK_DISCIPLINE", discipline);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_in_one_stretch() {
        for seeds in [501, 1_000, 2_000, 25_001, 1_000_000] {
            let stretches = stretches(7, seeds);
            assert_eq!(stretches.iter().map(|(_, count)| count).sum::<u64>(), seeds);
            assert_eq!(stretches[0].0, 7);
            assert!(stretches.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0));
            assert!(stretches.len() as u64 <= STRETCHES_MAX, "{seeds}");
        }
    }
}
