//! What can be asked of `shiftwork policies`.

use std::{
    fs::File,
    io::{self, IsTerminal},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::{
    Settings,
    generate::{Plan, Shape},
    pairs::{BalancerName, Pair, PolicyName},
    trace::{JOBS_MAX, Trace},
};
use crate::text::{count, precise, thousands};

/// So many workers can be simulated.
const WORKERS_MAX: usize = 1_024;
/// So many turns a replay may need: some minutes.
const TURNS_MAX: u64 = 100_000_000;

/// What it is for, and what it measures.
pub(crate) const ABOUT: &str = "\
Replay a workload under every policy and balancer, on virtual time, and compare them.

Nothing is executed: a job is a duration, and the simulated runtime lets that much virtual time
pass. So a thousand workers can be tried on a laptop, and the same trace and seed give the same
result. The scheduler is the real one.

For each pair it shows
  makespan      from the first arrival to the last end
  waiting       how long jobs were ready and did not run, also between their turns
  fairness      Jain's index of the jobs' speeds, where a job's speed is its duration over the
                time from ready to end: 1 if all were slowed down alike, near 0 if few had it all
  utilization   the share of the workers' time in which they ran jobs";

const AFTER_HELP: &str = "\
The trace is text. Its first line names the columns, in any order; the first two must be there:

  arrival,duration,priority,class,estimate,affinity,dependencies
  0,1500,,,,,
  0,200,2.5,7,250,0,
  900,1000,,,,,1 2

Times are whole microseconds. A higher priority runs first. What jobs of one class (a number below
4096) take is learnt. The affinity is a worker, counted from 0; where there are fewer workers they
are counted around again. The first job is number 1, and dependencies are numbers of jobs above,
with blanks between them. Lines that begin with # are skipped.

Examples:
  shiftwork policies                      a workload from the generator, on 8 workers
  shiftwork policies --workers 1,4,16,64 --svg chart.svg
  shiftwork policies --workload dependent --jobs 500 --write-trace day.csv
  shiftwork policies --trace day.csv --policy fcfs,shortest-first --balancer none
  shiftwork policies --jobs 60 --workers 4 --policy work-stealing --balancer none --gantt who.svg";

#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct Options {
    /// The workload to replay; `-` reads standard input [default: one from the generator]
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How many workers: a number up to 1024, or several with commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "8",
        value_parser = parse_workers)]
    pub(crate) workers: Vec<usize>,
    /// Only these policies [default: all]
    #[arg(long, value_name = "P", value_enum, value_delimiter = ',')]
    pub(crate) policy: Vec<PolicyName>,
    /// Only these balancers [default: all that the policy goes with]
    #[arg(long, value_name = "B", value_enum, value_delimiter = ',')]
    pub(crate) balancer: Vec<BalancerName>,
    /// What chance decides: the generator, and what a policy leaves open
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Write the results as JSON, times in nanoseconds
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,
    /// Draw the results as a chart
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) svg: Option<PathBuf>,
    /// Draw one schedule: who ran when, a row for each worker
    ///
    /// Needs one policy, one balancer that goes with it, and one number of workers.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) gantt: Option<PathBuf>,
    /// Write the workload as a trace
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) write_trace: Option<PathBuf>,

    /// What kind of workload to generate
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Shape::HeavyTailed,
        conflicts_with = "trace", help_heading = "Generator")]
    workload: Shape,
    /// How many jobs to generate
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5_000,
        conflicts_with = "trace",
        help_heading = "Generator"
    )]
    jobs: usize,
    /// How much work arrives: the share of the time of the first number of workers
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 1.0,
        conflicts_with = "trace",
        allow_negative_numbers = true,
        help_heading = "Generator"
    )]
    load: f64,
    /// The mean duration of a job, in microseconds
    #[arg(
        long,
        value_name = "US",
        default_value_t = 1_000,
        conflicts_with = "trace",
        help_heading = "Generator"
    )]
    mean: u64,

    /// The slice of MultilevelFeedback, in microseconds [default: the median duration]
    ///
    /// Jobs that take longer are resumable there: they go back into line after each slice.
    #[arg(long, value_name = "US", help_heading = "Policies")]
    slice: Option<u64>,
    /// How many levels MultilevelFeedback has
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Policies")]
    levels: usize,
    /// How much priority a job has lost per earlier one, under HighestPriority
    #[arg(
        long,
        value_name = "RATE",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        help_heading = "Policies"
    )]
    ageing: f64,
    /// Under every policy, jobs go back into line after each slice
    #[arg(long, help_heading = "Policies")]
    resumable: bool,
}

