//! How fast are tokio's tasks and channels, used as processes?
//!
//! A process is a task, and its mailbox an unbounded channel. Where tokio needs no mailbox, to end
//! at once and to give a result to its parent, it is measured without one.

use benches::{
    Args, Line, Tally,
    process::{CHILDREN, Inject, SENDERS, Send as Start, System, Told, measure},
    ticks::{self, Schedule},
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc::{self, UnboundedReceiver},
    task::{self, JoinHandle},
};

/// Messages taken at once, or permits reserved, where several are.
const BATCH: usize = 64;

/// The bound of a bounded mailbox.
const BOUND: usize = 1024;

struct Tokio {
    runtime: Runtime,
    bounded: bool,
}

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(args.workers);
    if args.workload == "latency" {
        builder.enable_time();
    }
    let runtime = builder.build().expect("tokio starts");
    let tokio = Tokio { runtime, bounded: args.peer == "tokio-bounded" };
    let lines = measure(args, &args.peer, &tokio);
    // To wait for hogs would be to wait for ever.
    tokio.runtime.shutdown_background();
    lines
}

impl System for Tokio {
    fn spawn(&self, count: u64, done: &'static Tally) {
        self.runtime.spawn(async move {
            for _ in 0..count {
                task::spawn(async move { done.add() });
            }
        });
    }

    fn idle(&self, count: u64, started: &'static Tally) {
        self.runtime.spawn(async move {
            for _ in 0..count {
                let (address, mut mailbox) = mpsc::unbounded_channel::<u64>();
                task::spawn(async move {
                    started.add();
                    mailbox.recv().await
                });
                // Without an address the mailbox would be closed. To keep it takes no memory.
                std::mem::forget(address);
            }
        });
    }

    fn ring(&self, members: u64, done: &'static Tally) -> Inject {
        let channels = (0..members).map(|_| mpsc::unbounded_channel::<u64>());
        let (addresses, mailboxes): (Vec<_>, Vec<UnboundedReceiver<u64>>) = channels.unzip();
        for (at, mut mailbox) in mailboxes.into_iter().enumerate() {
            let next = addresses[(at + 1) % addresses.len()].clone();
            self.runtime.spawn(async move {
                while let Some(hops) = mailbox.recv().await {
                    if hops == 0 {
                        done.add();
                    } else {
                        next.send(hops - 1).expect("members live as long as the program");
                    }
                }
            });
        }
        Box::new(move |member, hops| {
            addresses[member as usize].send(hops).expect("members live as long as the program");
        })
    }

    fn fan_in(&self, each: u64, done: &'static Tally) -> Start {
        if self.bounded {
            self.fan_in_bounded(each, done, 1)
        } else {
            self.fan_in_from(each, done, 1)
        }
    }

    fn fan_in_many(&self, each: u64, done: &'static Tally) -> Start {
        if self.bounded {
            self.fan_in_bounded(each, done, BATCH)
        } else {
            self.fan_in_from(each, done, BATCH)
        }
    }

    fn skynet(&self, leaves: u64, told: Told) {
        fn node(first: u64, leaves: u64) -> JoinHandle<u64> {
            task::spawn(async move {
                if leaves == 1 {
                    return first;
                }
                let share = leaves / CHILDREN;
                let children: [_; CHILDREN as usize] =
                    std::array::from_fn(|at| node(first + at as u64 * share, share));
                let mut sum = 0;
                for child in children {
                    sum += child.await.expect("a node does not panic");
                }
                sum
            })
        }
        self.runtime.spawn(async move {
            told(node(0, leaves).await.expect("a node does not panic"));
        });
    }

    fn latency(&self, schedule: &'static Schedule, hogs: usize) {
        for process in 0..ticks::PROCESSES {
            self.runtime.spawn(async move {
                let mut tick = 0;
                while let Some(due) = schedule.due(tick) {
                    tokio::time::sleep_until(due.into()).await;
                    schedule.handled(process, tick);
                    tick += 1;
                }
            });
        }
        for _ in 0..hogs {
            self.runtime.spawn(async { ticks::hog() });
        }
    }
}

/// Counts messages, and reports each time that all have come.
struct Count {
    got: u64,
    all: u64,
    done: &'static Tally,
}

impl Count {
    fn new(each: u64, done: &'static Tally) -> Count {
        Count { got: 0, all: each * SENDERS, done }
    }

    fn add(&mut self, messages: u64) {
        self.got += messages;
        if self.got == self.all {
            self.got = 0;
            self.done.add();
        }
    }
}

impl Tokio {
    fn fan_in_from(&self, each: u64, done: &'static Tally, at_once: usize) -> Start {
        let (address, mut mailbox) = mpsc::unbounded_channel::<u64>();
        let mut count = Count::new(each, done);
        self.runtime.spawn(async move {
            if at_once == 1 {
                while mailbox.recv().await.is_some() {
                    count.add(1);
                }
            }
            let mut batch = Vec::with_capacity(at_once);
            while mailbox.recv_many(&mut batch, at_once).await > 0 {
                batch.drain(..).for_each(|_| count.add(1));
            }
        });
        let handle = self.runtime.handle().clone();
        Box::new(move |each| {
            for _ in 0..SENDERS {
                let address = address.clone();
                handle.spawn(async move {
                    for number in 0..each {
                        address.send(number).expect("the receiver lives");
                    }
                });
            }
        })
    }

    /// With a bound, a sender that is too fast waits.
    fn fan_in_bounded(&self, each: u64, done: &'static Tally, at_once: usize) -> Start {
        let (address, mut mailbox) = mpsc::channel::<u64>(BOUND);
        let mut count = Count::new(each, done);
        self.runtime.spawn(async move {
            let mut batch = Vec::with_capacity(at_once);
            while mailbox.recv_many(&mut batch, at_once).await > 0 {
                batch.drain(..).for_each(|_| count.add(1));
            }
        });
        let handle = self.runtime.handle().clone();
        Box::new(move |each| {
            for _ in 0..SENDERS {
                let address = address.clone();
                handle.spawn(async move {
                    let mut left = each;
                    while left > 0 {
                        let now = left.min(at_once as u64);
                        if now == 1 {
                            address.send(left).await.expect("the receiver lives");
                        } else {
                            let permits = address.reserve_many(now as usize).await;
                            for permit in permits.expect("the receiver lives") {
                                permit.send(left);
                            }
                        }
                        left -= now;
                    }
                });
            }
        })
    }
}
