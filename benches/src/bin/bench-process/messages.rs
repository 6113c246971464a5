//! What does a message cost: between two, round a ring, from many to one?

use benches::{Args, Line, Tally};
use kernel::Runtime;
use process::{Addr, Context, MailboxKind, Processes};

use crate::OURS;

/// Messages of a ping-pong, hops of a ring.
const MESSAGES: u64 = 4_000_000;
/// Processes in a ring.
const RING: u64 = 1000;
/// Senders of a fan-in, and what they send together.
const SENDERS: u64 = 100;
const FAN_IN: u64 = 8_000_000;

enum Ball {
    /// Whom to play with.
    Meet(Addr<Ball>),
    /// So many are left.
    Hit(u64),
}

/// Two processes that send one message back and forth. They get to know each other first.
pub(crate) fn ping_pong(args: &Args, runtime: &Runtime) -> Line {
    let messages = args.items(MESSAGES);
    args.time_per_item(OURS, "ns/message", messages, || {
        let done = Tally::leaked();
        let player = move |mut ctx: Context<Ball>| async move {
            let Some(Ball::Meet(other)) = ctx.receive().await else { return };
            while let Some(Ball::Hit(left)) = ctx.receive().await {
                if left > 0 {
                    let _ = other.hand_off(Ball::Hit(left - 1));
                }
                if left <= 1 {
                    done.add();
                    break;
                }
            }
        };
        let one = runtime.spawn_process(player).expect("the runtime runs");
        let other = runtime.spawn_process(player).expect("the runtime runs");
        one.send(Ball::Meet(other.clone())).expect("it waits");
        other.send(Ball::Meet(one.clone())).expect("it waits");
        one.send(Ball::Hit(messages)).expect("it waits");
        done.wait_for(2);
    })
}

/// One process that calls another.
pub(crate) fn ping_pong_call(args: &Args, runtime: &Runtime) -> Line {
    let calls = args.items(MESSAGES / 2);
    args.time_per_item(OURS, "ns/call", calls, || {
        let done = Tally::leaked();
        let echo =
            runtime.spawn_process(|mut ctx: Context<(u64, process::Reply<u64>)>| async move {
                while let Some((number, reply)) = ctx.receive().await {
                    let _ = reply.send(number + 1);
                }
            });
        let echo = echo.expect("the runtime runs");
        let caller = runtime.spawn_process(move |_: Context<()>| async move {
            let mut number = 0;
            for _ in 0..calls {
                number = echo.call(|reply| (number, reply)).await.expect("it answers");
            }
            assert_eq!(number, calls);
            echo.kill();
            done.add();
        });
        caller.expect("the runtime runs");
        done.wait_for(1);
    })
}

/// A ring through which tokens go.
pub(crate) fn ring(args: &Args, runtime: &Runtime, tokens: u64) -> Line {
    let hops = args.items(MESSAGES);
    args.time_per_item(OURS, "ns/hop", hops, || {
        let done = Tally::leaked();
        let each = hops / tokens;
        let first = runtime.spawn_process(move |mut ctx: Context<Hop>| async move {
            let mut next = ctx.addr();
            if let Some(Hop::Next(addr)) = ctx.receive().await {
                next = addr;
            }
            pass_on(&mut ctx, &next, done).await;
        });
        let first = first.expect("the runtime runs");
        let mut next = first.clone();
        for _ in 1..RING {
            let target = next.clone();
            let process = runtime.spawn_process(move |mut ctx: Context<Hop>| async move {
                pass_on(&mut ctx, &target, done).await;
            });
            next = process.expect("the runtime runs");
        }
        first.send(Hop::Next(next)).expect("it waits");
        for _ in 0..tokens {
            first.send(Hop::Token(each)).expect("it waits");
        }
        done.wait_for(tokens);
        first.send(Hop::End).expect("it waits");
        done.wait_for(tokens + RING);
    })
}

enum Hop {
    Next(Addr<Hop>),
    Token(u64),
    End,
}

async fn pass_on(ctx: &mut Context<Hop>, next: &Addr<Hop>, done: &'static Tally) {
    while let Some(hop) = ctx.receive().await {
        match hop {
            Hop::Token(0) => done.add(),
            Hop::Token(left) => {
                let _ = next.hand_off(Hop::Token(left - 1));
            }
            _ => {
                let _ = next.send(Hop::End);
                break;
            }
        }
    }
    done.add();
}

/// Many senders, one receiver.
pub(crate) fn fan_in(args: &Args, runtime: &Runtime, chain: usize) -> Line {
    let each = args.items(FAN_IN) / SENDERS;
    let messages = each * SENDERS;
    args.time_per_item(OURS, "ns/message", messages, || {
        let done = Tally::leaked();
        let builder = runtime.process().mailbox(MailboxKind::Unbounded);
        let receiver = builder.spawn(move |mut ctx: Context<u64>| async move {
            let mut sum = 0;
            for _ in 0..messages {
                sum += ctx.receive().await.expect("nobody cancels it");
            }
            assert_eq!(sum, messages);
            done.add();
        });
        let receiver = receiver.expect("the runtime runs");
        for _ in 0..SENDERS {
            let receiver = receiver.clone();
            let sender = runtime.spawn_process(move |_: Context<()>| async move {
                let mut left = each as usize;
                while left > 0 {
                    for _ in 0..16 {
                        let count = chain.min(left);
                        left -= count;
                        match count {
                            0 => break,
                            1 => receiver.send(1).expect("it has room"),
                            _ => drop(
                                receiver.send_many((0..count).map(|_| 1)).expect("it has room"),
                            ),
                        }
                    }
                    kernel::yield_now().await;
                }
            });
            sender.expect("the runtime runs");
        }
        done.wait_for(1);
    })
}
