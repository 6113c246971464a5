//! `cargo xtask guests`: the guests' programs, compiled from source, for the tests that run them.
//!
//! ```text
//!   guests/assemblyscript/*.ts ──── asc, from npm ────┐
//!   guests/c/*.c ───────────────── zig, from PyPI ────┼──> target/guests/<language>/<name>.wasm
//!   guests/rust/examples/*.rs ── rustc, where it can ─┤
//!   docs/tasks.md ── the programs in the guide ───────┘
//! ```
//!
//! A program is compiled anew when its source, the bindings, the flags or the compiler's version have
//! changed, and only then. Where Rust's wasm32 target is not installed, a file that ends in `.skipped`
//! stands in the program's place and says so.

mod compile;
mod guide;
mod recipe;
mod toolchain;

use std::fs;

use anyhow::{Result, bail};
use clap::Args;

use self::recipe::Recipe;
use crate::shell;

#[derive(Args)]
pub(crate) struct Options {
    /// Compile nothing; fail if something would be compiled
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let out = shell::target_dir().join("guests");
    fs::create_dir_all(&out)?;
    let mut recipes = recipe::all(&shell::root().join("guests"), &out)?;
    recipes.extend(guide::recipes(&out)?);
    let stale: Vec<&Recipe> = recipes.iter().filter(|recipe| !recipe.is_done()).collect();
    if options.check && !stale.is_empty() {
        let names: Vec<String> = stale.iter().map(|recipe| recipe.to_string()).collect();
        bail!(
            "not compiled, or not from these sources: {}; `cargo xtask guests`",
            names.join(", ")
        );
    }
    for recipe in &stale {
        compile::compile(recipe)?;
    }
    let made = stale.iter().filter(|recipe| recipe.skipped().is_none()).count();
    println!("guests: {made} compiled, {} programs in {}", recipes.len(), out.display());
    for recipe in &recipes {
        if let Some(why) = recipe.skipped() {
            println!("  {recipe} was skipped: {why}");
        }
    }
    Ok(())
}
