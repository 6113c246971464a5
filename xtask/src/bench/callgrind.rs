//! How many instructions does a program execute?

use std::{path::Path, process::Command, sync::OnceLock};

use anyhow::{Context, Result, bail};

use super::{plan::Plan, programs::Contestant};
use crate::tools;

/// Why nothing can be counted, if valgrind is not here: Debian's is installed where that is possible.
pub(super) fn missing() -> Option<&'static str> {
    static WHY: OnceLock<Option<String>> = OnceLock::new();
    let why = WHY.get_or_init(|| {
        let had = tools::program_or_package("valgrind", "valgrind");
        had.err().map(|error| format!("{error:#}"))
    });
    why.as_deref()
}

/// Instructions of one bare run of `size` items, in all threads.
pub(super) fn count(contestant: &Contestant, plan: &Plan, size: u64) -> Result<u64> {
    let arguments = contestant.arguments(plan.workload, plan.workers);
    count_program(contestant.program(), &arguments, size)
        .with_context(|| format!("{} in {}", contestant.name(), plan.workload))
}

/// The same of any measuring program.
pub(crate) fn count_program(program: &Path, arguments: &[String], size: u64) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(program).args(arguments).args(["--bare", "--scale", &size.to_string()]);
    let output = command.output().context("could not start valgrind")?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{} under valgrind: {report}", program.display());
    }
    collected(&report).with_context(|| format!("no instruction count in: {report}"))
}

/// `==123== Collected : 4567`
fn collected(report: &str) -> Option<u64> {
    let line = report.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_the_report() {
        let report = "==9== Events    : Ir\n==9== Collected : 6129387\n==9== \n";
        assert_eq!(collected(report), Some(6_129_387));
        assert_eq!(collected("==9== no such line"), None);
    }
}
