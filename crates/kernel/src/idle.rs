//! Who searches, who is parked, and who must be unparked when something is placed.
//!
//! ```text
//!             out of work            nothing found
//!   working --------------> SEARCHING -------------> PARKED
//!      ^                     |    ^                    |
//!      +---------------------+    +--------------------+
//!            found work             taken off the stack
//! ```
//!
//! One word counts searching and parked workers; the stack of parked ones is under a lock, and
//! so is every change of the parked count. Three flags share the word: NAPPING (the monitor
//! sleeps, and must be woken when something waits), DRAINING (stop when all is done) and CLOSED
//! (the workers have stopped, or are about to).
//!
//! 1. *Placed*: whoever has placed an entry anywhere fences, then looks at the word. If nobody
//!    searches and somebody is parked, one is taken off the stack, counted as searching at once,
//!    and unparked. If all are busy, the monitor is woken, so that quanta end.
//! 2. *Park*: put yourself on the stack, searching − 1, parked + 1; fence; look at all queues.
//!    If something is there, take yourself off again and search on. Otherwise park until
//!    somebody took you off.
//! 3. *Found work*: searching − 1; if that was the last searcher, fence and look at all queues;
//!    if something is there, do as the one who placed it would have done. A worker that resumes
//!    after a pause does the same: while all were paused the monitor napped beside a full queue.
//! 4. *Nap*, *leave* and *close* are as *park*: say it, fence, look.
//!
//! 5. *Placed near*: a worker that places an entry between two searches looks at the word
//!    without a fence, which would cost as much as the push. So it may miss a worker that parks at
//!    that very moment; but it finds the monitor awake, or wakes it, and the monitor does not nap
//!    while anybody works (beginning to is as *park*: say it, fence). At its next look
//!    the monitor does what the placer would have done.
//!
//! Where a further worker would not pay, a call under rules 1 and 3 is held back (see [`Damper`])
//! and goes to the monitor instead, which makes good for it at its next look; never while all
//! workers are parked.
//!
//! Why nothing is missed: each pair is a store, a fence and a look on both sides. A placer
//! stores an entry and looks at the word; a parker, a last searcher or a napper stores to the
//! word and looks at the queues. With a fence on both sides at least one sees the other. A
//! placer that sees a searcher relies on it: that searcher will still run rule 2 or 3, after the
//! placer's fence. Without any one of the fences, the second look, or the last searcher's duty,
//! a model below deadlocks. The word itself needs no order stronger than Relaxed.

use crate::{
    damper::Damper,
    sync::{
        self, Mutex, MutexGuard,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, SeqCst},
            fence,
        },
        thread,
    },
    world::Nanos,
};

const SEARCHING: u64 = 1;
const PARKED: u64 = 1 << 16;
const COUNT: u64 = (1 << 16) - 1;
const CLOSED: u64 = 1 << 32;
const NAPPING: u64 = 1 << 33;
const DRAINING: u64 = 1 << 34;

/// Most workers of one runtime: what a count in the word can hold.
pub const WORKERS_MAX: usize = 4096;

#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    fn searching(self) -> u64 {
        self.0 & COUNT
    }

    fn parked(self) -> u64 {
        (self.0 / PARKED) & COUNT
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// Whether a new entry needs somebody's attention.
    fn wants_help(self) -> bool {
        (self.searching() == 0 && (self.parked() > 0 || self.has(NAPPING))) || self.has(CLOSED)
    }
}

pub(crate) struct Idle {
    word: AtomicU64,
    sleepers: Mutex<Sleepers>,
    workers: u64,
    pub(crate) damper: Damper,
}

struct Sleepers {
    /// Parked workers, the latest on top: its cache is the warmest.
    stack: Vec<(usize, thread::Thread)>,
    monitor: Option<thread::Thread>,
}

/// Held by a worker between finding nothing to do and finding something. To have one is to be
/// counted as searching; it can not be forgotten, only given back.
#[must_use = "who searches is relied upon by those who place entries"]
pub(crate) struct Searching<'a>(&'a Idle);

/// How a wait on the stack ended.
#[must_use]
pub(crate) enum Parked<'a> {
    /// Somebody placed something, or it was there on the second look.
    Search(Searching<'a>),
    /// The runtime is closed.
    Closed,
}

impl Idle {
    pub(crate) fn new(workers: usize) -> Idle {
        let sleepers = Sleepers { stack: Vec::with_capacity(workers), monitor: None };
        Idle {
            word: AtomicU64::new(0),
            sleepers: Mutex::new(sleepers),
            workers: workers as u64,
            damper: Damper::default(),
        }
    }

