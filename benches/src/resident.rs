//! How much memory does this process occupy?
//!
//! What the system counts, not what an allocator was asked for: the same question for every
//! contestant, whatever language it is written in. Elsewhere than on Linux there is no answer.

use std::fs;

/// The resident set, in bytes.
pub fn bytes() -> Option<u64> {
    of(&fs::read_to_string("/proc/self/status").ok()?)
}

/// From a line like `VmRSS:    1234 kB`.
fn of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_among_others() {
        assert_eq!(of("Name:\tx\nVmHWM:\t   9 kB\nVmRSS:\t    12 kB\n"), Some(12 * 1024));
        assert_eq!(of("Name:\tx\n"), None);
    }
}
