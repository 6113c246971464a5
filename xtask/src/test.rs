//! `cargo xtask test`: everything that must pass, on a fresh machine with Rust.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::{check, clients, disk, fuzz, models, shell, sim, soak, steps::Steps, tools};

/// For a step of which we know nothing else.
const LIMIT: Duration = Duration::from_secs(10 * 60);
/// For the steps that explore; together they stay well below this.
const LONG_LIMIT: Duration = Duration::from_secs(30 * 60);

#[derive(Args)]
pub(crate) struct Options {
    /// Fresh seeds for an hour, a longer soak, and Miri where the toolchain has it
    #[arg(long)]
    long: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    disk::has_room_for_tests()?;
    let mut steps = Steps::new()?;
    steps.call("system packages", tools::system_packages);
    check::all(&mut steps)?;
    // Peers that `check` leaves out, since the crates they need take a while to build.
    let mut actors = shell::cargo(["clippy", "--package", "benches-compare", "--all-targets"]);
    actors.args(["--features", "actors", "--", "-D", "warnings"]);
    steps.run("clippy, actors", LIMIT, actors);
    let mut shards = shell::cargo(["clippy", "--package", "shiftwork", "--package", "benches"]);
    shards.args(["--package", "benches-compare", "--all-targets", "--features"]);
    shards.arg("shiftwork/shard,benches/node,benches-compare/node,benches-compare/shards");
    shards.args(["--", "-D", "warnings"]);
    steps.run("clippy, shards", LIMIT, shards);
    steps.run("crashes", LIMIT, crashes(60));
    jit(&mut steps);
    deny(&mut steps);
    steps.run("models: loom", LONG_LIMIT, models::loom(None));
    steps.run("models: shuttle", LONG_LIMIT, models::shuttle(None));
    steps.run("models: weaken", LONG_LIMIT, shell::ourselves(["models", "--weaken"])?);
    steps.run("models: defects", LONG_LIMIT, shell::ourselves(["models", "--defects"])?);
    // A world takes one core.
    let halves = vec![
        ("sim, seeds 1 to 1000".to_owned(), sim::command(1, 1_000, None)),
        ("sim, seeds 1001 to 2000".to_owned(), sim::command(1_001, 1_000, None)),
    ];
    steps.run_side_by_side(LIMIT, halves);
    steps.run("soak", LIMIT, soak::command(20));
    steps.run("fuzz targets: fmt", LIMIT, fuzz::fmt());
    steps.run("fuzz targets: clippy", LIMIT, fuzz::clippy());
    steps.run("fuzz corpora replayed", LONG_LIMIT, fuzz::replay());
    examples(&mut steps)?;
    let demo = shell::cargo(["run", "--release", "--", "demo", "--seconds", "2"]);
    // It builds the whole binary for release first.
    steps.run("demo", LONG_LIMIT, demo);
    steps.run("instruction counts", LONG_LIMIT, shell::ourselves(["counts"])?);
    clients::all(&mut steps);
    if options.long {
        long(&mut steps)?;
    }
    steps.finish()
}

/// The second engine, which is large: it is built here only.
fn jit(steps: &mut Steps) {
    const WITH_JIT: [&str; 6] = [
        "--package",
        "shiftwork-task",
        // For its features only: with them, nearly all but the engine is as it was built for the tests.
        "--package",
        "xtask",
        "--features",
        "shiftwork-task/jit,shiftwork-cli/jit",
    ];
    let mut clippy = shell::cargo(["clippy", "--package", "shiftwork-cli", "--all-targets"]);
    clippy.args(WITH_JIT).args(["--", "-D", "warnings"]);
    steps.run("clippy, jit", LONG_LIMIT, clippy);
    let mut tests = shell::cargo(["test", "--package", "shiftwork-cli", "--lib"]);
    // Of the binary only what runs guests.
    for test in ["run", "engines", "guests", "hostile"] {
        tests.args(["--test", test]);
    }
    tests.args(WITH_JIT).arg("--no-fail-fast");
    steps.run("tests, jit", LONG_LIMIT, tests);
}

