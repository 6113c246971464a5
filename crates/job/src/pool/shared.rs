//! What all threads of a pool share. It lives with the runtime, as a tenant of it.

use std::time::Duration;

use crossbeam_utils::CachePadded;
use kernel::{Attributes, Handle, RuntimeId, Tenant, WorkerChange, WorkerId};

use crate::{
    about::{JobInfo, Kept, Prioritizer, nanos},
    error::Error,
    event::{Event, Hub},
    graph::{Core, apart::Apart, word::Ended},
    id::JobId,
    learn::Classes,
    metrics::{Count, Metrics, Seat, WorkerMetrics},
    policy::{AffinityFn, Policy},
    pool::{registry::Registry, room::Room},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// What was chosen when the pool was built.
pub(crate) struct Settings {
    pub(crate) policy: Policy,
    pub(crate) capacity: usize,
    pub(crate) jobs_per_cycle_max: u32,
    pub(crate) prioritizer: Option<Prioritizer>,
    pub(crate) affinity: Option<AffinityFn>,
    /// Whether jobs are taken while no worker would run them.
    pub(crate) accept_while_paused: bool,
    /// Ready jobs go to the worker's deque or the global queue, and nothing orders them.
    pub(crate) plain: bool,
    /// The first ready successor may run at once.
    pub(crate) inline: bool,
    pub(crate) simulated: bool,
}

pub(crate) struct Shared {
    pub(crate) settings: Settings,
    /// Whose tenant it is.
    runtime: RuntimeId,
    pub(crate) workers_count: usize,
    /// One per worker, and a last one for what ends elsewhere.
    seats: Box<[CachePadded<Seat>]>,
    /// The jobs in whose turns others run, which have their seats meanwhile.
    pub(crate) outer: Mutex<Vec<JobId>>,
    pub(crate) room: Room,
    pub(crate) classes: Classes,
    pub(crate) events: Hub,
    pub(crate) registry: Mutex<Registry>,
    pub(crate) workers: Mutex<Vec<Post>>,
    /// No worker takes jobs.
    deserted: AtomicBool,
    deadlines_missed: Count,
    /// Whether tiny jobs are shared.
    pub(crate) apart: Apart,
}

/// What was asked of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Post {
    Manned,
    Paused,
    /// It does not come back. Never all of them: what waits would wait for ever.
    Closed,
}

impl Tenant for Shared {
    fn closed(&self) {
        self.room.close();
        self.close_if_over();
        self.room.call();
    }

    fn worker_changed(&self, worker: WorkerId, change: WorkerChange) {
        self.events.worker_changed(worker, change);
    }

    fn deserted(&self) {
        self.events.desert();
        self.close_if_over();
    }
}

impl Shared {
    pub(crate) fn new(settings: Settings, handle: &Handle) -> Shared {
        let workers = handle.worker_count();
        Shared {
            room: Room::new(settings.capacity),
            apart: Apart::default(),
            settings,
            runtime: handle.id(),
            workers_count: workers,
            seats: (0..=workers).map(|_| CachePadded::default()).collect(),
            outer: Mutex::default(),
            classes: Classes::new(),
            events: Hub::default(),
            registry: Mutex::new(Registry::default()),
            workers: Mutex::new(vec![Post::Manned; workers]),
            deserted: AtomicBool::new(false),
            deadlines_missed: Count::default(),
        }
    }

    #[inline(always)]
    pub(crate) fn seat(&self, worker: WorkerId) -> &Seat {
        &self.seats[worker.get()]
    }

    /// The job that runs on a worker, the innermost if others run inside of its turn, and since when
    /// if that is known.
    pub(crate) fn running(&self, worker: WorkerId) -> Option<(JobId, Option<Duration>)> {
        let seat = self.seat(worker);
        let job = match seat.job.get() {
            0 => return None,
            raw => JobId::from_raw(raw),
        };
        Some((job, Some(seat.since.get()).filter(|at| *at > 0).map(Duration::from_nanos)))
    }

    /// Whether this job runs now.
    pub(crate) fn runs(&self, id: JobId) -> bool {
        self.seats.iter().any(|seat| seat.job.get() == id.to_raw())
            || self.outer.lock().contains(&id)
    }

