//! Where two runtimes meet, or a runtime meets somebody else's code: who runs what, who is told.

mod common;

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use common::{Gate, real, until};
use kernel::{
    Attributes, BuildError, Discipline, JoinError, Placement, Runtime, Step, Turn, WorkerId,
    WorkerState,
};

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn handed_to_across_runtimes_a_strand_runs_at_home() {
    let home = real(
        Runtime::builder()
            .workers(4)
            .name("home")
            .discipline(Discipline::Fifo)
            .placement(Placement::affinity(|_| Some(WorkerId::new(3)))),
    );
    let away = real(Runtime::builder().workers(1).name("away"));
    for from_a_job in [true, false] {
        let (send, receive) = mpsc::channel();
        let target = home.strand().idle(move |_: &mut Turn<'_>| {
            let thread = std::thread::current().name().unwrap().to_owned();
            send.send(thread).unwrap();
            Step::End(())
        });
        let target = target.unwrap().0;
        if from_a_job {
            away.submit(move |turn| turn.hand_off(&target)).unwrap();
        } else {
            let body = move |turn: &mut Turn<'_>| {
                turn.hand_off(&target);
                Step::End(())
            };
            away.strand().start(body).unwrap();
        }
        assert!(receive.recv().unwrap().starts_with("home-"));
    }
}

#[test]
fn futures_that_await_each_other_are_dropped_when_the_runtime_stops() {
    let drops = Arc::new(AtomicUsize::new(0));
    for drain in [true, false] {
        let runtime = real(Runtime::builder().workers(1));
        let (inner, outer) = (Dropped(drops.clone()), Dropped(drops.clone()));
        let handle = runtime.handle();
        let sleeping = runtime.handle();
        let awaited = runtime
            .spawn(async move {
                let _inner = inner;
                sleeping.sleep(Duration::from_secs(3600)).await;
            })
            .unwrap();
        drop(handle.spawn(async move {
            let _outer = outer;
            let _ = awaited.await;
        }));
        common::settle(&runtime);
        if drain {
            runtime.shutdown();
        } else {
            drop(runtime);
        }
    }
    until(|| drops.load(Relaxed) == 4);
}

#[test]
fn waiting_for_the_outer_runtime_inside_a_nested_simulation_is_refused() {
    let runtime = real(Runtime::builder().workers(1));
    let handle = runtime.handle();
    let mut outer = runtime
        .compute(move |_| {
            let mut never = handle.compute(|_| ()).unwrap();
            let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
            let mut inner = simulation.compute(move |_| never.join()).unwrap();
            simulation.run();
            inner.join().unwrap()
        })
        .unwrap();
    assert_eq!(outer.join().unwrap(), Err(JoinError::WouldBlock));
}

#[test]
fn affinity_is_asked_about_what_a_turn_submits() {
    // What has a key is at home on worker 0, everything else on worker 2.
    let by_key = |about: &Attributes| Some(WorkerId::new(if about.key.is_some() { 0 } else { 2 }));
    for discipline in [Discipline::Fifo, Discipline::Stealing] {
        let builder = Runtime::builder().workers(3).discipline(discipline);
        let mut simulation = builder.placement(Placement::affinity(by_key)).simulate(0).unwrap();
        let log = common::Log::new();
        let theirs = log.clone();
        let body = move |turn: &mut Turn<'_>| {
            theirs.push(turn.worker().get());
            let log = theirs.clone();
            turn.submit(move |turn| log.push(turn.worker().get()));
            Step::End(())
        };
        simulation.strand().key(7).start(body).unwrap();
        simulation.run();
        assert_eq!(log.all(), [0, 2], "{discipline:?}");
    }
}

struct Explosive;

impl Wake for Explosive {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics, as this test wants");
    }
}

#[test]
fn waker_that_panics_harms_nobody_else() {
    let runtime = real(Runtime::builder().workers(1));
    let mut sleep = runtime.sleep(Duration::from_millis(1));
    let waker = Waker::from(Arc::new(Explosive));
    assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
    let handle = runtime.handle();
    let mut after = runtime.spawn(async move { handle.sleep(Duration::from_millis(5)).await });
    assert_eq!(after.as_mut().unwrap().join(), Ok(()));
}

#[test]
fn what_is_dropped_at_the_stop_may_wait_itself() {
    struct Waits(Option<kernel::JoinHandle<()>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            assert_eq!(self.0.take().unwrap().join(), Err(JoinError::Stopped));
        }
    }
    let runtime = real(Runtime::builder().workers(1));
    let (gate, entered) = (Gate::default(), Gate::default());
    let (held, inside) = (gate.clone(), entered.clone());
    runtime
        .submit(move |_| {
            inside.open();
            held.pass();
        })
        .unwrap();
    entered.pass();
    let (strand, join) = runtime.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap();
    let waits = Waits(Some(join));
    runtime.submit(move |_| drop(waits)).unwrap();
    drop(runtime);
    gate.open();
    drop(strand);
}

#[test]
fn name_that_no_thread_can_have_is_refused() {
    let error = Runtime::builder().name("a\0b").build().unwrap_err();
    assert!(matches!(error, BuildError::Name));
    assert!(error.to_string().contains("NUL"));
}

#[test]
fn paused_worker_is_not_in_a_turn() {
    let runtime = real(Runtime::builder().workers(1));
    for _ in 0..200 {
        runtime.pause();
        until(|| runtime.workers() == [WorkerState::Paused]);
        let mut join = runtime.compute(|_| ()).unwrap();
        assert_eq!(runtime.workers(), [WorkerState::Paused]);
        runtime.resume();
        assert_eq!(join.join(), Ok(()));
    }
}
