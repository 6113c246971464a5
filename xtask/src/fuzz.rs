//! `cargo xtask fuzz`: can a stranger's bytes break the loader of modules, the host's calls, a
//! shard's pool, or a node's door?
//!
//! The targets are in `fuzz/`, a workspace of its own. The fuzzer needs a nightly compiler and
//! cargo-fuzz; that the committed corpora still behave is an ordinary test, with neither.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::{shell, tools};

#[derive(Args)]
pub(crate) struct Options {
    /// What is fuzzed
    target: Target,
    /// How long to run
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// Instead of a run: add to the committed corpus what earlier runs have found and reaches more
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Target {
    /// Bytes as modules
    ModuleLoader,
    /// Guests that call the host with anything
    HostAbi,
    /// Transactions, and shards that execute them
    TransactionAdmission,
    /// Bodies of requests, at both endpoints of a node
    RequestPath,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::ModuleLoader => "module_loader",
            Target::HostAbi => "host_abi",
            Target::TransactionAdmission => "transaction_admission",
            Target::RequestPath => "request_path",
        }
    }

    /// The fuzzer, and the second engine where there are guests to run on it.
    fn features(self) -> &'static str {
        match self {
            Target::ModuleLoader | Target::HostAbi => "libfuzzer,jit",
            Target::TransactionAdmission | Target::RequestPath => "libfuzzer",
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let name = options.target.name();
    let (committed, found) = (root().join("corpus").join(name), target_dir().join("corpus"));
    let found = found.join(name);
    let findings = root().join("artifacts").join(name);
    fs::create_dir_all(&found)?;
    let mut command = cargo_fuzz()?;
    let features = options.target.features();
    command.args(["run", name, "--features", features, "--target-dir"]).arg(target_dir());
    if options.keep {
        // As few as reach all that is reached: not one for each number of times.
        command.args([&committed, &found]).args(["--", "-set_cover_merge=1", "-use_counters=0"]);
        return shell::run(command);
    }
    // What is new goes into the first folder; the committed corpus is only read.
    command.args([&found, &committed]).arg("--");
    command.arg(format!("-max_total_time={}", options.seconds)).arg("-rss_limit_mb=4096");
    println!("findings go to {}, new inputs to {}", findings.display(), found.display());
    if let Err(error) = shell::run(command) {
        bail!(
            "{error:#}\nthe input is in {}: once it is mended, put it into {}, where a test replays it",
            findings.display(),
            committed.display()
        );
    }
    println!(
        "nothing was found; `cargo xtask fuzz {name} --keep` keeps the inputs that reach more"
    );
    Ok(())
}

/// Replays the corpora on both engines, with the ordinary compiler. In the workspace's own target directory
/// and with its profile: nearly all that is needed has been built there for the tests.
pub(crate) fn replay() -> Command {
    let mut command = in_fuzz(["test", "--locked", "--features", "jit", "--target-dir"]);
    command.arg(shell::target_dir());
    command
}

/// Formatting and lints, which the workspace's own do not cover.
pub(crate) fn fmt() -> Command {
    in_fuzz(["fmt", "--check"])
}

pub(crate) fn clippy() -> Command {
    let mut command = in_fuzz(["clippy", "--locked", "--all-targets", "--features", "jit"]);
    command.arg("--target-dir").arg(shell::target_dir()).args(["--", "-D", "warnings"]);
    command
}

fn in_fuzz<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = shell::cargo(arguments);
    command.current_dir(root());
    command
}

fn cargo_fuzz() -> Result<Command> {
    if !tools::has_nightly() {
        bail!("the fuzzer needs a nightly compiler: rustup toolchain install nightly");
    }
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).arg(tools::cargo_fuzz()?);
    // Those of the toolchain that runs us; the nightly one has its own.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC");
    command.current_dir(root());
    Ok(command)
}

fn root() -> PathBuf {
    shell::root().join("fuzz")
}

fn target_dir() -> PathBuf {
    shell::target_dir().join("fuzz")
}