/// A process with shards that is killed under load, again and again, for so many seconds.
fn crashes(seconds: u64) -> Command {
    // Of the whole workspace, as the tests are built: one package alone would have fewer features, and
    // so be built anew.
    let mut command = shell::cargo(["test", "--workspace", "--test", "crash"]);
    command.env("SHIFTWORK_CRASH_SECONDS", seconds.to_string());
    command
}

fn long(steps: &mut Steps) -> Result<()> {
    const HOURS_LIMIT: Duration = Duration::from_secs(3 * 3600);
    // A different stretch of seeds each time; the log names the one that fails.
    let seed = (u64::from(std::process::id()) * 1_000_000).to_string();
    let sim = shell::ourselves(["sim", &seed, "--seeds", "20000"])?;
    steps.run("sim, long", HOURS_LIMIT, sim);
    steps.run("soak, long", HOURS_LIMIT, soak::command(30 * 60));
    steps.run("crashes, long", HOURS_LIMIT, crashes(30 * 60));
    if tools::has_miri() {
        let mut miri = Command::new("rustup");
        miri.current_dir(shell::root());
        miri.args(["run", "nightly", "cargo", "miri", "test"]);
        miri.args(["--package", "shiftwork-kernel", "--lib", "--target-dir"]);
        miri.arg(shell::target_dir().join("miri"));
        // Threads that park for ever at the end of the program are ours; time passes as it wants.
        miri.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
        miri.env_remove("RUSTUP_TOOLCHAIN");
        steps.run("miri", HOURS_LIMIT, miri);
    } else {
        steps.skip("miri", "the nightly toolchain has no Miri here");
    }
    Ok(())
}

/// Licences, bans and sources must be in order. Advisories need a database from the network.
fn deny(steps: &mut Steps) {
    let mut program = None;
    steps.call("cargo-deny", || {
        program = Some(tools::cargo_deny()?);
        Ok(())
    });
    let Some(program) = program else { return };
    let deny = |what: &[&str]| {
        let mut command = Command::new(&program);
        command
            .current_dir(shell::root())
            .args(["--workspace", "--all-features", "check"])
            .args(what);
        command
    };
    steps.run("licences, bans, sources", LIMIT, deny(&["licenses", "bans", "sources"]));
    fetch_advisories(steps, &program);
}

/// Advisories count where their database can be had; without it there is nothing to say.
fn fetch_advisories(steps: &mut Steps, program: &Path) {
    let mut fetch = Command::new(program);
    fetch.current_dir(shell::root()).args(["fetch", "db"]);
    let fetched = fetch.output().is_ok_and(|output| output.status.success());
    if fetched {
        let mut check = Command::new(program);
        check.current_dir(shell::root()).args(["--workspace", "check", "advisories"]);
        steps.run("advisories", LIMIT, check);
    } else {
        steps.skip("advisories", "the advisory database can not be fetched here");
    }
}

/// Every example of every crate runs to its end.
fn examples(steps: &mut Steps) -> Result<()> {
    for crate_dir in sorted(&shell::root().join("crates"))? {
        let Ok(examples) = sorted(&crate_dir.join("examples")) else { continue };
        let package = package_name(&crate_dir)?;
        for example in examples {
            let name = example.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let mut command = shell::cargo(["run", "--release", "--quiet", "--package"]);
            command.args([&package, "--example", &name]);
            steps.run(&format!("example {name}"), LIMIT, command);
        }
    }
    Ok(())
}

fn package_name(crate_dir: &Path) -> Result<String> {
    let manifest = crate_dir.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    let table: toml::Table = text.parse()?;
    match table.get("package").and_then(|package| package.get("name")) {
        Some(toml::Value::String(name)) => Ok(name.clone()),
        _ => bail!("{} names no package", manifest.display()),
    }
}

fn sorted(dir: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("no folder {}", dir.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
