//! On what are the numbers measured, with which versions, and is it quiet?

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{areas::Area, document::Run, exchange, programs::Programs};
use crate::shell;

/// Busy with something else: from this share of all cores on, numbers are doubtful.
const BUSY: f64 = 0.05;

/// Over which the load is observed.
const LOOK: Duration = Duration::from_millis(1000);

/// Not ours for longer than this at a time is an interruption.
const INTERRUPTION: Duration = Duration::from_micros(100);
/// From this share of a busy core's time on, interruptions make numbers doubtful.
const INTERRUPTED: f64 = 0.02;

/// What a run itself writes: no change to what is measured.
const WRITTEN: [&str; 3] = ["docs/charts", "docs/performance", "docs/performance.md"];

/// What is known before anything is measured.
pub(super) fn facts(command: String, quick: bool) -> Run {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    Run {
        date: line_of(Command::new("date").args(["-u", "+%Y-%m-%d"])),
        commit: commit(&shell::root()),
        command,
        quick,
        cores: thread::available_parallelism().map_or(0, |cores| cores.get()),
        machine: model.unwrap_or("unknown model").to_owned(),
        system: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        compiler: line_of(Command::new("rustc").arg("--version")),
        ..Run::default()
    }
}

/// The newest commit, and whether there is more than it has.
fn commit(checkout: &Path) -> String {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(checkout).args(arguments);
        git
    };
    let newest = line_of(&mut git(&["log", "-1", "--format=%h"]));
    // Files that git does not know are built only where others name them, and those have changed then.
    let mut changes = git(&["status", "--porcelain", "--untracked-files=no", "--", "."]);
    changes.args(WRITTEN.map(|path| format!(":(exclude){path}")));
    match output_of(&mut changes).as_str() {
        "" => newest,
        _ => format!("{newest} + changes"),
    }
}

/// Prints them, and returns what says that it is not quiet.
pub(super) fn describe(run: &Run) -> Option<String> {
    println!("machine   {} cores, {}", run.cores, run.machine);
    println!("system    {}", run.system);
    println!("compiler  {}", run.compiler);
    println!("commit    {} {}", run.commit, run.date);
    if run.quick {
        println!("quick     small runs, to see where one stands: not for the record");
    }
    look_if_quiet("before the first run")
}

/// Prints the versions and the notes of an area, and keeps them.
pub(super) fn describe_area(area: &Area, programs: &Programs, run: &mut Run) {
    let lock = fs::read_to_string(shell::root().join("Cargo.lock")).unwrap_or_default();
    let mut versions = versions(&lock, area.versions);
    versions.extend(programs.versions.iter().cloned());
    println!("\n{}\nversions  {}", area.name, versions.join(", "));
    programs.notes.iter().for_each(|note| println!("note      {note}"));
    run.versions.insert(area.name.to_owned(), versions);
    run.notes.entry(area.name.to_owned()).or_default().extend(programs.notes.iter().cloned());
}

/// Says whether something else uses the machine, and returns it if so.
pub(super) fn look_if_quiet(when: &str) -> Option<String> {
    let busy = busy_share();
    let interrupted = interrupted_share();
    let said = format!(
        "{when}: {} busy with something else, {:.1} % of a busy core's time lost to interruptions",
        busy.map_or("unknown".to_owned(), |busy| format!("{:.0} %", 100.0 * busy)),
        100.0 * interrupted,
    );
    if is_disturbed(busy, interrupted) {
        println!("WARNING   not quiet {said}; its numbers are doubtful");
        Some(said)
    } else {
        println!("quiet     {said}");
        None
    }
}

fn is_disturbed(busy: Option<f64>, interrupted: f64) -> bool {
    busy.is_some_and(|busy| busy > BUSY) || interrupted > INTERRUPTED
}

/// Says how far the cores are from each other.
pub(super) fn look_at_exchange() -> Option<f64> {
    let nanos = exchange::round_trip()?;
    println!("exchange  {}", exchange::said(&[nanos])?);
    Some(nanos)
}

