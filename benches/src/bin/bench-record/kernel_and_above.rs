//! Jobs, messages and guests, with work in them and without.

use ::task::{Options, Program};
use benches::{Args, Tally, task::guests};
use job::{Batch, Job, Pool};
use kernel::{Handle, Turn};
use process::{Addr, Context, Processes};

use crate::{Load, timed, work::spin};

const MICROSECOND: u64 = 1_000;

/// Members of a ring, and tokens in it.
const MEMBERS: u64 = 1_000;
const TOKENS: u64 = 100;

/// A batch of jobs of 10 µs that do not depend on each other.
pub(crate) fn jobs_10us(args: &Args, handle: &Handle) -> Load {
    let (items, pool) = (args.items(10_000), Pool::on(handle));
    let run = move || {
        let mut batch = Batch::new();
        for _ in 0..items {
            batch.add(Job::new(|_| spin(10 * MICROSECOND)));
        }
        timed(|| drop(pool.submit_batch(batch).expect("the pool runs").wait()))
    };
    Load { items, run: Box::new(run) }
}

/// Messages in a ring of processes, each of which works for 1 µs before it passes one on.
pub(crate) fn messages_1us(args: &Args, handle: &Handle) -> Load {
    ring(handle, args.items(100_000), MICROSECOND)
}

/// The same without the work.
pub(crate) fn bare_messages(args: &Args, handle: &Handle) -> Load {
    ring(handle, args.items(500_000), 0)
}

/// A member of a ring: whom it sends to, then what it passes on.
enum Hop {
    Next(Addr<Hop>),
    Token(u64),
}

fn ring(handle: &Handle, items: u64, work: u64) -> Load {
    let (hops, done) = ((items / TOKENS).max(1), Tally::leaked());
    let member = move |mut ctx: Context<Hop>| async move {
        let Some(Hop::Next(next)) = ctx.receive().await else { return };
        while let Some(Hop::Token(left)) = ctx.receive().await {
            if work > 0 {
                spin(work);
            }
            match left {
                0 => done.add(),
                _ => next.send(Hop::Token(left - 1)).expect("members do not end"),
            }
        }
    };
    let start = |_| handle.spawn_process(member).expect("the runtime runs");
    let addresses: Vec<Addr<Hop>> = (0..MEMBERS).map(start).collect();
    for (at, member) in addresses.iter().enumerate() {
        let next = addresses[(at + 1) % addresses.len()].clone();
        member.send(Hop::Next(next)).expect("it waits");
    }
    let mut expected = 0;
    let run = move || {
        expected += TOKENS;
        timed(|| {
            for token in 0..TOKENS {
                let member = &addresses[(token * MEMBERS / TOKENS) as usize];
                member.send(Hop::Token(hops - 1)).expect("members do not end");
            }
            done.wait_for(expected);
        })
    };
    Load { items: hops * TOKENS, run: Box::new(run) }
}

/// Guests that compute, and are preempted as any.
pub(crate) fn tasks(args: &Args, handle: &Handle) -> Load {
    let items = args.items(200);
    let module = guests::module(guests::COMPUTE);
    let program = Program::load(handle, module, Options::default()).expect("our guests load");
    let run = move || {
        timed(|| {
            for _ in 0..items {
                program.spawn("fib", [18i64]).expect("it can be spawned");
            }
            let results = program.run().expect("this is no turn");
            assert!(results.iter().all(|task| task.outcome.is_ok()), "a task failed: {results:?}");
        })
    };
    Load { items, run: Box::new(run) }
}

/// A tree of empty jobs: what is left is the scheduler itself.
pub(crate) fn bare_jobs(args: &Args, handle: &Handle) -> Load {
    fn node(turn: &mut Turn<'_>, depth: u32, done: &'static Tally) {
        if depth == 0 {
            return done.add();
        }
        for _ in 0..2 {
            turn.submit(move |turn| node(turn, depth - 1, done));
        }
    }
    let depth = args.items(1 << 17).max(2).ilog2();
    let (done, handle) = (Tally::leaked(), handle.clone());
    let mut expected = 0;
    let run = move || {
        expected += 1 << depth;
        timed(|| {
            handle.submit(move |turn| node(turn, depth, done)).expect("the runtime runs");
            done.wait_for(expected);
        })
    };
    Load { items: (2 << depth) - 1, run: Box::new(run) }
}
