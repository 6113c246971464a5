//! What is one measurement asked to do, and how often does it repeat itself?

use std::time::{Duration, Instant};

use crate::report::{Line, median};

/// A run that takes longer than this needs no warm-up, and no repetition either.
const LONG: Duration = Duration::from_millis(1_500);

/// The command line of a measuring program:
/// `<workload> [--peer NAME] [--workers N] [--scale N] [--repeats N] [--bare] [--list]`.
#[derive(Debug, Clone)]
pub struct Args {
    pub workload: String,
    /// Who is measured. Our own program ignores it.
    pub peer: String,
    pub workers: usize,
    /// Items of the workload: jobs, leaves, yields per strand, samples. None: the usual size.
    pub scale: Option<u64>,
    /// Timed runs in this process; the median counts.
    pub repeats: usize,
    /// One run, no warm-up: for a tool that counts instructions.
    pub bare: bool,
    /// Say who can run this workload, and do nothing.
    pub list: bool,
}

impl Args {
    /// Reads the process's own arguments, or says what is wrong with them.
    pub fn from_env() -> Result<Args, String> {
        Args::parse(std::env::args().skip(1))
    }

    /// Reads arguments that do not include the program's name.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
        let workload = words.next().ok_or("name a workload")?;
        let mut args = Args {
            workload,
            peer: String::new(),
            workers: 2,
            scale: None,
            repeats: 3,
            bare: false,
            list: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--peer" => args.peer = value()?,
                "--workers" => args.workers = number(&word, &value()?)?.max(1) as usize,
                "--scale" => args.scale = Some(number(&word, &value()?)?.max(1)),
                "--repeats" => args.repeats = number(&word, &value()?)?.max(1) as usize,
                "--bare" => args.bare = true,
                "--list" => args.list = true,
                other => return Err(format!("unknown argument {other}")),
            }
        }
        if args.bare {
            args.repeats = 1;
        }
        Ok(args)
    }

    /// The size asked for, or the workload's own.
    pub fn items(&self, usual: u64) -> u64 {
        self.scale.unwrap_or(usual)
    }

    /// Runs the program as [`time`](Args::time) does, and reports the median time per item.
    pub fn time_per_item(
        &self,
        who: &str,
        unit: &'static str,
        items: u64,
        run: impl FnMut(),
    ) -> Line {
        let line = Line::new(&self.workload, who, unit, self.time(run) / items as f64);
        line.with("items", items as f64).with("workers", self.workers as f64)
    }

    /// Runs the program once to warm up, then `repeats` times against the clock: the median, in
    /// nanoseconds. `run` returns when everything it started is done.
    pub fn time(&self, mut run: impl FnMut()) -> f64 {
        self.time_prepared(Duration::ZERO, || (), |()| run(), |()| ())
    }

    /// The same for short runs, before and after each of which something is done that takes no part
    /// in its time: they are repeated until they have taken `at_least` together, after half of that
    /// to warm up. Where the machine has other work, it takes the system a while to find out that
    /// there are two threads to run on two cores.
    pub fn time_prepared<T>(
        &self,
        at_least: Duration,
        mut prepare: impl FnMut() -> T,
        mut run: impl FnMut(&mut T),
        mut finish: impl FnMut(T),
    ) -> f64 {
        self.repeat(at_least, || {
            let mut prepared = prepare();
            let start = Instant::now();
            run(&mut prepared);
            let elapsed = start.elapsed();
            finish(prepared);
            elapsed
        })
    }

    /// The same for runs that tell themselves how long they took.
    pub fn repeat(&self, at_least: Duration, mut timed: impl FnMut() -> Duration) -> f64 {
        if !self.bare {
            let mut warm = timed();
            if warm > LONG {
                return warm.as_nanos() as f64;
            }
            while warm < at_least / 2 {
                warm += timed();
            }
        }
        let (mut samples, mut total) = (Vec::new(), Duration::ZERO);
        while samples.len() < self.repeats || (total < at_least && !self.bare) {
            let taken = timed();
            total += taken;
            samples.push(taken.as_nanos() as f64);
        }
        median(&mut samples)
    }
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{name} wants a whole number, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Args, String> {
        Args::parse(text.split_whitespace().map(String::from))
    }

    #[test]
    fn defaults_are_two_workers_and_the_usual_size() {
        let args = parse("submit_1").unwrap();
        assert_eq!((args.workers, args.items(7), args.repeats), (2, 7, 3));
    }

    #[test]
    fn bare_means_one_run() {
        let args = parse("submit_1 --repeats 9 --bare --scale 5").unwrap();
        let mut runs = 0;
        args.time_per_item("nobody", "ns", 1, || runs += 1);
        assert_eq!((runs, args.items(7)), (1, 5));
    }

    #[test]
    fn a_wrong_number_is_named() {
        assert!(parse("submit_1 --scale ten").unwrap_err().contains("\"ten\""));
        assert!(parse("").is_err());
        assert!(parse("submit_1 --speed 3").is_err());
    }
}