impl Options {
    /// The workload, and where it comes from.
    pub(crate) fn workload(&self) -> Result<(String, Trace)> {
        match &self.trace {
            Some(path) if path.as_os_str() == "-" => {
                ensure!(!io::stdin().is_terminal(), "--trace - reads a trace from a pipe");
                let trace = Trace::read(io::stdin().lock()).context("standard input")?;
                Ok(("standard input".to_owned(), trace))
            }
            Some(path) => {
                let name = path.display().to_string();
                let file = File::open(path).with_context(|| format!("could not open {name}"))?;
                let trace = Trace::read(file).with_context(|| name.clone())?;
                Ok((name, trace))
            }
            None => self.generate(),
        }
    }

    fn generate(&self) -> Result<(String, Trace)> {
        let Options { workload: shape, jobs, seed, load, mean, .. } = *self;
        ensure!((1..=JOBS_MAX).contains(&jobs), "--jobs must be from 1 to {JOBS_MAX}");
        ensure!((0.01..=100.0).contains(&load), "--load must be from 0.01 to 100");
        ensure!((1..=1_000_000_000).contains(&mean), "--mean must be from 1 to 1000000000");
        let plan = Plan { shape, jobs, seed, load, workers: self.workers[0], mean };
        let trace = plan.generate();
        if let Some(excess) = trace.excess() {
            bail!("{excess}; take fewer --jobs, a smaller --mean or a larger --load");
        }
        let source =
            format!("{shape}, seed {seed}, load {load} of {}", count(self.workers[0], "worker"));
        Ok((source, trace))
    }

    /// How pools are set up for this workload.
    pub(crate) fn settings(&self, trace: &Trace) -> Result<Settings> {
        ensure!((1..=64).contains(&self.levels), "--levels must be from 1 to 64");
        let ageing_is_fine = self.ageing.is_finite() && self.ageing >= 0.0;
        ensure!(ageing_is_fine, "--ageing must be a number that is not negative");
        let slice = match self.slice {
            Some(0) => bail!("--slice must be at least 1 microsecond"),
            Some(micros) => Duration::from_micros(micros),
            None => trace.median_duration(),
        };
        let Options { levels, ageing, resumable, seed, .. } = *self;
        Ok(Settings { slice, levels, ageing, resumable, seed })
    }
}

/// Refuses what would take for ever: jobs in slices that are too small for them.
pub(crate) fn check_turns(trace: &Trace, pairs: &[Pair], settings: &Settings) -> Result<()> {
    if !pairs.iter().any(|pair| pair.slices(settings)) {
        return Ok(());
    }
    let turns = turns(trace, settings.slice.as_micros() as u64);
    ensure!(
        turns <= TURNS_MAX,
        "with a slice of {} the jobs take {} turns; give a --slice of {} at least",
        precise(settings.slice),
        thousands(turns),
        least_slice(trace),
    );
    Ok(())
}

/// How many turns the jobs take in slices of so many microseconds.
fn turns(trace: &Trace, slice: u64) -> u64 {
    trace.jobs.iter().map(|job| job.duration.div_ceil(slice)).sum()
}

/// A slice, in microseconds, that is large enough: each job has one turn at most that is not full.
fn least_slice(trace: &Trace) -> u64 {
    trace.work().as_micros() as u64 / (TURNS_MAX - trace.jobs.len() as u64) + 1
}

fn parse_workers(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(workers) if (1..=WORKERS_MAX).contains(&workers) => Ok(workers),
        _ => Err(format!("it must be a number from 1 to {WORKERS_MAX}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::trace::Job;

    #[test]
    fn the_slice_that_is_suggested_is_large_enough_also_where_turns_are_rounded() {
        let job = |duration: u64| Job { duration, ..Job::default() };
        let short = std::iter::repeat_n(job(1), 999);
        let trace = Trace { jobs: short.chain([job(999_998_000)]).collect() };
        let least = least_slice(&trace);
        assert!(turns(&trace, least) <= TURNS_MAX);
        assert!(turns(&trace, least - 1) > TURNS_MAX);
    }
}
