//! How a runtime stops: what still runs, what is refused, and that nothing is left behind.

mod common;

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use common::{DISCIPLINES, Gate, Log, occupy, placements, real, settle, until};
use kernel::{
    CancelToken, Discipline, Handle, JoinError, Runtime, ScheduleError, Step, Turn, WorkerState,
};

/// Long for a computer; a deadline that no test here is meant to reach.
const AMPLE: Duration = Duration::from_secs(600);

/// A deadline that is meant to pass.
const SHORT: Duration = Duration::from_millis(10);

/// Occupies a worker with a named strand until the gate opens.
fn occupy_named(runtime: &Runtime, name: &str) -> Gate {
    let (gate, (begun, wait)) = (Gate::default(), mpsc::channel());
    let theirs = gate.clone();
    let body = move |_: &mut Turn<'_>| {
        begun.send(()).unwrap();
        theirs.pass();
        Step::End(())
    };
    runtime.strand().name(name).start(body).unwrap();
    wait.recv().unwrap();
    gate
}

/// Waits until the last worker is gone.
fn stopped(handle: &Handle) {
    until(|| handle.workers().iter().all(|state| *state == WorkerState::Stopped));
}

/// Every way to schedule is refused.
#[track_caller]
fn refuses_everything(handle: &Handle, strand: &kernel::Strand) {
    assert_eq!(handle.submit(|_| {}), Err(ScheduleError::Stopped));
    assert_eq!(handle.submit_with(Default::default(), |_| {}), Err(ScheduleError::Stopped));
    assert_eq!(handle.submit_all([|_: &mut Turn<'_>| {}]), Err(ScheduleError::Stopped));
    assert_eq!(handle.compute(|_| 1).err(), Some(ScheduleError::Stopped));
    assert_eq!(handle.spawn(async {}).err(), Some(ScheduleError::Stopped));
    let body = |_: &mut Turn<'_>| Step::End(());
    assert_eq!(handle.strand().start(body).err(), Some(ScheduleError::Stopped));
    assert_eq!(handle.strand().idle(body).err(), Some(ScheduleError::Stopped));
    assert_eq!(strand.wake(), Err(ScheduleError::Stopped));
    assert_eq!(handle.wake_after(SHORT, strand).err(), Some(ScheduleError::Stopped));
    assert_eq!(
        ScheduleError::Stopped.to_string(),
        "the runtime has been shut down and takes no more work"
    );
}

#[test]
fn shutdown_runs_all_that_is_queued_and_all_that_this_submits() {
    fn tree(turn: &mut Turn<'_>, depth: u32, log: Log<u32>) {
        if depth > 0 {
            for _ in 0..2 {
                let log = log.clone();
                turn.submit(move |turn| tree(turn, depth - 1, log));
            }
        }
        log.push(depth);
    }
    for discipline in DISCIPLINES {
        for placement in placements(2) {
            let runtime =
                real(Runtime::builder().workers(2).discipline(discipline).placement(placement));
            let gates = [occupy(&runtime), occupy(&runtime)];
            let log = Log::new();
            for _ in 0..10 {
                let log = log.clone();
                runtime.submit(move |turn| tree(turn, 6, log)).unwrap();
            }
            gates.iter().for_each(Gate::open);
            let report = runtime.shutdown();
            assert_eq!(log.len(), 10 * 127);
            assert_eq!((report.turns, report.dropped), (10 * 127 + 2, 0));
        }
    }
}

#[test]
fn shutdown_runs_strands_that_yield_to_their_end() {
    let runtime = real(Runtime::builder().workers(2));
    let mut joins: Vec<_> = (0..20)
        .map(|turns| {
            let mut left = turns;
            let body = move |_: &mut Turn<'_>| {
                left -= 1;
                if left < 0 { Step::End(turns) } else { Step::Yield }
            };
            runtime.strand().start(body).unwrap().1
        })
        .collect();
    runtime.shutdown();
    for (turns, join) in joins.iter_mut().enumerate() {
        assert_eq!(join.join(), Ok(turns as i32));
    }
}

#[test]
fn turn_that_is_still_to_finish_may_schedule_while_the_runtime_drains() {
    let runtime = real(Runtime::builder().workers(1));
    let handle = runtime.handle();
    let (gate, (send, receive)) = (Gate::default(), mpsc::channel());
    let theirs = gate.clone();
    runtime
        .submit(move |turn| {
            send.send(()).unwrap();
            theirs.pass();
            turn.handle().submit(move |_| send.send(()).unwrap()).unwrap();
        })
        .unwrap();
    receive.recv().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| runtime.shutdown());
        // From outside it is refused from the moment the shutdown began.
        until(|| handle.submit(|_| {}).is_err());
        gate.open();
    });
    assert_eq!(receive.recv(), Ok(()));
}

