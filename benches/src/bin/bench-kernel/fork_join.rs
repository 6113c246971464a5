//! What does fork-join cost, when every node joins its two halves?

use benches::{
    Args, Line,
    join_tree::{self, Numbers},
};
use kernel::{Runtime, Turn};

use crate::OURS;

fn sum(turn: &mut Turn<'_>, numbers: &Numbers, from: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return numbers.leaf(from);
    }
    let half = leaves / 2;
    let (left, right) = turn
        .join(|turn| sum(turn, numbers, from, half), |turn| sum(turn, numbers, from + half, half));
    left + right
}

pub(crate) fn run(args: &Args, runtime: &Runtime) -> Line {
    let (leaves, numbers) = (args.items(join_tree::LEAVES), Numbers::default());
    let total = numbers.total(leaves);
    args.time_per_item(OURS, "ns/leaf", leaves, || {
        let numbers = numbers.clone();
        let mut root =
            runtime.compute(move |turn| sum(turn, &numbers, 0, leaves)).expect("the runtime runs");
        assert_eq!(root.join().expect("nothing panics"), total);
    })
}
