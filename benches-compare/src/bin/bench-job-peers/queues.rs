//! How fast are queues and pools with priorities from crates.io?
//!
//! The order is exact at the moment of taking, for all three.

use std::{
    cmp::Reverse,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use async_priority_channel::Sender;
use benches::{
    Args, Line,
    job::{Priorities, priority},
    submit::Job,
};
use crossbeam_skiplist::SkipMap;
use multipool::{
    ThreadPoolBuilder,
    pool::{ThreadPool, modes::PriorityGlobalQueueMode},
};

/// Entries are handed out as shared references, so a job is called through one.
type Shared = Box<dyn Fn() + Send + Sync>;

/// The most urgent first, and of equal ones the oldest.
struct Skiplist {
    map: SkipMap<(Reverse<u32>, u64), Shared>,
    submitted: AtomicU64,
}

/// There is nothing to wait at: an idle thread lets others run, and looks again.
pub(crate) fn skiplist(args: &Args) -> Line {
    let list = Arc::new(Skiplist { map: SkipMap::new(), submitted: AtomicU64::new(0) });
    for _ in 0..args.workers {
        let list = list.clone();
        thread::spawn(move || {
            loop {
                match list.map.pop_front() {
                    Some(entry) => entry.value()(),
                    None => thread::yield_now(),
                }
            }
        });
    }
    priority(args, "skiplist", &*list)
}

impl Priorities for Skiplist {
    fn submit(&self, priority: u32, job: Job) {
        let key = (Reverse(priority), self.submitted.fetch_add(1, Relaxed));
        self.map.insert(key, Box::new(move || job.run()));
    }
}

type Boxed = Box<dyn FnOnce() + Send>;

struct Channel(Sender<Boxed, u32>);

pub(crate) fn channel(args: &Args) -> Line {
    let (sender, receiver) = async_priority_channel::unbounded::<Boxed, u32>();
    for _ in 0..args.workers {
        let receiver = receiver.clone();
        thread::spawn(move || {
            futures_lite::future::block_on(async {
                while let Ok((job, _)) = receiver.recv().await {
                    job();
                }
            });
        });
    }
    priority(args, "priority-channel", &Channel(sender))
}

impl Priorities for Channel {
    fn submit(&self, priority: u32, job: Job) {
        let sent = self.0.try_send(Box::new(move || job.run()), priority);
        assert!(sent.is_ok(), "the workers live");
    }
}

struct Multipool(ThreadPool<PriorityGlobalQueueMode>);

pub(crate) fn multipool(args: &Args) -> Line {
    let pool = ThreadPoolBuilder::new().num_threads(args.workers).enable_priority().build();
    priority(args, "multipool", &Multipool(pool))
}

impl Priorities for Multipool {
    /// Less is more urgent there. Each job has a handle, which is dropped.
    fn submit(&self, priority: u32, job: Job) {
        let _handle = self.0.spawn_with_priority(move || job.run(), (u32::MAX - priority) as usize);
    }
}
