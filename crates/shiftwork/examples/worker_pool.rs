//! A supervised pool of workers: some jobs are bad, a worker dies of one, and a new one comes.
//!
//! ```text
//!   supervisor, rest for one
//!   ├── queue                    knows the jobs, and who has which
//!   └── supervisor, one for one
//!       ├── worker 0 ──Next──► queue
//!       ├── worker 1
//!       └── worker 2
//! ```
//!
//! A worker has nothing that is worth saving: it is started again by itself, a little later each time
//! it fails. The queue monitors those who have a job, and gives the job of a dead one to another,
//! once: what kills two is not given to a third. Should the queue fail, the workers, which need it,
//! are started again after it.
//!
//! ```text
//! cargo run --example worker_pool
//! ```

use std::{
    collections::{HashMap, VecDeque},
    error::Error,
    time::Duration,
};

use shiftwork::{
    Runtime,
    process::{
        Backoff, ChildSpec, Context, Event, ExitReason, MonitorId, Pid, Processes, Reply,
        Supervisor, block_on,
    },
};

const QUEUE: &str = "queue";
const WORKERS: usize = 3;
const ATTEMPTS_MAX: u32 = 2;
const JOBS: [&str; 8] = ["84/2", "7/0", "100/4", "many/few", "9/3", "tea", "-8/2", "1/1"];

enum Queue {
    /// A worker is free. The reply is a job, when there is one.
    Next {
        worker: Pid,
        reply: Reply<&'static str>,
    },
    Done {
        worker: Pid,
        result: i64,
    },
    /// What became of all jobs? Answered when all are done.
    Results(Reply<Vec<(&'static str, Result<i64, ExitReason>)>>),
}

/// A job, and how many workers have tried it.
type Job = (&'static str, u32);

async fn queue(mut ctx: Context<Queue>) {
    let mut waiting: VecDeque<Job> = JOBS.map(|text| (text, 0)).into();
    let mut taken: HashMap<Pid, (Job, MonitorId)> = HashMap::new();
    let mut free = VecDeque::new();
    let mut results = Vec::new();
    let mut asker = None;
    loop {
        match ctx.event().await {
            Event::Message(Queue::Next { worker, reply }) => free.push_back((worker, reply)),
            Event::Message(Queue::Done { worker, result }) => {
                let ((text, _), monitor) = taken.remove(&worker).expect("it has a job");
                ctx.demonitor(worker, monitor);
                results.push((text, Ok(result)));
            }
            Event::Message(Queue::Results(reply)) => asker = Some(reply),
            Event::Down { pid, reason, .. } => match taken.remove(&pid) {
                Some((job, _)) if job.1 < ATTEMPTS_MAX => waiting.push_back(job),
                Some((job, _)) => results.push((job.0, Err(reason))),
                None => {}
            },
            Event::Cancel => return,
            _ => {}
        }
        while let Some((text, attempts)) = waiting.pop_front() {
            let Some((worker, reply)) = free.pop_front() else {
                waiting.push_front((text, attempts));
                break;
            };
            // If the worker is dead, we are told at once, and the job is tried again.
            let _ = reply.send(text);
            taken.insert(worker, ((text, attempts + 1), ctx.monitor(worker)));
        }
        if results.len() == JOBS.len()
            && let Some(reply) = asker.take()
        {
            let _ = reply.send(std::mem::take(&mut results));
        }
    }
}

async fn worker(ctx: Context<()>) -> Result<(), Box<dyn Error>> {
    let worker = ctx.pid();
    // By name: after a restart the queue has another address.
    let queue = ctx.runtime().named(QUEUE).and_then(|pid| ctx.runtime().find(pid));
    let queue = queue.ok_or("there is no queue")?;
    loop {
        let text = queue.call(|reply| Queue::Next { worker, reply }).await?;
        ctx.sleep(Duration::from_millis(5)).await;
        // What is wrong with a job ends the worker: it need not think about what state it is in.
        let result = divide(text)?;
        queue.send(Queue::Done { worker, result })?;
    }
}

/// Fails over anything that is not a division, and panics over one by zero.
fn divide(text: &str) -> Result<i64, Box<dyn Error>> {
    let (a, b) = text.split_once('/').ok_or("not a division")?;
    Ok(a.parse::<i64>()? / b.parse::<i64>()?)
}

fn pool() -> Supervisor {
    let workers = || {
        let hurry = Backoff { first: Duration::from_millis(5), ..Backoff::default() };
        // An idle one waits for a reply, and would not hear that it is asked to end: it is killed.
        let child = |n| ChildSpec::new(format!("worker {n}"), worker).stop_within(Duration::ZERO);
        // More than 20 failures in a second are not the fault of the jobs.
        Supervisor::one_for_one()
            .children((0..WORKERS).map(child))
            .backoff(hurry)
            .intensity(20, Duration::from_secs(1))
    };
    Supervisor::rest_for_one()
        .child(ChildSpec::new("queue", queue).name(QUEUE))
        .child(ChildSpec::supervisor("workers", workers))
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let pool = pool().spawn(&runtime)?;
    block_on(pool.ready())?;

    let queue = block_on(pool.child("queue"))?.ok_or("the queue does not run")?;
    let mut results = block_on(queue.call(Queue::Results))?;
    results.sort_by_key(|(job, _)| *job);
    for (job, result) in results {
        match result {
            Ok(number) => println!("{job:>8} = {number}"),
            Err(reason) => println!("{job:>8} given up: {reason}"),
        }
    }
    pool.stop();
    println!("the pool has ended: {}", block_on(pool.exited()));
    runtime.shutdown();
    Ok(())
}
