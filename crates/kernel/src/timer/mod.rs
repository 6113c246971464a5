//! Timers: sleeping, time-outs and intervals, for strands and futures.
//!
//! All timers of a runtime are in one [`wheel`] under a lock. The monitor thread (or the
//! simulator) fires them: it takes out what is due under the lock, and wakes after releasing it.

mod future;
pub(crate) mod wheel;

pub use future::{Interval, Sleep, Tick, Timeout};

use std::{fmt, mem::ManuallyDrop, ptr, sync::Arc, task::Waker, time::Duration};

use crossbeam_utils::CachePadded;

use crate::{
    error::ScheduleError,
    lease::Tenure,
    panics,
    shared::Shared,
    strand::Strand,
    sync::{
        self, CACHE_LINE, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
        thread::Thread,
    },
    timer::wheel::{Key, Wheel},
    world::{self, Nanos},
};

/// So many alarms ahead, whoever is to be woken is asked for: it has run on another core, maybe.
const AHEAD: usize = 4;

/// Whom a timer tells.
pub(crate) enum Alarm {
    Strand(Strand),
    Waker(Waker),
    Call(Call),
}

/// A function to be called when the time has come.
pub(crate) type Call = Box<dyn FnOnce() + Send>;

impl Alarm {
    pub(crate) fn ring(self) {
        match self {
            Alarm::Strand(strand) => strand.0.wake(),
            // A waker may be anybody's, and its panic must not reach the monitor.
            Alarm::Waker(waker) => panics::contain(|| waker.wake()),
            Alarm::Call(call) => panics::contain(call),
        }
    }
}

pub(crate) struct Timers {
    state: Mutex<State>,
    looks: CachePadded<Looks>,
}

/// For a look without the lock, which others may be taking meanwhile: so on a line of its own.
struct Looks {
    /// When the next one is due, or sooner; `MAX` if there is none.
    soonest: AtomicU64,
    /// What was due until then has been taken out.
    passed: AtomicU64,
}

struct State {
    wheel: Wheel<Alarm>,
    /// When the monitor looks next by itself; `MAX` if it does not.
    watched: Nanos,
    monitor: Option<Thread>,
    /// Somebody rings what was due: the monitor, or a worker.
    ringing: bool,
    closed: bool,
}

impl Default for Timers {
    fn default() -> Timers {
        let wheel = Wheel::new();
        let state =
            State { wheel, watched: Nanos::MAX, monitor: None, ringing: false, closed: false };
        let looks = Looks { soonest: AtomicU64::new(Nanos::MAX), passed: AtomicU64::new(0) };
        Timers { state: Mutex::new(state), looks: CachePadded::new(looks) }
    }
}

