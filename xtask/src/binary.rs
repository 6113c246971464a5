//! A test binary of the scratch copy: how it is built, and how one of its tests is run.
//!
//! Cargo builds, but we run: a test that hangs can then be stopped, and a change that does not
//! compile is never mistaken for one that a test has caught.

use std::{
    fmt,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{scratch::Scratch, shell};

/// Which checker a test runs under.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Checker {
    Loom,
    Shuttle,
    /// None: ordinary tests on real threads.
    Plain,
}

/// How one run of a test ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Passed,
    /// It failed, with the line that says why.
    Failed(String),
    /// Stopped by us at the limit.
    TimedOut,
}

pub(crate) struct Binary {
    path: PathBuf,
    /// Where its tests expect to be run.
    home: PathBuf,
}

impl Binary {
    /// Builds the library's tests (`target` is "lib") or those of `tests/<target>.rs`.
    pub(crate) fn build(scratch: &Scratch, checker: Checker, target: &str) -> Result<Binary> {
        let package = scratch.subject().package();
        let mut command = shell::cargo(["test", "--package", &package, "--profile", "models"]);
        command.current_dir(scratch.dir());
        // The same crate is built again and again, whatever is set for the builds that are not.
        command.env("CARGO_INCREMENTAL", "1");
        match target {
            "lib" => command.arg("--lib"),
            test => command.args(["--test", test]),
        };
        command.arg("--target-dir").arg(scratch.target_dir(checker));
        command.args(["--no-run", "--message-format", "json-render-diagnostics", "--quiet"]);
        let mut command = match checker {
            Checker::Plain => command,
            checker => shell::with_cfg(command, &checker.to_string()),
        };
        let output = command.stderr(Stdio::piped()).output().context("could not start cargo")?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("the copy does not compile, so nothing was tested:\n{errors}");
        }
        let path = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|message| message["profile"]["test"] == true)
            .find_map(|message| message["executable"].as_str().map(PathBuf::from))
            .with_context(|| format!("cargo built no test binary for {target}"))?;
        Ok(Binary { path, home: scratch.home() })
    }

    /// A copy that stays as it is when the same is built again.
    pub(crate) fn keep(&self, scratch: &Scratch, name: &str) -> Result<Binary> {
        let path = scratch.builds("kept").join(name);
        let copy = || {
            fs::create_dir_all(scratch.builds("kept"))?;
            fs::copy(&self.path, &path)
        };
        copy().with_context(|| format!("could not make {}", path.display()))?;
        Ok(Binary { path, home: self.home.clone() })
    }

    /// The names of its tests that contain `filter`.
    pub(crate) fn list(&self, filter: &str) -> Result<Vec<String>> {
        let output = Command::new(&self.path)
            .current_dir(&self.home)
            .args(["--list", "--format", "terse", filter])
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs exactly one test. `log` receives its output.
    pub(crate) fn run(
        &self,
        test: &str,
        env: &[(&str, &str)],
        limit: Duration,
        log: &Path,
    ) -> Result<Ending> {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.home).args([test, "--exact", "--nocapture"]);
        command.envs(env.iter().copied()).env("RUST_BACKTRACE", "0");
        if std::env::var_os("LOOM_MAX_PREEMPTIONS").is_none() {
            command.env("LOOM_MAX_PREEMPTIONS", crate::models::PREEMPTIONS_MAX);
        }
        if std::env::var_os("SHIFTWORK_SCHEDULES").is_none() {
            // Schedules are random: enough of them that a defect is not missed by chance. One
            // that is there shows early, so only sound code runs them all.
            command.env("SHIFTWORK_SCHEDULES", "12000");
        }
        let file = File::create(log)?;
        let mut child =
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(Ending::TimedOut);
            }
            thread::sleep(Duration::from_millis(2));
        };
        let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
        // A filter that fits nothing must not look like success.
        if status.success() && !output.contains("test result: ok. 1 passed") {
            bail!("{test} did not run; see {}", log.display());
        }
        Ok(if status.success() { Ending::Passed } else { Ending::Failed(reason(&output)) })
    }
}

/// The first line after the first panic's place: what it said.
fn reason(output: &str) -> String {
    let mut lines = output.lines().skip_while(|line| !line.contains("panicked at"));
    let said = lines.nth(1).unwrap_or("ended without a panic message").trim();
    let mut said: String = said.chars().take(80).collect();
    if said.starts_with("deadlock") {
        said.truncate("deadlock".len());
    }
    said
}

impl fmt::Display for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Checker::Loom => "loom",
            Checker::Shuttle => "shuttle",
            Checker::Plain => "plain",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_the_first_panic_said() {
        let output = "running 1 test\n\nthread 'x' (1) panicked at src/a.rs:1:2:\nlost a wake\n\
                      thread 'x' panicked at src/b.rs:3:4:\nsecond";
        assert_eq!(reason(output), "lost a wake");
        assert_eq!(reason("thread panicked at a:1\ndeadlock; threads = [..]"), "deadlock");
        assert_eq!(reason("Aborted"), "ended without a panic message");
    }
}