    fn load(&self) -> Word {
        Word(self.word.load(Relaxed))
    }

    /// Rule 1. True: the runtime is closed, and the entry must be taken back.
    #[inline]
    #[must_use = "an entry placed in a closed runtime must be taken back"]
    pub(crate) fn placed(&self, now: impl FnOnce() -> Nanos) -> bool {
        fence(SeqCst);
        let word = self.load();
        word.wants_help() && self.call_for_help(now)
    }

    /// Rule 1 for a thread that has just claimed a spot in a line: whether somebody must be
    /// called once the spot is filled.
    ///
    /// The line is not empty from the claim on, so that is the store of rule 1; it and this look
    /// need no fence between them (see [`sync::look`]). To fence after the spot is filled
    /// would mean to wait until its memory has come from the taker's cache.
    #[inline]
    pub(crate) fn claimed(&self) -> bool {
        #[cfg(loom)]
        fence(SeqCst);
        Word(sync::look(&self.word)).wants_help()
    }

    /// Rule 5: rule 1 without the fence, for a worker that is at work.
    #[inline]
    #[must_use = "an entry placed in a closed runtime must be taken back"]
    pub(crate) fn placed_near(&self, now: impl FnOnce() -> Nanos) -> bool {
        let word = self.load();
        (word.wants_help() || word.has(NAPPING)) && self.call_from_near(now)
    }

    #[cold]
    fn call_from_near(&self, now: impl FnOnce() -> Nanos) -> bool {
        let word = self.load();
        if word.has(NAPPING) {
            self.end_nap(self.sleepers.lock());
        }
        word.wants_help() && self.call_for_help(now)
    }

    /// Unparks somebody, or leaves it to the monitor where that would not pay.
    #[cold]
    #[must_use = "an entry placed in a closed runtime must be taken back"]
    pub(crate) fn call_for_help(&self, now: impl FnOnce() -> Nanos) -> bool {
        let word = self.load();
        let somebody_is_awake = word.parked() < self.workers;
        if somebody_is_awake && !word.has(CLOSED) && self.damper.holds(now) {
            if word.has(NAPPING) {
                self.end_nap(self.sleepers.lock());
            }
            return false;
        }
        self.help()
    }

    /// For the monitor, now and then while something waits: makes good for calls that were held
    /// back.
    pub(crate) fn make_good(&self, anything: impl Fn() -> bool) {
        let word = self.load();
        if word.searching() == 0 && word.parked() > 0 && anything() {
            let _ = self.help();
        }
    }

    /// Unparks one worker, or with none parked wakes the monitor, unless somebody searches.
    #[cold]
    fn help(&self) -> bool {
        let mut sleepers = self.sleepers.lock();
        let word = self.load();
        if word.searching() == 0 {
            match sleepers.stack.pop() {
                Some((_, thread)) => self.unpark(sleepers, &thread),
                None if word.has(NAPPING) => self.end_nap(sleepers),
                None => {}
            }
        }
        word.has(CLOSED)
    }

    /// For a worker that was just taken off the stack.
    fn unpark(&self, sleepers: MutexGuard<'_, Sleepers>, thread: &thread::Thread) {
        self.word.fetch_add(SEARCHING.wrapping_sub(PARKED), Relaxed);
        drop(sleepers);
        thread.unpark();
    }

    /// Rule 1 for an entry dealt to `worker`'s inbox: its owner comes if it is parked. If the
    /// owner is `occupied`, in a turn or paused, anyone may come.
    #[must_use = "an entry placed in a closed runtime must be taken back"]
    pub(crate) fn placed_for(
        &self,
        worker: usize,
        occupied: impl Fn() -> bool,
        now: impl FnOnce() -> Nanos,
    ) -> bool {
        fence(SeqCst);
        let word = self.load();
        if word.parked() == 0 && !word.has(NAPPING | CLOSED) {
            return false;
        }
        let mut sleepers = self.sleepers.lock();
        if let Some(at) = sleepers.stack.iter().position(|(parked, _)| *parked == worker) {
            let (_, thread) = sleepers.stack.remove(at);
            self.unpark(sleepers, &thread);
            return self.load().has(CLOSED);
        }
        drop(sleepers);
        if occupied() { self.call_for_help(now) } else { self.load().has(CLOSED) }
    }