#[test]
fn after_shutdown_every_way_to_schedule_is_refused() {
    let runtime = real(Runtime::builder().workers(2));
    let strand = runtime.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap().0;
    let handle = runtime.handle();
    runtime.shutdown();
    refuses_everything(&handle, &strand);
    assert!(handle.workers().iter().all(|state| *state == WorkerState::Stopped));
}

#[test]
fn after_drop_every_way_to_schedule_is_refused() {
    let runtime = real(Runtime::builder().workers(2));
    let strand = runtime.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap().0;
    let handle = runtime.handle();
    drop(runtime);
    refuses_everything(&handle, &strand);
}

#[test]
fn shutdown_within_its_deadline_is_as_one_without() {
    let runtime = real(Runtime::builder().workers(2));
    let mut join = runtime.compute(|_| 7).unwrap();
    let report = runtime.shutdown_timeout(AMPLE).unwrap();
    assert_eq!((report.turns, report.dropped, join.join()), (1, 0, Ok(7)));
}

/// The turn ends only when the test lets it: had the shutdown waited for it, it would hang.
#[test]
fn shutdown_keeps_its_deadline_with_a_turn_that_does_not_end_and_names_it() {
    let runtime = real(Runtime::builder().workers(2));
    let handle = runtime.handle();
    let gate = occupy_named(&runtime, "endless");
    let other = occupy(&runtime);
    let log = Log::new();
    for _ in 0..5 {
        let log = log.clone();
        runtime.submit(move |_| log.push(())).unwrap();
    }
    let error = runtime.shutdown_timeout(SHORT).unwrap_err();
    let mut running = error.running.clone();
    running.sort();
    assert_eq!(running, ["endless", "job"]);
    assert_eq!((error.timeout, error.report.dropped), (SHORT, 5));
    let text = error.to_string();
    assert!(text.starts_with("after 10ms still running: "), "{text}");
    assert!(text.ends_with("; 5 entries that were queued were dropped"), "{text}");
    assert_eq!(log.len(), 0);
    // Its thread ends when the turn does.
    gate.open();
    other.open();
    stopped(&handle);
}

#[test]
fn turn_in_progress_at_the_deadline_is_told_to_end() {
    let runtime = real(Runtime::builder().workers(1).quantum(Duration::from_secs(3600)));
    let (send, receive) = mpsc::channel();
    let (_, mut join) = runtime
        .strand()
        .start(move |turn| {
            send.send(()).unwrap();
            while !turn.expired() {
                thread::yield_now();
            }
            Step::End("told")
        })
        .unwrap();
    receive.recv().unwrap();
    // The turn may just end in time, since the flag is raised before the names are asked for.
    let _ = runtime.shutdown_timeout(SHORT);
    until(|| join.is_finished());
    assert_eq!(join.try_join(), Some(Ok("told")));
}

#[test]
fn drop_does_not_wait_for_a_turn_in_progress() {
    let runtime = real(Runtime::builder().workers(1));
    let gate = occupy(&runtime);
    let mut queued = runtime.compute(|_| 1).unwrap();
    let handle = runtime.handle();
    drop(runtime);
    assert_eq!(queued.join(), Err(JoinError::Stopped));
    assert_eq!(handle.metrics().dropped, 1);
    gate.open();
}

#[test]
fn shutdown_background_does_not_wait_either() {
    let runtime = real(Runtime::builder().workers(1));
    let gate = occupy(&runtime);
    runtime.shutdown_background();
    gate.open();
}

#[test]
fn drop_inside_a_turn_of_its_own_worker_stops_the_runtime() {
    let runtime = real(Runtime::builder().workers(2));
    let handle = runtime.handle();
    let mut join = handle.compute(move |_| drop(runtime)).unwrap();
    // Either the job tells, or the runtime that it dropped.
    assert!(matches!(join.join(), Ok(()) | Err(JoinError::Stopped)));
    stopped(&handle);
    assert_eq!(handle.submit(|_| {}), Err(ScheduleError::Stopped));
}

