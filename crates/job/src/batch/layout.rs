//! How the dependencies of a batch are laid out, and whether they make sense.

use std::sync::OnceLock;

use crate::{
    batch::DEPENDENCIES_MAX,
    error::Error,
    graph::{blocks::BLOCK, levels::Levels, word::Word},
    id::JobId,
};

/// The graph of a batch, ready to run.
pub(crate) struct Layout {
    /// Where the successors of each job begin in the edges; one more than there are jobs.
    pub(crate) starts: Box<[u32]>,
    /// The successors of each job, one after the other.
    pub(crate) edges: Box<[u32]>,
    /// How many predecessors each job has.
    pub(crate) waits_for: Box<[u32]>,
    /// Jobs without successors, by block.
    pub(crate) ends: Box<[u32]>,
    /// Jobs without predecessors, as ranges.
    pub(crate) roots: Vec<(u32, u32)>,
    /// All jobs by level, once somebody has asked.
    levels: OnceLock<Levels>,
}

impl Layout {
    /// Its jobs by level, found out when it is asked for the first time.
    pub(crate) fn levels(&self) -> &Levels {
        self.levels.get_or_init(|| Levels::of(self))
    }

    /// The words of jobs that wait like this.
    pub(crate) fn words(&self) -> Vec<Word> {
        if self.waits_for.is_empty() {
            return (1..self.starts.len()).map(|_| Word::new(0)).collect();
        }
        self.waits_for.iter().map(|count| Word::new(*count)).collect()
    }
}

/// A dependency: the second waits for the first.
pub(crate) type Edge = (u32, u32);

/// Lays out the successors of each job. With `check`, looks for jobs that wait for each other.
///
/// # Errors
/// The jobs on a cycle, each waiting for the one after it.
pub(crate) fn lay_out(words: &[Word], edges: &[Edge], check: bool) -> Result<Layout, Vec<u32>> {
    if edges.is_empty() {
        return Ok(Layout::without_edges(words.len()));
    }
    let mut starts = vec![0u32; words.len() + 1];
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
        look_for_a_cycle(words.len(), edges, &starts, &successors)?;
    }
    Ok(Layout::of(starts, successors, words.iter().map(Word::count).collect()))
}

/// Lays out the successors of so many jobs, from the list of predecessors of each. Jobs that wait
/// for each other are looked for where one waits for a later one.
///
/// The lists are asked for twice. Who then answers otherwise is found out, since a job would be
/// released too often or never: each list is as long as before, and so is each list of successors.
///
/// # Errors
/// As for `Shape::from_predecessors`.
pub(crate) fn lay_out_lists<'a>(
    jobs: usize,
    predecessors: impl Fn(u32) -> &'a [u32],
) -> Result<Layout, Error> {
    let mut starts = vec![0u32; jobs + 1];
    let mut waits_for = Vec::with_capacity(jobs);
    let mut dependencies = 0;
    for index in 0..jobs as u32 {
        let before = predecessors(index);
        dependencies += before.len();
        if dependencies > DEPENDENCIES_MAX {
            return Err(Error::TooLarge { size: dependencies, max: DEPENDENCIES_MAX });
        }
        before.iter().for_each(|one| starts[*one as usize + 1] += 1);
        waits_for.push(before.len() as u32);
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut successors = vec![0u32; dependencies];
    let mut next = starts.clone();
    let mut tangled = false;
    for (index, count) in (0u32..).zip(&waits_for) {
        let before = predecessors(index);
        assert_eq!(before.len(), *count as usize, "a list of predecessors has changed");
        for one in before {
            let at = &mut next[*one as usize];
            assert!(*at < starts[*one as usize + 1], "a list of predecessors has changed");
            successors[*at as usize] = index;
            *at += 1;
            tangled |= *one >= index;
        }
    }
    if tangled {
        let of =
            |before: u32| starts[before as usize] as usize..starts[before as usize + 1] as usize;
        let list = |before: u32| successors[of(before)].iter().map(move |after| (before, *after));
        let edges: Vec<Edge> = (0..jobs as u32).flat_map(list).collect();
        look_for_a_cycle(jobs, &edges, &starts, &successors).map_err(|cycle| {
            Error::Cycle(cycle.into_iter().map(|at| JobId::ours(0, at)).collect())
        })?;
    }
    Ok(Layout::of(starts, successors, waits_for))
}

impl Layout {
    fn of(starts: Vec<u32>, successors: Vec<u32>, waits_for: Vec<u32>) -> Layout {
        let jobs = waits_for.len();
        let mut roots: Vec<(u32, u32)> = Vec::new();
        for (index, count) in (0u32..).zip(&waits_for) {
            if *count == 0 {
                match roots.last_mut() {
                    Some((_, to)) if *to == index => *to += 1,
                    _ => roots.push((index, index + 1)),
                }
            }
        }
        let ends_of =
            |block: &[u32]| block.windows(2).filter(|pair| pair[0] == pair[1]).count() as u32;
        let ends = (0..jobs)
            .step_by(BLOCK)
            .map(|from| ends_of(&starts[from..=(from + BLOCK).min(jobs)]))
            .collect();
        Layout {
            edges: successors.into_boxed_slice(),
            ends,
            waits_for: waits_for.into_boxed_slice(),
            starts: starts.into_boxed_slice(),
            roots,
            levels: OnceLock::new(),
        }
    }

    /// Jobs that do not depend on each other; some may depend on jobs of other batches, which are
    /// no roots then.
    fn without_edges(jobs: usize) -> Layout {
        Layout {
            starts: vec![0; jobs + 1].into_boxed_slice(),
            edges: Box::default(),
            waits_for: Box::default(),
            ends: (0..jobs).step_by(BLOCK).map(|from| (jobs - from).min(BLOCK) as u32).collect(),
            roots: if jobs > 0 { vec![(0, jobs as u32)] } else { Vec::new() },
            levels: OnceLock::new(),
        }
    }
}

/// Takes away jobs that wait for nobody, again and again; what is left waits for each other.
fn look_for_a_cycle(
    jobs: usize,
    edges: &[Edge],
    starts: &[u32],
    successors: &[u32],
) -> Result<(), Vec<u32>> {
    let mut waits_for = vec![0u32; jobs];
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
    if seen == jobs {
        return Ok(());
    }
    // Each that is left waits for another that is left: go from one to the next until one comes
    // again.
    let mut before = vec![u32::MAX; jobs];
    for (first, second) in edges {
        if waits_for[*first as usize] > 0 && waits_for[*second as usize] > 0 {
            before[*second as usize] = *first;
        }
    }
    let mut at = waits_for.iter().position(|left| *left > 0).expect("some are left") as u32;
    let mut path = Vec::new();
    let mut place = vec![usize::MAX; jobs];
    while place[at as usize] == usize::MAX {
        place[at as usize] = path.len();
        path.push(at);
        at = before[at as usize];
    }
    Err(path.split_off(place[at as usize]))
}
