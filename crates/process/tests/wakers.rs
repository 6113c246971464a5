//! Wakers are anybody's code: how long are they kept, and what may they do when they are called?
#![allow(clippy::disallowed_methods, reason = "a test plays the outside world with real threads")]

mod common;

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::{self, Poll, RawWaker, RawWakerVTable, Wake, Waker},
    thread,
    time::Duration,
};

use common::{channel, idler, runtime};
use kernel::{Runtime, Simulation};
use process::{Addr, Context, MailboxKind, Processes, block_on};

fn simulation() -> Simulation {
    Runtime::builder().workers(1).simulate(0).unwrap()
}

/// A process that reads nothing in its first second, with a mailbox that is full.
fn full(simulation: &mut Simulation) -> Addr<u32> {
    let builder = simulation.process().mailbox(MailboxKind::Bounded(1));
    let full = builder.spawn(|mut ctx: Context<u32>| async move {
        ctx.sleep(Duration::from_secs(1)).await;
        while ctx.receive().await.is_some() {}
    });
    let full = full.unwrap();
    simulation.run_for(Duration::from_millis(1));
    full.send(0).unwrap();
    full
}

/// Counts how often it is woken.
#[derive(Default)]
struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut task::Context::from_waker(waker))
}

#[test]
fn send_wait_that_is_abandoned_leaves_no_waker_and_the_others_are_woken() {
    let mut simulation = simulation();
    let full = full(&mut simulation);
    let (gone, stays) = (Arc::new(Counts::default()), Arc::new(Counts::default()));
    let mut waits = full.send_wait(1);
    assert!(poll(&mut waits, &stays.clone().into()).is_pending());
    for number in 2..100 {
        let mut abandoned = full.send_wait(number);
        for _ in 0..2 {
            assert!(poll(&mut abandoned, &gone.clone().into()).is_pending());
        }
    }
    assert_eq!((Arc::strong_count(&gone), Arc::strong_count(&stays)), (1, 2));
    simulation.run();
    assert_eq!((gone.0.load(Relaxed), stays.0.load(Relaxed)), (0, 1));
    assert_eq!(poll(&mut waits, &stays.clone().into()), Poll::Ready(Ok(())));
    assert_eq!(Arc::strong_count(&stays), 1);
}

#[test]
fn process_that_receives_with_one_foreign_waker_after_the_other_keeps_the_last() {
    struct Holds(#[allow(dead_code, reason = "it is only held")] Arc<()>);
    impl Wake for Holds {
        fn wake(self: Arc<Self>) {}
    }
    let mut simulation = simulation();
    let held = Arc::new(());
    let theirs = held.clone();
    let process = simulation.spawn_process(move |mut ctx: Context<()>| async move {
        for _ in 0..100 {
            let waker = Waker::from(Arc::new(Holds(theirs.clone())));
            assert!(poll(&mut ctx.receive(), &waker).is_pending());
        }
        ctx.receive().await;
    });
    let process = process.unwrap();
    simulation.run();
    assert_eq!(Arc::strong_count(&held), 3, "ours, theirs, and the last waker's");
    process.send(()).unwrap();
    simulation.run();
    assert_eq!(Arc::strong_count(&held), 1);
}

/// A set of futures polls each of them only if that one's own waker was woken.
struct Member {
    woken: AtomicBool,
    set: Mutex<Option<Waker>>,
}

impl Wake for Member {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Relaxed);
        let set = self.set.lock().unwrap().take();
        set.into_iter().for_each(Waker::wake);
    }
}

/// Waits for a future as the only member of a set.
async fn in_a_set<F: Future>(future: F) -> F::Output {
    let member = Arc::new(Member { woken: AtomicBool::new(true), set: Mutex::default() });
    let waker = Waker::from(member.clone());
    let mut future = pin!(future);
    poll_fn(|task| {
        *member.set.lock().unwrap() = Some(task.waker().clone());
        if !member.woken.swap(false, Relaxed) {
            return Poll::Pending;
        }
        future.as_mut().poll(&mut task::Context::from_waker(&waker))
    })
    .await
}

