//! What foreign wakers, the dead, and those who never stop sending may not do to a process.
#![allow(clippy::disallowed_methods, reason = "a test plays the outside world with real threads")]

mod common;

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    task::{self, Poll, Wake, Waker},
    thread,
    time::Duration,
};

use common::{channel, runtime};
use kernel::{Runtime, Simulation, Step};
use process::{
    CallError, Command, Context, ExitReason, MailboxKind, Payload, Process, ProcessError,
    Processes, Reply, StepOutput, block_on,
};

fn simulation() -> Simulation {
    Runtime::builder().workers(1).simulate(0).unwrap()
}

/// Polls a future with a waker of its own, as sets of futures do.
struct Apart<F> {
    future: Pin<Box<F>>,
    waker: Arc<OwnWaker>,
}

#[derive(Default)]
struct OwnWaker {
    outer: Mutex<Option<Waker>>,
    asleep: AtomicBool,
}

impl Wake for OwnWaker {
    fn wake(self: Arc<Self>) {
        self.asleep.store(false, Relaxed);
        if let Some(outer) = self.outer.lock().unwrap().take() {
            outer.wake();
        }
    }
}

impl<F: Future> Future for Apart<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<F::Output> {
        *self.waker.outer.lock().unwrap() = Some(task.waker().clone());
        if self.waker.asleep.swap(true, Relaxed) {
            return Poll::Pending;
        }
        let waker = Waker::from(self.waker.clone());
        self.future.as_mut().poll(&mut task::Context::from_waker(&waker))
    }
}

fn apart<F: Future>(future: F) -> Apart<F> {
    Apart { future: Box::pin(future), waker: Arc::default() }
}

#[test]
fn process_that_receives_with_a_foreign_waker_hears_and_then_rests() {
    let mut simulation = simulation();
    let (tell, told) = channel();
    let process = simulation.spawn_process(move |mut ctx: Context<u32>| async move {
        while let Some(number) = apart(ctx.receive()).await {
            tell.send(number).unwrap();
        }
    });
    let process = process.unwrap();
    for number in 0..3 {
        process.send(number).unwrap();
        simulation.run_for(Duration::from_secs(1));
    }
    assert_eq!(told.all(), [0, 1, 2]);
    let before = simulation.process_info(process.pid()).unwrap().steps;
    simulation.run_for(Duration::from_secs(1));
    assert_eq!(simulation.process_info(process.pid()).unwrap().steps, before);
}

#[test]
fn mailbox_that_drops_the_oldest_keeps_its_bound_under_selective_receive() {
    let mut simulation = simulation();
    let builder = simulation.process().mailbox(MailboxKind::DropOldest(8));
    let picky = builder.spawn(|mut ctx: Context<u32>| async move {
        ctx.receive_if(|number| *number == u32::MAX).await;
    });
    let picky = picky.unwrap();
    for number in 0..100 {
        picky.send(number).unwrap();
        simulation.run();
        assert!(picky.mailbox_len() <= 8, "{} wait", picky.mailbox_len());
    }
}

/// A mailbox of so many keeps `left` through a selective receive, and gets `newer` afterwards: what waits
/// then, and what is read.
fn left_then_sent(bound: usize, left: &[u32], newer: &[u32]) -> (usize, Vec<u32>) {
    const S: Duration = Duration::from_secs(1);
    let mut simulation = simulation();
    let (tell, told) = channel();
    let builder = simulation.process().mailbox(MailboxKind::DropOldest(bound));
    let picky = builder.spawn(move |mut ctx: Context<u32>| async move {
        let runtime = ctx.runtime().clone();
        let nothing = runtime.timeout(S, ctx.receive_if(|number| *number == 9)).await;
        assert!(nothing.is_err());
        ctx.sleep(S).await;
        while let Some(number) = ctx.try_receive() {
            tell.send(number).unwrap();
        }
    });
    let picky = picky.unwrap();
    picky.send_many(left.iter().copied()).unwrap();
    simulation.run_for(S + S / 2);
    picky.send_many(newer.iter().copied()).unwrap();
    simulation.run_for(S / 10);
    let waiting = picky.mailbox_len();
    simulation.run();
    (waiting, told.all())
}

#[test]
fn what_a_selective_receive_has_left_is_dropped_first_for_newer_messages() {
    assert_eq!(left_then_sent(2, &[1, 2], &[3, 4, 5]), (2, vec![4, 5]));
}

#[test]
fn some_of_what_a_selective_receive_has_left_stays_while_there_is_room() {
    assert_eq!(left_then_sent(3, &[1, 2, 3], &[4]), (3, vec![2, 3, 4]));
}

#[test]
fn iterator_that_panics_takes_what_it_has_given_with_it() {
    let runtime = Runtime::new().unwrap();
    let process = runtime.spawn_process(|mut ctx: Context<Arc<()>>| async move {
        ctx.receive().await;
    });
    let process = process.unwrap();
    let shared = Arc::new(());
    let given = (0..10).map(|number| {
        assert!(number < 5, "it gives no more");
        shared.clone()
    });
    let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| process.send_many(given)));
    assert!(sent.is_err());
    assert_eq!(Arc::strong_count(&shared), 1);
    assert!(process.is_alive());
}

