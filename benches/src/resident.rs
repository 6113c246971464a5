//! How much memory does this process occupy?
//!
//! What the system counts, not what an allocator was asked for: the same question for every
//! contestant, whatever language it is written in. Elsewhere than on Linux there is no answer.

use std::{fs, thread, time::Duration};

/// After the last one said it had started, before memory is read: it still has to go idle.
const SETTLE: Duration = Duration::from_millis(200);

/// The resident set, in bytes.
pub fn bytes() -> Option<u64> {
    read("VmRSS:")
}

/// The bytes of the tables that say where the resident set is. They are not part of it.
pub fn page_tables() -> Option<u64> {
    read("VmPTE:")
}

/// By how much the resident set grows for each of `count` things that `start` makes and keeps.
pub fn growth(count: u64, mut start: impl FnMut(u64)) -> Option<f64> {
    // Threads start and allocators prepare themselves with the first few.
    start((count / 100).max(1));
    thread::sleep(SETTLE);
    let before = bytes()?;
    start(count);
    thread::sleep(SETTLE);
    Some(bytes()?.saturating_sub(before) as f64 / count as f64)
}

fn read(what: &str) -> Option<u64> {
    of(&fs::read_to_string("/proc/self/status").ok()?, what)
}

/// From a line like `VmRSS:    1234 kB`.
fn of(status: &str, what: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(what))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_among_others() {
        let status = "Name:\tx\nVmHWM:\t   9 kB\nVmRSS:\t    12 kB\nVmPTE:\t  4 kB\n";
        assert_eq!(of(status, "VmRSS:"), Some(12 * 1024));
        assert_eq!(of(status, "VmPTE:"), Some(4 * 1024));
        assert_eq!(of("Name:\tx\n", "VmRSS:"), None);
    }
}
