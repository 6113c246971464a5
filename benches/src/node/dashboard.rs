//! How soon does an open dashboard show what was committed?
//!
//! A browser without a window has the page open, and somebody sends transactions. A script beside
//! the clients' tests does both, and prints the median.

use std::{env, process::Command};

use super::Who;
use crate::{Args, Line};

/// From the answer to `eth_sendRawTransaction` to the transaction on the screen.
pub(super) fn delay(args: &Args, who: Who) -> Result<Vec<Line>, String> {
    let of = |name| env::var_os(name).ok_or(format!("{name} is not set: there is no browser"));
    let mut script = Command::new("node");
    script.current_dir(of("SHIFTWORK_BENCH_CLIENTS")?).arg("support/delay.mjs");
    script.env("SHIFTWORK", of("SHIFTWORK_BENCH_NODE")?).env("CHROMIUM", of("CHROMIUM")?);
    let output = script.output().map_err(|error| format!("node does not run: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let median = last.parse().map_err(|_| format!("{last:?} is no number of milliseconds"))?;
    Ok(vec![Line::new(&args.workload, who.name(), "ms", median)])
}
