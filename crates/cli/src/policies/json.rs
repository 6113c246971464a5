//! The results for other programs.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::{Report, measure::Outcome};

#[derive(Serialize)]
struct Document<'a> {
    workload: Workload<'a>,
    results: Vec<Row>,
}

#[derive(Serialize)]
struct Workload<'a> {
    source: &'a str,
    jobs: usize,
    work_ns: u64,
    critical_path_ns: u64,
    slice_ns: u64,
    seed: u64,
}

#[derive(Serialize)]
struct Row {
    policy: &'static str,
    balancer: Option<&'static str>,
    workers: usize,
    makespan_ns: u64,
    waiting_p50_ns: u64,
    waiting_p99_ns: u64,
    fairness: f64,
    utilization: f64,
}

pub(crate) fn write(report: &Report, to: impl Write) -> io::Result<()> {
    let Report { source, trace, settings, outcomes } = report;
    let workload = Workload {
        source,
        jobs: trace.jobs.len(),
        work_ns: nanos(trace.work()),
        critical_path_ns: nanos(trace.critical_path()),
        slice_ns: nanos(settings.slice),
        seed: settings.seed,
    };
    let document = Document { workload, results: outcomes.iter().flatten().map(row).collect() };
    let mut to = BufWriter::new(to);
    serde_json::to_writer_pretty(&mut to, &document)?;
    writeln!(to)?;
    to.flush()
}

fn row(outcome: &Outcome) -> Row {
    Row {
        policy: outcome.pair.policy_name(),
        balancer: outcome.pair.balancer_name(),
        workers: outcome.workers,
        makespan_ns: nanos(outcome.makespan),
        waiting_p50_ns: nanos(outcome.waiting_p50),
        waiting_p99_ns: nanos(outcome.waiting_p99),
        fairness: outcome.fairness,
        utilization: outcome.utilization,
    }
}

fn nanos(duration: std::time::Duration) -> u64 {
    duration.as_nanos() as u64
}
