//! How is one program compiled?

use std::fs;

use anyhow::{Context, Result};

use super::{
    recipe::{Language, Recipe},
    toolchain,
};
use crate::shell;

/// Makes the module, or notes why it can not be made here.
pub(super) fn compile(recipe: &Recipe) -> Result<()> {
    fs::create_dir_all(recipe.wasm.parent().context("a module in no folder")?)?;
    let made = match recipe.language {
        Language::AssemblyScript => assemblyscript(recipe),
        Language::C => c(recipe),
        Language::Rust => match toolchain::missing(recipe.language) {
            Some(why) => {
                checked(recipe)?;
                return recipe.skip(&why);
            }
            None => rust(recipe),
        },
    };
    made.with_context(|| format!("could not compile {recipe}"))?;
    recipe.done()
}

fn assemblyscript(recipe: &Recipe) -> Result<()> {
    let mut asc = toolchain::asc()?;
    asc.current_dir(&recipe.home).arg(recipe.program()).arg("-o").arg(&recipe.wasm);
    asc.args(recipe.language.flags());
    shell::run(asc)
}

fn c(recipe: &Recipe) -> Result<()> {
    let mut cc = toolchain::cc()?;
    cc.current_dir(&recipe.home).args(recipe.language.flags());
    cc.args(["-Wall", "-Wextra", "-Werror"]);
    cc.arg(recipe.program()).arg("-o").arg(&recipe.wasm);
    shell::run(cc)
}

/// A package of its own with one library, or an example of ours.
fn rust(recipe: &Recipe) -> Result<()> {
    let target = shell::target_dir().join("tools/guests-rust");
    let mut cargo = cargo(recipe, "build");
    cargo.args(recipe.language.flags()).arg("--target-dir").arg(&target);
    shell::run(cargo)?;
    let folder = if is_example(recipe) { "release/examples" } else { "release" };
    let made = target.join("wasm32-unknown-unknown").join(folder);
    fs::copy(made.join(format!("{}.wasm", recipe.name)), &recipe.wasm)?;
    Ok(())
}

/// Without the target, at least this: the program is correct Rust. Our examples are checked with the
/// workspace.
fn checked(recipe: &Recipe) -> Result<()> {
    if is_example(recipe) {
        return Ok(());
    }
    let mut cargo = cargo(recipe, "check");
    cargo.arg("--target-dir").arg(shell::target_dir().join("tools/guests-rust"));
    shell::run(cargo)
}

/// In the package's folder, so that its `.cargo/config.toml` is read; flags from outside would come
/// in place of those in it.
fn cargo(recipe: &Recipe, command: &str) -> std::process::Command {
    let mut cargo = shell::cargo([command, "--quiet"]);
    cargo.current_dir(&recipe.home).env_remove("RUSTFLAGS");
    if is_example(recipe) {
        cargo.args(["--example", &recipe.name]);
    }
    cargo
}

fn is_example(recipe: &Recipe) -> bool {
    recipe.sources[0].starts_with(recipe.home.join("examples"))
}
