//! Are children started in order, started again when they fail, and stopped in the reverse order?

mod common;

use std::{future::pending, time::Duration};

use common::tree::{End, Journal, S, doomed, end, simulation, up, worker};
use process::{
    Backoff, ChildKind, ChildSpec, ChildState, Context, ExitReason, Processes, Restart, Supervisor,
    SupervisorError,
};

fn error() -> ExitReason {
    ExitReason::Error("it failed".into())
}

fn trio(journal: &Journal, supervisor: Supervisor) -> Supervisor {
    supervisor.children(["a", "b", "c"].map(|id| worker(journal, id)))
}

// ---- Start and stop.

#[test]
fn children_are_started_in_order_and_stopped_in_the_reverse_order() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = up(&mut simulation, trio(&journal, Supervisor::one_for_one()));
    journal.take();
    tree.stop();
    assert_eq!(simulation.block_on(tree.exited()).unwrap(), ExitReason::Shutdown);
    assert_eq!(journal.take(), "-c -b -a");
    assert!(simulation.processes().is_empty());
}

#[test]
fn a_factory_is_waited_for_before_the_next_child_is_started() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let slow = journal.clone();
    let slow = ChildSpec::with_factory("slow", move |start| {
        let journal = slow.clone();
        async move {
            journal.note("preparing");
            start.runtime().sleep(10 * S).await;
            journal.note("prepared");
            start.process().spawn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
            })
        }
    });
    up(&mut simulation, Supervisor::one_for_one().child(slow).child(worker(&journal, "next")));
    assert_eq!(journal.take(), "preparing prepared +next");
}

#[test]
fn a_child_that_does_not_end_when_asked_is_killed_after_its_time() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let stubborn = |id: &'static str, time: Duration| {
        let journal = journal.clone();
        let start = move |_: Context<()>| async move {
            let _life = journal.life(id);
            pending::<()>().await;
        };
        ChildSpec::new(id, start).stop_within(time)
    };
    let children = [stubborn("a", 3 * S), stubborn("b", Duration::ZERO), stubborn("c", 2 * S)];
    let tree = up(&mut simulation, Supervisor::one_for_one().children(children));
    journal.take();
    let asked = simulation.now();
    tree.stop();
    simulation.run_for(S);
    assert_eq!(journal.take(), "");
    simulation.run_for(2 * S);
    assert_eq!(journal.take(), "-c -b", "b is not even asked");
    assert_eq!(simulation.block_on(tree.exited()).unwrap(), ExitReason::Shutdown);
    assert_eq!(journal.take(), "-a");
    assert_eq!((simulation.now() - asked).as_secs(), 5);
}

#[test]
fn without_a_limit_a_child_may_take_as_long_as_it_wants() {
    let mut simulation = simulation();
    let slow = ChildSpec::new("slow", |mut ctx: Context<()>| async move {
        ctx.receive().await;
        ctx.sleep(3600 * S).await;
    });
    let tree = up(&mut simulation, Supervisor::one_for_one().child(slow.stop_without_limit()));
    tree.stop();
    simulation.block_on(tree.exited()).unwrap();
    assert!(simulation.now() >= 3600 * S);
}

#[test]
fn a_killed_supervisor_takes_its_whole_tree_with_it() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let inner = journal.clone();
    let nested = ChildSpec::supervisor("nested", move || trio(&inner, Supervisor::one_for_one()));
    let tree = up(&mut simulation, Supervisor::one_for_one().child(nested));
    assert_eq!(simulation.processes().len(), 5);
    tree.kill();
    simulation.run_for(S);
    assert!(simulation.processes().is_empty(), "{:?}", simulation.processes());
}

#[test]
fn a_supervisor_ends_with_the_process_that_it_is_linked_to_however_that_ends() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let supervisor = trio(&journal, Supervisor::one_for_one());
    let parent = simulation.spawn_process(|mut ctx: Context<()>| async move {
        supervisor.spawn_linked(&ctx).unwrap();
        ctx.receive().await;
    });
    let parent = parent.unwrap();
    simulation.run_for(S);
    assert_eq!(simulation.processes().len(), 5);
    parent.send(()).unwrap();
    simulation.run_for(S);
    assert_eq!(parent.exit_reason(), Some(ExitReason::Normal));
    assert!(simulation.processes().is_empty());
}

#[test]
fn stopping_all_processes_stops_supervisors_too_and_restarts_nobody() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let quick = Supervisor::one_for_all().backoff(Backoff::none());
    up(&mut simulation, trio(&journal, quick));
    journal.take();
    let report = simulation.block_on(simulation.handle().stop_processes(10 * S)).unwrap();
    assert_eq!((report.orderly, report.failed, report.killed, report.left), (4, 0, 0, 0));
    assert!(!journal.take().contains('+'));
}