#[test]
fn cancelled_in_sets_of_futures_is_told_to_all_of_them() {
    let mut simulation = simulation();
    let (tell, told) = channel();
    let process = simulation.spawn_process(move |ctx: Context<()>| async move {
        let (mut one, mut other) =
            (pin!(in_a_set(ctx.cancelled())), pin!(in_a_set(ctx.cancelled())));
        let (mut first, mut second) = (false, false);
        poll_fn(|task| {
            first = first || one.as_mut().poll(task).is_ready();
            second = second || other.as_mut().poll(task).is_ready();
            if first && second { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        tell.send(()).unwrap();
    });
    let process = process.unwrap();
    simulation.run();
    assert_eq!(told.all().len(), 0);
    process.cancel();
    simulation.run();
    assert_eq!(told.all().len(), 1, "one of them was not woken");
}

#[test]
fn cancelled_that_is_abandoned_leaves_no_waker() {
    let mut simulation = simulation();
    let counts = Arc::new(Counts::default());
    let theirs = counts.clone();
    let process = simulation.spawn_process(move |mut ctx: Context<()>| async move {
        for _ in 0..100 {
            let waker = theirs.clone().into();
            assert!(poll(&mut pin!(ctx.cancelled()), &waker).is_pending());
        }
        assert_eq!(Arc::strong_count(&theirs), 2, "ours and theirs");
        ctx.receive().await;
    });
    let process = process.unwrap();
    simulation.run();
    process.cancel();
    simulation.run();
    assert_eq!((Arc::strong_count(&counts), counts.0.load(Relaxed)), (1, 0));
}

/// A waker that calls back whenever it is cloned, woken or dropped.
#[derive(Clone)]
struct Callback(Arc<dyn Fn() + Send + Sync>);

impl Callback {
    fn raw(&self) -> RawWaker {
        static TABLE: RawWakerVTable = RawWakerVTable::new(
            |data| {
                // SAFETY: `raw` has put it there, and the waker is not gone.
                let callback = unsafe { &*data.cast::<Callback>() };
                (callback.0)();
                callback.raw()
            },
            called_and_dropped,
            |data| {
                // SAFETY: as for a clone.
                let callback = unsafe { &*data.cast::<Callback>() };
                (callback.0)();
            },
            called_and_dropped,
        );
        let data = Box::into_raw(Box::new(self.clone()));
        RawWaker::new(data.cast_const().cast(), &TABLE)
    }

    fn waker(&self) -> Waker {
        // SAFETY: the functions of the table keep the contract; what they call is `Send + Sync`.
        unsafe { Waker::from_raw(self.raw()) }
    }
}

/// For a waker that is woken or dropped.
fn called_and_dropped(data: *const ()) {
    // SAFETY: `raw` has put it there, and the waker is gone.
    let callback = unsafe { Box::from_raw(data.cast_mut().cast::<Callback>()) };
    (callback.0)();
}

/// Does something with wakers that look at a process, on a thread of its own: if it found one of
/// the process's locks held it would wait for ever.
fn with_callbacks(user: impl FnOnce() -> usize + Send + 'static) {
    let (tell, told) = channel();
    thread::spawn(move || tell.send(user()).unwrap());
    assert!(told.next() > 0, "no waker was called");
}

fn looks_at(on: &kernel::Handle, addr: &Addr<u32>) -> (Callback, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, on, addr) = (calls.clone(), on.clone(), addr.clone());
    let look = move || {
        counted.fetch_add(1, Relaxed);
        on.process_info(addr.pid());
        addr.exit_reason();
    };
    (Callback(Arc::new(look)), calls)
}

#[test]
fn waker_of_a_sender_that_waits_finds_no_lock_held() {
    with_callbacks(|| {
        let mut simulation = simulation();
        let full = full(&mut simulation);
        let (callback, calls) = looks_at(&simulation.handle(), &full);
        let (mut waits, mut abandoned) = (full.send_wait(1), full.send_wait(2));
        for _ in 0..2 {
            assert!(poll(&mut waits, &callback.waker()).is_pending());
            assert!(poll(&mut abandoned, &callback.waker()).is_pending());
        }
        drop(abandoned);
        simulation.run();
        calls.load(Relaxed)
    });
}

/// A waker that ends a process, and waits until all who were told before it know.
fn ends(addr: &Addr<()>) -> (Callback, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, addr) = (calls.clone(), addr.clone());
    let end = move || {
        counted.fetch_add(1, Relaxed);
        addr.kill();
        block_on(addr.exited());
    };
    (Callback(Arc::new(end)), calls)
}

#[test]
fn waker_of_one_that_waits_for_an_exit_finds_no_lock_held() {
    with_callbacks(|| {
        let runtime = runtime(1);
        let idler = idler(&runtime);
        let (callback, calls) = ends(&idler);
        let mut exit = idler.exited();
        assert!(poll(&mut exit, Waker::noop()).is_pending());
        assert!(poll(&mut exit, &callback.waker()).is_ready());
        calls.load(Relaxed)
    });
}

#[test]
fn waker_of_one_that_stops_all_processes_finds_no_lock_held() {
    with_callbacks(|| {
        let runtime = runtime(1);
        let stubborn = runtime.spawn_process(|ctx: Context<()>| async move {
            std::future::pending::<()>().await;
            drop(ctx);
        });
        let (callback, calls) = ends(&stubborn.unwrap());
        let mut stop = Box::pin(runtime.stop_processes(Duration::from_secs(1000)));
        assert!(poll(&mut stop, Waker::noop()).is_pending());
        let report = match poll(&mut stop, &callback.waker()) {
            Poll::Ready(report) => report,
            Poll::Pending => block_on(stop),
        };
        assert_eq!(report.killed, 1);
        calls.load(Relaxed)
    });
}

#[test]
fn foreign_waker_of_one_that_receives_finds_no_lock_held() {
    with_callbacks(|| {
        let mut simulation = simulation();
        let (tell, told) = channel();
        let receiver = simulation.spawn_process(move |mut ctx: Context<u32>| async move {
            let (callback, calls) = looks_at(ctx.runtime(), &ctx.addr());
            for _ in 0..2 {
                assert!(poll(&mut ctx.receive(), &callback.waker()).is_pending());
            }
            ctx.sleep(Duration::from_secs(1)).await;
            ctx.receive().await;
            tell.send(calls.load(Relaxed)).unwrap();
        });
        let receiver = receiver.unwrap();
        simulation.run_for(Duration::from_millis(1));
        receiver.send(1).unwrap();
        simulation.run();
        told.next()
    });
}
