//! Timers as futures: sleep, time-out, interval.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use crate::{
    error::Elapsed,
    lease::Tenure,
    timer::{Alarm, wheel::Key},
    worker,
    world::{self, Nanos},
};

/// Ready when its time has come. Made by [`Handle::sleep`](crate::Handle::sleep).
///
/// It works in any executor; in a simulation it sleeps in virtual time. On a runtime that has
/// stopped it never becomes ready.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    shared: Tenure,
    deadline: Nanos,
    key: Option<Key>,
    /// Made for a time to come, and not polled yet.
    fresh: bool,
}

impl Sleep {
    pub(crate) fn until(shared: Tenure, deadline: Nanos) -> Sleep {
        Sleep { shared, deadline, key: None, fresh: false }
    }

    pub(crate) fn new(shared: Tenure, duration: Duration) -> Sleep {
        let deadline = shared.now().saturating_add(world::nanos(duration));
        Sleep { shared, deadline, key: None, fresh: !duration.is_zero() }
    }

    fn disarm(&mut self) {
        if let Some(key) = self.key.take()
            && !self.shared.timers.has_rung(key, self.deadline)
        {
            self.shared.timers.remove(key);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The first poll mostly follows at once, and the clock costs as much as the timer: if its
        // time has come meanwhile, the timer rings at once.
        if !std::mem::take(&mut self.fresh) && self.shared.now() >= self.deadline {
            self.disarm();
            return Poll::Ready(());
        }
        let pending = self.key.is_some_and(|key| self.shared.timers.redirect(key, context.waker()));
        if !pending {
            let alarm = Alarm::Waker(context.waker().clone());
            self.key = self.shared.timers.add(self.deadline, alarm);
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.disarm();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("until", &Duration::from_nanos(self.deadline)).finish()
    }
}

/// A future, or an error when it takes too long. Made by
/// [`Handle::timeout`](crate::Handle::timeout).
///
/// A future may give way because its turn should end, though it could go on. So a time that is over then
/// counts once the future was asked in one turn more.
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Timeout<F> {
    future: F,
    sleep: Sleep,
    allowed: Duration,
    /// It has had its further turn.
    was_late: bool,
}

impl<F> Timeout<F> {
    pub(crate) fn new(future: F, sleep: Sleep, allowed: Duration) -> Timeout<F> {
        Timeout { future, sleep, allowed, was_late: false }
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let allowed = self.allowed;
        // SAFETY: `future` is pinned with us: it is never moved out, and `Timeout` has no `Drop`
        // of its own; `sleep` is not pinned structurally and is `Unpin`.
        let (future, sleep, was_late) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &mut this.sleep, &mut this.was_late)
        };
        if let Poll::Ready(output) = future.poll(context) {
            return Poll::Ready(Ok(output));
        }
        if Pin::new(&mut *sleep).poll(context).is_pending() {
            return Poll::Pending;
        }
        if worker::is_in_expired_turn(&sleep.shared) && !std::mem::replace(was_late, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Err(Elapsed(allowed)))
    }
}

/// Ticks at regular times. Made by [`Handle::interval`](crate::Handle::interval).
///
/// A tick that is taken late does not shift those after it; ticks that were missed altogether
/// are skipped.
#[derive(Debug)]
pub struct Interval {
    period: Nanos,
    sleep: Sleep,
}

impl Interval {
    pub(crate) fn new(shared: Tenure, period: Duration) -> Interval {
        Interval { period: world::nanos(period).max(1), sleep: Sleep::new(shared, period) }
    }

    /// Waits for the next tick.
    pub fn tick(&mut self) -> Tick<'_> {
        Tick(self)
    }
}

/// The next tick of an [`Interval`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Tick<'a>(&'a mut Interval);

impl Future for Tick<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let interval = &mut *self.0;
        if Pin::new(&mut interval.sleep).poll(context).is_pending() {
            return Poll::Pending;
        }
        let shared = Tenure::new(&interval.sleep.shared);
        let late = shared.now().saturating_sub(interval.sleep.deadline) / interval.period;
        let next = interval
            .sleep
            .deadline
            .saturating_add(interval.period.saturating_mul(late.saturating_add(1)));
        interval.sleep = Sleep::until(shared, next);
        Poll::Ready(())
    }
}