    /// The jobs that run now, also those in whose turns others run.
    pub(crate) fn all_running(&self) -> Vec<JobId> {
        let workers = self.seats.len() - 1;
        let mut all = self.outer.lock().clone();
        for job in (0..workers).filter_map(|at| Some(self.running(WorkerId::new(at))?.0)) {
            // It may have got its seat back since.
            if !all.contains(&job) {
                all.push(job);
            }
        }
        all
    }

    /// Takes `wanted` places for jobs. Returns a number for their batch.
    pub(crate) fn admit(&self, wanted: usize) -> Result<u64, Error> {
        self.room.admit(wanted as u64, || self.ended()).ok_or_else(|| {
            let (capacity, queued) = (self.settings.capacity, self.queued() as usize);
            Error::QueueFull { capacity, queued, wanted }
        })
    }

    /// Gives back places that were taken for a batch that is refused after all.
    pub(crate) fn dismiss(&self, jobs: usize) {
        self.room.give_back(jobs as u64);
        self.close_if_over();
    }

    fn ended(&self) -> u64 {
        self.seats.iter().map(|seat| seat.ended()).sum()
    }

    fn queued(&self) -> u64 {
        self.room.queued(|| self.ended())
    }

    /// A job has ended like this, on a worker or elsewhere.
    #[inline(always)]
    pub(crate) fn count(&self, ended: Ended, worker: Option<WorkerId>) {
        let seat = match worker {
            Some(worker) => self.seat(worker),
            None => &self.seats[self.seats.len() - 1],
        };
        let count = match ended {
            Ended::Completed => &seat.completed,
            Ended::Failed => &seat.failed,
            Ended::Cancelled | Ended::Stopped => &seat.cancelled,
        };
        if worker.is_some() { count.add(1) } else { count.add_shared(1) }
    }

    /// Tells listeners that nothing more comes, once the runtime has stopped, its workers have ended
    /// and every job has ended. For whoever stops it, and whoever ends jobs or gives places back after
    /// that.
    pub(crate) fn close_if_over(&self) {
        if self.room.is_over(|| self.ended(), || self.events.is_deserted()) {
            self.events.close();
        }
    }

    /// Whether this thread may not wait for a job: no worker of the same runtime may, also while a
    /// simulation runs inside of its turn, and in a simulation nobody.
    pub(crate) fn would_block(&self) -> bool {
        self.settings.simulated || self.runtime.is_current()
    }

    /// Whether a job would be run by anybody.
    pub(crate) fn is_deserted(&self) -> bool {
        self.deserted.load(Relaxed)
    }

    /// Notes what was asked of workers. Returns what the closure says.
    pub(crate) fn man<R>(&self, change: impl FnOnce(&mut Vec<Post>) -> R) -> R {
        let mut workers = self.workers.lock();
        let result = change(&mut workers);
        self.deserted.store(workers.iter().all(|post| *post != Post::Manned), Relaxed);
        result
    }

    /// What orders and places a job, as the kernel wants it.
    pub(crate) fn attributes(&self, kept: &Kept) -> Attributes {
        let estimate = || self.estimate(kept);
        let (mut priority, mut level) = (0.0, 0);
        match self.settings.policy {
            Policy::HighestPriority => priority = kept.priority,
            // What nothing is known of comes last.
            Policy::ShortestFirst => priority = -(estimate().unwrap_or(u64::MAX) as f64),
            // What it was given does not count: this policy is for those that know nothing.
            Policy::MultilevelFeedback { queue_count, time_slice } => {
                let slices = self.learnt(kept).unwrap_or(0) / nanos(time_slice).max(1);
                level = slices.min(queue_count.saturating_sub(1) as u64) as u32;
            }
            _ => {}
        }
        let key = kept.worker().map(|worker| worker.get() as u64);
        Attributes { name: None, priority, level, key }
    }

    /// How long a job should take: what its class was learnt to take, else what it was given.
    pub(crate) fn estimate(&self, kept: &Kept) -> Option<u64> {
        self.learnt(kept).or(Some(kept.estimate).filter(|estimate| *estimate > 0))
    }

    /// How long the jobs of its class were learnt to take.
    fn learnt(&self, kept: &Kept) -> Option<u64> {
        kept.class().and_then(|class| self.classes.estimate(class))
    }

