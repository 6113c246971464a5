//! How xtask starts cargo and other programs, and where it keeps what they leave behind.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    // xtask is built from the checkout it works on.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent").to_path_buf()
}

/// Where builds go: what the user asked cargo for, else `target`.
pub(crate) fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// A cargo command in the workspace's root.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    // Set by the cargo that started us, about xtask; build scripts would mistake it for theirs.
    command.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_PKG_NAME");
    command
}

/// One of our own commands, as a step with its own log.
pub(crate) fn ourselves<const N: usize>(arguments: [&str; N]) -> Result<Command> {
    // Building the workspace may put another build of us in our place. Linux then says so in the
    // path, and what is there now does the same.
    let program = env::current_exe()?.into_os_string();
    let program = match program.to_str().and_then(|path| path.strip_suffix(" (deleted)")) {
        Some(path) => path.into(),
        None => program,
    };
    let mut command = Command::new(program);
    command.current_dir(root()).args(arguments);
    Ok(command)
}

/// A cargo command with `--cfg checker` on top of the flags the user has set.
pub(crate) fn with_cfg(mut command: Command, checker: &str) -> Command {
    let mut flags = env::var_os("RUSTFLAGS").unwrap_or_default();
    if !flags.is_empty() {
        flags.push(" ");
    }
    flags.push(format!("--cfg {checker}"));
    command.env("RUSTFLAGS", flags);
    command
}

/// Runs `command` on our own terminal, and fails if it does.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let line = show(&command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("could not start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// The command as one would type it, with the variables it sets.
pub(crate) fn show(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| {
            let value = value?.to_string_lossy();
            let quote = if value.contains(' ') { "\"" } else { "" };
            Some(format!("{}={quote}{value}{quote}", name.to_string_lossy()))
        })
        .collect();
    let program = Path::new(command.get_program());
    words.push(program.file_name().unwrap_or_default().to_string_lossy().into_owned());
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

/// A program on the `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path: OsString = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Ends a program and all that it has started, without asking: to end cargo alone would leave its
/// test running.
pub(crate) fn kill_with_descendants(program: Pid) {
    // Stopped before its children are listed, so that it starts no others. Killed when all are known:
    // whose parent is gone is nobody's child any more. Who has ended meanwhile is what was wanted.
    let (mut all, mut listed) = (vec![program], 0);
    while let Some(&one) = all.get(listed) {
        let _ = kill_process(one, Signal::STOP);
        all.extend(children(one));
        listed += 1;
    }
    for one in all {
        let _ = kill_process(one, Signal::KILL);
    }
}

/// What a program has started that has not ended, by each of its threads.
fn children(program: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", program.as_raw_nonzero()));
    let threads = threads.into_iter().flatten().flatten();
    let lists = threads.filter_map(|one| fs::read_to_string(one.path().join("children")).ok());
    let all: String = lists.collect();
    all.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
}
