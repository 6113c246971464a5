//! What a wake promises: a turn that starts after it, and no more turns than that.

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    task::Wake,
    thread,
};

use common::{DISCIPLINES, Gate, Log, alone, placements, real, settle};
use kernel::{Discipline, Runtime, Step, Stuck, Turn};

/// Counts how often it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn many_wakes_before_the_turn_make_one_turn() {
    for discipline in DISCIPLINES {
        let mut simulation = alone(discipline);
        let log = Log::new();
        let theirs = log.clone();
        let body = move |_: &mut Turn<'_>| -> Step<()> {
            theirs.push(());
            Step::Pause
        };
        let strand = simulation.strand().idle(body).unwrap().0;
        for _ in 0..100 {
            strand.wake().unwrap();
        }
        assert_eq!(simulation.metrics().queued, 1);
        simulation.run();
        assert_eq!(log.len(), 1, "{discipline:?}");
    }
}

#[test]
fn many_wakes_during_a_turn_make_one_more_turn() {
    for discipline in DISCIPLINES {
        let mut simulation = alone(discipline);
        let mut turns = 0;
        let (_strand, mut join) = simulation
            .strand()
            .start(move |turn| {
                turns += 1;
                if turns == 3 {
                    return Step::End(turns);
                }
                for _ in 0..100 {
                    turn.strand().unwrap().wake().unwrap();
                }
                Step::Pause
            })
            .unwrap();
        simulation.run();
        assert_eq!(join.join(), Ok(3), "{discipline:?}");
        assert_eq!(simulation.metrics().total().turns, 3);
    }
}

#[test]
fn wake_from_another_thread_during_a_turn_makes_one_more_turn() {
    let runtime = real(Runtime::builder().workers(2));
    let (gate, (send, receive)) = (Gate::default(), mpsc::channel());
    let theirs = gate.clone();
    let body = move |_: &mut Turn<'_>| -> Step<()> {
        send.send(()).unwrap();
        theirs.pass();
        Step::Pause
    };
    let strand = runtime.strand().start(body).unwrap().0;
    receive.recv().unwrap();
    strand.wake().unwrap();
    strand.wake().unwrap();
    gate.open();
    receive.recv().unwrap();
    settle(&runtime);
    assert!(receive.try_recv().is_err(), "two wakes during one turn make one more");
}

#[test]
fn idle_strand_takes_no_turn_before_its_first_wake() {
    let mut simulation = alone(Discipline::Stealing);
    let (strand, mut join) = simulation.strand().idle(|_| Step::End("woken")).unwrap();
    simulation.run();
    assert!(join.try_join().is_none());
    strand.wake().unwrap();
    simulation.run();
    assert_eq!(join.join(), Ok("woken"));
}

#[test]
fn wake_after_the_end_is_allowed_and_does_nothing() {
    let mut simulation = alone(Discipline::Stealing);
    let (strand, mut join) = simulation.strand().start(|_| Step::End(7)).unwrap();
    simulation.run();
    assert!(strand.is_done());
    strand.wake().unwrap();
    strand.cancel();
    strand.abort();
    assert_eq!(simulation.metrics().queued, 0);
    simulation.run();
    assert_eq!(simulation.metrics().total().turns, 1);
    assert_eq!(join.join(), Ok(7));
}

/// Four threads announce units of work to a few strands. Every unit is seen by a turn, and there
/// are no more turns than wakes.
#[test]
fn wakes_from_many_threads_are_all_accounted_for_under_every_discipline_and_placement() {
    const THREADS: usize = 4;
    const WAKES: usize = 2_000;
    for discipline in DISCIPLINES {
        for placement in placements(2) {
            let runtime = real(
                Runtime::builder().workers(2).discipline(discipline).placement(placement.clone()),
            );
            let made: Vec<_> = (0..5)
                .map(|key| {
                    let mail = Arc::new(AtomicUsize::new(0));
                    let (theirs, mut seen, mut turns) = (mail.clone(), 0, 0);
                    let body = move |turn: &mut Turn<'_>| {
                        turns += 1;
                        seen += theirs.swap(0, Relaxed);
                        match seen {
                            _ if seen < THREADS * WAKES && turns % 7 == 0 => Step::Yield,
                            _ if seen < THREADS * WAKES => Step::Pause,
                            _ => Step::End((seen, turns, turn.worker())),
                        }
                    };
                    let (strand, join) = runtime.strand().key(key).idle(body).unwrap();
                    (strand, join, mail)
                })
                .collect();
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        for _ in 0..WAKES {
                            for (strand, _, mail) in &made {
                                mail.fetch_add(1, Relaxed);
                                strand.wake().unwrap();
                            }
                        }
                    });
                }
            });
            for (_, mut join, _) in made {
                let (seen, turns, _) = join.join().unwrap();
                assert_eq!(seen, THREADS * WAKES, "{discipline:?} {placement:?}");
                // A wake makes one turn at most, and one turn in seven asks for another itself.
                assert!(turns <= THREADS * WAKES * 7 / 6 + 7);
            }
        }
    }
}

