//! Our processes, as the workloads ask for them.

use std::time::Instant;

use benches::{
    Tally,
    process::{CHILDREN, Inject, SENDERS, Send as Start, System, Told},
    ticks::{self, Schedule},
};
use kernel::{Handle, yield_now};
use process::{Addr, Context, MailboxKind, Processes, Reply};

/// Messages in a chain, where several are sent at once.
const CHAIN: u64 = 64;

pub(crate) struct Ours(pub(crate) Handle);

/// A member of a ring: whom it sends to, then what it passes on.
enum Hop {
    Next(Addr<Hop>),
    Token(u64),
}

/// A number, and who wants the next one.
struct Ask(u64, Reply<u64>);

impl System for Ours {
    fn spawn(&self, count: u64, done: &'static Tally) {
        let spawner = self.0.spawn_process(move |ctx: Context<()>| async move {
            for _ in 0..count {
                let small = move |_: Context<()>| async move { done.add() };
                ctx.runtime().spawn_process(small).expect("the runtime runs");
            }
        });
        spawner.expect("the runtime runs");
    }

    fn idle(&self, count: u64, started: &'static Tally) {
        let spawner = self.0.spawn_process(move |ctx: Context<()>| async move {
            for _ in 0..count {
                let idle = move |mut ctx: Context<u64>| async move {
                    started.add();
                    ctx.receive().await;
                };
                ctx.runtime().spawn_process(idle).expect("the runtime runs");
            }
        });
        spawner.expect("the runtime runs");
    }

    fn ring(&self, members: u64, done: &'static Tally) -> Inject {
        let member = move |mut ctx: Context<Hop>| async move {
            let Some(Hop::Next(next)) = ctx.receive().await else { return };
            while let Some(Hop::Token(hops)) = ctx.receive().await {
                if hops == 0 {
                    done.add();
                } else {
                    next.hand_off(Hop::Token(hops - 1)).expect("members do not end");
                }
            }
        };
        let start = |_| self.0.spawn_process(member).expect("the runtime runs");
        let addresses: Vec<Addr<Hop>> = (0..members).map(start).collect();
        for (at, member) in addresses.iter().enumerate() {
            let next = addresses[(at + 1) % addresses.len()].clone();
            member.send(Hop::Next(next)).expect("it waits");
        }
        Box::new(move |member, hops| {
            addresses[member as usize].send(Hop::Token(hops)).expect("members do not end");
        })
    }

    fn fan_in(&self, each: u64, done: &'static Tally) -> Start {
        self.fan_in_of(each, done, 1)
    }

    fn fan_in_many(&self, each: u64, done: &'static Tally) -> Start {
        self.fan_in_of(each, done, CHAIN)
    }

    fn skynet(&self, leaves: u64, told: Told) {
        let root = self.0.spawn_process(move |mut ctx: Context<u64>| async move {
            node(ctx.runtime(), ctx.addr(), 0, leaves);
            told(ctx.receive().await.expect("nobody cancels it"));
        });
        root.expect("the runtime runs");
    }

    fn latency(&self, schedule: &'static Schedule, hogs: usize) {
        for process in 0..ticks::PROCESSES {
            let ticked = self.0.spawn_process(move |ctx: Context<()>| async move {
                let mut tick = 0;
                while let Some(due) = schedule.due(tick) {
                    let left = due.saturating_duration_since(Instant::now());
                    if !left.is_zero() {
                        ctx.sleep(left).await;
                    }
                    schedule.handled(process, tick);
                    tick += 1;
                }
            });
            ticked.expect("the runtime runs");
        }
        for _ in 0..hogs {
            let hog = self.0.spawn_process(|ctx: Context<()>| async move {
                let mut sum = 0;
                while !ctx.is_cancelled() {
                    while !ctx.runtime().turn_expired() {
                        sum = ticks::work(sum);
                    }
                    yield_now().await;
                }
            });
            hog.expect("the runtime runs");
        }
    }
}

impl Ours {
    /// One process asks another so often, and then adds itself to `done`.
    pub(crate) fn calls(&self, count: u64, done: &'static Tally) {
        let server = self.0.spawn_process(move |mut ctx: Context<Ask>| async move {
            for _ in 0..count {
                let Some(Ask(number, reply)) = ctx.receive().await else { return };
                reply.send(number + 1).expect("the caller waits");
            }
        });
        let server = server.expect("the runtime runs");
        let caller = self.0.spawn_process(move |_: Context<()>| async move {
            let mut number = 0;
            for _ in 0..count {
                number = server.call(|reply| Ask(number, reply)).await.expect("it answers");
            }
            assert_eq!(number, count, "a reply is missing");
            done.add();
        });
        caller.expect("the runtime runs");
    }

    fn fan_in_of(&self, each: u64, done: &'static Tally, chain: u64) -> Start {
        let builder = self.0.process().mailbox(MailboxKind::Unbounded);
        let receiver = builder.spawn(move |mut ctx: Context<u64>| async move {
            let mut got = 0;
            while ctx.receive().await.is_some() {
                got += 1;
                if got == each * SENDERS {
                    got = 0;
                    done.add();
                }
            }
        });
        let receiver = receiver.expect("the runtime runs");
        let runtime = self.0.clone();
        Box::new(move |each| {
            for _ in 0..SENDERS {
                let receiver = receiver.clone();
                let sender = runtime.spawn_process(move |ctx: Context<()>| async move {
                    let mut sent = 0;
                    while sent < each {
                        let count = chain.min(each - sent);
                        match count {
                            1 => receiver.send(sent).expect("it does not end"),
                            _ => {
                                let chain = sent..sent + count;
                                receiver.send_many(chain).expect("it does not end");
                            }
                        }
                        sent += count;
                        if ctx.runtime().turn_expired() {
                            yield_now().await;
                        }
                    }
                });
                sender.expect("the runtime runs");
            }
        })
    }
}

fn node(runtime: &Handle, up: Addr<u64>, first: u64, leaves: u64) {
    let process = runtime.spawn_pid(move |mut ctx: Context<u64>| async move {
        if leaves == 1 {
            up.hand_off_last(first).expect("it waits");
            return;
        }
        let share = leaves / CHILDREN;
        for child in 0..CHILDREN {
            node(ctx.runtime(), ctx.addr(), first + child * share, share);
        }
        let mut sum = 0;
        for _ in 0..CHILDREN {
            sum += ctx.receive().await.expect("nobody cancels it");
        }
        up.hand_off_last(sum).expect("it waits");
    });
    process.expect("the runtime runs");
}
