//! What waits at a worker that does not come to it: others serve it, also if they never run dry.

mod common;

use std::time::Duration;

use common::{DISCIPLINES, Log, placements};
use kernel::{
    Discipline, Handle, Placement, Runtime, Share, Simulation, Step, TURN_COST, Turn, WorkerId,
    each_seed,
};

const QUANTUM: Duration = Duration::from_micros(10);
const SHORT: Duration = Duration::from_nanos(500);
const SHORT_TURN: Duration = SHORT.saturating_add(TURN_COST);
/// Each worker has so many that never rest.
const N: u32 = 40;

/// Whose home is the worker of that number, where an affinity deals.
const AT_0: u64 = 0;
const AT_1: u64 = 1;

/// Under `Feedback`, whoever a pause has preempted has sunk, and waits for so many turns at most.
const BOOST: u32 = 1024;

/// Two workers under each discipline and placement, how few it is about, and how many turns these may
/// have to wait besides.
fn each_case(check: impl Fn(Simulation, u32, u32)) {
    for discipline in DISCIPLINES {
        for placement in placements(2) {
            for few in [1, 5, 20] {
                // The usual choice has the most to get wrong.
                let usual =
                    discipline == Discipline::Stealing && matches!(placement, Placement::Any);
                each_seed(if usual { 5 } else { 1 }, |seed| {
                    let simulation = Runtime::builder()
                        .workers(2)
                        .quantum(QUANTUM)
                        .discipline(discipline)
                        .placement(placement.clone())
                        .simulate(seed)
                        .unwrap();
                    eprintln!("{discipline:?}, {placement:?}");
                    let sinks = matches!(discipline, Discipline::Feedback { .. });
                    check(simulation, few, if sinks { 2 * BOOST } else { 0 });
                });
            }
        }
    }
}

/// A strand that takes a short turn and yields, for ever.
fn yields_for_ever(handle: &Handle, home: u64, turns: Option<&Log<Duration>>) {
    let turns = turns.cloned();
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        if let Some(turns) = &turns {
            turns.push(turn.now());
        }
        turn.simulate(SHORT);
        Step::Yield
    };
    handle.strand().key(home).start(body).unwrap();
}

fn pause(simulation: &mut Simulation, worker: usize) {
    simulation.pause_worker(WorkerId::new(worker)).unwrap();
    simulation.run_for(SHORT_TURN);
}

fn resume(simulation: &mut Simulation, worker: usize) {
    simulation.resume_worker(WorkerId::new(worker)).unwrap();
}

/// A few have yielded on a worker that pauses; the other one has more to do than it ever will have
/// done.
#[test]
fn those_who_yielded_on_a_worker_that_pauses_go_on_among_n_others() {
    each_case(|mut simulation, few, besides| {
        let turns = Log::new();
        pause(&mut simulation, 1);
        (0..few).for_each(|_| yields_for_ever(&simulation, AT_0, Some(&turns)));
        simulation.run_for(SHORT_TURN * 10 * few);
        pause(&mut simulation, 0);
        resume(&mut simulation, 1);
        (0..N).for_each(|_| yields_for_ever(&simulation, AT_1, None));
        turns.take();
        simulation.run_for(SHORT_TURN * ((N + few) * 20 + besides));
        let turns = turns.len() as u32;
        assert!(turns >= 5 * few, "{few} that yield had only {turns} turns");
    });
}

/// Some were woken by a turn that then does not end; the other worker never runs dry.
#[test]
fn those_who_were_woken_by_a_turn_that_does_not_end_start_among_n_others() {
    each_case(|mut simulation, few, besides| {
        let turns = Log::new();
        let theirs = turns.clone();
        (0..N).for_each(|_| yields_for_ever(&simulation, AT_1, None));
        simulation
            .submit(move |turn| {
                for _ in 0..few {
                    let theirs = theirs.clone();
                    turn.submit(move |turn| theirs.push(turn.now()));
                }
                turn.simulate(Duration::from_secs(1));
            })
            .unwrap();
        simulation.run_for(SHORT_TURN * ((N + few) * 50 + besides));
        assert_eq!(turns.len() as u32, few, "some of them starve");
    });
}

/// The same for strands that it makes when its quantum is spent.
#[test]
fn those_who_were_made_late_in_a_turn_that_does_not_end_start_among_n_others() {
    each_case(|mut simulation, few, besides| {
        let turns = Log::new();
        let theirs = turns.clone();
        (0..N).for_each(|_| yields_for_ever(&simulation, AT_1, None));
        let handle = simulation.handle();
        simulation
            .submit(move |turn| {
                turn.simulate(QUANTUM * 2);
                (0..few).for_each(|_| yields_for_ever(&handle, AT_0, Some(&theirs)));
                turn.simulate(Duration::from_secs(1));
            })
            .unwrap();
        simulation.run_for(SHORT_TURN * ((N + few) * 40 + besides));
        let turns = turns.len() as u32;
        assert!(turns >= 5 * few, "{few} that yield had only {turns} turns");
    });
}

/// They are dealt to that worker again and again, and the other one always has something of its own.
#[test]
fn those_at_home_at_a_worker_whose_turn_does_not_end_go_on_beside_one_that_yields_for_ever() {
    for discipline in DISCIPLINES {
        each_seed(5, |seed| {
            let at_home = Placement::affinity(|about| Some(WorkerId::new(about.key? as usize)));
            let mut simulation = Runtime::builder()
                .workers(3)
                .quantum(QUANTUM)
                .discipline(discipline)
                .placement(at_home)
                .simulate(seed)
                .unwrap();
            // Two workers are kept, the third goes on.
            let turns = [Log::new(), Log::new()];
            for (home, turns) in [AT_0, AT_1].into_iter().zip(&turns) {
                let stuck = |turn: &mut Turn<'_>| {
                    turn.simulate(Duration::from_secs(1));
                    Step::End(())
                };
                simulation.strand().key(home).start(stuck).unwrap();
                simulation.run_for(SHORT_TURN);
                yields_for_ever(&simulation, home, Some(turns));
            }
            yields_for_ever(&simulation, 2, None);
            simulation.run_for(SHORT_TURN * 1000);
            for turns in turns {
                assert!(turns.len() >= 50, "{discipline:?}: {} turns", turns.len());
            }
        });
    }
}

/// A turn keeps what it leaves on its worker's deque, and then waits for it.
#[test]
fn what_a_worker_keeps_is_taken_by_another_while_it_is_stuck() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    for _ in 0..50 {
        let mut stuck = runtime
            .compute(|turn: &mut Turn<'_>| {
                let (tell, told) = std::sync::mpsc::channel();
                turn.share(Share::Kept);
                turn.submit(move |_| tell.send(()).unwrap());
                told.recv()
            })
            .unwrap();
        assert_eq!(stuck.join(), Ok(Ok(())));
    }
}
