//! What would the least program cost that does just this workload, and nothing else?
//!
//! No scheduler and no mailbox: one thread, numbers in queues that are never shared. It is a floor
//! to see how much of a number is unavoidable, not a peer.

use std::{collections::VecDeque, hint::black_box};

use benches::{
    Args, Line,
    process::{CHILDREN, Sizes},
};

pub(crate) const WORKLOADS: &[&str] =
    &["spawn", "ping_pong", "ping_pong_1", "ring_1", "ring_100", "skynet"];

const NAME: &str = "floor";

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let sizes = Sizes::of(args);
    let line = match args.workload.as_str() {
        "spawn" => spawn(args, sizes),
        "skynet" => skynet(args, sizes),
        _ => ring(args, sizes),
    };
    vec![line]
}

/// A box of 64 bytes, made and dropped.
fn spawn(args: &Args, sizes: Sizes) -> Line {
    args.time_per_item(NAME, sizes.unit, sizes.items, || {
        (0..sizes.items).for_each(|number| drop(black_box(Box::new([number; 8]))));
    })
}

/// Each member has a queue, and one queue says whose turn it is.
fn ring(args: &Args, sizes: Sizes) -> Line {
    let members = sizes.members as usize;
    let mut mailboxes: Vec<VecDeque<u64>> = vec![VecDeque::with_capacity(4); members];
    let mut turns = VecDeque::with_capacity(members);
    args.time_per_item(NAME, sizes.unit, sizes.items, || {
        for token in 0..sizes.tokens {
            let member = (token * sizes.members / sizes.tokens) as usize;
            mailboxes[member].push_back(sizes.items / sizes.tokens);
            turns.push_back(member);
        }
        while let Some(member) = turns.pop_front() {
            let Some(hops) = black_box(&mut mailboxes[member]).pop_front() else { continue };
            if hops > 0 {
                let next = if member + 1 == members { 0 } else { member + 1 };
                mailboxes[next].push_back(hops - 1);
                turns.push_back(next);
            }
        }
    })
}

/// A box for each node, and a call.
fn skynet(args: &Args, sizes: Sizes) -> Line {
    fn node(first: u64, leaves: u64) -> Box<u64> {
        if leaves == 1 {
            return black_box(Box::new(first));
        }
        let share = leaves / CHILDREN;
        Box::new((0..CHILDREN).map(|child| *node(first + child * share, share)).sum())
    }
    let ns = args.time(|| {
        let sum = *node(0, sizes.items);
        assert_eq!(sum, sizes.items * (sizes.items - 1) / 2);
    });
    Line::new(&args.workload, NAME, sizes.unit, sizes.normalised_ms(ns))
}
