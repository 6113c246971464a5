//! A pool of workers, some of whose jobs are bad: a worker dies of one, and another takes its
//! place.
//!
//! ```text
//!     foreman   spawns the workers, linked to it, and a new one for each that dies
//!    ╱   │   ╲
//!   w    w    w ──Next──► queue   knows the jobs, and who has which
//! ```
//!
//! A worker has nothing that is worth saving: the queue monitors it, and when it dies with a job,
//! the job goes to another one, once. What kills two is not given to a third.
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
        Addr, Context, Event, ExitReason, MonitorId, Pid, Processes, Reply, STOP_TIMEOUT, block_on,
    },
};

const WORKERS: usize = 3;
const ATTEMPTS_MAX: u32 = 2;

struct Job {
    text: &'static str,
    attempts: u32,
}

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

async fn queue(mut ctx: Context<Queue>, jobs: Vec<&'static str>) {
    let mut waiting: VecDeque<Job> = jobs.iter().map(|&text| Job { text, attempts: 0 }).collect();
    let mut taken: HashMap<Pid, (Job, MonitorId)> = HashMap::new();
    let mut free: VecDeque<(Pid, Reply<&'static str>)> = VecDeque::new();
    let mut results = Vec::new();
    let mut asker = None;
    loop {
        match ctx.event().await {
            Event::Message(Queue::Next { worker, reply }) => free.push_back((worker, reply)),
            Event::Message(Queue::Done { worker, result }) => {
                let (job, monitor) = taken.remove(&worker).expect("it is done with what it has");
                ctx.demonitor(worker, monitor);
                results.push((job.text, Ok(result)));
            }
            Event::Message(Queue::Results(reply)) => asker = Some(reply),
            Event::Down { pid, reason, .. } => match taken.remove(&pid) {
                Some((job, _)) if job.attempts < ATTEMPTS_MAX => waiting.push_back(job),
                Some((job, _)) => results.push((job.text, Err(reason))),
                None => {}
            },
            Event::Cancel => return,
            _ => {}
        }
        while !waiting.is_empty()
            && let Some((worker, reply)) = free.pop_front()
        {
            let mut job = waiting.pop_front().expect("there is one");
            // A reply that comes too late: the worker has died while it waited.
            if reply.send(job.text).is_ok() {
                job.attempts += 1;
                // If it is dead already we are told at once.
                taken.insert(worker, (job, ctx.monitor(worker)));
            } else {
                waiting.push_front(job);
            }
        }
        if results.len() == jobs.len()
            && let Some(reply) = asker.take()
        {
            let _ = reply.send(std::mem::take(&mut results));
        }
    }
}

async fn worker(ctx: Context<()>, queue: Addr<Queue>) -> Result<(), Box<dyn Error>> {
    let worker = ctx.pid();
    while let Ok(text) = queue.call(|reply| Queue::Next { worker, reply }).await {
        ctx.sleep(Duration::from_millis(5)).await;
        // What is wrong with a job ends the worker: it need not think about what state it is in.
        let result = divide(text)?;
        let _ = queue.send(Queue::Done { worker, result });
    }
    Ok(())
}

/// Fails over anything that is not a division, and panics over one by zero.
fn divide(text: &str) -> Result<i64, Box<dyn Error>> {
    let (a, b) = text.split_once('/').ok_or("not a division")?;
    Ok(a.parse::<i64>()? / b.parse::<i64>()?)
}

/// Keeps so many workers alive, and counts those that it had to replace.
async fn foreman(mut ctx: Context<Reply<usize>>, queue: Addr<Queue>) {
    ctx.trap_exits(true);
    let hire = |ctx: &Context<_>| {
        let queue = queue.clone();
        ctx.spawn(move |ctx| worker(ctx, queue)).is_ok()
    };
    let mut replaced = 0;
    for _ in 0..WORKERS {
        hire(&ctx);
    }
    loop {
        match ctx.event().await {
            Event::Message(reply) => drop(reply.send(replaced)),
            Event::Exit { reason, .. } if !reason.is_orderly() => {
                replaced += usize::from(hire(&ctx));
            }
            Event::Cancel => return,
            _ => {}
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let jobs = vec!["84/2", "7/0", "100/4", "many/few", "9/3", "tea", "-8/2", "1/1"];
    let queue = runtime.process().name("queue").spawn(move |ctx| queue(ctx, jobs))?;
    let theirs = queue.clone();
    let foreman = runtime.process().name("foreman").spawn(|ctx| foreman(ctx, theirs))?;

    let mut results = block_on(queue.call(Queue::Results))?;
    results.sort_by_key(|(job, _)| *job);
    for (job, result) in results {
        match result {
            Ok(number) => println!("{job:>8} = {number}"),
            Err(reason) => println!("{job:>8} given up: {reason}"),
        }
    }
    println!("{} workers had to be replaced", block_on(foreman.call(|reply| reply))?);
    let report = block_on(runtime.stop_processes(STOP_TIMEOUT));
    println!("{} processes were left, and ended in good order", report.orderly);
    runtime.shutdown();
    Ok(())
}