impl Timers {
    /// `None`: the runtime has stopped.
    pub(crate) fn add(&self, deadline: Nanos, alarm: Alarm) -> Option<Key> {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return None;
        }
        let key = state.wheel.add(deadline, alarm);
        if deadline < self.looks.soonest.load(Relaxed) {
            self.looks.soonest.store(deadline, Relaxed);
        }
        if deadline < state.watched {
            state.watched = deadline;
            let monitor = state.monitor.clone();
            drop(state);
            if let Some(monitor) = monitor {
                monitor.unpark();
            }
        }
        Some(key)
    }

    /// False: it has fired.
    pub(crate) fn remove(&self, key: Key) -> bool {
        let alarm = self.state.lock().wheel.remove(key);
        alarm.is_some()
    }

    /// Whether a timer that was added for this deadline has surely rung, or is about to: then there is
    /// nothing to remove.
    #[inline]
    pub(crate) fn has_rung(&self, key: Key, deadline: Nanos) -> bool {
        key.ahead && deadline <= self.looks.passed.load(Relaxed)
    }

    /// Replaces whom a pending timer tells. False: it has fired.
    pub(crate) fn redirect(&self, key: Key, waker: &Waker) -> bool {
        if let Some(Alarm::Waker(old)) = self.state.lock().wheel.get_mut(key)
            && old.will_wake(waker)
        {
            return true;
        }
        // Cloned and dropped outside of the lock: wakers are anybody's code.
        let mut alarm = Alarm::Waker(waker.clone());
        let found = match self.state.lock().wheel.get_mut(key) {
            Some(old) => {
                std::mem::swap(old, &mut alarm);
                true
            }
            None => false,
        };
        drop(alarm);
        found
    }

    pub(crate) fn len(&self) -> usize {
        self.state.lock().wheel.len()
    }

    pub(crate) fn next(&self) -> Option<Nanos> {
        self.state.lock().wheel.next()
    }

    /// Rings all that is due, and says when to look again: at the next deadline, but not sooner
    /// than after the `pause` for so many if something rang, so that a dense stream of timers is
    /// taken in handfuls.
    pub(crate) fn fire(&self, now: Nanos, pause: impl FnOnce(usize) -> Nanos) -> Option<Nanos> {
        let mut state = self.state.lock();
        let due = self.take_due(&mut state, now);
        // Somebody else rings as well.
        let ring = due.as_ref().map_or(1, Vec::len);
        let soonest = if ring > 0 { now.saturating_add(pause(ring)) } else { now };
        let next = state.wheel.next().map(|next| next.max(soonest));
        state.watched = next.unwrap_or(Nanos::MAX);
        drop(state);
        self.ring_all(due);
        next
    }

    /// What is due, for the caller to ring. `None`: somebody else is about to ring what was due
    /// before, and this would overtake it.
    fn take_due(&self, state: &mut State, now: Nanos) -> Option<Vec<Alarm>> {
        if state.ringing {
            return None;
        }
        let due = state.wheel.advance(now);
        state.ringing = !due.is_empty();
        self.looks.soonest.store(state.wheel.next().unwrap_or(Nanos::MAX), Relaxed);
        self.looks.passed.store(state.wheel.now(), Relaxed);
        Some(due)
    }

    fn ring_all(&self, due: Option<Vec<Alarm>>) {
        let due = due.unwrap_or_default();
        if !due.is_empty() {
            let mut due = due.into_iter();
            while let Some(alarm) = due.next() {
                if let Some(Alarm::Waker(soon)) = due.as_slice().get(AHEAD) {
                    // Whose waker it is does not matter to a hint.
                    sync::prefetch(soon.data().cast(), CACHE_LINE);
                }
                alarm.ring();
            }
            self.state.lock().ringing = false;
        }
    }

    /// Whether something may be due. Who adds a timer at this moment may not be seen yet.
    #[inline]
    pub(crate) fn is_due(&self, now: Nanos) -> bool {
        self.looks.soonest.load(Relaxed) <= now
    }

    /// Rings all that is due, before the monitor comes to it. The monitor looks all the same at the
    /// time it has said.
    pub(crate) fn ring(&self, now: Nanos) {
        let due = self.take_due(&mut self.state.lock(), now);
        self.ring_all(due);
    }

    /// From now on this thread is unparked when an earlier timer is added.
    pub(crate) fn watch(&self, monitor: Thread) {
        self.state.lock().monitor = Some(monitor);
    }

    /// The runtime has stopped: nothing rings any more, and what waited is dropped.
    pub(crate) fn close(&self) {
        let pending = {
            let mut state = self.state.lock();
            state.closed = true;
            state.wheel.clear()
        };
        for alarm in pending {
            panics::contain(|| match alarm {
                // Whoever waits looks up, and sees that the runtime has stopped.
                Alarm::Waker(waker) => waker.wake(),
                other => drop(other),
            });
        }
    }
}

/// A pending timer that wakes a strand or calls a function. Dropping it cancels it.
///
/// ```
/// use std::time::Duration;
/// use kernel::{Runtime, Step};
///
/// let runtime = Runtime::new()?;
/// let (strand, mut join) = runtime.strand().idle(|_| Step::End("woken by the timer"))?;
/// let _timer = runtime.wake_after(Duration::from_millis(1), &strand)?;
/// assert_eq!(join.join()?, "woken by the timer");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a timer that is dropped is cancelled"]
pub struct Timer {
    /// No reference: timers are made and dropped in turns of all workers, which would share its count.
    shared: Tenure,
    key: Key,
    deadline: Nanos,
}

