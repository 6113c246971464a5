//! `cargo xtask counts`: how many instructions do the hot paths take, and have they grown?
//!
//! Counted under valgrind with one worker, by the difference of two sizes, which leaves out start
//! and end. A clock would need a quiet machine; this needs none, and finds what a code change costs
//! to a few in a hundred. What varies is how often an idle thread looks before it parks, so of
//! several counts the least is the true one. The baseline is in the repository: what grows on purpose is written anew.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::{bench::callgrind, shell, tools};

/// So much more is a failure.
const GROWTH_MAX: f64 = 0.10;

/// Beyond this, it is counted again, so often in all.
const DOUBTFUL: f64 = 1.04;
const COUNTS: usize = 3;

#[derive(Args)]
pub(crate) struct Options {
    /// Write what is counted as the new baseline
    #[arg(long)]
    write: bool,
    /// Only the paths whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// A path that is hot, and the program that takes it.
struct HotPath {
    name: &'static str,
    program: &'static str,
    workload: &'static str,
    sizes: (u64, u64),
    /// Items for each of size.
    items: u64,
}

const fn path(
    name: &'static str,
    program: &'static str,
    workload: &'static str,
    sizes: (u64, u64),
) -> HotPath {
    HotPath { name, program, workload, sizes, items: 1 }
}

const PATHS: &[HotPath] = &[
    path("kernel: submit a job and run it", "bench-kernel", "submit_1", (5_000, 25_000)),
    HotPath {
        items: 2,
        ..path("kernel: submit from a turn", "bench-kernel", "spawn_tree", (1 << 11, 1 << 13))
    },
    HotPath {
        items: 1_000,
        ..path("kernel: a turn that yields", "bench-kernel", "yield_1000", (5, 25))
    },
    path("process: send, wake and receive", "bench-process", "ping_pong_1", (5_000, 25_000)),
    path("process: hand a message round", "bench-process", "ring_1", (5_000, 25_000)),
    path("process: call and reply", "bench-process", "calls", (5_000, 25_000)),
    path("process: spawn, run and end", "bench-process", "spawn", (20_000, 100_000)),
    path("job: run a node of a graph", "bench-job", "dag_0", (2_000, 10_000)),
    path("job: submit a graph and run it", "bench-job", "dag_build_0", (2_000, 10_000)),
    path("task: spawn, run and drop", "bench-task", "spawn_run_drop_1", (1_000, 3_000)),
    path("task: switch with a message", "bench-task", "ping_pong", (2_000, 10_000)),
    path("shard: transfer, from pool to block", "bench-shard", "transfer_1_none", (2_000, 8_000)),
];

pub(crate) fn run(options: &Options) -> Result<()> {
    tools::program_or_package("valgrind", "valgrind")?;
    let wanted =
        |path: &&HotPath| options.only.as_ref().is_none_or(|text| path.name.contains(text));
    let paths: Vec<&HotPath> = PATHS.iter().filter(wanted).collect();
    build(&paths)?;
    let mut baseline = Baseline::read()?;
    let mut counted = BTreeMap::new();
    for path in paths {
        eprintln!("{}", path.name);
        let mut least = count(path)?;
        for _ in 1..COUNTS {
            let suspect = baseline.0.get(path.name).is_none_or(|before| least > before * DOUBTFUL);
            if options.write || suspect {
                least = least.min(count(path)?);
            }
        }
        counted.insert(path.name.to_owned(), least);
    }
    let verdicts = baseline.compare(&counted);
    verdicts.iter().for_each(|verdict| println!("{}", verdict.line()));
    if options.write {
        baseline.0.extend(counted);
        return baseline.write();
    }
    let bad = verdicts.iter().filter(|verdict| verdict.is_bad()).count();
    if bad > 0 {
        bail!(
            "{bad} of {} have grown by more than {:.0} % or have no baseline; if that is meant to \
             be, write it down with `cargo xtask counts --write`",
            verdicts.len(),
            100.0 * GROWTH_MAX
        );
    }
    Ok(())
}

/// All programs at once.
fn build(paths: &[&HotPath]) -> Result<()> {
    let mut cargo = shell::cargo(["build", "--release", "--quiet", "--package", "benches"]);
    cargo.args(["--features", "shards"]);
    let mut programs: Vec<&str> = paths.iter().map(|path| path.program).collect();
    programs.dedup();
    programs.iter().for_each(|program| {
        cargo.args(["--bin", program]);
    });
    shell::run(cargo)
}

/// Instructions per item.
fn count(path: &HotPath) -> Result<f64> {
    let program = shell::target_dir().join("release").join(path.program);
    let arguments = [path.workload, "--workers", "1"].map(String::from);
    let of_size = |size| callgrind::count_program(&program, &arguments, size);
    let (small, large) = path.sizes;
    let extra = of_size(large)? as f64 - of_size(small)? as f64;
    Ok(extra / ((large - small) * path.items) as f64)
}

/// What the paths took when somebody wrote it down.
struct Baseline(BTreeMap<String, f64>);

#[derive(Debug, PartialEq)]
struct Verdict {
    name: String,
    before: Option<f64>,
    now: f64,
}

impl Baseline {
    fn file() -> PathBuf {
        shell::root().join("xtask/baselines/callgrind.toml")
    }

