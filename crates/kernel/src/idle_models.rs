//! Models of the idle protocol: workers that really park, and placers that rely on them.
//!
//! The queue is a relaxed count, so that only the protocol's fences order it: what is lost here
//! is lost by the protocol. A lost unpark shows as a deadlock.

use super::*;
use loom::sync::atomic::AtomicUsize;
use std::sync::Arc;

struct Pool {
    idle: Idle,
    queue: AtomicUsize,
    done: AtomicUsize,
}

impl Pool {
    fn new(workers: usize) -> Arc<Pool> {
        Arc::new(Pool {
            idle: Idle::new(workers),
            queue: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        })
    }

    fn anything(&self) -> bool {
        self.queue.load(Relaxed) > 0
    }

    fn place(&self) {
        self.queue.fetch_add(1, Relaxed);
        let _ = self.idle.placed(|| 0);
    }

    fn take(&self) -> bool {
        let mut count = self.queue.load(Relaxed);
        while count > 0 {
            match self.queue.compare_exchange(count, count - 1, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => count = now,
            }
        }
        false
    }

    /// A worker that runs one entry and then stays busy for ever, which is the worst case for
    /// whatever else was placed. False: the pool was closed.
    fn run_one(&self, worker: usize) -> bool {
        let mut searching = self.idle.search();
        loop {
            if self.take() {
                searching.found_work(|| self.anything(), || 0);
                self.done.fetch_add(1, Relaxed);
                return true;
            }
            match searching.park(worker, || self.anything(), || self.anything(), || ()) {
                Parked::Search(again) => searching = again,
                Parked::Closed => return false,
            }
        }
    }
}

fn start(pool: &Arc<Pool>, worker: usize) -> loom::thread::JoinHandle<bool> {
    let pool = pool.clone();
    loom::thread::spawn(move || pool.run_one(worker))
}

/// Rules 1 and 2: placed while the worker parks, it is found or the worker is unparked.
#[test]
fn placed_while_parking_is_run() {
    loom::model(|| {
        let pool = Pool::new(1);
        let worker = start(&pool, 0);
        pool.place();
        assert!(worker.join().unwrap());
    });
}

/// Rule 1 for a spot in a line: claimed while the worker parks, it is found or the worker is
/// unparked.
#[test]
fn claimed_while_parking_is_run() {
    loom::model(|| {
        let pool = Pool::new(1);
        let worker = start(&pool, 0);
        pool.queue.fetch_add(1, Relaxed);
        if pool.idle.claimed() {
            let _ = pool.idle.call_for_help(|| 0);
        }
        assert!(worker.join().unwrap());
    });
}

/// Rule 3: two entries placed while one worker searches; it takes one, the other must not be
/// left to a worker that is parked.
#[test]
fn two_placed_while_one_searches_are_run_by_two() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let pool = Pool::new(2);
        let workers = [start(&pool, 0), start(&pool, 1)];
        pool.place();
        pool.place();
        for worker in workers {
            assert!(worker.join().unwrap());
        }
    });
}

/// Rule 1 from two threads at once.
#[test]
fn two_place_at_once_and_both_are_run() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let pool = Pool::new(2);
        let workers = [start(&pool, 0), start(&pool, 1)];
        let placer = loom::thread::spawn({
            let pool = pool.clone();
            move || pool.place()
        });
        pool.place();
        placer.join().unwrap();
        for worker in workers {
            assert!(worker.join().unwrap());
        }
    });
}

/// An entry dealt to a worker's inbox brings its owner.
#[test]
fn dealt_while_the_owner_parks_brings_the_owner() {
    loom::model(|| {
        let pool = Pool::new(1);
        let worker = start(&pool, 0);
        pool.queue.fetch_add(1, Relaxed);
        let _ = pool.idle.placed_for(0, || false, || 0);
        assert!(worker.join().unwrap());
    });
}

/// Rule 4: the monitor naps while nothing waits, and is woken when all are busy.
#[test]
fn placed_while_the_monitor_falls_asleep_wakes_it() {
    loom::model(|| {
        let pool = Pool::new(1);
        let monitor = loom::thread::spawn({
            let pool = pool.clone();
            move || {
                pool.idle.watch(thread::current());
                while !pool.anything() {
                    pool.idle.nap(|| pool.anything(), None);
                }
            }
        });
        // The one worker is in a turn: nobody searches, nobody is parked.
        pool.place();
        monitor.join().unwrap();
    });
}

/// A worker pauses while something is dealt to its inbox: the dealer sees it paused and calls the
/// other, or the pausing worker does.
#[test]
fn dealt_while_the_owner_pauses_is_run_by_another() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let pool = Pool::new(2);
        let paused = Arc::new(AtomicUsize::new(0));
        let other = loom::thread::spawn({
            let (pool, paused) = (pool.clone(), paused.clone());
            move || {
                let may_take = || paused.load(Relaxed) == 1 && pool.anything();
                let mut searching = pool.idle.search();
                while !(may_take() && pool.take()) {
                    let Parked::Search(again) =
                        searching.park(1, may_take, || pool.anything(), || ())
                    else {
                        return;
                    };
                    searching = again;
                }
                searching.found_work(|| pool.anything(), || 0);
            }
        });
        let owner = loom::thread::spawn({
            let (pool, paused) = (pool.clone(), paused.clone());
            move || {
                paused.store(1, Relaxed);
                pool.idle.leave(|| pool.anything());
            }
        });
        pool.queue.fetch_add(1, Relaxed);
        let _ = pool.idle.placed_for(0, || paused.load(Relaxed) == 1, || 0);
        owner.join().unwrap();
        other.join().unwrap();
    });
}

