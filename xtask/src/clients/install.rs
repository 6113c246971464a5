//! Where do the clients come from?
//!
//! From npm and PyPI at fixed versions, into the target directory and nowhere else. What is there
//! already is left alone.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{shell, tools};

/// Older ones have no test runner that reports in short.
const NODE_MAJOR: u32 = 18;

/// Copies the suites to `home`, installs what is missing, compiles the contracts. Returns the
/// variables that tell suites where the programs are.
pub(super) fn all(home: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    let node = tools::program_or_package("node", "nodejs")?;
    check_version(&node)?;
    copy(&source(), home)?;
    once(&home.join("npm.installed"), &home.join("package-lock.json"), || {
        let npm = tools::program_or_package("npm", "npm")?;
        let mut command = Command::new(npm);
        // Not `ci`, which refuses a lock without the packages for other kinds of machines: those
        // that there are here are still the ones in the lock, to the byte.
        command.current_dir(home).args(["install", "--no-save"]);
        command.args(["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        shell::run(command)
    })?;
    once(&home.join("pip.installed"), &home.join("requirements.txt"), || {
        let venv = home.join("venv");
        make_venv(&venv)?;
        let mut pip = Command::new(venv.join("bin/python"));
        pip.current_dir(home).args(["-m", "pip", "install", "--quiet", "--no-deps"]);
        pip.args(["--disable-pip-version-check", "--requirement", "requirements.txt"]);
        shell::run(pip)
    })?;
    let mut compile = Command::new(node);
    compile.current_dir(home).arg("support/compile.mjs");
    shell::run(compile)?;
    let tools = [("ANVIL", "anvil"), ("CAST", "cast"), ("FORGE", "forge")];
    tools.into_iter().map(|(name, tool)| Ok((name, native(home, tool)?))).collect()
}

/// A browser, with letters: Debian's comes without any.
pub(super) fn chromium() -> Result<PathBuf> {
    if shell::find_program("chromium").is_none() {
        tools::install(&["chromium", "fonts-dejavu-core", "fonts-inter"])?;
    }
    shell::find_program("chromium").context("the package has brought no chromium")
}

/// The program itself. What npm puts before it forgets its exit code, and ends without it.
fn native(home: &Path, tool: &str) -> Result<PathBuf> {
    let packages = home.join("node_modules/@foundry-rs");
    let mut found = fs::read_dir(&packages)?
        .filter_map(Result::ok)
        .filter(|package| package.file_name().to_string_lossy().starts_with(&format!("{tool}-")));
    let package = found.next().with_context(|| format!("npm has no {tool} for this machine"))?;
    Ok(package.path().join("bin").join(tool))
}

fn source() -> PathBuf {
    shell::root().join("tests/clients")
}

fn check_version(node: &Path) -> Result<()> {
    let output = Command::new(node).arg("--version").output().context("could not start node")?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next().and_then(|n| n.parse().ok());
    if major.is_none_or(|major: u32| major < NODE_MAJOR) {
        bail!(
            "node is {version}, the clients' tests need {NODE_MAJOR} or newer: please install one"
        );
    }
    Ok(())
}

/// Debian's Python has no `ensurepip` unless a package of its own is there.
fn make_venv(venv: &Path) -> Result<()> {
    let python = tools::program_or_package("python3", "python3")?;
    let make = || {
        let mut command = Command::new(&python);
        command.args(["-m", "venv", "--clear"]).arg(venv);
        shell::run(command)
    };
    make().or_else(|_| {
        tools::install(&["python3-venv"])?;
        make()
    })
}

/// Runs `steps`, unless they have succeeded before with the same `list`.
fn once(marker: &Path, list: &Path, steps: impl FnOnce() -> Result<()>) -> Result<()> {
    let wanted = fs::read(list)?;
    if fs::read(marker).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let _ = fs::remove_file(marker);
    steps()?;
    // Last, so that an installation that was interrupted is begun anew.
    fs::write(marker, wanted)?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let entries = fs::read_dir(from).with_context(|| format!("no folder {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(path, target)?;
        }
    }
    Ok(())
}