    /// Begins to search.
    pub(crate) fn search(&self) -> Searching<'_> {
        self.word.fetch_add(SEARCHING, Relaxed);
        Searching(self)
    }

    /// How many search.
    pub(crate) fn searching(&self) -> usize {
        self.load().searching() as usize
    }

    /// A parked worker, the one that would be unparked next.
    pub(crate) fn parked(&self) -> Option<usize> {
        if self.load().parked() == 0 {
            return None;
        }
        self.sleepers.lock().stack.last().map(|(worker, _)| *worker)
    }

    /// Brings a worker out, if it is parked, to do what was asked of it.
    pub(crate) fn call(&self, worker: usize) {
        let mut sleepers = self.sleepers.lock();
        if let Some(at) = sleepers.stack.iter().position(|(parked, _)| *parked == worker) {
            let (_, thread) = sleepers.stack.remove(at);
            self.unpark(sleepers, &thread);
        }
    }

    pub(crate) fn is_parked(&self, worker: usize) -> bool {
        self.sleepers.lock().stack.iter().any(|(parked, _)| *parked == worker)
    }

    /// A worker that stops taking work (it has said that it is paused) leaves what it had to the
    /// others. Whoever deals to its inbox at this moment sees it paused, or `anything` sees the
    /// entry.
    pub(crate) fn leave(&self, anything: impl Fn() -> bool) {
        fence(SeqCst);
        if anything() {
            let _ = self.help();
        }
    }

    /// From now on this thread is the monitor.
    pub(crate) fn watch(&self, monitor: thread::Thread) {
        self.sleepers.lock().monitor = Some(monitor);
    }

    /// Rule 4, for the monitor: sleeps until something waits or somebody works, until
    /// `patience` is over, or until somebody unparks it for a reason of their own. True: it was
    /// called, or something waits.
    pub(crate) fn nap(
        &self,
        anything: impl Fn() -> bool,
        patience: Option<std::time::Duration>,
    ) -> bool {
        self.word.fetch_or(NAPPING, Relaxed);
        fence(SeqCst);
        if anything() || self.is_closed() {
            self.word.fetch_and(!NAPPING, Relaxed);
            return true;
        }
        match patience {
            Some(patience) => thread::park_timeout(patience),
            None => thread::park(),
        }
        !Word(self.word.fetch_and(!NAPPING, Relaxed)).has(NAPPING)
    }

    fn end_nap(&self, sleepers: MutexGuard<'_, Sleepers>) {
        self.word.fetch_and(!NAPPING, Relaxed);
        let monitor = sleepers.monitor.clone();
        drop(sleepers);
        if let Some(monitor) = monitor {
            monitor.unpark();
        }
    }

    /// From now on the last worker that finds nothing closes the runtime. `anything` looks at all
    /// queues.
    pub(crate) fn drain(&self, anything: impl Fn() -> bool) {
        // No fence: whoever parks after this sees the flag in the same word, and to see an entry
        // that was taken long ago only brings somebody out to park once more.
        self.word.fetch_or(DRAINING, Relaxed);
        if anything() {
            let _ = self.help();
        } else {
            self.close_if_done(anything);
        }
    }

    /// Closes a draining runtime if everybody is parked and nothing waits anywhere. Nobody comes
    /// off the stack while we hold the lock. Without it, somebody who has just parked may be about
    /// to see an entry on its second look, and the entry would be dropped.
    fn close_if_done(&self, anything: impl Fn() -> bool) {
        let sleepers = self.sleepers.lock();
        let word = self.load();
        if word.has(DRAINING) && word.parked() == self.workers {
            fence(SeqCst);
            if !anything() {
                self.close_with(sleepers);
            }
        }
    }

    /// Rule 4: nobody runs anything after the turn it is in. Parked workers come out to stop.
    pub(crate) fn close(&self) {
        self.close_with(self.sleepers.lock());
    }

    fn close_with(&self, mut sleepers: MutexGuard<'_, Sleepers>) {
        let (workers, monitor) = {
            self.word.fetch_or(CLOSED, Relaxed);
            fence(SeqCst);
            let workers = std::mem::take(&mut sleepers.stack);
            let moved = (SEARCHING.wrapping_sub(PARKED)).wrapping_mul(workers.len() as u64);
            self.word.fetch_add(moved, Relaxed);
            self.word.fetch_and(!NAPPING, Relaxed);
            (workers, sleepers.monitor.clone())
        };
        drop(sleepers);
        for (_, thread) in workers {
            thread.unpark();
        }
        if let Some(monitor) = monitor {
            monitor.unpark();
        }
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn is_napping(&self) -> bool {
        self.load().has(NAPPING)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.load().has(CLOSED)
    }
}