// ---- Who is started again.

#[test]
fn one_for_one_starts_only_the_one_that_failed() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    up(&mut simulation, trio(&journal, Supervisor::one_for_one()));
    journal.take();
    end(&mut simulation, "b", End::Error, 2 * S);
    assert_eq!(journal.take(), "-b +b");
    end(&mut simulation, "a", End::Panic, 2 * S);
    assert_eq!(journal.take(), "-a +a");
}

#[test]
fn one_for_all_stops_the_others_and_starts_all_in_order() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    up(&mut simulation, trio(&journal, Supervisor::one_for_all()));
    journal.take();
    end(&mut simulation, "b", End::Error, S / 2);
    assert_eq!(journal.take(), "-b -c -a");
    simulation.run_for(S);
    assert_eq!(journal.take(), "+a +b +c");
}

#[test]
fn rest_for_one_stops_and_starts_those_that_came_after() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    up(&mut simulation, trio(&journal, Supervisor::rest_for_one()));
    journal.take();
    end(&mut simulation, "b", End::Error, 2 * S);
    assert_eq!(journal.take(), "-b -c +b +c");
    end(&mut simulation, "c", End::Error, 2 * S);
    assert_eq!(journal.take(), "-c +c");
    end(&mut simulation, "a", End::Error, 2 * S);
    assert_eq!(journal.take(), "-a -c -b +a +b +c");
}

#[test]
fn rest_for_one_an_earlier_child_that_fails_while_a_later_one_waits_is_started_first() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    up(&mut simulation, trio(&journal, Supervisor::rest_for_one()));
    end(&mut simulation, "b", End::Error, 2 * S);
    end(&mut simulation, "b", End::Error, S / 10); // it waits for 2 s now
    journal.take();
    end(&mut simulation, "a", End::Error, S);
    assert_eq!(journal.take(), "-a +a", "the others still wait");
    simulation.run_for(2 * S);
    assert_eq!(journal.take(), "+b +c");
}

#[test]
fn each_kind_of_child_is_started_again_after_the_ends_that_it_should_be() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let children = [
        worker(&journal, "permanent").restart(Restart::Permanent),
        worker(&journal, "transient").restart(Restart::Transient),
        worker(&journal, "temporary").restart(Restart::Temporary),
    ];
    let tree = up(&mut simulation, Supervisor::one_for_one().children(children));
    journal.take();
    end(&mut simulation, "permanent", End::Well, 2 * S);
    assert_eq!(journal.take(), "-permanent +permanent");
    end(&mut simulation, "transient", End::Panic, 2 * S);
    assert_eq!(journal.take(), "-transient +transient");
    let transient = simulation.named("transient").unwrap();
    simulation.kill_process(transient);
    simulation.run_for(4 * S);
    assert_eq!(journal.take(), "-transient +transient");
    end(&mut simulation, "transient", End::Well, 4 * S);
    assert_eq!(journal.take(), "-transient");
    end(&mut simulation, "temporary", End::Error, 4 * S);
    assert_eq!(journal.take(), "-temporary");
    let left = simulation.block_on(tree.which_children()).unwrap().unwrap();
    let left: Vec<_> = left.iter().map(|child| (&*child.id, child.state)).collect();
    assert_eq!(left, [("permanent", ChildState::Running), ("transient", ChildState::Done)]);
}

#[test]
fn with_the_others_temporary_children_are_forgotten_and_finished_ones_start_again() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let children = [
        worker(&journal, "finished").restart(Restart::Transient),
        worker(&journal, "failing"),
        worker(&journal, "temporary").restart(Restart::Temporary),
        worker(&journal, "terminated"),
    ];
    let tree = up(&mut simulation, Supervisor::one_for_all().children(children));
    end(&mut simulation, "finished", End::Well, S);
    simulation.block_on(tree.terminate_child("terminated")).unwrap().unwrap();
    journal.take();
    end(&mut simulation, "failing", End::Error, 2 * S);
    assert_eq!(journal.take(), "-failing -temporary +finished +failing");
    let children = simulation.block_on(tree.which_children()).unwrap().unwrap();
    assert_eq!(children.len(), 3);
    assert_eq!(children[2].state, ChildState::Stopped);
}

#[test]
fn several_that_fail_while_all_are_stopped_count_as_one() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let strict = Supervisor::one_for_all().intensity(1, 60 * S);
    let tree = up(&mut simulation, trio(&journal, strict));
    for id in ["a", "b", "c"] {
        simulation.send_to_named(id, End::Error).unwrap();
    }
    simulation.run_for(2 * S);
    let counts = simulation.block_on(tree.count_children()).unwrap().unwrap();
    assert_eq!((counts.running, counts.restarts), (3, 3), "all of them, once");
}

// ---- When.

