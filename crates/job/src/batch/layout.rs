//! How the dependencies of a batch are laid out, and whether they make sense.

use crate::{
    graph::{BLOCK, Node, word::Word},
    sync::atomic::AtomicU32,
};

/// The graph of a batch, ready to run.
pub(crate) struct Layout {
    /// The successors of each job, one after the other.
    pub(crate) edges: Box<[u32]>,
    /// Jobs without successors, by block.
    pub(crate) blocks: Box<[AtomicU32]>,
    /// How many blocks have such jobs.
    pub(crate) blocks_with_ends: u32,
    /// Jobs without predecessors, as ranges.
    pub(crate) roots: Vec<(u32, u32)>,
}

/// A dependency: the second waits for the first.
pub(crate) type Edge = (u32, u32);

/// Lays out the successors of each job. With `check`, looks for jobs that wait for each other.
///
/// # Errors
/// The jobs on a cycle, each waiting for the one after it.
pub(crate) fn lay_out(
    words: &[Word],
    nodes: &mut [Node],
    edges: &[Edge],
    check: bool,
) -> Result<Layout, Vec<u32>> {
    let mut starts = vec![0u32; nodes.len() + 1];
    for (before, _) in edges {
        starts[*before as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut successors = vec![0u32; edges.len()];
    let mut next = starts.clone();
    for (before, after) in edges {
        let at = &mut next[*before as usize];
        successors[*at as usize] = *after;
        *at += 1;
    }
    if check {
        look_for_a_cycle(nodes, edges, &starts, &successors)?;
    }
    let mut roots: Vec<(u32, u32)> = Vec::new();
    for (index, node) in (0u32..).zip(nodes.iter_mut()) {
        node.from = starts[index as usize];
        node.to = starts[index as usize + 1];
        if words[index as usize].count() == 0 {
            match roots.last_mut() {
                Some((_, to)) if *to == index => *to += 1,
                _ => roots.push((index, index + 1)),
            }
        }
    }
    let ends: Vec<u32> = nodes
        .chunks(BLOCK)
        .map(|block| block.iter().filter(|node| node.from == node.to).count() as u32)
        .collect();
    Ok(Layout {
        edges: successors.into_boxed_slice(),
        blocks_with_ends: ends.iter().filter(|ends| **ends > 0).count() as u32,
        blocks: ends.into_iter().map(AtomicU32::new).collect(),
        roots,
    })
}

/// Takes away jobs that wait for nobody, again and again; what is left waits for each other.
fn look_for_a_cycle(
    nodes: &[Node],
    edges: &[Edge],
    starts: &[u32],
    successors: &[u32],
) -> Result<(), Vec<u32>> {
    let mut waits_for = vec![0u32; nodes.len()];
    for (_, after) in edges {
        waits_for[*after as usize] += 1;
    }
    let mut free: Vec<u32> =
        (0u32..).zip(&waits_for).filter(|(_, n)| **n == 0).map(|(i, _)| i).collect();
    let mut seen = 0;
    while let Some(index) = free.pop() {
        seen += 1;
        let (from, to) = (starts[index as usize], starts[index as usize + 1]);
        for successor in &successors[from as usize..to as usize] {
            let left = &mut waits_for[*successor as usize];
            *left -= 1;
            if *left == 0 {
                free.push(*successor);
            }
        }
    }
    if seen == nodes.len() {
        return Ok(());
    }
    // Each that is left waits for another that is left: go from one to the next until one comes
    // again.
    let mut before = vec![u32::MAX; nodes.len()];
    for (first, second) in edges {
        if waits_for[*first as usize] > 0 && waits_for[*second as usize] > 0 {
            before[*second as usize] = *first;
        }
    }
    let mut at = waits_for.iter().position(|left| *left > 0).expect("some are left") as u32;
    let mut path = Vec::new();
    let mut place = vec![usize::MAX; nodes.len()];
    while place[at as usize] == usize::MAX {
        place[at as usize] = path.len();
        path.push(at);
        at = before[at as usize];
    }
    Err(path.split_off(place[at as usize]))
}