    /// A job of which this is known took so long.
    pub(crate) fn learn(&self, kept: &Kept, took: u64) {
        if let Some(estimate) = self.estimate(kept) {
            self.classes.compare(estimate, took);
        }
        if let Some(class) = kept.class() {
            self.classes.learn(class, took);
        }
    }

    /// Whether somebody is asked about each job.
    #[inline]
    pub(crate) fn asks(&self) -> bool {
        self.settings.prioritizer.is_some() || self.settings.affinity.is_some()
    }

    /// Asks the prioritizer and the affinity about a job.
    pub(crate) fn complete(
        &self,
        kept: &mut Kept,
        info: &JobInfo,
        workers: usize,
    ) -> Result<(), Error> {
        if let Some(prioritize) = &self.settings.prioritizer {
            kept.priority = prioritize(info);
        }
        if !kept.priority.is_finite() {
            let (job, priority) = (info.id, kept.priority);
            return Err(Error::PriorityNotFinite { job, priority });
        }
        let chosen = info
            .affinity
            .or_else(|| self.settings.affinity.as_ref().and_then(|choose| choose(info)));
        if let Some(worker) = chosen {
            if worker.get() >= workers {
                return Err(Error::InvalidWorkerId { worker, workers });
            }
            kept.set_worker(worker);
        }
        Ok(())
    }

    pub(crate) fn miss_deadline(&self, job: JobId) {
        self.deadlines_missed.add_shared(1);
        self.events.send(|| Event::DeadlineMissed { job });
    }

    /// A batch with chosen ids has ended.
    pub(crate) fn batch_ended(&self, core: &Core) {
        let left = self.registry.lock().retire(core);
        drop(left);
    }

    pub(crate) fn metrics(&self, handle: &Handle) -> Metrics {
        let uptime = handle.now();
        let sum =
            |of: fn(&Seat) -> &Count| self.seats.iter().map(|seat| of(seat).get()).sum::<u64>();
        let mean = |sum: u64, count: u64| Duration::from_nanos(sum.checked_div(count).unwrap_or(0));
        let (executing, measured) = (sum(|seat| &seat.executing), sum(|seat| &seat.measured));
        let mut waiting = kernel::Histogram::default();
        self.seats.iter().for_each(|seat| seat.add_to(&mut waiting));
        let error = self.classes.error();
        let workers = self.seats[..self.seats.len() - 1].iter().map(|seat| {
            let busy = Duration::from_nanos(seat.executed(nanos(uptime)));
            let share = busy.as_secs_f64() / uptime.as_secs_f64().max(f64::MIN_POSITIVE);
            let execution = Duration::from_nanos(seat.executing.get());
            WorkerMetrics { jobs: seat.ended(), execution, utilization: share.min(1.0) }
        });
        Metrics {
            completed: sum(|seat| &seat.completed),
            failed: sum(|seat| &seat.failed),
            cancelled: sum(|seat| &seat.cancelled),
            queue_depth: self.queued(),
            scheduled: self.room.taken(),
            deadlines_missed: self.deadlines_missed.get(),
            execution_total: Duration::from_nanos(executing),
            execution_average: mean(executing, measured),
            waiting_average: mean(sum(|seat| &seat.waited), sum(|seat| &seat.waits)),
            waiting,
            estimate_error_average: error.map(|(average, _)| average),
            estimate_error_ratio: error.map(|(_, ratio)| ratio),
            workers: workers.collect(),
            uptime,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn shared() -> Shared {
        let settings = Settings {
            policy: Policy::Fcfs,
            capacity: usize::MAX,
            jobs_per_cycle_max: 1,
            prioritizer: None,
            affinity: None,
            accept_while_paused: false,
            plain: false,
            inline: false,
            simulated: false,
        };
        let simulation = kernel::Runtime::builder().workers(1).simulate(1).unwrap();
        Shared::new(settings, &simulation)
    }

    /// A batch that is refused while the runtime stops is the last that anybody knew of.
    #[test]
    fn runtime_stops_while_a_batch_is_looked_at_and_listeners_hear_the_end() {
        let shared = shared();
        let mut events = shared.events.listen();
        shared.admit(3).unwrap();
        shared.deserted();
        shared.closed();
        assert!(!events.has_ended());
        shared.dismiss(3);
        assert!(events.has_ended());
        assert_eq!(events.next(), None);
    }
}
