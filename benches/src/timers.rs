//! What does a timer cost to set, to fire and to give up, when a million are pending?
//!
//! A timer is a future that was polled once, with a waker that counts. The futures are made and
//! dropped by `on_worker`, inside the runtime that is measured. Firing is counted in CPU time
//! of all other threads, since the deadlines are spread and the clock on the wall goes by anyway.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use crate::{Args, Line, Tally, cpu};

/// Timers of a run of the usual size.
pub const TIMERS: u64 = 1_000_000;

/// Firing deadlines lie in a window of this length …
const WINDOW: Duration = Duration::from_millis(500);

/// … that begins this long after the first insert, when the last has been inserted.
const LEAD: Duration = Duration::from_millis(1_500);

/// Timers that are given up would have fired between this and twice this.
const FAR: Duration = Duration::from_secs(100);

struct Fired(&'static Tally);

impl Wake for Fired {
    fn wake(self: Arc<Self>) {
        self.0.add();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.add();
    }
}

type Timers<T> = Vec<Pin<Box<T>>>;

/// The n-th of a sequence that looks random and is the same for everyone.
fn scatter(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn insert<T: Future>(
    count: u64,
    from: Duration,
    window: Duration,
    fired: &'static Tally,
    sleep: impl Fn(Duration) -> T,
) -> (Timers<T>, f64) {
    let waker = Waker::from(Arc::new(Fired(fired)));
    let mut context = Context::from_waker(&waker);
    let mut timers = Vec::with_capacity(count as usize);
    let window_us = window.as_micros() as u64;
    let start = Instant::now();
    for n in 0..count {
        let mut timer = Box::pin(sleep(from + Duration::from_micros(scatter(n) % window_us)));
        let polled = timer.as_mut().poll(&mut context);
        assert!(matches!(polled, Poll::Pending), "a timer fired before all were set");
        timers.push(timer);
    }
    (timers, start.elapsed().as_nanos() as f64 / count as f64)
}

/// Measures all three. `sleep` makes a timer; `on_worker` runs a closure inside the runtime and
/// returns when it is done.
pub fn measure<T>(
    args: &Args,
    who: &str,
    sleep: impl Fn(Duration) -> T + Clone + Send + 'static,
    on_worker: impl Fn(Box<dyn FnOnce() + Send>),
) -> Vec<Line>
where
    T: Future + Send + 'static,
{
    let count = args.items(TIMERS);
    let inside = |from, window, fired| -> (Timers<T>, f64) {
        let (send, receive) = std::sync::mpsc::channel();
        let sleep = sleep.clone();
        on_worker(Box::new(move || {
            send.send(insert(count, from, window, fired, sleep)).expect("the measurer waits");
        }));
        receive.recv().expect("the inserting job ran")
    };
    let cancel = |timers: Timers<T>| -> f64 {
        let (send, receive) = std::sync::mpsc::channel();
        on_worker(Box::new(move || {
            let start = Instant::now();
            drop(timers);
            send.send(start.elapsed().as_nanos() as f64).expect("the measurer waits");
        }));
        receive.recv().expect("the dropping job ran") / count as f64
    };

    // The first round warms up.
    let fired = Tally::leaked();
    let (timers, _) = inside(FAR, FAR, fired);
    cancel(timers);
    let (timers, insert_ns) = inside(FAR, FAR, fired);
    let cancel_ns = cancel(timers);

    let first_due = Instant::now() + LEAD;
    let (timers, _) = inside(LEAD, WINDOW, fired);
    thread::sleep(first_due.saturating_duration_since(Instant::now()));
    let before = cpu::other_threads_ns().unwrap_or(0);
    while fired.sum() < count {
        thread::sleep(Duration::from_millis(5));
    }
    let fire_ns = (cpu::other_threads_ns().unwrap_or(0) - before) as f64 / count as f64;
    let late_ms = first_due.elapsed().saturating_sub(WINDOW).as_secs_f64() * 1e3;
    drop(timers);

    let line = |name, unit, value| {
        Line::new(name, who, unit, value)
            .with("items", count as f64)
            .with("workers", args.workers as f64)
    };
    vec![
        line("timers_insert", "ns/timer", insert_ns),
        line("timers_fire", "CPU ns/timer", fire_ns).with("late_ms", late_ms),
        line("timers_cancel", "ns/timer", cancel_ns),
    ]
}