impl<'a> Searching<'a> {
    /// Rule 3. `anything` looks at all queues.
    pub(crate) fn found_work(self, anything: impl Fn() -> bool, now: impl FnOnce() -> Nanos) {
        let idle = self.0;
        let before = Word(idle.word.fetch_sub(SEARCHING, Relaxed));
        if before.searching() == 1 && (before.parked() > 0 || before.has(NAPPING)) {
            fence(SeqCst);
            if anything() {
                let _ = idle.call_for_help(now);
            }
        }
    }

    /// Rule 2. `anything` looks at all queues that this worker may take from.
    /// `anywhere` looks at all queues. `sleeps` is called if it really does.
    pub(crate) fn park(
        self,
        worker: usize,
        anything: impl Fn() -> bool,
        anywhere: impl Fn() -> bool,
        sleeps: impl FnOnce(),
    ) -> Parked<'a> {
        let top = |sleepers: &Sleepers| sleepers.stack.len();
        self.park_at(top, worker, anything, anywhere, sleeps)
    }

    /// As `park`, for one who may not take from the lines, since it is in a turn: below all others. On top
    /// of one who may it would be called for what waits in a line, again and again, and the other never.
    pub(crate) fn park_in_turn(
        self,
        worker: usize,
        anything: impl Fn() -> bool,
        anywhere: impl Fn() -> bool,
        sleeps: impl FnOnce(),
    ) -> Parked<'a> {
        self.park_at(|_| 0, worker, anything, anywhere, sleeps)
    }

    fn park_at(
        self,
        place: impl FnOnce(&Sleepers) -> usize,
        worker: usize,
        anything: impl Fn() -> bool,
        anywhere: impl Fn() -> bool,
        sleeps: impl FnOnce(),
    ) -> Parked<'a> {
        let idle = self.0;
        {
            let mut sleepers = idle.sleepers.lock();
            if idle.is_closed() {
                idle.word.fetch_sub(SEARCHING, Relaxed);
                return Parked::Closed;
            }
            let place = place(&sleepers);
            sleepers.stack.insert(place, (worker, thread::current()));
            idle.word.fetch_add(PARKED.wrapping_sub(SEARCHING), Relaxed);
        }
        fence(SeqCst);
        if anything() {
            return idle.resume_search(worker);
        }
        sleeps();
        let word = idle.load();
        if word.has(DRAINING) && word.parked() == idle.workers {
            idle.close_if_done(anywhere);
        }
        loop {
            thread::park();
            if !idle.is_parked(worker) {
                // Whoever took us off the stack counted us as searching.
                return idle.came_out();
            }
        }
    }

    /// Stops searching for good: the worker ends, or pauses.
    pub(crate) fn give_up(self, anything: impl Fn() -> bool, now: impl FnOnce() -> Nanos) {
        self.found_work(anything, now);
    }
}

impl Idle {
    fn resume_search(&self, worker: usize) -> Parked<'_> {
        let mut sleepers = self.sleepers.lock();
        if let Some(at) = sleepers.stack.iter().position(|(parked, _)| *parked == worker) {
            sleepers.stack.remove(at);
            self.word.fetch_add(SEARCHING.wrapping_sub(PARKED), Relaxed);
        }
        // Else somebody took us off and counted us; the token that comes makes one later park
        // return early, which its loop tolerates.
        drop(sleepers);
        self.came_out()
    }

    fn came_out(&self) -> Parked<'_> {
        if self.is_closed() {
            self.word.fetch_sub(SEARCHING, Relaxed);
            Parked::Closed
        } else {
            Parked::Search(Searching(self))
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    /// Who parked last would be called first. But one who waits inside of a turn may not take from the lines,
    /// and whoever may would never be called.
    #[test]
    fn call_goes_to_one_who_may_take_all_though_another_parked_later_in_its_turn() {
        let idle = Idle::new(2);
        thread::scope(|scope| {
            let (tell, came_out) = mpsc::channel();
            for worker in 0..2 {
                let (idle, tell) = (&idle, tell.clone());
                scope.spawn(move || {
                    let (searching, never) = (idle.search(), || false);
                    let parked = match worker {
                        0 => searching.park(0, never, never, || ()),
                        _ => searching.park_in_turn(worker, never, never, || ()),
                    };
                    tell.send(worker).unwrap();
                    if let Parked::Search(searching) = parked {
                        searching.give_up(never, || 0);
                    }
                });
                while !idle.is_parked(worker) {
                    thread::yield_now();
                }
            }
            idle.make_good(|| true);
            assert_eq!(came_out.recv(), Ok(0));
            assert!(idle.is_parked(1));
            idle.close();
            assert_eq!(came_out.recv(), Ok(1));
        });
    }
}

#[cfg(all(test, loom))]
#[path = "idle_models.rs"]
mod models;