impl Timer {
    pub(crate) fn start(
        shared: &Arc<Shared>,
        after: Duration,
        strand: &Strand,
    ) -> Result<Timer, ScheduleError> {
        Timer::add(shared, after, Alarm::Strand(strand.clone()))
    }

    pub(crate) fn call(
        shared: &Arc<Shared>,
        after: Duration,
        call: Call,
    ) -> Result<Timer, ScheduleError> {
        Timer::add(shared, after, Alarm::Call(call))
    }

    fn add(shared: &Arc<Shared>, after: Duration, alarm: Alarm) -> Result<Timer, ScheduleError> {
        let deadline = shared.now().saturating_add(world::nanos(after));
        let key = shared.timers.add(deadline, alarm).ok_or(ScheduleError::Stopped)?;
        Ok(Timer { shared: Tenure::new(shared), key, deadline })
    }

    /// Lets it fire though nobody holds it any more.
    pub fn detach(self) {
        let timer = ManuallyDrop::new(self);
        // SAFETY: it is not used any more, and what else it has needs no drop.
        drop(unsafe { ptr::read(&timer.shared) });
    }

    /// Cancels it. False: it has fired already.
    pub fn cancel(self) -> bool {
        let timer = ManuallyDrop::new(self);
        // SAFETY: it is not used any more, and what else it has needs no drop.
        let shared = unsafe { ptr::read(&timer.shared) };
        shared.timers.remove(timer.key)
    }

    /// Whether its time has come: it has fired, or is about to. Not whether it was cancelled.
    pub fn is_over(&self) -> bool {
        self.has_rung() || self.shared.now() >= self.deadline
    }

    fn has_rung(&self) -> bool {
        self.shared.timers.has_rung(self.key, self.deadline)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // One that has surely fired is not looked for: all workers would meet at the lock.
        if !self.has_rung() {
            self.shared.timers.remove(self.key);
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{
        sync::{Arc, mpsc},
        thread,
    };

    use super::*;

    /// Who thinks that its timer has rung does not take it out.
    #[test]
    fn timer_has_rung_once_it_was_taken_out_and_not_before() {
        let timers = Timers::default();
        let add = |at| timers.add(at, Alarm::Waker(Waker::noop().clone())).unwrap();
        let early = add(10);
        assert!(!timers.has_rung(early, 10));
        timers.ring(9);
        assert!(!timers.has_rung(early, 10));
        timers.ring(10);
        assert!(timers.has_rung(early, 10) && !timers.remove(early));
        let late = add(10);
        assert!(!timers.has_rung(late, 10), "it was due when it was added, and still waits");
        assert!(timers.remove(late));
    }

    /// A worker has taken a timer out and is kept off its core: the monitor does not overtake it.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test plays the worker with a real thread")]
    fn due_while_somebody_else_rings_waits_for_that_one() {
        let timers = Arc::new(Timers::default());
        let (rung, order) = mpsc::channel();
        let (begun, begins) = mpsc::channel();
        let (go_on, waits) = mpsc::channel::<()>();
        let (first, second) = (rung.clone(), rung);
        let slow = move || {
            begun.send(()).unwrap();
            waits.recv().unwrap();
            first.send(1).unwrap();
        };
        timers.add(1, Alarm::Call(Box::new(slow))).unwrap();
        timers.add(2, Alarm::Call(Box::new(move || second.send(2).unwrap()))).unwrap();
        let worker = thread::spawn({
            let timers = timers.clone();
            move || timers.ring(1)
        });
        begins.recv().unwrap();
        assert_eq!(timers.fire(2, |_| 50), Some(52), "it looks again soon");
        timers.ring(2);
        assert!(order.try_recv().is_err(), "the second one has overtaken the first");
        go_on.send(()).unwrap();
        worker.join().unwrap();
        assert!(timers.is_due(2));
        timers.ring(2);
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [1, 2]);
    }
}
