//! The jobs' part of the demo: graphs of jobs, one after the other, and now and then one that fails.

use std::time::Duration;

use shiftwork::{
    Handle, ScheduleError,
    job::{Batch, Job, JobError, Metrics, Node, Pool},
};

use super::{
    part::{Part, Stage, Tally},
    strands::work,
};
use crate::text::{quantile, thousands};

/// A graph: sources, a layer in which each job depends on three of them, and one that sums up.
const SOURCES: usize = 16;
const LAYER: usize = 64;
/// In one graph of so many a source fails, and so does what depends on it.
const FAILS_EVERY: u64 = 50;

pub(crate) fn start(stage: &Stage) -> Result<Vec<Part>, ScheduleError> {
    let (graphs, whole) = Part::new("graphs of 81 jobs", "graphs");
    let (failed, spoilt) = Part::new("graphs with a failed source", "graphs");
    let (stage, pool) = (stage.clone(), Pool::on(&stage.handle));
    stage.handle.clone().spawn(async move {
        let mut clock = stage.handle.interval(Duration::from_millis(5));
        let mut rounds = 0;
        while !stage.is_closed() {
            clock.tick().await;
            rounds += 1;
            let (batch, sum) = graph(rounds % FAILS_EVERY == 0);
            let Ok(batch) = pool.submit_batch(batch) else { break };
            let counted: &Tally = match batch.job(sum).await {
                Ok(_) => &whole,
                Err(JobError::Predecessor { .. }) => &spoilt,
                Err(_) => break,
            };
            counted.add(1);
        }
    })?;
    Ok(vec![graphs, failed])
}

type Sum = Node<usize, &'static str>;

fn graph(fails: bool) -> (Batch, Sum) {
    let mut batch = Batch::with_capacity(SOURCES + LAYER + 1);
    let sources: Vec<Sum> = (0..SOURCES)
        .map(|n| {
            batch.add(Job::fallible(move |_| {
                work(2);
                if fails && n == 0 { Err("it fails on purpose") } else { Ok(n) }
            }))
        })
        .collect();
    let layer: Vec<Sum> = (0..LAYER)
        .map(|n| {
            let before = [n, n + 3, n + 7].map(|at| sources[at % SOURCES].dep());
            let job = Job::fallible(move |cx| {
                work(5);
                // A dependent borrows the results of those before it.
                Ok(before.iter().filter_map(|dep| cx.get(*dep)).sum())
            });
            batch.add(before.iter().fold(job, |job, dep| job.after(dep)))
        })
        .collect();
    let parts: Vec<_> = layer.iter().map(Node::dep).collect();
    let sum = Job::fallible({
        let parts = parts.clone();
        move |cx| Ok(parts.iter().filter_map(|dep| cx.get(*dep)).sum())
    });
    let sum = batch.add(parts.iter().fold(sum, |sum, dep| sum.after(dep)));
    (batch, sum)
}

/// What the pool says of itself.
pub(crate) fn metrics(handle: &Handle) -> Metrics {
    Pool::on(handle).metrics()
}

/// How long jobs waited for a worker once they were ready.
pub(crate) fn waited(metrics: &Metrics) -> String {
    let [half, most] = [0.5, 0.99].map(|share| quantile(metrics.waiting.quantile(share)));
    format!("half waited under {half}, 99 of 100 under {most}")
}

/// `1,234 completed, 5 failed, 6 wait or run`.
pub(crate) fn states(metrics: &Metrics) -> String {
    format!(
        "{} completed, {} failed, {} wait or run",
        thousands(metrics.completed),
        thousands(metrics.failed),
        thousands(metrics.queue_depth)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use shiftwork::Runtime;

    #[test]
    fn a_failed_source_fails_what_depends_on_it_and_nothing_else() {
        let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
        let pool = Pool::on(&simulation.handle());
        let (whole, sum) = graph(false);
        let whole = pool.submit_batch(whole).unwrap();
        simulation.run();
        let progress = whole.progress();
        assert_eq!((progress.completed, progress.failed), (SOURCES + LAYER + 1, 0));
        // Each source is used 12 times.
        assert_eq!(whole.job(sum).join(), Ok(12 * (0..SOURCES).sum::<usize>()));

        let (spoilt, sum) = graph(true);
        let spoilt = pool.submit_batch(spoilt).unwrap();
        simulation.run();
        // The source, 12 that depend on it, and the sum.
        assert_eq!(spoilt.progress().failed, 1 + 12 + 1);
        assert!(matches!(spoilt.job(sum).join(), Err(JobError::Predecessor { .. })));
    }
}