#[test]
fn shutdown_inside_a_turn_of_its_own_worker_does_not_wait_and_runs_what_is_queued() {
    let runtime = real(Runtime::builder().workers(1));
    let handle = runtime.handle();
    let (log, gate) = (Log::new(), Gate::default());
    let (theirs, first) = (log.clone(), gate.clone());
    handle
        .submit(move |_| {
            first.pass();
            runtime.shutdown();
            theirs.push("shut down");
        })
        .unwrap();
    let theirs = log.clone();
    handle.submit(move |_| theirs.push("queued before")).unwrap();
    gate.open();
    stopped(&handle);
    assert_eq!(log.all(), ["shut down", "queued before"]);
}

#[test]
fn shutdown_with_a_deadline_inside_a_turn_of_its_own_worker_does_not_wait() {
    let runtime = real(Runtime::builder().workers(1));
    let (handle, (send, receive)) = (runtime.handle(), mpsc::channel());
    handle.submit(move |_| send.send(runtime.shutdown_timeout(AMPLE)).unwrap()).unwrap();
    let error = receive.recv().unwrap().unwrap_err();
    assert_eq!(error.running, ["job"], "it is this very turn that still runs");
    stopped(&handle);
}

#[test]
fn those_who_wait_for_an_idle_strand_are_told_that_the_runtime_stopped() {
    for drain in [true, false] {
        let runtime = real(Runtime::builder().workers(1));
        let (_strand, mut idle) = runtime.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap();
        let handle = runtime.handle();
        let mut asleep =
            runtime.spawn(async move { handle.sleep(Duration::from_secs(3600)).await }).unwrap();
        let token = CancelToken::new();
        let mut pending = runtime.spawn(async move { token.cancelled().await }).unwrap();
        thread::scope(|scope| {
            let waits = [
                scope.spawn(move || idle.join()),
                scope.spawn(move || asleep.join()),
                scope.spawn(move || pending.join()),
            ];
            if drain {
                runtime.shutdown();
            } else {
                drop(runtime);
            }
            for wait in waits {
                assert_eq!(wait.join().unwrap(), Err(JoinError::Stopped));
            }
        });
    }
}

/// A handle counts no reference to its runtime: one that is asked while the runtime is dropped, or
/// long after, still answers.
#[test]
fn handles_that_are_asked_while_the_runtime_is_dropped_answer() {
    for workers in [1, 2].repeat(100) {
        let runtime = real(Runtime::builder().workers(workers));
        let mut jobs: Vec<_> = (0..20).map(|n| runtime.compute(move |_| n).unwrap()).collect();
        let (strand, mut idle) = runtime.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap();
        let waiting: Vec<_> = jobs.split_off(10).into_iter().zip(10..).collect();
        let (begun, begins) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                begun.send(()).unwrap();
                for (mut job, n) in waiting {
                    let result = job.join();
                    assert!(result == Ok(n) || result == Err(JoinError::Stopped), "{result:?}");
                }
                assert_eq!(idle.join(), Err(JoinError::Stopped));
                drop(strand);
            });
            begins.recv().unwrap();
            drop(runtime);
            for (mut job, n) in jobs.into_iter().zip(0..) {
                let result = job.join();
                assert!(result == Ok(n) || result == Err(JoinError::Stopped), "{result:?}");
            }
        });
    }
}

