//! A graph as an expert would lay it out by hand, for schedulers that know no graphs.
//!
//! Dense arrays and 32-bit numbers: the successors of all nodes in one list, and for each node a
//! count of the predecessors that have not run yet. Whoever brings it to nothing has the node.

use std::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire},
};

use benches::job::Work;

pub(crate) struct Counters<W: 'static> {
    pub(crate) work: &'static W,
    pub(crate) sources: Vec<u32>,
    /// Where the successors of a node begin; those of the next begin where they end.
    begins: Vec<u32>,
    successors: Vec<u32>,
    waits_for: Vec<AtomicU32>,
}

impl<W: Work> Counters<W> {
    pub(crate) fn new(work: &'static W) -> Counters<W> {
        let nodes = work.nodes() as usize;
        let mut begins = vec![0; nodes + 1];
        let mut sources = Vec::new();
        let mut waits_for = Vec::with_capacity(nodes);
        for node in 0..work.nodes() {
            let before = work.predecessors(node);
            before.iter().for_each(|&one| begins[one as usize + 1] += 1);
            waits_for.push(AtomicU32::new(before.len() as u32));
            if before.is_empty() {
                sources.push(node);
            }
        }
        for node in 0..nodes {
            begins[node + 1] += begins[node];
        }
        let mut successors = vec![0; begins[nodes] as usize];
        let mut free = begins.clone();
        for node in 0..work.nodes() {
            for &before in work.predecessors(node) {
                let at = &mut free[before as usize];
                successors[*at as usize] = node;
                *at += 1;
            }
        }
        Counters { work, sources, begins, successors, waits_for }
    }

    #[inline]
    pub(crate) fn successors(&self, node: u32) -> &[u32] {
        let (from, to) = (self.begins[node as usize], self.begins[node as usize + 1]);
        &self.successors[from as usize..to as usize]
    }

    /// One of its predecessors has run: was it the last?
    ///
    /// Releases that run and acquires those of the others. Who finds that only one is missing is
    /// that one, and need not count down.
    #[inline]
    pub(crate) fn arrive(&self, node: u32) -> bool {
        let left = &self.waits_for[node as usize];
        left.load(Acquire) == 1 || left.fetch_sub(1, AcqRel) == 1
    }
}
