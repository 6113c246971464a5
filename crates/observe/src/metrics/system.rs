//! What does the operating system say of the program? Linux says it in files.

use std::{fs, str::FromStr};

use super::{
    Samples,
    families::program::{ALL, CPU, MAX_FDS, OPEN_FDS, RESIDENT, THREADS, VIRTUAL},
};

/// Linux tells CPU time in hundredths of a second, whatever its own clock is.
const TICKS_PER_SECOND: f64 = 100.0;

impl Samples {
    /// Adds what the operating system counts of this program: memory, CPU time, open files. What it
    /// does not tell is left out.
    pub fn program(&mut self) {
        for family in ALL {
            self.family(family);
        }
        let read =
            |file: &str| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
        if let Some(ticks) = cpu_ticks(&read("stat")) {
            self.add(&CPU, &[], ticks as f64 / TICKS_PER_SECOND);
        }
        let status = read("status");
        if let Some(kilobytes) = field::<u64>(&status, "VmRSS:") {
            self.add(&RESIDENT, &[], kilobytes * 1024);
        }
        if let Some(kilobytes) = field::<u64>(&status, "VmSize:") {
            self.add(&VIRTUAL, &[], kilobytes * 1024);
        }
        if let Some(threads) = field::<u64>(&status, "Threads:") {
            self.add(&THREADS, &[], threads);
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // One of them is the directory that is being read.
            self.add(&OPEN_FDS, &[], open.count().saturating_sub(1));
        }
        if let Some(most) = field::<u64>(&read("limits"), "Max open files") {
            self.add(&MAX_FDS, &[], most);
        }
    }
}

/// User and system time. The program's name comes before them in parentheses, and may have any
/// characters in it, parentheses too.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(')')?;
    // The first field after the name is the third; the two are the 14th and the 15th.
    let mut times = after.split_whitespace().skip(11).map(|ticks| ticks.parse::<u64>().ok());
    Some(times.next()?? + times.next()??)
}

/// The word after a title at the beginning of a line.
fn field<N: FromStr>(text: &str, title: &str) -> Option<N> {
    let line = text.lines().find_map(|line| line.strip_prefix(title))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_name_can_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 120 30 0 0 20 0 9 0 1";
        assert_eq!(cpu_ticks(stat), Some(150));
        assert_eq!((cpu_ticks(""), cpu_ticks("7 (a) S 1 2")), (None, None));
    }

    #[test]
    fn no_limit_is_no_number() {
        let limits = "Max open files            unlimited            unlimited            files\n";
        assert_eq!(field::<u64>(limits, "Max open files"), None);
        assert_eq!(field::<u64>("VmSize:\t 12 kB\nVmRSS:\t  10 kB\n", "VmRSS:"), Some(10));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_program_has_memory_threads_and_files() {
        let mut samples = Samples::new();
        samples.program();
        let text = samples.to_text();
        for family in ALL {
            let line =
                text.lines().find_map(|line| line.strip_prefix(family.name)?.strip_prefix(' '));
            let number: f64 = line.unwrap_or_else(|| panic!("{}", family.name)).parse().unwrap();
            // CPU time may well be less than a hundredth of a second.
            assert!(number > 0.0 || family.name == CPU.name, "{} {number}", family.name);
        }
    }
}
