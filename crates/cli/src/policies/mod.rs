//! `shiftwork policies`: which policy and balancer suit a workload?
//!
//! A trace, or a workload from the generator, is replayed under each pair on virtual time. The
//! replays know nothing of each other: they are jobs of a pool, on all cores.

mod chart;
mod gantt;
mod generate;
mod json;
mod measure;
mod options;
mod pairs;
mod replay;
mod table;
mod trace;

pub(crate) use options::{ABOUT, Options};

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use progress::Progress;
use shiftwork::job::{self, Batch, BatchHandle, Event, Job, JobError, Policy, Pool};

use measure::Outcome;
use pairs::Pair;
use trace::Trace;

/// Nobody is told of a replay that takes long, but not for ever.
const REPLAY_MAX: Duration = Duration::from_secs(3600);

/// How the pools of all replays are set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// The slice of `MultilevelFeedback`, and the quantum of resumable jobs.
    slice: Duration,
    /// The levels of `MultilevelFeedback`.
    levels: usize,
    /// What `HighestPriority` takes off per earlier arrival.
    ageing: f64,
    /// Whether long jobs are resumable under every policy.
    resumable: bool,
    seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        let slice = Duration::from_millis(1);
        Settings { slice, levels: 4, ageing: 0.0, resumable: false, seed: 1 }
    }
}

/// What was replayed, and what came of it.
pub(crate) struct Report {
    /// Where the workload comes from.
    source: String,
    trace: Arc<Trace>,
    settings: Settings,
    /// By number of workers, then by pair.
    outcomes: Vec<Vec<Outcome>>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let (source, trace) = options.workload()?;
    let settings = options.settings(&trace)?;
    let pairs = Pair::among(&options.policy, &options.balancer, &settings)?;
    options::check_turns(&trace, &pairs, &settings)?;
    if let Some(path) = &options.write_trace {
        write_file(path, |file| trace.write(file))?;
    }
    let trace = Arc::new(trace);
    if let Some(path) = &options.gantt {
        let (pair, workers) = gantt::only_one(&pairs, &options.workers)?;
        let slices = replay::schedule(&trace, pair, workers, &settings)?;
        let chart = gantt::chart(&source, &trace, pair, workers, &slices);
        write_file(path, |mut file| file.write_all(chart.svg().as_bytes()))?;
    }
    let outcomes = replay_all(&trace, &pairs, &options.workers, settings)?;
    let report = Report { source, trace, settings, outcomes };
    if let Some(path) = &options.svg {
        write_file(path, |mut file| file.write_all(chart::svg(&report).as_bytes()))?;
    }
    if let Some(path) = &options.json {
        write_file(path, |file| json::write(&report, file))?;
    }
    io::stdout().write_all(table::text(&report).as_bytes()).context("could not write the table")
}

/// Replays the workload under each pair with each number of workers, side by side.
fn replay_all(
    trace: &Arc<Trace>,
    pairs: &[Pair],
    workers: &[usize],
    settings: Settings,
) -> Result<Vec<Vec<Outcome>>> {
    // Large ones first, so that no core is left with one at the end. A replay is one long turn, and
    // nobody else waits.
    let pool = Pool::builder().policy(Policy::HighestPriority).quantum(REPLAY_MAX).build()?;
    let mut batch = Batch::with_capacity(pairs.len() * workers.len());
    let mut nodes = Vec::new();
    for workers in workers {
        for pair in pairs {
            let (trace, pair, workers) = (trace.clone(), *pair, *workers);
            let replay = move |_: &mut job::Context<'_, '_>| {
                let lives = replay::replay(&trace, pair, workers, &settings)?;
                Ok::<_, anyhow::Error>(Outcome::of(&trace, pair, workers, &lives))
            };
            nodes.push(batch.add(Job::fallible(replay).priority(workers as f64)));
        }
    }
    let events = pool.events();
    let batch = pool.submit_batch(batch)?;
    follow(&batch, &pool, events);
    let mut outcomes = nodes.into_iter().map(|node| match batch.job(node).join() {
        Ok(outcome) => Ok(outcome),
        Err(JobError::Failed(error)) => Err(error),
        Err(error) => Err(anyhow::anyhow!("{error}")),
    });
    let by_workers = workers.iter().map(|_| outcomes.by_ref().take(pairs.len()).collect());
    by_workers.collect()
}

/// Waits until all replays are done, and tells on standard error how far they are.
fn follow(batch: &BatchHandle, pool: &Pool, mut events: job::Events) {
    let clock = pool.handle();
    let (begun, mut done) = (clock.now(), 0);
    let mut progress = Progress::stderr("replays").of(batch.len() as u64);
    while !batch.is_done() && done < batch.len() {
        match events.next() {
            Some(Event::JobCompleted { .. } | Event::JobFailed { .. }) => done += 1,
            Some(_) => {}
            None => break,
        }
        progress.show(clock.now() - begun, done as u64, "");
    }
    progress.finish();
}

fn write_file(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> Result<()> {
    let named = || format!("could not write {}", path.display());
    write(File::create(path).with_context(named)?).with_context(named)
}
