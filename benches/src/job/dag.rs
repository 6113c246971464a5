//! Which graphs are run, and did each node run once, after its predecessors?
//!
//! A node works for so many steps, and adds one to a cell of its own. The cells are looked at
//! after each run; in the first run each node also looks at those of its predecessors.

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use super::{Work, random::Random, spin};

/// Of a layered graph, whatever its size.
const LAYERS: u64 = 100;

/// Predecessors of a node, all in the layer before.
const PREDECESSORS: usize = 3;

const SEED: u64 = 7;

/// A graph as lists of predecessors, and the cells of its nodes.
#[derive(Debug)]
pub struct Dag {
    /// Where the predecessors of a node begin; those of the next begin where they end.
    begins: Vec<u32>,
    predecessors: Vec<u32>,
    /// How often each node has run.
    cells: Vec<AtomicU32>,
    steps: u32,
    checks_order: AtomicBool,
    /// Did a node run before one of its predecessors?
    out_of_order: AtomicBool,
}

impl Dag {
    /// [`LAYERS`] of equal size. Each node but those of the first depends on [`PREDECESSORS`]
    /// nodes of the layer before, chosen at random.
    pub(super) fn layered(nodes: u64, steps: u32) -> Dag {
        let width = u32::try_from(nodes / LAYERS).expect("nodes are counted with 32 bits");
        let width = width.max(PREDECESSORS as u32);
        let (mut dag, mut random) = (Dag::empty(steps), Random::new(SEED));
        for layer in 0..LAYERS as u32 {
            for _ in 0..width {
                if layer == 0 {
                    dag.push(&[]);
                    continue;
                }
                let mut chosen = [u32::MAX; PREDECESSORS];
                for at in 0..PREDECESSORS {
                    while chosen[at] == u32::MAX {
                        let one = (layer - 1) * width + random.below(width);
                        if !chosen.contains(&one) {
                            chosen[at] = one;
                        }
                    }
                }
                dag.push(&chosen);
            }
        }
        dag
    }

    /// One source, so many nodes after it, and one sink after them.
    pub(super) fn fan(middle: u64) -> Dag {
        let middle = u32::try_from(middle).expect("nodes are counted with 32 bits");
        let mut dag = Dag::empty(0);
        dag.push(&[]);
        (0..middle).for_each(|_| dag.push(&[0]));
        dag.push(&(1..=middle).collect::<Vec<u32>>());
        dag
    }

    fn empty(steps: u32) -> Dag {
        Dag {
            begins: vec![0],
            predecessors: Vec::new(),
            cells: Vec::new(),
            steps,
            checks_order: AtomicBool::new(false),
            out_of_order: AtomicBool::new(false),
        }
    }

    fn push(&mut self, predecessors: &[u32]) {
        self.predecessors.extend_from_slice(predecessors);
        self.begins.push(self.predecessors.len() as u32);
        self.cells.push(AtomicU32::new(0));
    }

    /// Of work in each node.
    pub(super) fn steps(&self) -> u32 {
        self.steps
    }

    pub(super) fn check_order(&self, on: bool) {
        self.checks_order.store(on, Relaxed);
    }

    /// No node has run.
    pub(super) fn reset(&self) {
        self.cells.iter().for_each(|cell| cell.store(0, Relaxed));
    }

    /// # Panics
    /// If a node did not run, ran twice or ran too early.
    pub(super) fn check(&self) {
        let wrong = self.cells.iter().position(|cell| cell.load(Relaxed) != 1);
        let runs = |node: usize| self.cells[node].load(Relaxed);
        let wrong = wrong.map(|node| format!("node {node} ran {} times", runs(node)));
        assert_eq!(wrong, None);
        assert!(!self.out_of_order.load(Relaxed), "a node ran before one of its predecessors");
    }

    #[cold]
    fn look_at_predecessors(&self, node: u32) {
        let ran = |&before: &u32| self.cells[before as usize].load(Relaxed) == 1;
        if !self.predecessors(node).iter().all(ran) {
            self.out_of_order.store(true, Relaxed);
        }
    }
}

impl Work for Dag {
    fn nodes(&self) -> u32 {
        self.cells.len() as u32
    }

    #[inline]
    fn predecessors(&self, node: u32) -> &[u32] {
        let (from, to) = (self.begins[node as usize], self.begins[node as usize + 1]);
        &self.predecessors[from as usize..to as usize]
    }

    #[inline]
    fn run(&self, node: u32) {
        if self.steps > 0 {
            black_box(spin::spin(u64::from(node), self.steps));
        }
        if self.checks_order.load(Relaxed) {
            self.look_at_predecessors(node);
        }
        self.cells[node as usize].fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job;

    #[test]
    fn a_node_depends_on_three_of_the_layer_before() {
        let dag = Dag::layered(1_000, 0);
        assert_eq!(dag.nodes(), 1_000);
        for node in 0..10 {
            assert!(dag.predecessors(node).is_empty());
        }
        for node in 10..1_000 {
            let mut before = dag.predecessors(node).to_vec();
            before.sort_unstable();
            before.dedup();
            assert_eq!(before.len(), 3);
            assert!(before.iter().all(|one| one / 10 + 1 == node / 10), "{node}: {before:?}");
        }
    }

    /// The program in C++ is refused if it makes another sum of its lists.
    #[test]
    fn the_graph_is_the_same_in_every_language() {
        let sum = |sum: u64, &one: &u32| sum.wrapping_mul(31).wrapping_add(u64::from(one));
        let dag = Dag::layered(1_000, 0);
        let expected = job::sum_of_taskflow("graph");
        assert_eq!(dag.predecessors.iter().fold(0, sum), expected);
    }

    #[test]
    #[should_panic(expected = "ran before one of its predecessors")]
    fn a_run_in_the_wrong_order_is_noticed() {
        let dag = Dag::fan(3);
        dag.check_order(true);
        [4, 0, 1, 2, 3].into_iter().for_each(|node| dag.run(node));
        dag.check();
    }

    #[test]
    #[should_panic(expected = "node 2 ran 2 times")]
    fn a_node_that_ran_twice_is_noticed() {
        let dag = Dag::fan(3);
        [0, 1, 2, 2, 3, 4].into_iter().for_each(|node| dag.run(node));
        dag.check();
    }
}