/// What strands, jobs, futures and timers have captured is dropped in every way to stop.
#[test]
fn nothing_that_was_captured_is_left_behind() {
    for discipline in DISCIPLINES {
        for drain in [true, false] {
            let runtime = real(Runtime::builder().workers(2).discipline(discipline));
            let gates = [occupy(&runtime), occupy(&runtime)];
            let captured = Arc::new(());
            let mut wakers = Vec::new();
            for number in 0..50 {
                let theirs = captured.clone();
                let body = move |_: &mut Turn<'_>| -> Step<()> {
                    let _ = &theirs;
                    if number % 3 == 0 { Step::Pause } else { Step::End(()) }
                };
                let (strand, _) = runtime.strand().start(body).unwrap();
                wakers.push(runtime.wake_after(AMPLE, &strand).unwrap());
                let (theirs, handle) = (captured.clone(), runtime.handle());
                let asleep = async move {
                    let _theirs = theirs;
                    handle.sleep(AMPLE).await;
                };
                drop(runtime.spawn(asleep).unwrap());
                let theirs = captured.clone();
                runtime.submit(move |_| drop(theirs)).unwrap();
                let (theirs, large) = (captured.clone(), [number; 20]);
                runtime.submit(move |_| drop((theirs, large))).unwrap();
            }
            assert_eq!(Arc::strong_count(&captured), 201);
            gates.iter().for_each(Gate::open);
            let handle = runtime.handle();
            if drain {
                runtime.shutdown();
            } else {
                drop(runtime);
            }
            drop(wakers);
            stopped(&handle);
            until(|| Arc::strong_count(&captured) == 1);
            assert_eq!((handle.metrics().queued, handle.metrics().timers), (0, 0));
        }
    }
}

#[test]
fn shutdown_of_a_paused_runtime_runs_what_is_queued() {
    let runtime = real(Runtime::builder().workers(2));
    runtime.pause();
    until(|| runtime.workers().iter().all(|state| *state == WorkerState::Paused));
    let mut joins: Vec<_> = (0..10).map(|n| runtime.compute(move |_| n).unwrap()).collect();
    assert_eq!(runtime.shutdown().dropped, 0);
    for (number, join) in joins.iter_mut().enumerate() {
        assert_eq!(join.join(), Ok(number));
    }
}

#[test]
fn drop_of_a_paused_runtime_drops_what_is_queued() {
    let runtime = real(Runtime::builder().workers(2));
    runtime.pause();
    until(|| runtime.workers().iter().all(|state| *state == WorkerState::Paused));
    let mut join = runtime.compute(|_| 1).unwrap();
    let handle = runtime.handle();
    drop(runtime);
    assert_eq!(join.join(), Err(JoinError::Stopped));
    stopped(&handle);
}

/// Whatever was accepted runs or is counted as dropped, however the two meet.
#[test]
fn submitted_while_the_runtime_stops_is_run_or_refused_or_counted() {
    for round in 0..50 {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (handle, ran) = (runtime.handle(), Log::new());
        let accepted = thread::scope(|scope| {
            let submitters: Vec<_> = (0..2)
                .map(|_| {
                    let (handle, ran) = (handle.clone(), ran.clone());
                    scope.spawn(move || {
                        let mut accepted = 0;
                        loop {
                            let ran = ran.clone();
                            if handle.submit(move |_| ran.push(())).is_err() {
                                return accepted;
                            }
                            accepted += 1;
                        }
                    })
                })
                .collect();
            until(|| ran.len() > 10);
            if round % 2 == 0 {
                runtime.shutdown();
            } else {
                drop(runtime);
            }
            submitters.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
        });
        stopped(&handle);
        until(|| ran.len() as u64 + handle.metrics().dropped == accepted);
    }
}

#[test]
fn runtime_without_any_work_shuts_down() {
    for discipline in DISCIPLINES {
        let runtime = Runtime::builder().workers(3).discipline(discipline).build().unwrap();
        assert_eq!(runtime.shutdown().turns, 0);
    }
    let runtime = real(Runtime::builder().workers(3));
    settle(&runtime);
    assert!(runtime.shutdown_timeout(AMPLE).is_ok());
}

/// Each that is dropped wakes another, which is dropped in turn: in a row, not one inside the other.
#[test]
fn dropping_many_that_wake_others_does_not_use_up_the_stack() {
    let runtime = Runtime::builder().workers(1).discipline(Discipline::Fifo).build().unwrap();
    let gate = occupy(&runtime);
    for _ in 0..100_000 {
        let handle = runtime.handle();
        drop(runtime.spawn(async move { handle.compute(|_| ()).unwrap().await }).unwrap());
    }
    let (last, (begun, wait)) = (Gate::default(), mpsc::channel());
    let theirs = last.clone();
    let keep = move |_: &mut Turn<'_>| {
        begun.send(()).unwrap();
        theirs.pass();
    };
    runtime.submit(keep).unwrap();
    gate.open();
    wait.recv().unwrap();
    runtime.shutdown_background();
    last.open();
}