#[test]
fn result_of_an_ended_strand_waits_for_whoever_asks() {
    let runtime = real(Runtime::builder().workers(1));
    let (strand, mut join) = runtime.strand().start(|_| Step::End(vec![1, 2, 3])).unwrap();
    common::until(|| strand.is_done() && join.is_finished());
    assert_eq!(join.try_join(), Some(Ok(vec![1, 2, 3])));
    assert_eq!(join.join(), Err(kernel::JoinError::Taken));
}

#[test]
fn strand_that_nobody_can_wake_any_more_is_dropped() {
    let simulation = alone(Discipline::Stealing);
    let drops = Arc::new(AtomicUsize::new(0));
    let body = {
        let kept = Dropped(drops.clone());
        move |_: &mut Turn<'_>| -> Step<()> {
            let _ = &kept;
            Step::Pause
        }
    };
    let (strand, join) = simulation.strand().idle(body).unwrap();
    let waker = strand.waker();
    drop(join);
    drop(strand);
    assert_eq!(drops.load(Relaxed), 0, "a waker is a handle too");
    drop(waker);
    assert_eq!(drops.load(Relaxed), 1);
}

#[test]
fn strand_whose_last_handle_goes_while_it_is_queued_takes_its_turn_and_is_dropped() {
    let mut simulation = alone(Discipline::Stealing);
    let (drops, log) = (Arc::new(AtomicUsize::new(0)), Log::new());
    let (kept, theirs) = (Dropped(drops.clone()), log.clone());
    let body = move |_: &mut Turn<'_>| -> Step<()> {
        let _ = &kept;
        theirs.push("turn");
        Step::Pause
    };
    drop(simulation.strand().start(body).unwrap());
    assert_eq!(drops.load(Relaxed), 0);
    simulation.run();
    assert_eq!((log.len(), drops.load(Relaxed)), (1, 1));
}

#[test]
fn waiting_for_a_strand_that_nobody_wakes_is_stuck_until_it_is_aborted() {
    let mut simulation = alone(Discipline::Stealing);
    let (_strand, mut join) = simulation.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap();
    assert!(matches!(simulation.block_on(&mut join), Err(Stuck { seed: 0, .. })));
    join.abort();
    assert_eq!(simulation.block_on(join), Ok(Err(kernel::JoinError::Cancelled)));
}

/// A join handle does not keep a strand: who waits for one that nobody can wake is told.
#[test]
fn last_handle_goes_while_somebody_waits_who_is_told() {
    let runtime = real(Runtime::builder().workers(1));
    let (strand, mut join) = runtime.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap();
    drop(strand);
    assert_eq!(join.join(), Err(kernel::JoinError::Abandoned));
    assert!(join.strand().is_none());
    join.abort();
}

#[test]
fn body_is_dropped_before_its_result_is_there() {
    for _ in 0..100 {
        let runtime = real(Runtime::builder().workers(1));
        let drops = Arc::new(AtomicUsize::new(0));
        let kept = Dropped(drops.clone());
        let body = move |_: &mut Turn<'_>| {
            let _ = &kept;
            Step::End(())
        };
        let (_strand, mut join) = runtime.strand().start(body).unwrap();
        join.join().unwrap();
        assert_eq!(drops.load(Relaxed), 1);
    }
}

#[test]
fn wakers_of_a_strand_wake_it_by_value_and_by_reference() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let theirs = log.clone();
    let body = move |_: &mut Turn<'_>| -> Step<()> {
        theirs.push(());
        Step::Pause
    };
    let waker = simulation.strand().idle(body).unwrap().0.waker();
    waker.wake_by_ref();
    simulation.run();
    let other = waker.clone();
    assert!(waker.will_wake(&other));
    other.wake();
    simulation.run();
    assert_eq!(log.len(), 2);
    // And a waker of our own is what a join handle tells.
    struct Told(AtomicUsize);
    impl Wake for Told {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let told = Arc::new(Told(AtomicUsize::new(0)));
    let mut join = simulation.compute(|_| 1).unwrap();
    let own = told.clone().into();
    let mut context = std::task::Context::from_waker(&own);
    assert!(Future::poll(std::pin::Pin::new(&mut join), &mut context).is_pending());
    simulation.run();
    assert_eq!(told.0.load(Relaxed), 1);
}
