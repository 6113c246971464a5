//! How much memory does a queued job take, and is all of it given back?

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use job::{Batch, Job, Policy, Pool};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MILLION: usize = 1_000_000;

/// What the body of each job carries.
const PAYLOAD: usize = 40;

/// Bytes per job that is queued, with its place in the queue. Everything is given back in the end.
fn per_job(policy: Policy, count: usize, submit: impl Fn(&Pool, usize)) -> usize {
    let before = BYTES.load(Relaxed);
    let mut pool = Pool::builder().workers(1).policy(policy).simulate(0).unwrap();
    let empty = BYTES.load(Relaxed);
    submit(&pool, count);
    let queued = BYTES.load(Relaxed) - empty;
    pool.simulation().run();
    assert_eq!(pool.metrics().completed, count as u64);
    drop(pool);
    let left = BYTES.load(Relaxed).saturating_sub(before);
    // The test's own thread allocates now and then.
    assert!(left < count / 10, "{left} bytes are left");
    queued / count
}

fn job() -> Job<impl job::Body> {
    let payload = [1u8; PAYLOAD];
    Job::new(move |_| assert_eq!(payload[0], 1))
}

fn independent(pool: &Pool, count: usize) {
    let mut batch = Batch::with_capacity(count);
    for _ in 0..count {
        batch.add(job());
    }
    drop(pool.submit_batch(batch).unwrap());
}

fn in_layers(pool: &Pool, count: usize) {
    let mut batch = Batch::with_capacity(count);
    let mut names = Vec::with_capacity(count);
    for number in 0..count {
        let mut each = job();
        for before in [1000, 1001, 1002] {
            if let Some(before) = usize::checked_sub(number, before) {
                each = each.after(&names[before]);
            }
        }
        names.push(batch.add(each).dep());
    }
    drop(names);
    drop(pool.submit_batch(batch).unwrap());
}

fn with_priorities(pool: &Pool, count: usize) {
    let mut batch = Batch::with_capacity(count);
    for number in 0..count {
        batch.add(job().priority(number as f64));
    }
    drop(pool.submit_batch(batch).unwrap());
}

fn one_by_one(pool: &Pool, count: usize) {
    for _ in 0..count {
        drop(pool.submit(job()).unwrap());
    }
}

/// One test, since others would be counted as well.
#[test]
fn queued_job_takes_150_bytes_beyond_its_payload_and_leaves_nothing() {
    let independent = per_job(Policy::WorkStealing, MILLION, independent);
    let in_layers = per_job(Policy::WorkStealing, MILLION, in_layers);
    // The queue's own memory doubles when it is full: here it is full.
    let with_priorities = per_job(Policy::HighestPriority, 1 << 17, with_priorities);
    let one_by_one = per_job(Policy::WorkStealing, 100_000, one_by_one);
    println!(
        "{independent} bytes each, {in_layers} with three dependencies, {with_priorities} with"
    );
    println!("a priority in a queue of its own, {one_by_one} submitted one by one");
    for each in [independent, in_layers, with_priorities, one_by_one] {
        assert!(each <= PAYLOAD + 150, "{each} bytes each");
    }
}
