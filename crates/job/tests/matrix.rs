//! Has every pair of a policy and a balancer a meaning of its own?
//!
//! Against a policy or balancer that was chosen and is not consulted. The same workload runs
//! under every pair; what each pair promises is computed from the job's attributes, and holds
//! under that pair and under none of the others. Three scenes, each with a worker that is stuck,
//! so that it shows who was given what:
//!
//! - *speeds*: worker 0 is slow, and all have something to do when the jobs come;
//! - *loads*: worker 0 has less to do than the others when the jobs come;
//! - *releases*: a job releases others.

mod common;

use std::time::Duration;

use common::{Log, MS, worker};
use job::{Balancer, Batch, Class, Job, Policy, Pool, PoolError, SimulatedPool};

const WORKERS: usize = 3;
const JOBS: usize = 12;
const LEVEL: Duration = MS;
/// Longer than all else together.
const STUCK: Duration = Duration::from_secs(100);

const POLICIES: [Policy; 6] = [
    Policy::Fcfs,
    Policy::HighestPriority,
    Policy::ShortestFirst,
    Policy::RoundRobin,
    Policy::WorkStealing,
    Policy::MultilevelFeedback { queue_count: 4, time_slice: LEVEL },
];

type Pair = (Policy, Option<Balancer>);

fn balancers() -> [Option<Balancer>; 5] {
    use Balancer::{Affinity, Fastest, LeastLoaded, RoundRobin};
    [None, Some(RoundRobin), Some(LeastLoaded), Some(Fastest), Some(Affinity(None))]
}

fn all_pairs() -> Vec<Pair> {
    POLICIES.iter().flat_map(|policy| balancers().map(|balancer| (*policy, balancer))).collect()
}

fn build((policy, balancer): &Pair, workers: usize) -> Result<SimulatedPool, PoolError> {
    let mut builder = Pool::builder().workers(workers).policy(*policy);
    if let Some(balancer) = balancer {
        builder = builder.balancer(balancer.clone());
    }
    builder.simulate(5)
}

/// Those that have a meaning of their own: `RoundRobin` with itself is what it is without.
fn meaningful() -> Vec<Pair> {
    let doubled = |(policy, balancer): &Pair| {
        *policy == Policy::RoundRobin && matches!(balancer, Some(Balancer::RoundRobin))
    };
    all_pairs().into_iter().filter(|pair| build(pair, 1).is_ok() && !doubled(pair)).collect()
}

fn name((policy, balancer): &Pair) -> String {
    format!("{} with {balancer:?}", policy.name())
}

// ---- What is said about the jobs.

fn priority(job: usize) -> f64 {
    ((job * 5 + 2) % JOBS) as f64
}

/// What jobs of each class were learnt to take: levels 1, 0, 2 and 1.
const CLASSES: [Duration; 4] = [
    Duration::from_micros(1800),
    Duration::from_micros(300),
    Duration::from_micros(2500),
    Duration::from_micros(1200),
];

/// Those of the same level come in another order than their lengths.
fn class(job: usize) -> usize {
    [0, 0, 0, 3, 3, 3, 1, 0, 3, 2, 3, 1][job]
}

/// The slow worker is nobody's.
fn home(job: usize) -> usize {
    1 + (job / 2 + job / 5) % 2
}

/// The jobs in the order in which a policy takes them from one queue.
fn in_order(policy: Policy, mut jobs: Vec<usize>) -> Vec<usize> {
    match policy {
        Policy::HighestPriority => {
            jobs.sort_by(|a, b| priority(*b).total_cmp(&priority(*a)));
        }
        Policy::ShortestFirst => jobs.sort_by_key(|job| CLASSES[class(*job)]),
        Policy::MultilevelFeedback { .. } => {
            jobs.sort_by_key(|job| CLASSES[class(*job)].as_nanos() / LEVEL.as_nanos());
        }
        _ => {}
    }
    jobs
}

// ---- The scenes.

/// A start: which job (those before the 12 have no number), where, and how long it takes.
type Start = (Option<usize>, usize, Duration);

struct Scene {
    pool: SimulatedPool,
    log: Log<Start>,
    dealt: usize,
    /// How long the n-th job on a worker takes.
    lasts: fn(usize, usize) -> Duration,
}

impl Scene {
    fn new(pair: &Pair, lasts: fn(usize, usize) -> Duration) -> Scene {
        let mut scene =
            Scene { pool: build(pair, WORKERS).unwrap(), log: Log::new(), dealt: 0, lasts };
        for (number, took) in CLASSES.into_iter().enumerate() {
            let log = scene.log.clone();
            let job = Job::new(move |cx| {
                log.write((None, cx.worker().get(), took));
                cx.simulate(took);
            });
            scene.deal(job.class(Class::new(number as u32)));
            scene.pool.simulation().run();
        }
        scene
    }

    fn deal(&mut self, job: Job<impl job::Body>) {
        drop(self.pool.submit(job).unwrap());
        self.dealt += 1;
    }