/// When a child that lives for `life` begins, under the usual back-off without a limit.
fn beginnings(life: Duration, count: usize) -> Vec<Duration> {
    let mut simulation = simulation();
    let times = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = times.clone();
    let child = ChildSpec::new("mortal", move |ctx: Context<()>| async move {
        note.lock().unwrap().push(ctx.runtime().now());
        ctx.sleep(life).await;
        Err("it failed")
    });
    up(&mut simulation, Supervisor::one_for_one().unlimited_restarts().child(child));
    while times.lock().unwrap().len() <= count {
        simulation.run_for(S);
    }
    let times = times.lock().unwrap();
    times.windows(2).map(|pair| pair[1] - pair[0] - life).collect()
}

#[test]
fn delays_double_from_one_second_to_ninety_with_jitter() {
    let delays = beginnings(Duration::ZERO, 10);
    let whole = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 90.0, 90.0, 90.0];
    for (delay, whole) in delays.iter().zip(whole) {
        let part = delay.as_secs_f64() / whole;
        assert!((0.75..1.001).contains(&part), "{delays:?}");
    }
    assert!(delays[8] != delays[9], "chance takes something off: {delays:?}");
    assert_eq!(delays, beginnings(Duration::ZERO, 10), "the same seed, the same chance");
}

#[test]
fn a_child_that_has_run_well_begins_with_the_first_delay_again() {
    assert!(beginnings(91 * S, 5).iter().all(|delay| *delay <= S + S / 1000));
    assert!(beginnings(89 * S, 3)[2] > 2 * S);
}

#[test]
fn a_child_may_have_a_back_off_of_its_own() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let hasty = worker(&journal, "hasty").backoff(Backoff::none());
    up(&mut simulation, Supervisor::one_for_one().child(hasty));
    journal.take();
    end(&mut simulation, "hasty", End::Error, S / 1000);
    assert_eq!(journal.take(), "-hasty +hasty");
}

// ---- Too many.

#[test]
fn one_more_failure_than_the_intensity_allows_ends_the_supervisor_with_a_clear_reason() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let quick = Supervisor::one_for_one().intensity(2, 10 * S).backoff(Backoff::none());
    let tree = up(&mut simulation, trio(&journal, quick));
    for id in ["a", "b"] {
        end(&mut simulation, id, End::Error, S);
    }
    assert!(tree.is_alive());
    journal.take();
    end(&mut simulation, "a", End::Error, S);
    let reason = simulation.block_on(tree.exited()).unwrap();
    let text = "error: more than 2 restarts within 10s: child \"a\" exited last (error: it failed)";
    assert_eq!(reason.to_string(), text);
    assert_eq!(journal.take(), "-a -c -b", "the others are stopped");
    let late = simulation.block_on(tree.which_children()).unwrap();
    assert_eq!(late, Err(SupervisorError::Exited(reason)));
}

#[test]
fn failures_that_lie_further_apart_than_the_period_go_on_for_ever() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let quick = Supervisor::one_for_one().intensity(1, 10 * S).backoff(Backoff::none());
    let tree = up(&mut simulation, trio(&journal, quick));
    for _ in 0..20 {
        end(&mut simulation, "a", End::Error, 11 * S);
    }
    assert!(tree.is_alive());
}

#[test]
fn short_runs_that_are_never_too_many_within_the_period_go_on_for_ever() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let quick = Supervisor::one_for_one().intensity(2, 10 * S).backoff(Backoff::none());
    let tree = up(&mut simulation, trio(&journal, quick));
    for _ in 0..20 {
        // Each run is shorter than the period, and no more than two of them end within it.
        end(&mut simulation, "a", End::Error, 6 * S);
    }
    assert!(tree.is_alive());
}

#[test]
fn a_long_back_off_does_not_hide_failures_that_follow_each_other_quickly_in_a_childs_own_time() {
    let mut simulation = simulation();
    let child = ChildSpec::new("brief", |ctx: Context<()>| async move {
        ctx.sleep(4 * S).await;
        Err::<(), _>("it ran for four seconds".to_owned())
    });
    let slow = Backoff { first: 90 * S, ..Backoff::default() };
    let patient = Supervisor::one_for_one().intensity(2, 10 * S).backoff(slow).child(child);
    let tree = up(&mut simulation, patient);
    // It fails at 4, 8 and 12 s of its own time: the last three lie within 10 s of that.
    let reason = simulation.block_on(tree.exited()).unwrap().to_string();
    assert!(reason.starts_with("error: more than 2 restarts within 10s"), "{reason}");
    assert!(simulation.now() > 100 * S);
}

