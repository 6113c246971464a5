//! Who is being measured, and how is nobody left behind?
//!
//! A measured program may start others: a node, a browser. It has a process group of its own, which the
//! terminal's signals do not reach, and the highest weight, so that one that stayed would disturb all
//! that comes after it. So all of them end together: when the program ends, when its time is over, and
//! when we are told to end. What they keep in temporary files goes with them.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, Read},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{self, Child, Command, ExitStatus},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level,
};

use crate::shell;

/// Between two looks whether a run has ended: seldom, so as not to disturb it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// So often files are removed again that somebody wrote who was being killed.
const REMOVALS_MAX: usize = 100;

/// Those that are to end with us. Who ends us keeps it locked, so that nobody is started any more.
static GROUPS: Mutex<Vec<Group>> = Mutex::new(Vec::new());

/// A program that is measured. Dropped, it ends, with all that it has started.
pub(super) struct Running {
    child: Child,
    leader: Pid,
}

/// A process group, and where it keeps its temporary files.
struct Group {
    leader: Pid,
    files: PathBuf,
}

impl Running {
    /// Starts a command that is [`quiet`].
    pub(super) fn start(mut command: Command) -> Result<Running> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let files = env::temp_dir().join(format!("xtask-bench-{}-{count}", process::id()));
        let mut groups = groups();
        // One of the same number may have been killed before it could clear up.
        let _ = fs::remove_dir_all(&files);
        fs::create_dir(&files).with_context(|| format!("could not make {}", files.display()))?;
        let child = match command.env("TMPDIR", &files).spawn() {
            Ok(child) => child,
            Err(error) => {
                let _ = fs::remove_dir(&files);
                return Err(error).context(format!("could not start `{}`", shell::show(&command)));
            }
        };
        let leader = Pid::from_child(&child);
        groups.push(Group { leader, files });
        Ok(Running { child, leader })
    }

    /// Waits for its end, and returns how that was and what it has said; `None` if it takes longer
    /// than this, and then it is no more.
    pub(super) fn output(mut self, limit: Duration) -> Result<Option<(ExitStatus, String)>> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.try_wait()? {
                break status;
            }
            if start.elapsed() > limit {
                return Ok(None);
            }
            thread::sleep(LOOK_EVERY);
        };
        // A few lines: they fit the pipe while nobody reads.
        let mut text = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut text)?;
        }
        Ok(Some((status, text)))
    }

    /// How it has ended, if it has. Then nobody is left of its group.
    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        // Under the lock: once it has been waited for, its number may become another's.
        let mut groups = groups();
        let status = self.child.try_wait()?;
        if status.is_some()
            && let Some(group) = self.group(&mut groups)
        {
            group.kill_rest();
            group.remove_files();
        }
        Ok(status)
    }

    /// Its group, unless that is over. From now on it is no longer among those that end with us.
    fn group(&self, groups: &mut Vec<Group>) -> Option<Group> {
        let at = groups.iter().position(|group| group.leader == self.leader)?;
        Some(groups.swap_remove(at))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut groups = groups();
        if let Some(group) = self.group(&mut groups) {
            group.kill();
            let _ = self.child.wait();
            group.remove_files();
        }
    }
}

impl Group {
    /// For one whose leader has not been waited for.
    fn kill(&self) {
        // A browser has a group of its own, and is a descendant.
        shell::kill_with_descendants(self.leader);
        self.kill_rest();
    }

    /// Those whose parent has ended are no descendants any more, but of the group.
    fn kill_rest(&self) {
        // As a rule there is nobody.
        let _ = kill_process_group(self.leader, Signal::KILL);
    }

    fn remove_files(&self) {
        for _ in 0..REMOVALS_MAX {
            if fs::remove_dir_all(&self.files).is_ok() || !self.files.exists() {
                return;
            }
            // Who is being killed may still write.
            thread::sleep(LOOK_EVERY);
        }
    }
}

