//! `cargo xtask sim`: seeded worlds in the simulated runtime, and the replay of one seed.

use anyhow::Result;
use clap::Args;

use crate::shell;

#[derive(Args)]
pub(crate) struct Options {
    /// The seed of the first world
    seed: u64,
    /// How many worlds, with the seeds that follow
    #[arg(long, default_value_t = 1, value_name = "N")]
    seeds: u64,
    /// Only this discipline (fifo, stealing, priority, feedback)
    #[arg(long)]
    discipline: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    shell::run(command(options.seed, options.seeds, options.discipline.as_deref()))
}

pub(crate) fn command(seed: u64, seeds: u64, discipline: Option<&str>) -> std::process::Command {
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
