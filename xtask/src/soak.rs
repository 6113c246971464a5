//! `cargo xtask soak`: does the kernel lose or double anything on real threads, given time?

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::shell;

#[derive(Args)]
pub(crate) struct Options {
    /// How long to run, over all disciplines together
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    shell::run(command(options.seconds))
}

pub(crate) fn command(seconds: u64) -> Command {
    let mut command =
        shell::cargo(["run", "--release", "--package", "benches", "--bin", "soak", "--"]);
    command.args(["--seconds", &seconds.to_string()]);
    command
}