    /// Jobs that come before all others under every policy.
    fn deal_first(&mut self, jobs: usize) {
        for _ in 0..jobs {
            let body = self.body(None);
            self.deal(Job::new(body).priority(1000.0).estimate(Duration::from_nanos(1)));
        }
    }

    fn deal_all(&mut self) {
        for number in 0..JOBS {
            let body = self.body(Some(number));
            self.deal(
                Job::new(body)
                    .priority(priority(number))
                    .class(Class::new(class(number) as u32))
                    .affinity(worker(home(number))),
            );
        }
    }

    fn body(
        &self,
        number: Option<usize>,
    ) -> impl FnOnce(&mut job::Context<'_, '_>) + Send + 'static {
        let (log, lasts) = (self.log.clone(), self.lasts);
        move |cx| {
            let at = cx.worker().get();
            let before = log.count(|start| start.1 == at);
            let learnt = log.count(|start| start.1 == at && CLASSES.contains(&start.2));
            let took = lasts(at, before - learnt);
            log.write((number, at, took));
            cx.simulate(took);
        }
    }
}

/// What happened in a scene, and what was so when the jobs came.
struct Trace {
    /// The jobs, in the order of their starts, and where.
    starts: Vec<(usize, usize)>,
    loads: [usize; WORKERS],
    averages: [u64; WORKERS],
    dealt: usize,
}

impl Trace {
    fn new(scene: &mut Scene, loads: [usize; WORKERS], before: &[Start]) -> Trace {
        let mut averages = [0; WORKERS];
        for (_, at, took) in before {
            let (average, took) = (&mut averages[*at], took.as_nanos() as u64);
            *average = if *average == 0 { took } else { *average - *average / 8 + took / 8 };
        }
        let dealt = scene.dealt;
        scene.deal_all();
        scene.pool.simulation().run();
        let starts = scene.log.take();
        let starts = starts.into_iter().filter_map(|(job, at, _)| Some((job?, at))).collect();
        Trace { starts, loads, averages, dealt }
    }

    fn speeds(pair: &Pair) -> Trace {
        let lasts = |at, _| if at == 0 { STUCK } else { 10 * MS };
        let mut scene = Scene::new(pair, lasts);
        scene.deal_first(WORKERS);
        scene.pool.simulation().run_for(5 * MS);
        let before = scene.log.read();
        Trace::new(&mut scene, [1; WORKERS], &before)
    }

    fn loads(pair: &Pair) -> Trace {
        let lasts = |at, before| match (at, before) {
            (0, 0) => 10 * MS,
            (0, 1) => MS,
            (0, _) => STUCK,
            (1, 0) => 60 * MS,
            (_, 0) => 50 * MS,
            _ => 40 * MS,
        };
        let mut scene = Scene::new(pair, lasts);
        scene.deal_first(WORKERS);
        scene.pool.simulation().run_for(MS);
        scene.deal_first(2 * WORKERS);
        scene.pool.simulation().run_for(19 * MS);
        let before = scene.log.read();
        Trace::new(&mut scene, [1, 3, 3], &before)
    }

    /// One queue for all workers, in the policy's order.
    fn is_shared(&self, policy: Policy) -> bool {
        let started: Vec<usize> = self.starts.iter().map(|(job, _)| *job).collect();
        started == in_order(policy, (0..JOBS).collect())
    }

    /// A queue per worker, each in the policy's order, and this says who got what. Looks until
    /// somebody takes what was given to another; by then most must have started.
    fn is_dealt(&self, policy: Policy, homes: &[usize]) -> bool {
        let given = |at| (0..JOBS).filter(|job| homes[*job] == at).collect();
        let expected: Vec<Vec<usize>> =
            (0..WORKERS).map(|at| in_order(policy, given(at))).collect();
        let mut seen = [0; WORKERS];
        for (job, at) in self.starts.iter().take_while(|(job, at)| homes[*job] == *at) {
            if expected[*at][seen[*at]] != *job {
                return false;
            }
            seen[*at] += 1;
        }
        seen.iter().sum::<usize>() >= JOBS / 2
    }

    /// Each to the worker with the least of `weight`, which knows a worker's load and average;
    /// among equals, one after the other.
    fn homes(&self, weight: impl Fn(usize, u64) -> u64) -> Vec<usize> {
        let mut loads = self.loads;
        let choose = |deal: usize| {
            let from = self.dealt + deal;
            let workers = (0..WORKERS).map(|next| (from + next) % WORKERS);
            let least = workers.min_by_key(|at| weight(loads[*at], self.averages[*at])).unwrap();
            loads[least] += 1;
            least
        };
        (0..JOBS).map(choose).collect()
    }
}

/// The order in which what a job released ran beside a worker that is stuck.
fn releases(pair: &Pair) -> Vec<usize> {
    let mut pool = build(pair, 2).unwrap();
    drop(pool.submit(Job::new(|cx| cx.simulate(STUCK))).unwrap());
    pool.simulation().run_for(MS);
    let log = Log::new();
    let mut batch = Batch::new();
    let gate = batch.add(Job::new(|cx| cx.simulate(Duration::from_micros(1))));
    for number in 0..6 {
        let log = log.clone();
        let job = Job::new(move |_| log.write(number)).priority(priority(number));
        let job = batch.add(job.after(&gate));
        // Neighbours would be released as one.
        batch.add(Job::new(|_| ()).after(&job));
    }
    drop(pool.submit_batch(batch).unwrap());
    pool.simulation().run();
    log.take()
}

