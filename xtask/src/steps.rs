//! What happened so far: runs steps, mostly one after the other, times them, and sums up.
//!
//! A step's output goes to a log file; a line of progress appears while it runs (on a terminal one
//! that changes), and the end of the log when it fails. A step that fails does not stop the ones
//! after it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use progress::Progress;
use rustix::process::Pid;

use crate::shell;

/// Where the output is no terminal.
const PROGRESS_EVERY: Duration = Duration::from_secs(20);
/// Between two looks at the end of a log.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const LOG_LINES_SHOWN: usize = 80;
/// Shuttle prints whole schedules on one line.
const LOG_LINE_SHOWN_MAX: usize = 300;

pub(crate) struct Steps {
    start: Instant,
    logs: PathBuf,
    done: Vec<Done>,
}

struct Done {
    name: String,
    outcome: Outcome,
    took: Duration,
}

enum Outcome {
    Passed,
    Failed,
    /// Neither: it could not be tried here, for a reason that is not the project's.
    Skipped(String),
}

impl Steps {
    pub(crate) fn new() -> Result<Steps> {
        let logs = shell::target_dir().join("xtask-logs");
        fs::create_dir_all(&logs).with_context(|| format!("could not make {}", logs.display()))?;
        Ok(Steps { start: Instant::now(), logs, done: Vec::new() })
    }

    /// Runs a program as one step. Returns whether it passed.
    pub(crate) fn run(&mut self, name: &str, limit: Duration, command: Command) -> bool {
        let (outcome, took) = self.attempt(name, limit, command);
        self.note(name, outcome, took)
    }

    /// Runs programs side by side, each as a step of its own: for those that leave cores idle.
    pub(crate) fn run_side_by_side(&mut self, limit: Duration, commands: Vec<(String, Command)>) {
        let attempts: Vec<_> = thread::scope(|scope| {
            let this = &*self;
            let running: Vec<_> = commands
                .into_iter()
                .map(|(name, command)| {
                    scope.spawn(move || (this.attempt(&name, limit, command), name))
                })
                .collect();
            running.into_iter().map(|step| step.join().expect("a step does not panic")).collect()
        });
        for ((outcome, took), name) in attempts {
            self.note(&name, outcome, took);
        }
    }

    fn attempt(&self, name: &str, limit: Duration, mut command: Command) -> (Outcome, Duration) {
        println!("> {name}: {}", shell::show(&command));
        let start = Instant::now();
        let log = self.logs.join(format!("{}.log", name.replace([' ', '/', ',', ':'], "-")));
        let mut progress = Progress::stderr("steps done").every(PROGRESS_EVERY);
        let done = self.done.len() as u64;
        let result = watch(&mut command, &log, limit, start, |elapsed| {
            progress.show(elapsed, done, &format!("{name}: {}", tail(&log, 1)));
        });
        progress.finish();
        let outcome = match result {
            Ok(status) if status.success() => Outcome::Passed,
            Ok(status) => {
                println!("{}", tail(&log, LOG_LINES_SHOWN));
                println!("  {name} ended with {status}; the whole log is {}", log.display());
                Outcome::Failed
            }
            Err(error) => {
                println!("{}", tail(&log, LOG_LINES_SHOWN));
                println!("  {name}: {error:#}");
                Outcome::Failed
            }
        };
        (outcome, start.elapsed())
    }