fn groups() -> MutexGuard<'static, Vec<Group>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, who ends us ends those too that are measured.
pub(super) fn end_with_us() -> Result<()> {
    let what = "could not ask to be told of Ctrl-C";
    // What is ignored stays so, as under nohup.
    let ignored = ignored(&fs::read_to_string("/proc/self/status").unwrap_or_default());
    let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter();
    let wanted = wanted.filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = Signals::new(wanted).context(what)?;
    let listen = move || {
        for signal in signals.forever() {
            let groups = groups();
            for group in groups.iter() {
                group.kill();
                group.remove_files();
            }
            // As if nobody had listened. It returns only if the signal is unknown.
            let _ = low_level::emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen).context(what)?;
    Ok(())
}

/// The signals that are ignored, a bit for each, from `/proc/self/status`.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// A command that the machine's other work disturbs little: in a session of its own, and with it in a
/// scheduling group, with the highest weight, where Linux has such groups and lets us. And if memory
/// runs out, it is the one to go.
pub(super) fn quiet(program: &OsStr) -> Command {
    const WEIGH: &str =
        r#"echo -20 > /proc/self/autogroup; echo 1000 > /proc/self/oom_score_adj; exec "$@""#;
    static WORKS: OnceLock<bool> = OnceLock::new();
    let weighed = |program: &OsStr| {
        // It forks if it leads a group, which a child does not: our child becomes the program.
        let mut command = Command::new("setsid");
        command.args(["-w", "sh", "-ec", WEIGH, "sh"]).arg(program);
        command
    };
    let works = WORKS.get_or_init(|| {
        let output = weighed("true".as_ref()).output();
        output.is_ok_and(|output| output.status.success())
    });
    if *works {
        return weighed(program);
    }
    let mut command = Command::new(program);
    command.process_group(0);
    command
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        os::unix::process::ExitStatusExt,
        process::Stdio,
    };

    use rustix::process::kill_process;

    use super::*;

    /// A program with a file, somebody of its group and somebody of another, who says when all are there.
    const STAYS: &str = r#"
        touch "$TMPDIR/left"
        (sleep 60; echo survived) &
        setsid sh -c 'echo "begun $TMPDIR"; sleep 60; echo survived apart' &
        wait"#;

    fn script(script: &str, stdout: Stdio) -> Command {
        let mut command = quiet("sh".as_ref());
        command.args(["-c", script]).stdout(stdout);
        command
    }

    /// Reads until the program has begun: where it has its files.
    fn begun(output: &mut impl BufRead) -> PathBuf {
        let mut lines = output.lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("begun ")).expect("it begins");
        line.split_once("begun ").unwrap().1.into()
    }

    /// Reads to the end, which comes when nobody is left who could write.
    fn rest(mut output: impl BufRead) -> String {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn who_overstays_ends_with_all_that_it_has_started_and_their_files() {
        let mut running = Running::start(script(STAYS, Stdio::piped())).unwrap();
        let mut output = BufReader::new(running.child.stdout.take().unwrap());
        let files = begun(&mut output);
        assert!(files.join("left").exists());
        assert!(running.output(Duration::ZERO).unwrap().is_none());
        assert_eq!(rest(output), "");
        assert!(!files.exists());
    }

    #[test]
    fn who_crashes_leaves_nobody_of_its_group_behind() {
        let crashes = "(sleep 60; echo survived) & echo begun; exit 3";
        let running = Running::start(script(crashes, Stdio::piped())).unwrap();
        let (status, text) = running.output(Duration::from_secs(30)).unwrap().expect("it ends");
        assert_eq!((status.code(), text.as_str()), (Some(3), "begun\n"));
    }

    #[test]
    fn who_ends_us_ends_all_that_is_measured() {
        const ROLE: &str = "XTASK_TEST_MEASURES";
        if env::var_os(ROLE).is_some() {
            end_with_us().unwrap();
            let running = Running::start(script(STAYS, Stdio::inherit())).unwrap();
            running.output(Duration::from_secs(120)).unwrap();
            return;
        }
        let module = module_path!().split_once("::").unwrap().1;
        let mut us = Command::new(env::current_exe().unwrap());
        us.args(["--exact", &format!("{module}::who_ends_us_ends_all_that_is_measured")]);
        us.arg("--nocapture").env(ROLE, "1").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut us = us.spawn().unwrap();
        let mut output = BufReader::new(us.stdout.take().unwrap());
        let files = begun(&mut output);
        kill_process(Pid::from_child(&us), Signal::TERM).unwrap();
        let rest = rest(output);
        assert!(!rest.contains("survived"), "{rest}");
        assert_eq!(us.wait().unwrap().signal(), Some(SIGTERM));
        assert!(!files.exists(), "{}", files.display());
    }

    #[test]
    fn ignored_signals_are_bits_from_the_first() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001001\n"), 1 << 12 | 1);
        assert_eq!(ignored(""), 0);
    }
}
