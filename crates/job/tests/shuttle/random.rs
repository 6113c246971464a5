//! Two batches at random: does every job end once, after those that it waits for?
//!
//! The second batch waits for jobs of the first, and is submitted by another thread while that
//! runs. Jobs complete and fail, some take several turns, some are cancelled, and the pool may be
//! dropped in the middle. All chance comes from shuttle.
//!
//! That nothing of a batch is touched after its end shows with `MALLOC_PERTURB_=165` in the
//! environment, which writes over what is freed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use job::{
    Batch, BatchHandle, Context, Job, JobHandle, JobRef, OnFailure, Policy, Pool, Progress, Shape,
};
use shuttle::{
    future::block_on,
    rand::{Rng, thread_rng},
    thread,
};

use super::check;

fn below(n: usize) -> usize {
    thread_rng().gen_range(0..n)
}

fn pool() -> Pool {
    let policy = match below(4) {
        0 => Policy::Fcfs,
        1 => Policy::HighestPriority,
        _ => Policy::WorkStealing,
    };
    let builder = Pool::builder().workers(2 + below(2)).policy(policy);
    builder.max_jobs_per_cycle(1 + below(2)).build().unwrap()
}

/// What is known of one job. The atomics are std's: they are no scheduling points.
#[derive(Default)]
struct Book {
    ran: AtomicBool,
    /// Its body, and what it left, are gone.
    dropped: AtomicUsize,
}

/// Goes with a body, and then with the result.
struct Mark(Arc<Book>);

impl Drop for Mark {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Relaxed);
    }
}

type Result = std::result::Result<Mark, &'static str>;
type Handle = JobHandle<Mark, &'static str>;
type Node = job::Node<Mark, &'static str>;

