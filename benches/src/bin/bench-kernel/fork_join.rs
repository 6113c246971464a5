//! What does fork-join cost, when the halves are jobs and meet in a tree of slots?
//!
//! The right half is submitted, the left goes on in the same turn; whoever comes second to a
//! node goes on with its sum. Nobody waits.

use benches::{
    Args, Line,
    join_tree::{self, JoinTree, Numbers},
};
use kernel::{Runtime, Turn};

use crate::OURS;

struct Work {
    numbers: Numbers,
    tree: JoinTree,
    total: std::sync::mpsc::SyncSender<u64>,
}

fn sum(turn: &mut Turn<'_>, work: &'static Work, mut node: u64) {
    let leaf = loop {
        if let Some(leaf) = work.tree.leaf(node) {
            break leaf;
        }
        let right = 2 * node + 1;
        turn.submit(move |turn| sum(turn, work, right));
        node *= 2;
    };
    if let Some(total) = work.tree.arrive(node, work.numbers.leaf(leaf)) {
        work.total.send(total).expect("the measurer waits");
    }
}

pub(crate) fn run(args: &Args, runtime: &Runtime) -> Line {
    let leaves = args.items(join_tree::LEAVES);
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    let work: &'static Work = Box::leak(Box::new(Work {
        numbers: Numbers::default(),
        tree: JoinTree::new(leaves),
        total: sender,
    }));
    let total = work.numbers.total(leaves);
    args.time_per_item(OURS, "ns/leaf", leaves, || {
        work.tree.reset();
        runtime.submit(move |turn| sum(turn, work, 1)).expect("the runtime runs");
        assert_eq!(receiver.recv().expect("the sender is kept"), total);
    })
}
