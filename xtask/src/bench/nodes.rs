//! The nodes that `bench node` measures: ours is built, anvil comes from npm.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::programs::or_note;
use crate::{clients, shell, tools};

const ANVIL: &str = "@foundry-rs/anvil";
/// Pinned: a number is worth what its version is known.
const ANVIL_VERSION: &str = "1.7.1";

/// The row that there is none of without a browser.
const NEEDS_BROWSER: &str = "dashboard_delay";

/// What the measuring programs are told, and what the reader should know.
pub(super) struct Prepared {
    pub(super) environment: Vec<(&'static str, OsString)>,
    pub(super) versions: Vec<String>,
    pub(super) notes: Vec<String>,
}

pub(super) fn prepare(with_peers: bool) -> Result<Prepared> {
    shell::run(shell::cargo(["build", "--release", "--quiet", "--package", "shiftwork-cli"]))?;
    let ours = shell::target_dir().join("release/shiftwork");
    let mut prepared = Prepared {
        environment: vec![("SHIFTWORK_BENCH_NODE", ours.into())],
        versions: Vec::new(),
        notes: Vec::new(),
    };
    let browser = clients::browser().context("there is no browser");
    if let Some((clients, chromium)) = or_note(browser, NEEDS_BROWSER, &mut prepared.notes) {
        let both = [("SHIFTWORK_BENCH_CLIENTS", clients.into()), ("CHROMIUM", chromium.into())];
        prepared.environment.extend(both);
    }
    if with_peers && let Some((program, version)) = or_note(anvil(), "anvil", &mut prepared.notes) {
        prepared.environment.push(("SHIFTWORK_BENCH_ANVIL", program.into()));
        prepared.versions.push(version);
    }
    Ok(prepared)
}

/// Where anvil is, installed below the target directory if it is not there or is another one, and its
/// version.
fn anvil() -> Result<(PathBuf, String)> {
    let dir = shell::target_dir().join("bench/anvil");
    if installed(&dir).as_deref() != Some(ANVIL_VERSION) {
        let npm = tools::program_or_package("npm", "npm")?;
        fs::create_dir_all(&dir)?;
        let mut install = Command::new(npm);
        install.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]).arg(&dir);
        install.arg("--save-exact").arg(format!("{ANVIL}@{ANVIL_VERSION}"));
        shell::run(install)?;
    }
    let native = native(&dir)?;
    let output = Command::new(&native).arg("--version").output().context("anvil does not run")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().next().unwrap_or_default().replace(" Version:", "");
    Ok((native, version))
}

/// The version of anvil that npm has brought, if it has.
fn installed(dir: &Path) -> Option<String> {
    let package = fs::read_to_string(dir.join("node_modules").join(ANVIL).join("package.json"));
    let package: serde_json::Value = serde_json::from_str(&package.ok()?).ok()?;
    Some(package["version"].as_str()?.to_owned())
}

/// The program itself: a script before it would be measured too, and would have to be ended apart.
fn native(dir: &Path) -> Result<PathBuf> {
    let scope = dir.join("node_modules/@foundry-rs");
    let entries = fs::read_dir(&scope).context("npm has brought no anvil")?.flatten();
    let mut programs = entries.map(|entry| entry.path().join("bin/anvil"));
    match programs.find(|path| path.is_file()) {
        Some(program) => Ok(program),
        None => bail!("npm has brought no anvil for this machine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_version_is_the_package_s() {
        let dir = std::env::temp_dir().join(format!("xtask-anvil-{}", std::process::id()));
        let package = dir.join("node_modules/@foundry-rs/anvil");
        fs::create_dir_all(&package).unwrap();
        assert_eq!(installed(&dir), None);
        fs::write(package.join("package.json"), r#"{"name":"x","version":"1.6.0"}"#).unwrap();
        assert_eq!(installed(&dir).as_deref(), Some("1.6.0"));
        fs::remove_dir_all(dir).unwrap();
    }
}