/// A batch of a few jobs, each of which waits for some of those before it, and some of those
/// outside. Returns it with the books and the handles' tokens.
fn batch(outside: &[JobRef<Mark, &'static str>]) -> (Batch, Vec<Arc<Book>>, Vec<Node>) {
    let on_failure =
        if below(2) == 0 { OnFailure::FailDependents } else { OnFailure::RunDependents };
    let resumable = below(4) == 0;
    let mut batch = Batch::new().on_failure(on_failure);
    let (mut books, mut nodes): (Vec<Arc<Book>>, Vec<Node>) = Default::default();
    for _ in 0..2 + below(4) {
        let book = Arc::new(Book::default());
        let mut mark = Some(Mark(book.clone()));
        let before: Vec<_> = nodes.iter().filter(|_| below(2) == 0).map(Node::dep).collect();
        let fails = below(5) == 0;
        let deps = before.clone();
        let mut body = move |cx: &mut Context<'_, '_>| -> Result {
            let mark = mark.take().expect("it runs once");
            assert!(!mark.0.ran.swap(true, Relaxed), "it runs once");
            for dep in &deps {
                match cx.get(*dep) {
                    Some(result) => assert!(result.0.ran.load(Relaxed), "it waits for it"),
                    None => assert_eq!(on_failure, OnFailure::RunDependents),
                }
            }
            if fails { Err("no water") } else { Ok(mark) }
        };
        let mut turns = below(3);
        let node = if resumable && below(2) == 0 {
            let turn = move |cx: &mut Context<'_, '_>| match turns {
                0 => Progress::Done(body(cx)),
                _ => {
                    turns -= 1;
                    Progress::Continue
                }
            };
            let job = before.iter().fold(Job::resumable(turn), |job, dep| job.after(dep));
            batch.add(job)
        } else {
            let job = before.iter().fold(Job::fallible(body), |job, dep| job.after(dep));
            batch.add(job)
        };
        for other in outside.iter().filter(|_| below(2) == 0) {
            batch.depend(&node, other);
        }
        books.push(book);
        nodes.push(node);
    }
    (batch, books, nodes)
}

/// Waits for all of it, in one way or another, and looks at what became of each job.
fn settle(handle: BatchHandle, jobs: Vec<Handle>, books: &[Arc<Book>]) {
    for (job, book) in jobs.into_iter().zip(books) {
        match below(3) {
            0 => drop(job),
            1 => {
                block_on(job.done());
                let completed = matches!(job.result(), Some(Ok(_)));
                assert!(!completed || book.ran.load(Relaxed));
            }
            _ => {
                let outcome = block_on(job);
                assert!(outcome.is_err() || book.ran.load(Relaxed));
            }
        }
    }
    block_on(handle.done());
    let progress = handle.progress();
    assert_eq!(progress.ended(), books.len());
    let ran = books.iter().filter(|book| book.ran.load(Relaxed)).count();
    assert!(progress.completed <= ran && ran <= progress.completed + progress.failed);
}

/// Two batches, of which the second is submitted while the first runs.
fn two_batches(stops: bool) {
    let pool = pool();
    let (first, first_books, nodes) = batch(&[]);
    let first = pool.submit_batch(first).unwrap();
    let jobs: Vec<Handle> = nodes.into_iter().map(|node| first.job(node)).collect();
    let outside: Vec<_> = jobs.iter().filter(|_| below(2) == 0).map(JobHandle::share).collect();
    let shared = pool.share();
    let submitter = thread::spawn(move || {
        let (second, books, nodes) = batch(&outside);
        match shared.submit_batch(second) {
            Ok(second) => {
                let jobs: Vec<Handle> = nodes.into_iter().map(|node| second.job(node)).collect();
                if below(4) == 0 {
                    second.cancel();
                }
                settle(second, jobs, &books);
            }
            Err(refused) => assert!(stops, "{refused}"),
        }
        books
    });
    if below(3) == 0 {
        jobs[below(jobs.len())].cancel();
    }
    let _ = first.progress();
    let mut pool = Some(pool);
    if stops {
        drop(pool.take());
    }
    settle(first, jobs, &first_books);
    let mut books = submitter.join().unwrap();
    books.extend(first_books);
    match pool {
        Some(pool) => {
            assert_eq!(pool.metrics().queue_depth, 0);
            pool.shutdown();
            assert!(books.iter().all(|book| book.dropped.load(Relaxed) == 1));
        }
        // A worker may still be on its way out.
        None => assert!(books.iter().all(|book| book.dropped.load(Relaxed) <= 1)),
    }
}

/// Batches that nobody can name end without a word to anybody, and are gone with their last job.
fn unnamed_batches() {
    let pool = pool();
    let (mut sample, _, nodes) = batch(&[]);
    let shape: Shape = sample.shape().unwrap();
    drop((sample, nodes));
    let books: Vec<Arc<Book>> = (0..shape.len()).map(|_| Arc::default()).collect();
    let fails = below(3 * shape.len());
    let run = move |(at, mark): (usize, Mark), _: &mut Context<'_, '_>| {
        assert!(!mark.0.ran.swap(true, Relaxed), "it runs once");
        if at == fails { Err("no water") } else { Ok(mark) }
    };
    let payloads = books.iter().map(|book| Mark(book.clone())).enumerate().collect();
    let handle = pool.submit_batch(shape.batch(payloads, run)).unwrap();
    let waits = below(2) == 0;
    if waits {
        block_on(handle.done());
        assert_eq!(handle.progress().ended(), books.len());
    }
    drop(handle);
    pool.shutdown();
    assert!(books.iter().all(|book| book.dropped.load(Relaxed) == 1));
}

#[test]
fn jobs_end_once_and_after_those_that_they_wait_for() {
    check(|| two_batches(false));
}

#[test]
fn pool_is_dropped_meanwhile_and_every_job_ends() {
    check(|| two_batches(true));
}

#[test]
fn batches_that_nobody_names_leave_nothing_behind() {
    check(unnamed_batches);
}