#[test]
fn monitors_of_those_who_have_exited_do_not_pile_up() {
    let mut simulation = simulation();
    let watched = simulation.spawn_process(|mut ctx: Context<()>| async move {
        ctx.receive().await;
    });
    let pid = watched.unwrap().pid();
    for _ in 0..1000 {
        let watcher = move |ctx: Context<()>| async move {
            ctx.monitor(pid);
        };
        simulation.spawn_process(watcher).unwrap();
        simulation.run();
    }
    assert!(simulation.process_info(pid).unwrap().monitors < 10);
}

/// Gives a command, and waits for ever.
struct Asks;

impl Process for Asks {
    fn step(
        &mut self,
        _: &mut Vec<process::Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        out.command(1, "keep", ());
        out.idle();
        Ok(())
    }
}

#[test]
fn completion_for_one_that_has_exited_is_dropped_though_its_address_is_kept() {
    let mut simulation = simulation();
    let kept: Arc<Mutex<Vec<Command>>> = Arc::default();
    let theirs = kept.clone();
    simulation.handle_command("keep", move |command| theirs.lock().unwrap().push(command));
    let process = simulation.process().start(Asks, "run", ()).unwrap();
    simulation.run();
    process.kill();
    simulation.run();
    let result = Arc::new(());
    for command in kept.lock().unwrap().drain(..) {
        command.split().1.complete(Ok(Payload::opaque(result.clone())));
    }
    assert_eq!(Arc::strong_count(&result), 1);
    assert!(!process.is_alive());
}

struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

#[test]
fn waker_that_panics_keeps_nobody_else_waiting_for_room_or_for_an_exit() {
    let mut simulation = simulation();
    let bomb = Waker::from(Arc::new(Bomb));
    let mut task = task::Context::from_waker(&bomb);
    let builder = simulation.process().mailbox(MailboxKind::Bounded(1));
    let busy = builder.spawn(|mut ctx: Context<u32>| async move {
        ctx.sleep(Duration::from_secs(1)).await;
        for _ in 0..3 {
            ctx.receive().await;
        }
    });
    let busy = busy.unwrap();
    simulation.run_for(Duration::from_millis(1));
    busy.send(0).unwrap();
    let (mut wait, mut exit) = (busy.send_wait(1), busy.exited());
    assert!(Pin::new(&mut wait).poll(&mut task).is_pending());
    assert!(Pin::new(&mut exit).poll(&mut task).is_pending());
    let (tell, told) = channel();
    for number in 2..4 {
        let (busy, tell) = (busy.clone(), tell.clone());
        let sender = simulation.spawn_process(move |_: Context<()>| async move {
            busy.send_wait(number).await.unwrap();
            tell.send(busy.exited().await).unwrap();
        });
        sender.unwrap();
    }
    simulation.run();
    assert_eq!(told.all(), [ExitReason::Normal, ExitReason::Normal]);
}

#[test]
fn selective_receive_of_one_that_always_has_mail_lets_others_run() {
    let runtime = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let theirs = stop.clone();
    let greedy = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        let own = ctx.addr();
        while !theirs.load(Relaxed) {
            own.send(()).unwrap();
            ctx.receive_if(|()| true).await;
        }
    });
    let greedy = greedy.unwrap();
    runtime.compute(|_| ()).unwrap().join().unwrap();
    stop.store(true, Relaxed);
    assert_eq!(block_on(greedy.exited()), ExitReason::Normal);
}

#[test]
fn call_with_a_limit_ends_though_the_runtime_stops_and_the_reply_is_kept() {
    struct Ask(Reply<u32>);
    let runtime = runtime(1);
    let (tell, told) = mpsc::channel();
    let keeper = runtime.spawn_process(move |mut ctx: Context<Ask>| async move {
        while let Some(Ask(reply)) = ctx.receive().await {
            tell.send(reply).unwrap();
        }
    });
    let keeper = keeper.unwrap();
    let caller =
        thread::spawn(move || block_on(keeper.call(Ask).within(Duration::from_secs(3600))));
    let _kept = told.recv().unwrap();
    runtime.shutdown();
    assert_eq!(caller.join().unwrap(), Err(CallError::Stopped));
}

#[test]
fn signal_in_a_simulation_is_heard_when_the_first_one_is_sent() {
    let mut simulation = Runtime::builder().workers(3).simulate(7).unwrap();
    let (tell, told) = channel();
    let target = simulation.spawn_process(move |mut ctx: Context<()>| async move {
        ctx.receive().await;
        tell.send(ctx.runtime().now()).unwrap();
    });
    let target = target.unwrap();
    simulation.run();
    for work in [Duration::from_secs(10), Duration::from_millis(1)] {
        let target = target.clone();
        let canceller = move |turn: &mut kernel::Turn<'_>| {
            turn.simulate(work);
            target.cancel();
            Step::End(())
        };
        simulation.strand().start(canceller).unwrap();
    }
    simulation.run();
    assert!(told.all()[0] < Duration::from_secs(1));
}
