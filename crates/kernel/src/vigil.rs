//! How the monitor learns that somebody works again after a time when nobody did.
//!
//! While turns are taken now and then the monitor naps, but not for long at a time: a turn that hangs
//! is seen when the nap is over, and no turn costs a call. Once a nap has passed without any turn it
//! goes AWAY and sleeps until it is called. Whoever begins to work then calls it back, once however
//! many begin. So an idle runtime uses no CPU, and nothing hangs unseen.
//!
//! While all work, and look at the time by themselves, it RESTS: it looks less often. Whoever sleeps
//! then ends the rest, since what others place may need somebody to be called (see [`crate::idle`]).
//!
//! Ordering: to rest is to say so, to fence, then to look whether anybody sleeps. To sleep is to say
//! so, to fence (rule 2 of [`crate::idle`]), then to look whether the monitor rests. To go away is to
//! say so, then to nap, which fences and looks whether anybody works. To begin to work is to say so, to
//! fence (see [`Slot::begin_work`](crate::slot::Slot::begin_work)), then to look whether the monitor is
//! away. With a fence on both sides at least one sees the other.

use crate::sync::{
    Mutex,
    atomic::{
        AtomicBool,
        Ordering::{Relaxed, SeqCst},
        fence,
    },
    thread::Thread,
};

#[derive(Default)]
pub(crate) struct Vigil {
    away: AtomicBool,
    rests: AtomicBool,
    monitor: Mutex<Option<Thread>>,
}

impl Vigil {
    /// From now on this thread is the monitor.
    pub(crate) fn watch(&self, monitor: Thread) {
        *self.monitor.lock() = Some(monitor);
    }

    /// For the monitor, before it naps: whoever begins to work calls it.
    pub(crate) fn go_away(&self) {
        self.away.store(true, Relaxed);
    }

    /// For the monitor, after its nap.
    pub(crate) fn come_back(&self) {
        self.away.store(false, Relaxed);
    }

    /// For the monitor, before it looks whether anybody sleeps: whoever does from now on ends its rest.
    pub(crate) fn rest(&self) {
        self.rests.store(true, Relaxed);
        fence(SeqCst);
    }

    /// For the monitor, after a rest, or where there is to be none.
    pub(crate) fn rise(&self) {
        self.rests.store(false, Relaxed);
    }

    /// For a worker that is about to sleep, has said so and fenced since.
    pub(crate) fn slept(&self) {
        if self.rests.load(Relaxed) {
            self.end_rest();
        }
    }

    #[cold]
    fn end_rest(&self) {
        if self.rests.swap(false, Relaxed)
            && let Some(monitor) = &*self.monitor.lock()
        {
            monitor.unpark();
        }
    }

    /// For a worker that has said that it works, and fenced since.
    #[inline]
    pub(crate) fn begun(&self) {
        if self.away.load(Relaxed) {
            self.call_back();
        }
    }

    #[cold]
    fn call_back(&self) {
        if self.away.swap(false, Relaxed)
            && let Some(monitor) = &*self.monitor.lock()
        {
            monitor.unpark();
        }
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn is_away(&self) -> bool {
        self.away.load(Relaxed)
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn is_resting(&self) -> bool {
        self.rests.load(Relaxed)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::thread;

    /// Nothing else would end the rest.
    #[test]
    fn who_sleeps_while_the_monitor_rests_calls_it() {
        let vigil = Vigil::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                vigil.watch(thread::current());
                vigil.rest();
                while vigil.is_resting() {
                    thread::park();
                }
            });
            while !vigil.is_resting() {
                thread::yield_now();
            }
            vigil.slept();
        });
        vigil.slept();
        assert!(!vigil.is_resting());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::{idle::Idle, slot::Slot, sync::thread};
    use std::sync::Arc;

    /// A worker begins while the monitor goes away. A lost call shows as a deadlock: nothing else
    /// ends the nap.
    fn check(begin: fn(&Slot)) {
        loom::model(move || {
            let all = Arc::new((Vigil::default(), Idle::new(1), Slot::default()));
            let monitor = loom::thread::spawn({
                let all = all.clone();
                move || {
                    let (vigil, idle, slot) = &*all;
                    vigil.watch(thread::current());
                    vigil.go_away();
                    idle.nap(|| slot.is_in_turn(), None);
                    vigil.come_back();
                }
            });
            let (vigil, _, slot) = &*all;
            begin(slot);
            vigil.begun();
            monitor.join().unwrap();
        });
    }

    #[test]
    fn who_begins_to_work_while_the_monitor_goes_away_calls_it_back() {
        check(Slot::begin_work);
    }

    /// Where a worker has an inbox, it leaves and enters each turn.
    #[test]
    fn who_enters_a_turn_while_the_monitor_goes_away_calls_it_back() {
        check(|slot| {
            slot.enter_turn_with_inbox(|| false);
        });
    }

    /// A rest that a worker slept through shows as a deadlock: nothing else ends it.
    #[test]
    fn who_sleeps_while_the_monitor_begins_to_rest_is_seen_or_ends_it() {
        loom::model(|| {
            let all = Arc::new((Vigil::default(), Idle::new(1)));
            let monitor = loom::thread::spawn({
                let all = all.clone();
                move || {
                    let (vigil, idle) = &*all;
                    vigil.watch(thread::current());
                    vigil.rest();
                    let nobody_sleeps = idle.parked().is_none();
                    while nobody_sleeps && vigil.rests.load(Relaxed) {
                        thread::park();
                    }
                    vigil.rise();
                    idle.close();
                }
            });
            let (vigil, idle) = &*all;
            let _ = idle.search().park(0, || false, || false, || vigil.slept());
            monitor.join().unwrap();
        });
    }
}
