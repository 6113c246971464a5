//! What is asked of a system of processes, how much of it, and how is it timed?
//!
//! A contestant implements [`System`], and [`measure`] does the rest, alike for all of them. The
//! programs in other languages follow the same sizes and the same steps by hand.
//!
//! A message is a number. In the rings it says how many hops are left.

use crate::{
    Args, Line, Tally, resident,
    ticks::{self, Schedule},
};

/// The workloads that [`measure`] knows.
pub const WORKLOADS: &[&str] = &[
    "spawn",
    "memory",
    "ping_pong",
    "ping_pong_1",
    "ring_1",
    "ring_100",
    "fan_in",
    "fan_in_many",
    "skynet",
    "latency",
];

/// Processes that are spawned, or idle.
const PROCESSES: u64 = 1_000_000;
/// Messages of a ping-pong, hops of a ring.
const MESSAGES: u64 = 1_000_000;
/// Members of a ring.
const RING: u64 = 1_000;
/// Processes that send to one.
pub const SENDERS: u64 = 100;
/// What they send together.
const FAN_IN: u64 = 2_000_000;
/// Leaves of the skynet, by whose number its time is normalised.
const LEAVES: u64 = 1_000_000;
/// Children of each of its inner nodes.
pub const CHILDREN: u64 = 10;

/// Hands a message to a member: its number, and the hops that are left.
pub type Inject = Box<dyn FnMut(u64, u64)>;

/// Starts the senders, each of which sends so many messages to the receiver, and ends.
pub type Send = Box<dyn FnMut(u64)>;

/// Takes the sum of a skynet.
pub type Told = Box<dyn FnOnce(u64) + std::marker::Send + Sync>;