    fn read() -> Result<Baseline> {
        let file = Baseline::file();
        let named = || format!("could not read {}", file.display());
        match fs::read_to_string(&file) {
            Ok(text) => Baseline::parse(&text).with_context(named),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Baseline(BTreeMap::new()))
            }
            Err(error) => Err(error).with_context(named),
        }
    }

    fn parse(text: &str) -> Result<Baseline> {
        Ok(Baseline(toml::from_str(text)?))
    }

    fn text(&self) -> String {
        let mut text = "# Instructions per item, counted by `cargo xtask counts --write`. \
                        `cargo xtask test` fails when one\n# grows by more than a tenth.\n\n"
            .to_owned();
        for (name, count) in &self.0 {
            text.push_str(&format!("{name:?} = {count:.1}\n"));
        }
        text
    }

    fn write(&self) -> Result<()> {
        let file = Baseline::file();
        fs::write(&file, self.text()).with_context(|| format!("could not write {}", file.display()))
    }

    fn compare(&self, counted: &BTreeMap<String, f64>) -> Vec<Verdict> {
        let verdict = |(name, now): (&String, &f64)| Verdict {
            name: name.clone(),
            before: self.0.get(name).copied(),
            now: *now,
        };
        counted.iter().map(verdict).collect()
    }
}

impl Verdict {
    fn change(&self) -> Option<f64> {
        Some(self.now / self.before? - 1.0)
    }

    fn is_bad(&self) -> bool {
        self.change().is_none_or(|change| change > GROWTH_MAX)
    }

    fn line(&self) -> String {
        let Verdict { name, now, .. } = self;
        let (Some(before), Some(change)) = (self.before, self.change()) else {
            return format!("{name:<34} {now:>9.1}  NO BASELINE");
        };
        let word = match change {
            change if change > GROWTH_MAX => "  GROWN",
            change if change < -GROWTH_MAX => "  less: write it down, so that it stays",
            _ => "",
        };
        format!("{name:<34} {now:>9.1}  {before:>9.1} before  {:>+6.1} %{word}", 100.0 * change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(before: Option<f64>, now: f64) -> Verdict {
        Verdict { name: "a path".to_owned(), before, now }
    }

    #[test]
    fn growth_by_more_than_a_tenth_is_bad_and_less_is_not() {
        assert!(!verdict(Some(100.0), 109.0).is_bad());
        assert!(verdict(Some(100.0), 111.0).is_bad());
        assert!(!verdict(Some(100.0), 50.0).is_bad());
        assert!(verdict(None, 1.0).is_bad());
    }

    #[test]
    fn a_line_says_what_changed() {
        assert!(verdict(Some(100.0), 120.0).line().ends_with("+20.0 %  GROWN"));
        assert!(verdict(Some(100.0), 80.0).line().contains("write it down"));
        assert!(verdict(None, 80.0).line().ends_with("NO BASELINE"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let counts = BTreeMap::from([("kernel: submit".to_owned(), 230.25)]);
        let text = Baseline(counts).text();
        let read = Baseline::parse(&text).unwrap();
        assert_eq!(read.0["kernel: submit"], 230.2);
        assert!(text.starts_with("# Instructions"), "{text}");
    }

    #[test]
    fn every_path_has_a_baseline_and_every_baseline_a_path() {
        let text = fs::read_to_string(Baseline::file()).unwrap();
        let baseline = Baseline::parse(&text).unwrap();
        let mut names: Vec<&str> = PATHS.iter().map(|path| path.name).collect();
        names.sort_unstable();
        assert_eq!(baseline.0.keys().collect::<Vec<_>>(), names);
    }
}