#[test]
fn a_child_that_fails_at_every_start_ends_its_supervisor_by_default_within_the_period() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = up(&mut simulation, Supervisor::one_for_one().child(doomed(&journal, "doomed")));
    let reason = simulation.block_on(tree.exited()).unwrap();
    assert!(reason.to_string().contains("child \"doomed\""), "{reason}");
    assert!(simulation.now() < process::RESTART_PERIOD);
    let begun = journal.take().matches('+').count();
    assert_eq!(begun, 1 + process::RESTARTS_MAX as usize);
}

#[test]
fn a_long_back_off_does_not_hide_a_child_that_fails_at_every_start() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let slow = Backoff { first: 90 * S, ..Backoff::default() };
    let patient = Supervisor::one_for_one().intensity(3, S).backoff(slow);
    let tree = up(&mut simulation, patient.child(doomed(&journal, "doomed")));
    simulation.block_on(tree.exited()).unwrap();
    assert_eq!(journal.take().matches('+').count(), 4);
}

#[test]
fn a_factory_that_fails_when_its_child_is_started_again_counts_as_a_failure() {
    let mut simulation = simulation();
    let mut starts = 0;
    let child = ChildSpec::with_factory("once", move |start| {
        starts += 1;
        let first = starts == 1;
        async move {
            if !first {
                return Err("there is nothing left".to_owned());
            }
            let brief = start.process().spawn(|ctx: Context<()>| async move {
                ctx.sleep(S).await;
            });
            brief.map_err(|error| error.to_string())
        }
    });
    let tree = up(&mut simulation, Supervisor::one_for_one().child(child));
    let reason = simulation.block_on(tree.exited()).unwrap().to_string();
    assert!(
        reason.ends_with("child \"once\" exited last (error: there is nothing left)"),
        "{reason}"
    );
}

// ---- Trees of trees.

#[test]
fn a_supervisor_that_gives_up_is_started_again_by_its_own_with_all_its_children() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let inner = journal.clone();
    let nested = ChildSpec::supervisor("nested", move || {
        let strict = Supervisor::one_for_one().intensity(0, S);
        trio(&inner, strict)
    });
    let top = Supervisor::one_for_one().child(nested).child(worker(&journal, "beside"));
    let tree = up(&mut simulation, top);
    assert_eq!(journal.take(), "+a +b +c +beside");
    end(&mut simulation, "b", End::Error, 2 * S);
    assert_eq!(journal.take(), "-b -c -a +a +b +c");
    let children = simulation.block_on(tree.which_children()).unwrap().unwrap();
    assert_eq!((children[0].kind, children[0].restarts), (ChildKind::Supervisor, 1));
    let last = children[0].last_exit.as_ref().unwrap().to_string();
    assert!(last.starts_with("error: more than 0 restarts"), "{last}");
}

#[test]
fn failures_go_up_level_by_level_until_the_top_gives_up() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let inner = journal.clone();
    let level = |journal: Journal| {
        let once = Supervisor::one_for_one().intensity(1, 60 * S).backoff(Backoff::none());
        once.child(doomed(&journal, "doomed"))
    };
    let top = Supervisor::one_for_one().intensity(1, 60 * S).backoff(Backoff::none());
    let top = top.child(ChildSpec::supervisor("nested", move || level(inner.clone())));
    let tree = up(&mut simulation, top);
    let reason = simulation.block_on(tree.exited()).unwrap().to_string();
    assert_eq!(journal.take().matches('+').count(), 4, "two lives, twice");
    assert!(reason.contains("child \"nested\"") && reason.contains("child \"doomed\""), "{reason}");
}

#[test]
fn nested_supervisors_stop_from_the_last_leaf_to_the_first() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let nested = |id: &'static str, leaves: [&'static str; 2]| {
        let journal = journal.clone();
        ChildSpec::supervisor(id, move || {
            Supervisor::rest_for_one().children(leaves.map(|leaf| worker(&journal, leaf)))
        })
    };
    let top = Supervisor::one_for_all()
        .child(nested("first", ["a", "b"]))
        .child(nested("second", ["c", "d"]));
    let tree = up(&mut simulation, top);
    journal.take();
    tree.stop();
    simulation.block_on(tree.exited()).unwrap();
    assert_eq!(journal.take(), "-d -c -b -a");
}

#[test]
fn the_reason_of_the_last_end_is_there_to_be_seen() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = up(&mut simulation, trio(&journal, Supervisor::one_for_one()));
    let seen = |simulation: &mut kernel::Simulation| {
        simulation.block_on(tree.which_children()).unwrap().unwrap()[0].clone()
    };
    assert_eq!(seen(&mut simulation).last_exit, None);
    end(&mut simulation, "a", End::Error, S / 10);
    let waiting = seen(&mut simulation);
    assert_eq!((waiting.pid, waiting.last_exit), (None, Some(error())));
    assert!(matches!(waiting.state, ChildState::Waiting(at) if at > simulation.now()));
}
