//! Where do the guests' compilers come from?
//!
//! AssemblyScript comes from npm and zig, as the C compiler, from PyPI: both at a fixed version, into
//! the target directory, and nowhere else. Rust's target is rustup's to install, so it is used where
//! it is and not fetched.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::recipe::Language;
use crate::{shell, tools};

/// The C compiler. The version of AssemblyScript is in guests/assemblyscript/package-lock.json.
const ZIG: &str = "0.16.0";

/// What the compiled programs depend on beside their sources.
pub(super) fn version(language: Language) -> String {
    match language {
        Language::AssemblyScript => lock().unwrap_or_default(),
        Language::C => ZIG.to_owned(),
        Language::Rust => env!("CARGO_PKG_RUST_VERSION").to_owned(),
    }
}

/// Why programs of this language can not be compiled here, if that is not for us to change.
pub(super) fn missing(language: Language) -> Option<String> {
    if language != Language::Rust || has_wasm_target() {
        return None;
    }
    let why = "the target is not installed (rustup target add wasm32-unknown-unknown)";
    Some(why.to_owned())
}

fn has_wasm_target() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut ask = Command::new(rustc);
    ask.current_dir(shell::root());
    ask.args(["--print", "target-libdir", "--target", "wasm32-unknown-unknown"]);
    let Ok(output) = ask.output() else { return false };
    let dir = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success() && Path::new(&dir).is_dir()
}

/// AssemblyScript's compiler.
pub(super) fn asc() -> Result<Command> {
    let dir = shell::target_dir().join("tools/assemblyscript");
    let node = tools::program_or_package("node", "nodejs")?;
    install(&dir, &lock()?, || {
        let npm = tools::program_or_package("npm", "npm")?;
        for file in ["package.json", "package-lock.json"] {
            fs::copy(source().join(file), dir.join(file))?;
        }
        let mut command = Command::new(npm);
        command.current_dir(&dir).arg("ci");
        command.args(["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        shell::run(command)
    })?;
    let mut command = Command::new(node);
    command.arg(dir.join("node_modules/assemblyscript/bin/asc.js"));
    Ok(command)
}

/// The C compiler.
pub(super) fn cc() -> Result<Command> {
    let dir = shell::target_dir().join("tools/zig");
    install(&dir, ZIG, || {
        let mut pip = tools::pip()?;
        pip.args(["install", "--quiet", "--no-deps", "--disable-pip-version-check"]);
        pip.arg("--target").arg(&dir).arg(format!("ziglang=={ZIG}"));
        // As an argument it would be unknown to older ones.
        pip.env("PIP_ROOT_USER_ACTION", "ignore");
        shell::run(pip)
    })?;
    let mut command = Command::new(dir.join("ziglang/zig"));
    command.arg("cc");
    // Nothing outside the target directory.
    let cache = shell::target_dir().join("tools/zig-cache");
    command.env("ZIG_GLOBAL_CACHE_DIR", &cache).env("ZIG_LOCAL_CACHE_DIR", &cache);
    Ok(command)
}

/// Runs `steps` in an empty folder, unless they have succeeded there before with the same `version`.
fn install(dir: &Path, version: &str, steps: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut marker = OsString::from(dir);
    marker.push(".installed");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == version) {
        return Ok(());
    }
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)?;
    steps()?;
    // Last, so that an installation that was interrupted is begun anew.
    fs::write(marker, version)?;
    Ok(())
}

fn lock() -> Result<String> {
    Ok(fs::read_to_string(source().join("package-lock.json"))?)
}

fn source() -> PathBuf {
    shell::root().join("guests/assemblyscript")
}
