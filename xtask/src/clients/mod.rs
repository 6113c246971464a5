//! `cargo xtask clients`: do the tools that people use work against the node, unchanged?
//!
//! ```text
//!   tests/clients ── copied to ──▶ target/clients ◀── npm, pip
//!                                        │
//!   shiftwork, built ──── SHIFTWORK ──▶ suites ◀── ANVIL ── anvil, from npm
//! ```
//!
//! The suites are copied since packages are looked for beside them, and nothing but sources should
//! be in the tree.

mod install;
mod pictures;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Result, bail};
use clap::Args;

use crate::{shell, steps::Steps};

pub(crate) use pictures::run as pictures;

/// A suite takes some ten seconds, on a machine that does nothing else.
const LIMIT: Duration = Duration::from_secs(10 * 60);
const BUILD_LIMIT: Duration = Duration::from_secs(20 * 60);

/// The suites: what one calls them, and the file.
const SUITES: [(&str, &str); 10] = [
    ("first-steps", "first_steps.test.mjs"),
    ("cast", "cast.test.mjs"),
    ("forge", "forge.test.mjs"),
    ("viem", "viem.test.mjs"),
    ("ethers", "ethers.test.mjs"),
    ("web3py", "web3_test.py"),
    ("base-chain", "base_chain.test.mjs"),
    ("differential", "differential.test.mjs"),
    ("dashboard", "dashboard.test.mjs"),
    ("perfetto", "perfetto.test.mjs"),
];

/// Suites that need a browser.
const IN_A_BROWSER: [&str; 2] = ["dashboard", "perfetto"];

/// Suites that mean nothing against anvil.
const ABOUT_US: [&str; 5] = ["first-steps", "base-chain", "differential", "dashboard", "perfetto"];

#[derive(Args)]
pub(crate) struct Options {
    /// Only this suite: first-steps, cast, forge, viem, ethers, web3py, base-chain, differential,
    /// dashboard or perfetto
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Run the suites of clients against anvil, to see whether they are right
    #[arg(long)]
    against_anvil: bool,
    /// The seed of the differential test; printed by each run
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many transactions the differential test makes
    #[arg(long, value_name = "N")]
    transactions: Option<u64>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(name) = &options.only
        && !SUITES.iter().any(|(suite, _)| suite == name)
    {
        let names = SUITES.map(|(suite, _)| suite).join(", ");
        bail!("there is no suite {name}: it is one of {names}");
    }
    let mut steps = Steps::new()?;
    suites(&mut steps, options);
    steps.finish()
}

/// All of them, as steps of `cargo xtask test`.
pub(crate) fn all(steps: &mut Steps) {
    let options = Options { only: None, against_anvil: false, seed: None, transactions: None };
    suites(steps, &options);
}

/// Where the clients are, and the browser: for whoever measures what it shows.
pub(crate) fn browser() -> Result<(PathBuf, PathBuf)> {
    let home = shell::target_dir().join("clients");
    install::all(&home)?;
    Ok((home, install::chromium()?))
}

fn suites(steps: &mut Steps, options: &Options) {
    let home = shell::target_dir().join("clients");
    let mut tools = Vec::new();
    let mut ready = steps.call("clients installed", || {
        tools = install::all(&home)?;
        if options.only.as_deref().is_none_or(|only| IN_A_BROWSER.contains(&only)) {
            tools.push(("CHROMIUM", install::chromium()?));
        }
        Ok(())
    });
    if !options.against_anvil {
        // As the tests are built: what is asserted in the code is checked here too.
        let build = shell::cargo(["build", "--package", "shiftwork-cli"]);
        ready &= steps.run("clients: build", BUILD_LIMIT, build);
    }
    if !ready {
        return;
    }
    for (name, file) in SUITES {
        if options.only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        if options.against_anvil && ABOUT_US.contains(&name) {
            steps.skip(&format!("clients: {name}"), "it is not about a client");
            continue;
        }
        let mut command = suite(&home, file, &tools);
        if options.against_anvil {
            command.env("GUIDE", shell::root().join("docs/node.md"));
            command.env("SHIFTWORK", "anvil");
        }
        if let Some(seed) = options.seed {
            command.env("SHIFTWORK_SEED", seed.to_string());
        }
        if let Some(transactions) = options.transactions {
            command.env("SHIFTWORK_TRANSACTIONS", transactions.to_string());
        }
        steps.run(&format!("clients: {name}"), LIMIT, command);
    }
}

fn suite(home: &Path, file: &str, tools: &[(&str, PathBuf)]) -> Command {
    let mut command = if Path::new(file).extension().is_some_and(|ending| ending == "py") {
        Command::new(home.join("venv/bin/python"))
    } else {
        let mut node = Command::new("node");
        node.args(["--test", "--test-reporter=spec"]);
        node
    };
    command.current_dir(home).arg(file);
    command.env("GUIDE", shell::root().join("docs/node.md"));
    command.env("SHIFTWORK", shell::target_dir().join("debug/shiftwork"));
    command.envs(tools.iter().map(|(name, path)| (name, path)));
    command
}
