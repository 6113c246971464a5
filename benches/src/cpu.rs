//! How much CPU did the pool use, apart from the thread that feeds it?
//!
//! The scheduler's statistics of each thread, in nanoseconds, from `/proc`. The thread that asks
//! is left out: it plays the outside world. Elsewhere than on Linux there is no answer.

use std::fs;

/// Nanoseconds on a CPU so far, summed over the threads of this process other than the caller.
/// A thread that has ended is no longer counted.
pub fn other_threads_ns() -> Option<u64> {
    let own = fs::read_link("/proc/thread-self").ok()?;
    let own = own.file_name()?;
    let mut total = 0;
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        if thread.file_name() != own {
            // A thread may end between the listing and the reading.
            let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            total += text.split_whitespace().next()?.parse::<u64>().ok()?;
        }
    }
    Some(total)
}