struct Run {
    speeds: Trace,
    loads: Trace,
    releases: Vec<usize>,
}

/// Whether what the pair promises has happened.
fn keeps(run: &Run, (policy, balancer): &Pair) -> bool {
    let Run { speeds, loads, releases } = run;
    let newest_first = *releases == [5, 4, 3, 2, 1, 0];
    let named: Vec<usize> = (0..JOBS).map(home).collect();
    let in_turn = |trace: &Trace| (0..JOBS).map(|job| (trace.dealt + job) % WORKERS).collect();
    let dealt_in_turn = || {
        let (first, second): (Vec<usize>, Vec<usize>) = (in_turn(speeds), in_turn(loads));
        speeds.is_dealt(*policy, &first) && loads.is_dealt(*policy, &second)
    };
    let dealt = match (policy, balancer) {
        (Policy::WorkStealing, None) => !speeds.is_dealt(*policy, &named),
        (Policy::RoundRobin, _) | (_, Some(Balancer::RoundRobin)) => dealt_in_turn(),
        (_, None) => speeds.is_shared(*policy) && loads.is_shared(*policy),
        (_, Some(Balancer::LeastLoaded)) => {
            loads.is_dealt(*policy, &loads.homes(|load, _| load as u64))
        }
        (_, Some(Balancer::Fastest)) => {
            speeds.is_dealt(*policy, &speeds.homes(|load, average| (load as u64 + 1) * average))
        }
        (_, Some(Balancer::Affinity(_))) => speeds.is_dealt(*policy, &named),
        (_, Some(other)) => panic!("{other:?} is new"),
    };
    dealt && newest_first == (*policy == Policy::WorkStealing)
}

fn run(pair: &Pair) -> Run {
    Run { speeds: Trace::speeds(pair), loads: Trace::loads(pair), releases: releases(pair) }
}

#[test]
fn every_pair_keeps_its_own_promise_and_that_of_no_other() {
    let pairs = meaningful();
    assert_eq!(pairs.len(), 22);
    for ran in &pairs {
        let run = run(ran);
        for promised in &pairs {
            let same = name(ran) == name(promised);
            assert_eq!(
                keeps(&run, promised),
                same,
                "ran {}: it {} what {} promises; {:?} {:?} {:?}",
                name(ran),
                if same { "does not keep" } else { "also keeps" },
                name(promised),
                run.speeds.starts,
                run.loads.starts,
                run.releases,
            );
        }
    }
}

#[test]
fn round_robin_with_itself_is_the_policy_alone() {
    let (alone, doubled) =
        (run(&(Policy::RoundRobin, None)), run(&(Policy::RoundRobin, Some(Balancer::RoundRobin))));
    assert_eq!(alone.speeds.starts, doubled.speeds.starts);
    assert_eq!(alone.loads.starts, doubled.loads.starts);
    assert_eq!(alone.releases, doubled.releases);
}

#[test]
fn pairs_without_a_meaning_of_their_own_are_refused_with_the_reason() {
    let reasons: Vec<(String, String)> = all_pairs()
        .into_iter()
        .filter_map(|pair| Some((name(&pair), build(&pair, 1).err()?.to_string())))
        .collect();
    let names: Vec<&str> = reasons.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Fcfs with Some(RoundRobin)",
            "RoundRobin with Some(LeastLoaded)",
            "RoundRobin with Some(Fastest)",
            "RoundRobin with Some(Affinity)",
            "WorkStealing with Some(RoundRobin)",
            "WorkStealing with Some(LeastLoaded)",
            "WorkStealing with Some(Fastest)",
        ]
    );
    for ((_, reason), hint) in reasons.iter().zip([
        "that is what the policy RoundRobin does; use it instead",
        "use Fcfs with this balancer instead",
        "use Fcfs with this balancer instead",
        "use Fcfs with this balancer instead",
        "an idle worker steals",
        "an idle worker steals",
        "an idle worker steals",
    ]) {
        assert!(reason.contains("do not go together") && reason.contains(hint), "{reason}");
    }
    // On real threads as well.
    let built = Pool::builder().policy(Policy::Fcfs).balancer(Balancer::RoundRobin).build();
    assert!(matches!(built, Err(PoolError::Pair { policy: "Fcfs", balancer: "RoundRobin", .. })));
}

/// The table in the documentation has a cell for each pair, in words where it is refused.
#[test]
fn documented_table_agrees_with_the_builder() {
    let table = include_str!("../src/matrix.md");
    for (policy, row) in POLICIES.iter().zip(table.lines().skip(2)) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells[0], policy.name());
        for (balancer, cell) in balancers().into_iter().zip(&cells[1..]) {
            let pair = (*policy, balancer);
            assert_eq!(cell.starts_with('*'), build(&pair, 1).is_err(), "{}", name(&pair));
        }
    }
}
