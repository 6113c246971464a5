//! `cargo xtask models`: loom and shuttle over kernel, processes, jobs and tasks, and the proof that
//! those of kernel, processes and tasks would notice.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Result, bail};
use clap::Args;

use crate::{defects, shell, weaken};

/// How often a model may switch threads in mid-run, unless `LOOM_MAX_PREEMPTIONS` says otherwise.
/// With 3, every known defect of this kind shows; each more multiplies the time.
pub(crate) const PREEMPTIONS_MAX: &str = "3";

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Weaken each Acquire, Release, AcqRel and fence in turn, and demand that a model fails
    #[arg(long)]
    weaken: bool,
    /// Seed each known defect in turn, and demand that its test fails
    #[arg(long)]
    defects: bool,
    /// Only models, places (`crate/file`) or defects (`crate/name`) whose name contains this
    #[arg(long, value_name = "SUBSTR")]
    only: Option<String>,
    /// With --weaken: write the table into docs/architecture.md, between its markers
    #[arg(long, requires = "weaken")]
    write: bool,
    /// With --weaken: write the table into this file as well
    #[arg(long, requires = "weaken", value_name = "FILE")]
    table: Option<std::path::PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let only = options.only.as_deref();
    if options.write && only.is_some() {
        bail!("--write wants the whole table, so it can not go with --only");
    }
    if options.weaken {
        weaken::run(only, options.write, options.table.as_deref())?;
    }
    if options.defects {
        defects::run(only)?;
    }
    if !options.weaken && !options.defects {
        shell::run(loom(only))?;
        shell::run(shuttle(only))?;
    }
    Ok(())
}

pub(crate) fn loom(only: Option<&str>) -> Command {
    let mut command = test("loom");
    // Two filters would mean "either"; the one that was asked for is enough.
    command.args(["--lib", "--", only.unwrap_or("models")]);
    if env::var_os("LOOM_MAX_PREEMPTIONS").is_none() {
        command.env("LOOM_MAX_PREEMPTIONS", PREEMPTIONS_MAX);
    }
    command
}

pub(crate) fn shuttle(only: Option<&str>) -> Command {
    let mut command = test("shuttle");
    command.args(["--test", "shuttle", "--"]).args(only);
    command
}

fn test(checker: &str) -> Command {
    let mut command = shell::cargo(["test", "--profile", "models"]);
    for package in ["shiftwork-kernel", "shiftwork-process", "shiftwork-job", "shiftwork-task"] {
        command.args(["--package", package]);
    }
    command.arg("--target-dir").arg(target_dir(checker));
    shell::with_cfg(command, checker)
}

/// Where everything is built for a checker.
pub(crate) fn target_dir(checker: &str) -> PathBuf {
    shell::target_dir().join(checker)
}
