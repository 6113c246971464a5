//! One workload under one policy and one balancer, on virtual time.
//!
//! Each job is submitted by a timer when it arrives, with the others that arrive at that moment as
//! one batch. What it does is to let virtual time pass.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow};
use shiftwork::{
    WorkerId,
    job::{self, Batch, Body, Class, Context, JobHandle, Node, Pool, Progress},
};

use super::{
    Settings,
    measure::Life,
    pairs::Pair,
    trace::{Job, Trace},
};

type Handle = JobHandle<(), Infallible>;

/// One turn of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Its index in the trace.
    pub(crate) job: u32,
    pub(crate) worker: usize,
    pub(crate) start: Duration,
    pub(crate) end: Duration,
}

/// Where turns are noted, if somebody wants to see them.
type Slices = Option<Arc<Mutex<Vec<Slice>>>>;

/// Replays a workload, and tells what became of each job.
pub(crate) fn replay(
    trace: &Arc<Trace>,
    pair: Pair,
    workers: usize,
    settings: &Settings,
) -> Result<Vec<Life>> {
    replay_noting(trace, pair, workers, settings, None)
}

/// Replays a workload, and tells who ran when, in the order in which turns ended.
pub(crate) fn schedule(
    trace: &Arc<Trace>,
    pair: Pair,
    workers: usize,
    settings: &Settings,
) -> Result<Vec<Slice>> {
    let slices = Arc::new(Mutex::new(Vec::new()));
    replay_noting(trace, pair, workers, settings, Some(slices.clone()))?;
    Ok(std::mem::take(&mut *slices.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn replay_noting(
    trace: &Arc<Trace>,
    pair: Pair,
    workers: usize,
    settings: &Settings,
    slices: Slices,
) -> Result<Vec<Life>> {
    let mut pool = pair.builder(settings).workers(workers).simulate(settings.seed)?;
    let slice = if pair.slices(settings) { settings.slice } else { Duration::MAX };
    let desk = Arc::new(Desk {
        trace: trace.clone(),
        pool: pool.share(),
        slice,
        workers,
        slices,
        taken: Mutex::default(),
    });
    for (at, jobs) in arrivals(trace) {
        let desk = desk.clone();
        pool.handle().call_after(Duration::from_micros(at), move || desk.submit(&jobs))?.detach();
    }
    pool.simulation().run();
    let taken = desk.taken.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = &taken.refused {
        return Err(anyhow!("a job was refused: {error}"));
    }
    let life = |handle: &Option<Handle>| {
        let timings = handle.as_ref()?.timings()?;
        Some(Life { ready: timings.ready?, ended: timings.ended?, execution: timings.execution })
    };
    let lives = taken.handles.iter().map(life).collect::<Option<Vec<Life>>>();
    lives.filter(|lives| lives.len() == trace.jobs.len()).context("a job was not run to its end")
}

/// When jobs arrive, in microseconds, and which.
fn arrivals(trace: &Trace) -> Vec<(u64, Vec<u32>)> {
    let at = trace.submissions();
    let mut order: Vec<u32> = (0..at.len() as u32).collect();
    order.sort_by_key(|index| at[*index as usize]);
    let groups = order.chunk_by(|one, other| at[*one as usize] == at[*other as usize]);
    groups.map(|group| (at[group[0] as usize], group.to_vec())).collect()
}

/// Where jobs arrive.
struct Desk {
    trace: Arc<Trace>,
    pool: Pool,
    /// A job that takes longer is resumable.
    slice: Duration,
    workers: usize,
    slices: Slices,
    taken: Mutex<Taken>,
}

/// Lets the time of one turn pass.
fn work(cx: &mut Context<'_, '_>, duration: Duration, job: u32, slices: &Slices) {
    let start = cx.now();
    cx.simulate(duration);
    if let Some(slices) = slices {
        let slice = Slice { job, worker: cx.worker().get(), start, end: cx.now() };
        slices.lock().unwrap_or_else(PoisonError::into_inner).push(slice);
    }
}

#[derive(Default)]
struct Taken {
    /// By index in the trace.
    handles: Vec<Option<Handle>>,
    refused: Option<job::Error>,
}

impl Desk {
    /// Submits jobs that arrive at the same time.
    fn submit(&self, indexes: &[u32]) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.handles.resize_with(self.trace.jobs.len(), || None);
        let mut batch = Batch::with_capacity(indexes.len()).timed();
        let mut nodes: Vec<Node<(), Infallible>> = Vec::with_capacity(indexes.len());
        for index in indexes {
            let job = &self.trace.jobs[*index as usize];
            let duration = Duration::from_micros(job.duration);
            let (slice, index, slices) = (self.slice, *index, self.slices.clone());
            nodes.push(if duration > slice {
                let mut left = duration;
                let turn = move |cx: &mut Context<'_, '_>| {
                    let now = left.min(slice);
                    work(cx, now, index, &slices);
                    left -= now;
                    if left.is_zero() { Progress::Done(Ok(())) } else { Progress::Continue }
                };
                batch.add(self.describe(job::Job::resumable(turn), job))
            } else {
                let turn = move |cx: &mut Context<'_, '_>| work(cx, duration, index, &slices);
                batch.add(self.describe(job::Job::new(turn), job))
            });
            let node = nodes.last().expect("it was just added");
            for before in &job.after {
                match (indexes.binary_search(before), &taken.handles[*before as usize]) {
                    (Ok(at), _) => batch.depend(node, &nodes[at]),
                    (Err(_), Some(handle)) => batch.depend(node, handle),
                    // Refused, which was noted.
                    (Err(_), None) => return,
                }
            }
        }
        match self.pool.submit_batch(batch) {
            Ok(handle) => {
                for (index, node) in indexes.iter().zip(nodes) {
                    taken.handles[*index as usize] = Some(handle.job(node));
                }
            }
            Err(refused) => taken.refused = Some(refused.error().clone()),
        }
    }

    /// Says about a job what the trace says.
    fn describe<B: Body>(&self, job: job::Job<B>, about: &Job) -> job::Job<B> {
        let mut job = job.priority(about.priority);
        if let Some(class) = about.class {
            job = job.class(Class::new(class));
        }
        if let Some(estimate) = about.estimate {
            job = job.estimate(Duration::from_micros(estimate));
        }
        if let Some(worker) = about.affinity {
            job = job.affinity(WorkerId::new(worker as usize % self.workers));
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_arrive_together_are_one_batch_in_the_order_of_the_trace() {
        let text = "arrival,duration,dependencies\n5,1,\n0,1,\n5,1,\n0,1,1\n";
        let trace = Trace::parse(text.as_bytes()).unwrap();
        assert_eq!(arrivals(&trace), [(0, vec![1]), (5, vec![0, 2, 3])]);
    }
}
