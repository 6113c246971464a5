//! A supervised pool: a desk that keeps the jobs, and workers that ask it for the next one. Some
//! jobs kill whoever does them; the pool goes on.
//!
//! ```text
//!   pool (rest-for-one): without the desk the workers are nothing
//!    ├─ desk
//!    └─ workers (one-for-one): each on its own
//!        ├─ worker 1
//!        ├─ worker 2
//!        └─ worker 3
//! ```
//!
//! It runs in a simulation here: the seconds that a worker waits before it is started again pass
//! in no time.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use kernel::Runtime;
use process::{Addr, ChildSpec, Context, Event, ExitReason, Pid, Processes, Reply, Supervisor};

const JOBS: u32 = 20;

enum Word {
    /// A worker wants a job.
    Next(Pid, Reply<u32>),
    /// A worker has done its job.
    Done(Pid, u64),
}

/// Hands out the jobs, and watches who has them: what a worker did not finish is not lost, and not
/// tried again either.
async fn desk(mut ctx: Context<Word>) {
    let mut jobs: VecDeque<u32> = (1..=JOBS).collect();
    let mut at_work: HashMap<Pid, u32> = HashMap::new();
    let mut known = HashSet::new();
    let mut open = JOBS;
    while open > 0 {
        match ctx.event().await {
            Event::Message(Word::Next(worker, reply)) => {
                // Without a job the reply is dropped, and the worker is told so.
                let Some(job) = jobs.pop_front() else { continue };
                if known.insert(worker) {
                    ctx.monitor(worker);
                }
                at_work.insert(worker, job);
                let _ = reply.send(job); // or we hear of its end
            }
            Event::Message(Word::Done(worker, result)) => {
                let Some(job) = at_work.remove(&worker) else { continue };
                println!("job {job:>2}: {result}");
                open -= 1;
            }
            Event::Down { pid, reason, .. } => {
                let Some(job) = at_work.remove(&pid) else { continue };
                println!("job {job:>2}: given up ({reason})");
                open -= 1;
            }
            Event::Cancel => return,
            _ => {}
        }
    }
}

async fn worker(ctx: Context<()>) -> Result<(), String> {
    let desk = ctx.runtime().named("desk").and_then(|pid| ctx.runtime().find(pid));
    let desk: Addr<Word> = desk.ok_or("there is no desk")?;
    // No more jobs, or no more desk: either way it is done.
    while let Ok(job) = desk.call(|reply| Word::Next(ctx.pid(), reply)).await {
        ctx.sleep(Duration::from_millis(100)).await;
        assert!(job % 7 != 0, "nobody survives job {job}");
        let squared = u64::from(job) * u64::from(job);
        desk.send(Word::Done(ctx.pid(), squared)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn pool() -> Supervisor {
    let workers = || {
        let ids = ["worker 1", "worker 2", "worker 3"];
        let workers = ids.map(|id| ChildSpec::new(id, worker).restart(process::Restart::Transient));
        Supervisor::one_for_one().children(workers)
    };
    Supervisor::rest_for_one()
        .child(ChildSpec::new("desk", desk).name("desk").restart(process::Restart::Transient))
        .child(ChildSpec::supervisor("workers", workers))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::panic::set_hook(Box::new(|_| {})); // the desk says what happened
    let mut simulation = Runtime::builder().workers(2).on_report(|_| {}).simulate(1)?;
    let pool = pool().spawn(&simulation)?;
    simulation.block_on(pool.ready())??;
    let desk: Addr<Word> = simulation.block_on(pool.child("desk"))??.ok_or("it has just begun")?;
    simulation.block_on(desk.exited())?;
    println!("all jobs are done after {:?}", simulation.now());
    pool.stop();
    assert_eq!(simulation.block_on(pool.exited())?, ExitReason::Shutdown);
    Ok(())
}