    /// A step that is a function of ours.
    pub(crate) fn call(&mut self, name: &str, step: impl FnOnce() -> Result<()>) -> bool {
        println!("> {name}");
        let start = Instant::now();
        let outcome = match step() {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                println!("  {name}: {error:#}");
                Outcome::Failed
            }
        };
        self.note(name, outcome, start.elapsed())
    }

    pub(crate) fn skip(&mut self, name: &str, why: &str) {
        println!("> {name}: skipped, {why}");
        self.note(name, Outcome::Skipped(why.to_owned()), Duration::ZERO);
    }

    /// Prints the table and the counts. Fails if a step has.
    pub(crate) fn finish(self) -> Result<()> {
        println!("\n{:<34} {:>9}", "step", "time");
        for Done { name, outcome, took } in &self.done {
            let verdict = match outcome {
                Outcome::Passed => "passed".to_owned(),
                Outcome::Failed => "FAILED".to_owned(),
                Outcome::Skipped(why) => format!("skipped: {why}"),
            };
            println!("{name:<34} {:>7.1} s  {verdict}", took.as_secs_f64());
        }
        println!("{:<34} {:>7.1} s\n", "together", self.start.elapsed().as_secs_f64());
        let count = |wanted: fn(&Outcome) -> bool| {
            self.done.iter().filter(|done| wanted(&done.outcome)).count()
        };
        let passed = count(|outcome| matches!(outcome, Outcome::Passed));
        let failed = count(|outcome| matches!(outcome, Outcome::Failed));
        if failed > 0 {
            let names: Vec<_> = self
                .done
                .iter()
                .filter(|done| matches!(done.outcome, Outcome::Failed))
                .map(|done| done.name.as_str())
                .collect();
            eprintln!("failed: {}", names.join(", "));
        }
        println!("{passed} passed, {failed} failed");
        if failed > 0 {
            std::process::exit(1);
        }
        Ok(())
    }

    fn note(&mut self, name: &str, outcome: Outcome, took: Duration) -> bool {
        let passed = matches!(outcome, Outcome::Passed);
        if passed {
            println!("  ok, {:.1} s", took.as_secs_f64());
        }
        self.done.push(Done { name: name.to_owned(), outcome, took });
        passed
    }
}

/// Runs to the end or the limit, and often says for how long it has been running.
fn watch(
    command: &mut Command,
    log: &Path,
    limit: Duration,
    start: Instant,
    mut tell: impl FnMut(Duration),
) -> Result<ExitStatus> {
    let file = File::create(log).with_context(|| format!("could not write {}", log.display()))?;
    let mut child = command
        // A backtrace would fill the end of the log, which is what one sees of a failure.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .with_context(|| format!("could not start `{}`", shell::show(command)))?;
    let mut next_look = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let elapsed = start.elapsed();
        if elapsed > limit {
            shell::kill_with_descendants(Pid::from_child(&child));
            let _ = child.wait();
            bail!("still running after {} s, stopped", limit.as_secs());
        }
        if elapsed >= next_look {
            next_look = elapsed + LOOK_EVERY;
            tell(elapsed);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The last lines of a log that are not blank, each cut to what one reads.
fn tail(log: &Path, lines: usize) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<String> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.chars().take(LOG_LINE_SHOWN_MAX).collect())
        .collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_side_by_side_are_all_noted_and_one_that_fails_fails_alone() {
        let mut steps = Steps::new().unwrap();
        let shell = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            command
        };
        let both = vec![("left".to_owned(), shell("exit 1")), ("right".to_owned(), shell("true"))];
        steps.run_side_by_side(Duration::from_secs(60), both);
        let names: Vec<_> = steps.done.iter().map(|done| done.name.as_str()).collect();
        assert_eq!(names, ["left", "right"]);
        assert!(matches!(steps.done[0].outcome, Outcome::Failed));
        assert!(matches!(steps.done[1].outcome, Outcome::Passed));
    }

    #[test]
    fn a_step_that_overstays_is_stopped_with_its_children() {
        let log = std::env::temp_dir().join(format!("xtask-steps-{}.log", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; sleep 60 & wait"]);
        let result = watch(&mut command, &log, Duration::from_millis(200), Instant::now(), |_| {});
        assert!(result.unwrap_err().to_string().contains("still running"));
        assert_eq!(tail(&log, 1), "begun");
        fs::remove_file(log).unwrap();
    }
}
