//! What only the inside of a worker can show.

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    task::Waker,
    thread,
    time::Duration,
};

use crate::{Placement, Runtime, Share, Step, Turn, WorkerChange, WorkerState};

struct WakesWhenDropped(Waker);

impl Drop for WakesWhenDropped {
    fn drop(&mut self) {
        self.0.wake_by_ref();
    }
}

/// A worker has taken a job, which still lies in its slot, when it finds that the runtime is
/// closed. Drops of what waits in its inbox wake a strand, which must not be pushed over the job.
#[test]
fn job_in_its_slot_is_not_written_over_while_the_runtime_closes() {
    let builder = Runtime::builder().workers(1).placement(Placement::RoundRobin);
    let runtime = builder.quantum(std::time::Duration::from_secs(100)).build().unwrap();
    let (strand, _join) = runtime.strand().idle(|_| Step::<()>::Pause).unwrap();
    let wakes = WakesWhenDropped(strand.waker());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (ready, is_ready) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let theirs = seen.clone();
    let first = move |turn: &mut Turn<'_>| {
        for i in 0..3_u64 {
            let (theirs, end) = (theirs.clone(), end.clone());
            let numbers = [i, 2222, 3333];
            turn.submit(move |_| {
                theirs.lock().unwrap().push(numbers);
                drop(end);
            });
        }
        ready.send(()).unwrap();
        may_go.recv().unwrap();
    };
    runtime.submit(first).unwrap();
    is_ready.recv().unwrap();
    runtime.submit(move |_| drop(wakes)).unwrap();
    // As when a runtime is dropped, before its workers are asked to stop.
    runtime.shared.refuse();
    runtime.shared.idle.close();
    go.send(()).unwrap();
    assert!(ended.recv().is_err(), "all that held it is gone");
    assert!(seen.lock().unwrap().iter().all(|numbers| numbers[1..] == [2222, 3333]));
}

/// Nobody waits, so no other worker is called for it.
#[test]
fn strand_that_is_alone_when_its_share_is_used_up_stays_with_its_worker() {
    for placement in [Placement::Any, Placement::RoundRobin] {
        let runtime = Runtime::builder().workers(4).placement(placement).build().unwrap();
        let mut workers = Vec::new();
        let body = move |turn: &mut Turn<'_>| {
            workers.push(turn.worker());
            if workers.len() == 10_000 {
                return Step::End(mem::take(&mut workers));
            }
            turn.use_up();
            Step::Yield
        };
        let (_, mut join) = runtime.strand().start(body).unwrap();
        let workers = join.join().unwrap();
        assert!(workers.iter().all(|worker| *worker == workers[0]), "it was moved");
    }
}

/// Goes on for ever, from share to share.
fn endless() -> impl FnMut(&mut Turn<'_>) -> Step<()> + Send {
    |turn| loop {
        turn.use_up();
        if !turn.goes_on() {
            return Step::Yield;
        }
    }
}

#[test]
fn shares_of_one_that_goes_on_inside_its_turn_count_as_turns() {
    const SHARES: u64 = 10_000;
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (mut shares, mut calls) = (0, 0);
    let body = move |turn: &mut Turn<'_>| {
        calls += 1;
        loop {
            shares += 1;
            if shares == SHARES {
                return Step::End(calls);
            }
            turn.use_up();
            if !turn.goes_on() {
                return Step::Yield;
            }
        }
    };
    let (_, mut join) = runtime.strand().start(body).unwrap();
    let calls: u64 = join.join().unwrap();
    assert!(calls < SHARES / 10, "it was called {calls} times");
    assert_eq!(runtime.metrics().total().turns, SHARES);
}

#[test]
fn one_that_goes_on_inside_its_turn_lets_others_in_and_can_be_aborted() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (strand, mut join) = runtime.strand().start(endless()).unwrap();
    for number in 0..100 {
        let mut other = runtime.compute(move |_| number).unwrap();
        assert_eq!(other.join(), Ok(number));
    }
    strand.abort();
    assert!(join.join().is_err(), "it was aborted");
}