/// What a contestant can do. Nobody waits in these: `measure` does, by counting.
pub trait System {
    /// One process starts `count` others. Each adds itself to `done` and ends.
    fn spawn(&self, count: u64, done: &'static Tally);

    /// Starts `count` processes which add themselves to `started` and then wait for a message
    /// that could still come.
    fn idle(&self, count: u64, started: &'static Tally);

    /// A ring of processes. One that gets a number above 0 sends one less to the next, one that
    /// gets 0 adds it to `done`.
    fn ring(&self, members: u64, done: &'static Tally) -> Inject;

    /// One receiver, which adds to `done` each time it has got `each` messages of [`SENDERS`]
    /// senders.
    fn fan_in(&self, each: u64, done: &'static Tally) -> Send;

    /// The same with the system's means to send or receive several messages at once, if any.
    fn fan_in_many(&self, each: u64, done: &'static Tally) -> Send {
        self.fan_in(each, done)
    }

    /// A process with [`CHILDREN`] children, and so on down to the leaves. A leaf sends its number
    /// to its parent, and a parent the sum. The root gives it to `told`.
    fn skynet(&self, leaves: u64, told: Told);

    /// [`ticks::PROCESSES`] which are ticked by timers of their own, and `hogs` which work for
    /// ever. Returns when all are started.
    fn latency(&self, schedule: &'static Schedule, hogs: usize);
}

/// How much of a workload is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub unit: &'static str,
    /// Processes, messages, hops or leaves in all.
    pub items: u64,
    /// Of a ring. A ping-pong is a ring of two.
    pub members: u64,
    /// That go round in it.
    pub tokens: u64,
}

impl Sizes {
    /// The usual sizes, or what the command line asks for.
    pub fn of(args: &Args) -> Sizes {
        let sizes = |unit, usual| Sizes { unit, items: args.items(usual), members: 0, tokens: 1 };
        let ring = |unit, members, tokens: u64| Sizes {
            unit,
            items: (args.items(MESSAGES) / tokens).max(1) * tokens,
            members,
            tokens,
        };
        match args.workload.as_str() {
            "spawn" => sizes("ns/process", PROCESSES),
            "memory" => sizes("bytes/process", PROCESSES),
            "ping_pong" | "ping_pong_1" => ring("ns/message", 2, 1),
            "ring_1" => ring("ns/hop", RING, 1),
            "ring_100" => ring("ns/hop", RING, 100),
            "skynet" => {
                Sizes { items: CHILDREN.pow(args.items(LEAVES).ilog(CHILDREN)), ..sizes("ms", 0) }
            }
            _ => Sizes { items: (args.items(FAN_IN) / SENDERS) * SENDERS, ..sizes("M msgs/s", 0) },
        }
    }

    /// Fewer leaves than a million count as if there were a million.
    pub fn normalised_ms(&self, ns: f64) -> f64 {
        ns / 1e6 * LEAVES as f64 / self.items as f64
    }
}

/// Runs the workload, and reports.
pub fn measure(args: &Args, who: &str, system: &impl System) -> Vec<Line> {
    let sizes = Sizes::of(args);
    let line = match args.workload.as_str() {
        "spawn" => spawn(args, who, system, sizes),
        "memory" => memory(args, who, system, sizes),
        "fan_in" | "fan_in_many" => fan_in(args, who, system, sizes),
        "skynet" => skynet(args, who, system, sizes),
        "latency" => {
            let schedule = Schedule::leaked(args);
            system.latency(schedule, ticks::hogs(args));
            return schedule.report(args, who);
        }
        _ => ring(args, who, system, sizes),
    };
    vec![line]
}

fn spawn(args: &Args, who: &str, system: &impl System, sizes: Sizes) -> Line {
    args.time_per_item(who, sizes.unit, sizes.items, || {
        let done = Tally::leaked();
        system.spawn(sizes.items, done);
        done.wait_for(sizes.items);
    })
}

/// No warm-up and no repetition: what the first run leaves would be used by the second.
fn memory(args: &Args, who: &str, system: &impl System, sizes: Sizes) -> Line {
    let (started, mut expected) = (Tally::leaked(), 0);
    let each = resident::growth(sizes.items, |count| {
        system.idle(count, started);
        expected += count;
        started.wait_for(expected);
    });
    match each {
        Some(each) => {
            let line = Line::new(&args.workload, who, sizes.unit, each);
            line.with("items", sizes.items as f64).with("workers", args.workers as f64)
        }
        None => Line::without(&args.workload, who, sizes.unit, "no /proc to read".to_owned()),
    }
}

fn ring(args: &Args, who: &str, system: &impl System, sizes: Sizes) -> Line {
    let Sizes { unit, items, members, tokens } = sizes;
    let done = Tally::leaked();
    let mut inject = system.ring(members, done);
    let mut expected = 0;
    args.time_per_item(who, unit, items, || {
        (0..tokens).for_each(|token| inject(token * members / tokens, items / tokens));
        expected += tokens;
        done.wait_for(expected);
    })
}

fn fan_in(args: &Args, who: &str, system: &impl System, sizes: Sizes) -> Line {
    let (each, done) = (sizes.items / SENDERS, Tally::leaked());
    let mut send = match args.workload.as_str() {
        "fan_in_many" => system.fan_in_many(each, done),
        _ => system.fan_in(each, done),
    };
    let mut expected = 0;
    let ns = args.time(|| {
        send(each);
        expected += 1;
        done.wait_for(expected);
    });
    let line = Line::new(&args.workload, who, sizes.unit, sizes.items as f64 * 1e3 / ns);
    line.with("items", sizes.items as f64).with("workers", args.workers as f64)
}

fn skynet(args: &Args, who: &str, system: &impl System, sizes: Sizes) -> Line {
    let leaves = sizes.items;
    let ns = args.time(|| {
        let (tell, told) = std::sync::mpsc::channel();
        let tell = move |sum| tell.send(sum).expect("someone waits for the sum");
        system.skynet(leaves, Box::new(tell));
        let sum = told.recv().expect("the root gives a sum");
        assert_eq!(sum, leaves * (leaves - 1) / 2, "a leaf is missing, or counted twice");
    });
    let line = Line::new(&args.workload, who, sizes.unit, sizes.normalised_ms(ns));
    line.with("items", leaves as f64).with("workers", args.workers as f64)
}
