//! The edges against the plain definition: any two that conflict, compared pair by pair.

use super::*;
use crate::transaction::past::Live;

/// What a transaction reads and writes; `None` if it has to run alone.
type Sets = Option<(Vec<u8>, Vec<u8>)>;

fn edges_of(batch: &[Sets]) -> Vec<(u32, u32)> {
    let (live, past) = (Live::default(), Past::new());
    let mut edges = Edges::new(batch.len(), &live);
    let mut conflicts = Conflicts::new();
    for (index, sets) in (0u32..).zip(batch) {
        edges.begin(index);
        match sets {
            Some((reads, writes)) => {
                conflicts.touch(index, (reads, writes), &past, &mut edges);
            }
            None => conflicts.alone(index, &past, &mut edges),
        }
    }
    edges.inside
}

fn conflict(one: &Sets, other: &Sets) -> bool {
    let (Some((reads, writes)), Some((others_reads, others_writes))) = (one, other) else {
        return true;
    };
    let touches = |writes: &[u8], keys: &[u8]| writes.iter().any(|key| keys.contains(key));
    touches(writes, others_reads) || touches(writes, others_writes) || touches(others_writes, reads)
}

/// For each transaction those that it comes after, by paths over these pairs.
fn reach(count: usize, pairs: &[(u32, u32)]) -> Vec<Vec<bool>> {
    let mut after = vec![vec![false; count]; count];
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable_by_key(|(_, after)| *after);
    for (before, index) in sorted {
        let path = after[before as usize].clone();
        let row = &mut after[index as usize];
        row.iter_mut().zip(path).for_each(|(row, path)| *row |= path);
        row[before as usize] = true;
    }
    after
}

#[track_caller]
fn check(batch: &[Sets]) -> Vec<(u32, u32)> {
    let edges = edges_of(batch);
    let all =
        (0..batch.len() as u32).flat_map(|index| (0..index).map(move |before| (before, index)));
    let pairs: Vec<_> =
        all.filter(|(a, b)| conflict(&batch[*a as usize], &batch[*b as usize])).collect();
    assert_eq!(reach(batch.len(), &edges), reach(batch.len(), &pairs), "{batch:?}: {edges:?}");
    let mut once = edges.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), edges.len(), "an edge is there twice: {edges:?}");
    for edge in &edges {
        assert!(pairs.contains(edge), "{edge:?} is no conflict of {batch:?}");
    }
    edges
}

fn reads(keys: &[u8]) -> Sets {
    Some((keys.to_vec(), Vec::new()))
}

fn writes(keys: &[u8]) -> Sets {
    Some((Vec::new(), keys.to_vec()))
}

#[test]
fn a_key_that_all_write_makes_a_chain() {
    let edges = check(&vec![writes(&[7]); 50]);
    assert_eq!(edges, (0..49).map(|at| (at, at + 1)).collect::<Vec<_>>());
}

#[test]
fn readers_run_side_by_side_between_two_writers() {
    let edges = check(&[writes(&[1]), reads(&[1]), reads(&[1]), writes(&[1]), reads(&[1])]);
    assert_eq!(edges, [(0, 1), (0, 2), (2, 3), (1, 3), (3, 4)]);
}

#[test]
fn those_that_only_read_do_not_wait() {
    assert_eq!(check(&vec![reads(&[1, 2, 3]); 20]), []);
}

#[test]
fn one_that_reads_what_it_writes_does_not_wait_for_itself() {
    let both = Some((vec![1, 1, 2], vec![1, 1, 2]));
    assert_eq!(check(&vec![both; 3]), [(0, 1), (1, 2)]);
}

#[test]
fn two_that_share_many_keys_share_one_edge() {
    assert_eq!(check(&[writes(&[1, 2, 3, 4]), reads(&[4, 3, 2, 1])]), [(0, 1)]);
}

#[test]
fn one_that_runs_alone_is_a_wall_between_the_others() {
    let edges = check(&[reads(&[1]), writes(&[2]), None, writes(&[1]), reads(&[1]), None, None]);
    assert_eq!(edges, [(0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]);
}

/// Many small batches, with few keys so that most conflict and with many so that few do.
#[test]
fn paths_are_exactly_those_of_the_conflicts() {
    kernel::each_seed(3_000, |seed| {
        let mut random = seed;
        let mut below = |n: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % n
        };
        below(1);
        let (count, keys, with_walls) = (below(40), 1 + below(30), below(3) == 0);
        let set = |below: &mut dyn FnMut(u64) -> u64| {
            (0..below(4)).map(|_| below(keys) as u8).collect::<Vec<u8>>()
        };
        let batch: Vec<Sets> = (0..count)
            .map(|_| {
                let wall = with_walls && below(8) == 0;
                let sets = (set(&mut below), set(&mut below));
                (!wall).then_some(sets)
            })
            .collect();
        let edges = check(&batch);
        let named: usize = batch.iter().flatten().map(|(r, w)| r.len() + w.len()).sum();
        assert!(edges.len() <= named + 2 * batch.len(), "as many edges as keys at most");
    });
}
