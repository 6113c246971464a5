//! A crawler: many futures, each with a time-out, and all of them cancelled together.
//!
//! Every page is a future that runs as a strand: it waits for the network (here a timer plays
//! it), gives up on a page that takes too long, and spawns a future for each link it has not seen
//! before. After a while the whole crawl is called off with one token. No other runtime is
//! needed, and nothing polls.
//!
//! ```text
//! cargo run --example crawler
//! ```

use std::{
    collections::HashSet,
    error::Error,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use shiftwork::{CancelToken, Handle, Runtime};

/// A page that has not come by then is given up.
const PATIENCE: Duration = Duration::from_millis(60);
/// When the crawl is called off.
const CURFEW: Duration = Duration::from_millis(320);

/// What the crawl has come to.
#[derive(Default)]
struct Notes {
    seen: HashSet<u64>,
    read: Vec<u64>,
    too_slow: Vec<u64>,
    called_off: usize,
}

#[derive(Clone)]
struct Crawl {
    handle: Handle,
    notes: Arc<Mutex<Notes>>,
    token: CancelToken,
}

/// The web: page `n` links to three others, and each page has its own speed. A few hang.
async fn fetch(handle: &Handle, page: u64) -> [u64; 3] {
    let latency = match page % 11 {
        7 => Duration::from_secs(3600),
        n => Duration::from_millis(5 + 4 * n),
    };
    handle.sleep(latency).await;
    [2 * page + 1, 2 * page + 2, page / 3]
}

/// The first of two futures to be ready; the other one is dropped, and with it its timers.
async fn first<A>(one: impl Future<Output = A>, other: impl Future<Output = ()>) -> Option<A> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => other.as_mut().poll(context).map(|()| None),
    })
    .await
}

impl Crawl {
    /// Visits a page, and spawns a visit of each page that it links to.
    fn visit(&self, page: u64) {
        if !self.notes.lock().unwrap().seen.insert(page) {
            return;
        }
        let crawl = self.clone();
        let visit = async move {
            let fetched = crawl.handle.timeout(PATIENCE, fetch(&crawl.handle, page));
            let outcome = first(fetched, crawl.token.cancelled()).await;
            let mut notes = crawl.notes.lock().unwrap();
            match outcome {
                None => notes.called_off += 1,
                Some(Err(_elapsed)) => notes.too_slow.push(page),
                Some(Ok(links)) => {
                    notes.read.push(page);
                    drop(notes);
                    links.into_iter().for_each(|link| crawl.visit(link));
                }
            }
        };
        // After a shutdown there is nobody to visit pages: then the crawl is over anyway.
        let _ = self.handle.spawn(visit);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let handle = runtime.handle();
    let crawl = Crawl { handle: handle.clone(), notes: Arc::default(), token: CancelToken::new() };
    crawl.visit(0);

    // A future that reports now and then, and calls the crawl off in the end.
    let (notes, token) = (crawl.notes.clone(), crawl.token.clone());
    let mut reporter = runtime.spawn(async move {
        let mut clock = handle.interval(CURFEW / 4);
        for _ in 0..4 {
            clock.tick().await;
            let now = handle.now();
            let notes = notes.lock().unwrap();
            let (read, slow) = (notes.read.len(), notes.too_slow.len());
            let under_way = notes.seen.len() - read - slow;
            println!("{now:>6.0?}: {read:>5} read, {slow:>3} too slow, {under_way:>5} under way");
        }
        token.cancel();
    })?;
    reporter.join()?;

    // Shutting down drains: every visit gets the turn in which it notices that it is over.
    let stopped = runtime.shutdown();
    let notes = crawl.notes.lock().unwrap();
    println!(
        "read {} pages, the last of them number {}; gave up on {} (first {:?}); called off {}",
        notes.read.len(),
        notes.read.last().expect("page 0 is quick"),
        notes.too_slow.len(),
        notes.too_slow.iter().min(),
        notes.called_off,
    );
    println!("all in {} turns", stopped.turns);
    assert_eq!(notes.read.len() + notes.too_slow.len() + notes.called_off, notes.seen.len());
    Ok(())
}