/// The share of the time in which a thread that always wants to run was not let to.
fn interrupted_share() -> f64 {
    let begun = Instant::now();
    let (mut last, mut lost) = (begun, Duration::ZERO);
    while begun.elapsed() < LOOK / 2 {
        let now = Instant::now();
        if now - last > INTERRUPTION {
            lost += now - last;
        }
        last = now;
    }
    lost.as_secs_f64() / begun.elapsed().as_secs_f64()
}

/// The share of all cores' time that is used while we sleep.
fn busy_share() -> Option<f64> {
    let before = cpu_time(&fs::read_to_string("/proc/stat").ok()?)?;
    thread::sleep(LOOK);
    let after = cpu_time(&fs::read_to_string("/proc/stat").ok()?)?;
    let (idle, all) = (after.0 - before.0, after.1 - before.1);
    (all > 0).then(|| 1.0 - idle as f64 / all as f64)
}

/// Idle ticks and all ticks so far, from the first line of `/proc/stat`.
fn cpu_time(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    // user nice system idle iowait irq softirq steal; what follows is counted in user already.
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|t| t.parse().ok()).collect();
    Some((ticks.get(3)? + ticks.get(4)?, ticks.iter().sum()))
}

/// What `Cargo.lock` says of these crates. Of several versions the newest is the one we use.
fn versions(lock: &str, names: &[&str]) -> Vec<String> {
    let lock: toml::Table = lock.parse().unwrap_or_default();
    let packages = lock.get("package").and_then(|list| list.as_array()).cloned();
    let packages = packages.unwrap_or_default();
    let version = |name: &&str| {
        let package = packages.iter().rfind(|package| package["name"].as_str() == Some(name))?;
        Some(format!("{name} {}", package["version"].as_str()?))
    };
    names.iter().filter_map(version).collect()
}

fn line_of(command: &mut Command) -> String {
    match output_of(command).as_str() {
        "" => "unknown".to_owned(),
        line => line.to_owned(),
    }
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_includes_waiting_for_the_disk() {
        let stat = "cpu  10 1 5 80 4 0 0 0 7 0\ncpu0 1 1 1 1\n";
        assert_eq!(cpu_time(stat), Some((84, 100)));
        assert_eq!(cpu_time("nothing"), None);
    }

    #[test]
    fn a_twentieth_of_the_cores_or_a_fiftieth_of_one_is_not_quiet() {
        assert!(!is_disturbed(Some(0.05), 0.02) && !is_disturbed(None, 0.0));
        assert!(is_disturbed(Some(0.051), 0.0) && is_disturbed(Some(0.0), 0.021));
        assert!(is_disturbed(None, 0.021), "also where nobody says how busy it is");
    }

    #[test]
    fn a_commit_with_changes_says_so_and_results_are_none() {
        let checkout = std::env::temp_dir().join(format!("xtask-commit-{}", std::process::id()));
        fs::create_dir_all(checkout.join("docs/performance")).unwrap();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(&checkout).args(["-c", "user.name=x", "-c", "user.email=x@y.z"]);
            assert!(git.args(arguments).output().unwrap().status.success(), "{arguments:?}");
        };
        let write = |file: &str, text: &str| fs::write(checkout.join(file), text).unwrap();
        let files = ["lib.rs", "docs/performance.md", "docs/performance/kernel.json"];
        files.iter().for_each(|file| write(file, "old"));
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "x"]);
        let clean = commit(&checkout);
        assert!(clean.chars().all(|c| c.is_ascii_hexdigit()) && clean.len() >= 7, "{clean}");
        write("docs/performance.md", "new");
        write("docs/performance/kernel.json", "new");
        write("results.json", "of somebody");
        assert_eq!(commit(&checkout), clean);
        write("lib.rs", "new");
        assert_eq!(commit(&checkout), format!("{clean} + changes"));
        fs::remove_dir_all(checkout).unwrap();
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"rayon\"\nversion = \"1.2.3\"\n";
        assert_eq!(versions(lock, &["tokio", "rayon"]), ["rayon 1.2.3"]);
        assert!(versions("", &["rayon"]).is_empty());
    }
}