/// A call that was held back is made good for by the monitor.
#[test]
fn held_back_while_the_monitor_falls_asleep_is_made_good() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        // Worker 0 is in a turn that never ends; worker 1 parks after a stay that did not pay.
        let pool = Pool::new(2);
        pool.idle.damper.stayed(0, 1);
        let monitor = loom::thread::spawn({
            let pool = pool.clone();
            move || {
                pool.idle.watch(thread::current());
                while pool.done.load(Relaxed) == 0 {
                    pool.idle.make_good(|| pool.anything());
                    if pool.done.load(Relaxed) == 0 && !pool.anything() {
                        pool.idle.nap(|| pool.anything() || pool.done.load(Relaxed) > 0, None);
                    }
                    loom::thread::yield_now();
                }
            }
        });
        let worker = loom::thread::spawn({
            let pool = pool.clone();
            move || {
                assert!(pool.run_one(1));
                pool.idle.close();
            }
        });
        pool.place();
        worker.join().unwrap();
        monitor.join().unwrap();
    });
}

/// Rule 5: placed near without a fence while another parks and the monitor falls asleep; the
/// turn that placed it never ends.
#[test]
fn placed_near_while_all_others_fall_asleep_is_made_good() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let pool = Pool::new(2);
        let slot = Arc::new(crate::slot::Slot::default());
        let monitor = loom::thread::spawn({
            let (pool, slot) = (pool.clone(), slot.clone());
            move || {
                pool.idle.watch(thread::current());
                let busy = || pool.anything() || slot.is_in_turn();
                while pool.done.load(Relaxed) == 0 {
                    pool.idle.make_good(|| pool.anything());
                    if pool.done.load(Relaxed) == 0 && !busy() {
                        pool.idle.nap(busy, None);
                    }
                    loom::thread::yield_now();
                }
            }
        });
        let worker = loom::thread::spawn({
            let pool = pool.clone();
            move || {
                assert!(pool.run_one(1));
                pool.idle.close();
            }
        });
        slot.begin_work();
        pool.queue.fetch_add(1, Relaxed);
        let _ = pool.idle.placed_near(|| 0);
        worker.join().unwrap();
        monitor.join().unwrap();
    });
}

/// Shutdown: whoever drains, the parked workers come out; what was placed before is run.
#[test]
fn drained_while_a_worker_parks_closes_after_the_last_entry() {
    loom::model(|| {
        let pool = Pool::new(1);
        let worker = loom::thread::spawn({
            let pool = pool.clone();
            move || while pool.run_one(0) {}
        });
        pool.place();
        pool.idle.drain(|| pool.anything());
        worker.join().unwrap();
        assert_eq!(pool.done.load(Relaxed), 1, "closed before the last entry was run");
    });
}

/// Shutdown with two workers: the one that finds nothing must not close over the head of the one
/// that has just parked and is about to see the entry.
#[test]
fn drained_while_two_park_closes_after_the_last_entry() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let pool = Pool::new(2);
        let workers = [0, 1].map(|worker| {
            let pool = pool.clone();
            loom::thread::spawn(move || while pool.run_one(worker) {})
        });
        pool.place();
        pool.idle.drain(|| pool.anything());
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(pool.done.load(Relaxed), 1, "closed before the last entry was run");
    });
}

/// The same moment, seen closely: worker 0 is parked and decides whether to close, worker 1 parks,
/// and an entry is placed that relies on worker 1.
#[test]
fn closing_sees_what_relies_on_one_that_has_just_parked() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let pool = Pool::new(2);
        pool.idle.sleepers.lock().stack.push((0, thread::current()));
        pool.idle.word.fetch_add(DRAINING + PARKED + SEARCHING, Relaxed);
        let parking = loom::thread::spawn({
            let pool = pool.clone();
            move || {
                let anything = || pool.anything();
                match Searching(&pool.idle).park(1, anything, anything, || ()) {
                    Parked::Search(searching) => {
                        searching.found_work(anything, || 0);
                        pool.take()
                    }
                    Parked::Closed => false,
                }
            }
        });
        let placing = loom::thread::spawn({
            let pool = pool.clone();
            move || {
                pool.queue.fetch_add(1, Relaxed);
                pool.idle.placed(|| 0)
            }
        });
        pool.idle.close_if_done(|| pool.anything());
        let told = placing.join().unwrap();
        assert!(parking.join().unwrap() || told, "dropped, and nobody was told");
    });
}

/// Shutdown: placed while the runtime closes, the placer learns it or the closer finds it.
#[test]
fn placed_while_closing_is_taken_back_by_one_of_the_two() {
    loom::model(|| {
        let pool = Pool::new(1);
        let closer = loom::thread::spawn({
            let pool = pool.clone();
            move || {
                pool.idle.close();
                pool.take()
            }
        });
        pool.queue.fetch_add(1, Relaxed);
        let told = pool.idle.placed(|| 0) && pool.take();
        let found = closer.join().unwrap();
        assert!(told || found, "left in a queue that nobody serves");
    });
}
