//! On what are the numbers measured, with which versions, and is it quiet?

use std::{fs, process::Command, thread, time::Duration};

use super::{areas::Area, programs::Programs};
use crate::shell;

/// Busy with something else: from this share of all cores on, numbers are doubtful.
const BUSY: f64 = 0.05;

/// Over which the load is observed.
const LOOK: Duration = Duration::from_millis(1000);

/// Prints the machine, the versions and the notes; warns when it is not quiet.
pub(super) fn describe(area: &Area, programs: &Programs) {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let cores = thread::available_parallelism().map_or(0, |cores| cores.get());
    println!("machine   {cores} cores, {}", model.unwrap_or("unknown model"));
    println!("system    Linux {}", read("/proc/sys/kernel/osrelease").trim());
    println!("load      {}", read("/proc/loadavg").trim());
    println!("compiler  {}", line_of(Command::new("rustc").arg("--version")));
    let mut git = Command::new("git");
    git.current_dir(shell::root()).args(["log", "-1", "--format=%h %cs"]);
    println!("commit    {}", line_of(&mut git));
    let lock = read(&shell::root().join("Cargo.lock").to_string_lossy());
    let mut versions = versions(&lock, area.versions);
    versions.extend(programs.versions.iter().cloned());
    println!("versions  {}", versions.join(", "));
    programs.notes.iter().for_each(|note| println!("note      {note}"));
    warn_if_busy("before the first run");
    println!();
}

/// Warns when something else uses the machine.
pub(super) fn warn_if_busy(when: &str) {
    if let Some(busy) = busy_share()
        && busy > BUSY
    {
        println!("WARNING   {when} the machine was {:.0} % busy with something else", 100.0 * busy);
    }
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
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    match String::from_utf8_lossy(&output).trim() {
        "" => "unknown".to_owned(),
        line => line.to_owned(),
    }
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
    fn versions_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"rayon\"\nversion = \"1.2.3\"\n";
        assert_eq!(versions(lock, &["tokio", "rayon"]), ["rayon 1.2.3"]);
        assert!(versions("", &["rayon"]).is_empty());
    }
}
