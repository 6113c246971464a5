//! The programs that the tests need beside Rust: are they here, and if not, how do we get them?

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::shell;

/// What Debian and its kin call the C compiler and linker that Rust programs are linked with.
const DEBIAN_PACKAGES: [(&str, &str); 2] = [("cc", "gcc"), ("make", "make")];

/// Installs the system packages that are missing, or names them if we may not.
pub(crate) fn system_packages() -> Result<()> {
    let missing: Vec<&str> = DEBIAN_PACKAGES
        .iter()
        .filter(|(program, _)| shell::find_program(program).is_none())
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    install(&missing)
}

/// A program, or else the Debian package that has it, installed if we may.
pub(crate) fn program_or_package(program: &str, package: &str) -> Result<PathBuf> {
    if shell::find_program(program).is_none() {
        install(&[package])?;
    }
    shell::find_program(program).with_context(|| format!("{package} has brought no {program}"))
}

/// `python3 -m pip`, which Debian has in a package of its own.
pub(crate) fn pip() -> Result<Command> {
    let pip = || {
        let mut command = Command::new("python3");
        command.args(["-m", "pip"]);
        command
    };
    let works = || pip().arg("--version").output().is_ok_and(|output| output.status.success());
    if !works() {
        program_or_package("pip3", "python3-pip")?;
    }
    if !works() {
        bail!("python3 has no pip: please install python3-pip");
    }
    Ok(pip())
}

/// Installs Debian packages, or names them if we may not.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    let line = format!("apt-get install --yes {}", packages.join(" "));
    if !is_root() || shell::find_program("apt-get").is_none() {
        bail!("please install {} (on Debian: {line})", packages.join(", "));
    }
    println!("  {line}");
    let apt_get = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        shell::run(command)
    };
    let words = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    // A fresh machine may have no list of packages yet, or an old one.
    apt_get(&words).or_else(|_| {
        apt_get(&["update"])?;
        apt_get(&words)
    })
}

/// There is no current package of it on Debian, PyPI or npm.
pub(crate) fn cargo_deny() -> Result<PathBuf> {
    cargo_tool("cargo-deny", "^0.20")
}

pub(crate) fn cargo_fuzz() -> Result<PathBuf> {
    cargo_tool("cargo-fuzz", "^0.13")
}

/// A tool of cargo's: the one that is installed, else the one we have built, else we build it.
///
/// From source it takes a minute or two, once, and goes into the target directory. It runs for a second:
/// to optimise it would take longer than that.
fn cargo_tool(name: &str, version: &str) -> Result<PathBuf> {
    if let Some(installed) = shell::find_program(name) {
        return Ok(installed);
    }
    let dir = shell::target_dir().join("tools");
    let built = dir.join("bin").join(name);
    if !built.is_file() {
        println!("  building {name}, once");
        let mut command =
            shell::cargo(["install", "--debug", "--locked", "--quiet", "--version", version, name]);
        command.env("CARGO_PROFILE_DEV_DEBUG", "false");
        command.arg("--root").arg(&dir).arg("--target-dir").arg(dir.join("build"));
        shell::run(command)?;
    }
    Ok(built)
}

/// Is there a nightly toolchain with Miri?
pub(crate) fn has_miri() -> bool {
    nightly_has(&["cargo", "miri", "--version"])
}

/// Is there a nightly toolchain?
pub(crate) fn has_nightly() -> bool {
    nightly_has(&["rustc", "--version"])
}

fn nightly_has(command: &[&str]) -> bool {
    Command::new("rustup")
        .args(["run", "nightly"])
        .args(command)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
