//! Is a shape made of lists of predecessors the same as one that was put together job by job?

mod common;

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use common::pool;
use job::{Context, Error, Shape};

/// Random graphs, in which jobs also wait for later ones where that makes no cycle: each runs once,
/// and after all that it waits for.
#[test]
fn jobs_run_after_those_that_their_lists_name() {
    let pool = pool(2);
    let mut state = 7u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    for round in 0..50 {
        let jobs = 1 + below(300) as u32;
        // Every other round the other way round: whoever comes later is waited for.
        let place = |job: u32| if round % 2 == 0 { job } else { jobs - 1 - job };
        let mut lists = vec![Vec::new(); jobs as usize];
        for job in 1..jobs {
            let before = (0..below(4)).map(|_| place(below(job.into()) as u32));
            lists[place(job) as usize] = before.collect();
        }
        let shape = Shape::from_predecessors(lists.len(), |job| &lists[job as usize]).unwrap();
        let ran: Arc<[AtomicU32]> = (0..jobs).map(|_| AtomicU32::new(0)).collect();
        let (lists, all) = (Arc::new(lists), ran.clone());
        let run = move |(), cx: &mut Context<'_, '_>| {
            let job = cx.index() as usize;
            let early = lists[job].iter().any(|before| all[*before as usize].load(Relaxed) == 0);
            all[job].fetch_add(if early { 100 } else { 1 }, Relaxed);
            Ok::<(), Infallible>(())
        };
        let batch = shape.batch(vec![(); shape.len()], run);
        let progress = pool.submit_batch(batch).unwrap().wait().unwrap();
        assert_eq!(progress.completed, jobs as usize);
        assert!(ran.iter().all(|ran| ran.load(Relaxed) == 1), "too often, or too early");
    }
}

#[test]
fn cycle_in_the_lists_is_found_and_named() {
    let lists: [&[u32]; 5] = [&[], &[0, 3], &[1], &[2], &[3]];
    let Err(Error::Cycle(jobs)) = Shape::from_predecessors(5, |job| lists[job as usize]) else {
        panic!("three of them wait for each other");
    };
    let mut names: Vec<String> = jobs.iter().map(ToString::to_string).collect();
    names.sort();
    assert_eq!(names, ["job #0.1", "job #0.2", "job #0.3"]);
}

#[test]
fn job_that_waits_for_itself_is_a_cycle_of_one() {
    let found = Shape::from_predecessors(1, |_| &[0]);
    assert!(matches!(found, Err(Error::Cycle(jobs)) if jobs.len() == 1));
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn list_that_names_no_job_is_the_callers_mistake() {
    let _ = Shape::from_predecessors(2, |_| &[7]);
}

/// A job would be released twice, and another never.
#[test]
#[should_panic(expected = "a list of predecessors has changed")]
fn list_that_changes_meanwhile_is_found_out() {
    let asked = AtomicU32::new(0);
    let lists: [&[u32]; 2] = [&[0], &[1]];
    let _ = Shape::from_predecessors(3, |job| match job {
        2 => lists[asked.fetch_add(1, Relaxed) as usize],
        _ => &[],
    });
}