#[test]
fn one_that_has_not_used_up_its_share_does_not_go_on() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (_, mut join) = runtime.strand().start(|turn| Step::End(turn.goes_on())).unwrap();
    assert_eq!(join.join(), Ok(false));
}

/// It does not come to what lies there, and others need not wait for the monitor to find that out.
#[test]
fn worker_that_pauses_keeps_nothing_to_itself() {
    let (tell, told) = mpsc::channel();
    let observer = move |_, change| {
        if change == WorkerChange::Paused {
            tell.send(()).unwrap();
        }
    };
    let runtime = Runtime::builder().workers(1).on_worker(observer).build().unwrap();
    let body = |turn: &mut Turn<'_>| {
        turn.share(Share::Kept);
        Step::<()>::Yield
    };
    let (_, _join) = runtime.strand().start(body).unwrap();
    for _ in 0..100 {
        runtime.pause();
        told.recv().unwrap();
        assert!(!runtime.shared.slots[0].sharing.is_kept());
        runtime.resume();
        assert_eq!(runtime.compute(|_| ()).unwrap().join(), Ok(()));
    }
}

/// Beside one the monitor may nap, and would not see that the worker is stuck.
#[test]
fn worker_with_an_inbox_keeps_nothing_to_itself() {
    for (placement, keeps) in [(Placement::Any, true), (Placement::RoundRobin, false)] {
        let runtime = Runtime::builder().workers(1).placement(placement).build().unwrap();
        let shared = runtime.shared.clone();
        let said = move |turn: &mut Turn<'_>| {
            turn.share(Share::Kept);
            shared.slots[0].sharing.is_kept()
        };
        assert_eq!(runtime.compute(said).unwrap().join(), Ok(keeps));
    }
}

#[test]
fn strand_that_is_alone_and_never_ends_lets_its_worker_pause() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (_, _join) = runtime.strand().start(endless()).unwrap();
    for _ in 0..100 {
        runtime.pause();
        while runtime.workers()[0] != WorkerState::Paused {
            thread::yield_now();
        }
        runtime.resume();
        let mut other = runtime.compute(|_| 7).unwrap();
        assert_eq!(other.join(), Ok(7));
    }
}

/// A turn that joins runs what lies on its deque meanwhile, and is itself in no queue.
#[test]
fn strand_that_runs_inside_of_a_join_lets_it_return() {
    fn wait_for(flag: &AtomicBool) {
        while !flag.load(Relaxed) {
            thread::yield_now();
        }
    }
    // One joins, one has its branch, and should the quantum be over, one is left for the strand.
    let runtime = Runtime::builder().workers(3).build().unwrap();
    let (returned, returns) = mpsc::channel();
    for _ in 0..20 {
        let (handle, returned) = (runtime.handle(), returned.clone());
        let joins = move |turn: &mut Turn<'_>| {
            let (stolen, ran) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
            let over = Arc::new(AtomicBool::new(false));
            let here = |_: &mut Turn<'_>| {
                wait_for(&stolen);
                let (ran, over) = (ran.clone(), over.clone());
                let endless = move |turn: &mut Turn<'_>| {
                    ran.store(true, Relaxed);
                    turn.use_up();
                    if over.load(Relaxed) { Step::End(()) } else { Step::Yield }
                };
                drop(handle.strand().start(endless).unwrap());
            };
            let there = |_: &mut Turn<'_>| {
                stolen.store(true, Relaxed);
                wait_for(&ran);
            };
            turn.join(here, there);
            over.store(true, Relaxed);
            returned.send(()).unwrap();
        };
        runtime.submit(joins).unwrap();
        let guard = Duration::from_secs(60);
        assert!(returns.recv_timeout(guard).is_ok(), "the branch has ended, and nobody returns");
    }
}
