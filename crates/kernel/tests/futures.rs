//! Futures run as strands: they are spawned, awaited, woken from anywhere, and cancelled.

mod common;

use std::{
    future::{self, Future},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use common::{DISCIPLINES, Gate, Log, alone, real, settle, until};
use kernel::{CancelToken, Discipline, Handle, JoinError, Runtime, yield_now};

/// A place where one value is left by one thread and awaited by a future.
#[derive(Clone)]
struct Letterbox<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl<T> Letterbox<T> {
    fn new() -> Letterbox<T> {
        Letterbox(Arc::new(Mutex::new((None, None))))
    }

    fn leave(&self, letter: T) {
        let waker = {
            let mut inside = self.0.lock().unwrap();
            inside.0 = Some(letter);
            inside.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for Letterbox<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut inside = self.0.lock().unwrap();
        match inside.0.take() {
            Some(letter) => Poll::Ready(letter),
            None => {
                inside.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Counts its drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn spawned_future_is_joined_from_a_thread() {
    for discipline in DISCIPLINES {
        let runtime = real(Runtime::builder().workers(2).discipline(discipline));
        let mut join = runtime.spawn(async { [1, 2, 3].iter().sum::<i32>() }).unwrap();
        assert_eq!(join.join(), Ok(6));
    }
}

#[test]
fn spawned_future_is_awaited_by_another_on_one_worker() {
    let runtime = real(Runtime::builder().workers(1));
    let handle = runtime.handle();
    let mut outer = runtime
        .spawn(async move {
            let mut sum = 0;
            for number in 0..100 {
                let inner = handle.spawn(async move {
                    yield_now().await;
                    number
                });
                sum += inner.unwrap().await.unwrap();
            }
            sum
        })
        .unwrap();
    assert_eq!(outer.join(), Ok(4950));
}

#[test]
fn future_of_one_runtime_is_awaited_on_another() {
    let [one, other] = [(); 2].map(|()| real(Runtime::builder().workers(1)));
    let gate = Gate::default();
    let theirs = gate.clone();
    let inner = one.compute(move |_| {
        theirs.pass();
        "from the other side"
    });
    let inner = inner.unwrap();
    let mut outer = other.spawn(inner).unwrap();
    settle(&other);
    gate.open();
    assert_eq!(outer.join(), Ok(Ok("from the other side")));
}

#[test]
fn waker_works_from_a_thread_that_is_no_worker() {
    let runtime = real(Runtime::builder().workers(2));
    for number in 0..200 {
        let letters = Letterbox::new();
        let mut join = runtime.spawn(letters.clone()).unwrap();
        if number % 2 == 0 {
            settle(&runtime);
        }
        thread::scope(|scope| {
            scope.spawn(|| letters.leave(number));
        });
        assert_eq!(join.join(), Ok(number));
    }
}

#[test]
fn thousand_futures_pass_a_letter_around() {
    const MANY: usize = 1000;
    let runtime = real(Runtime::builder().workers(2));
    let boxes: Vec<Letterbox<usize>> = (0..=MANY).map(|_| Letterbox::new()).collect();
    for two in boxes.windows(2) {
        let (from, to) = (two[0].clone(), two[1].clone());
        drop(runtime.spawn(async move { to.leave(from.await + 1) }).unwrap());
    }
    let mut last = runtime.spawn(boxes[MANY].clone()).unwrap();
    boxes[0].leave(0);
    assert_eq!(last.join(), Ok(MANY));
}

#[test]
fn join_handle_that_is_dropped_lets_the_future_go_on() {
    let runtime = real(Runtime::builder().workers(1));
    let (letters, log) = (Letterbox::new(), Log::new());
    let (theirs, notes) = (letters.clone(), log.clone());
    drop(runtime.spawn(async move { notes.push(theirs.await) }).unwrap());
    letters.leave("detached");
    until(|| log.len() == 1);
}

#[test]
fn future_that_nobody_can_wake_any_more_is_dropped() {
    let runtime = real(Runtime::builder().workers(1));
    let drops = Arc::new(AtomicUsize::new(0));
    let kept = Dropped(drops.clone());
    let mut join = runtime
        .spawn(async move {
            let _kept = kept;
            future::pending::<()>().await;
        })
        .unwrap();
    assert_eq!(join.join(), Err(JoinError::Abandoned));
    assert_eq!(drops.load(Relaxed), 1);
}

#[test]
fn abort_and_cancel_drop_the_future_and_tell_who_waits() {
    for abort in [true, false] {
        let mut simulation = alone(Discipline::Stealing);
        let drops = Arc::new(AtomicUsize::new(0));
        let kept = Dropped(drops.clone());
        let letters = Letterbox::<()>::new();
        let theirs = letters.clone();
        let mut join = simulation
            .spawn(async move {
                let _kept = kept;
                theirs.await
            })
            .unwrap();
        simulation.run();
        if abort {
            join.abort()
        } else {
            join.cancel()
        }
        simulation.run();
        assert_eq!(drops.load(Relaxed), 1);
        assert_eq!(join.join(), Err(JoinError::Cancelled));
    }
}

#[test]
fn abort_before_the_first_poll_drops_the_future_unpolled() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let theirs = log.clone();
    let mut join = simulation.spawn(async move { theirs.push("polled") }).unwrap();
    join.abort();
    simulation.run();
    assert_eq!(join.join(), Err(JoinError::Cancelled));
    assert!(log.all().is_empty());
}

#[test]
fn abort_after_the_end_keeps_the_result() {
    let mut simulation = alone(Discipline::Stealing);
    let mut join = simulation.spawn(async { 7 }).unwrap();
    simulation.run();
    join.abort();
    simulation.run();
    assert_eq!(join.join(), Ok(7));
}

#[test]
fn strand_that_is_cancelled_is_asked_and_decides_itself() {
    let mut simulation = alone(Discipline::Stealing);
    let mut asked = 0;
    let (strand, mut join) = simulation
        .strand()
        .idle(move |turn| {
            asked += u32::from(turn.cancelled());
            if asked < 3 { kernel::Step::Yield } else { kernel::Step::End("in good order") }
        })
        .unwrap();
    strand.cancel();
    simulation.run();
    assert_eq!(join.join(), Ok("in good order"));
}

#[test]
fn yield_now_goes_behind_all_who_wait() {
    for discipline in [Discipline::Stealing, Discipline::Fifo] {
        let mut simulation = alone(discipline);
        let log = Log::new();
        for name in ["a", "b", "c"] {
            let log = log.clone();
            let polite = async move {
                for _ in 0..3 {
                    log.push(name);
                    yield_now().await;
                }
            };
            drop(simulation.spawn(polite).unwrap());
        }
        simulation.run();
        let turns = log.all();
        assert_eq!(turns.len(), 9);
        for three in turns.chunks_exact(3) {
            let mut three = three.to_vec();
            three.sort();
            assert_eq!(three, ["a", "b", "c"], "{discipline:?}: {turns:?}");
        }
    }
}

#[test]
fn future_that_is_not_unpin_stays_where_it_is() {
    let runtime = real(Runtime::builder().workers(2));
    let mut join = runtime
        .spawn(async {
            let here = [7u8; 100];
            let borrowed = &here;
            let address = borrowed.as_ptr() as usize;
            for _ in 0..10 {
                yield_now().await;
            }
            (borrowed.as_ptr() as usize == address, borrowed[99])
        })
        .unwrap();
    assert_eq!(join.join(), Ok((true, 7)));
}

// ---- Tokens.

#[test]
fn token_cancels_all_its_children_and_their_children() {
    let root = CancelToken::new();
    let [left, right] = [root.child(), root.child()];
    let leaf = left.child();
    left.cancel();
    assert!(left.is_cancelled() && leaf.is_cancelled());
    assert!(!root.is_cancelled() && !right.is_cancelled(), "not upwards, not sideways");
    root.cancel();
    root.cancel();
    assert!(right.is_cancelled());
    assert!(root.child().is_cancelled(), "a late child is born cancelled");
}

#[test]
fn token_cancels_the_children_of_a_child_that_is_gone() {
    let root = CancelToken::new();
    let leaf = root.child().child();
    root.cancel();
    assert!(leaf.is_cancelled());
}

#[test]
fn token_wakes_everyone_who_waits_for_it() {
    let runtime = real(Runtime::builder().workers(2));
    let root = CancelToken::new();
    let mut joins: Vec<_> = (0..100)
        .map(|number| {
            let token = if number % 2 == 0 { root.clone() } else { root.child() };
            runtime.spawn(token.cancelled()).unwrap()
        })
        .collect();
    settle(&runtime);
    assert!(joins.iter().all(|join| !join.is_finished()));
    root.cancel();
    for join in &mut joins {
        assert_eq!(join.join(), Ok(()));
    }
}

#[test]
fn token_that_is_cancelled_already_is_ready_at_once() {
    let mut simulation = alone(Discipline::Stealing);
    let token = CancelToken::new();
    token.cancel();
    assert_eq!(simulation.block_on(token.cancelled()), Ok(()));
    assert_eq!(simulation.now(), Duration::ZERO);
}

#[test]
fn wait_for_a_token_that_is_dropped_leaves_nothing_behind() {
    let mut simulation = alone(Discipline::Stealing);
    let (token, handle) = (CancelToken::new(), Handle::clone(&simulation));
    let theirs = token.clone();
    let mut join = simulation
        .spawn(async move { handle.timeout(Duration::from_millis(1), theirs.cancelled()).await })
        .unwrap();
    simulation.run();
    assert!(join.join().unwrap().is_err());
    token.cancel();
    simulation.run();
    assert_eq!(simulation.metrics().queued, 0);
}
