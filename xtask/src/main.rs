//! `cargo xtask`: the one door to everything the project does to itself.

#![allow(
    clippy::disallowed_methods,
    reason = "xtask stands outside the kernel's seam: it times and runs other programs"
)]

mod bench;
mod binary;
mod check;
mod clients;
mod counts;
mod defects;
mod disk;
mod fuzz;
mod guests;
mod models;
mod scratch;
mod shell;
mod sim;
mod soak;
mod steps;
mod subject;
mod test;
mod tools;
mod weaken;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own programs.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Xtask {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The quick part: formatting, clippy, unit and behaviour tests, documentation
    Check,
    /// Everything that must pass; installs what the tests need
    Test(test::Options),
    /// The guests' programs, compiled from source into target/guests; fetches their compilers
    Guests(guests::Options),
    /// The model checkers: loom and shuttle, and proof that they would notice
    Models(models::Options),
    /// Seeded worlds in the simulated runtime
    Sim(sim::Options),
    /// Random strands on real threads, with an accounting of every wake
    Soak(soak::Options),
    /// cast, forge, viem, ethers, web3.py and a browser against the node; installs them into
    /// target/clients
    Clients(clients::Options),
    /// Draws the dashboard for the documentation, in docs/pictures, from a node under load
    Pictures,
    /// Writes docs/rpc.md anew from what the node answers
    RpcDocs,
    /// Writes docs/metrics.md anew from the lists of metrics
    MetricsDocs,
    /// Strangers' bytes: mutated inputs for as long as one likes
    Fuzz(fuzz::Options),
    /// Instructions of the hot paths, beside the baseline in the repository
    Counts(counts::Options),
    /// Benchmarks of an area, side by side with its peers: bench <AREA>|all|report
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// Has the node's test that compares a page with what there is write it instead.
fn reference(test: &str) -> anyhow::Result<()> {
    let mut test = shell::cargo(["test", "--package", "shiftwork-node", "--test", test]);
    test.env("SHIFTWORK_WRITE_REFERENCE", "1");
    shell::run(test)
}

fn main() -> ExitCode {
    let result = match Xtask::parse().command {
        Command::Check => check::run(),
        Command::Test(options) => test::run(&options),
        Command::Guests(options) => guests::run(&options),
        Command::Models(options) => models::run(&options),
        Command::Sim(options) => sim::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Clients(options) => clients::run(&options),
        Command::Pictures => clients::pictures(),
        Command::RpcDocs => reference("reference"),
        Command::MetricsDocs => reference("metrics"),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Counts(options) => counts::run(&options),
        Command::Bench { arguments } => bench::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
