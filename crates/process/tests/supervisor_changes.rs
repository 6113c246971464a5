//! Can a supervisor's children be seen and changed while it runs, and is nonsense refused?

mod common;

use std::{future::pending, time::Duration};

use common::tree::{End, Journal, S, ask, end, pair, simulation, up, worker};
use process::{
    Backoff, CallError, ChildKind, ChildSpec, ChildState, Context, Processes, Restart, SpawnError,
    Supervisor, SupervisorError, SupervisorHandle,
};

fn unknown<T>(id: &str) -> Result<T, SupervisorError> {
    Err(SupervisorError::UnknownChild(id.to_owned()))
}

// ---- Seen.

#[test]
fn children_are_listed_in_the_order_of_their_start() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let nested = ChildSpec::supervisor("nested", Supervisor::one_for_all);
    let pid = ask(&mut simulation, tree.add_child(nested)).unwrap();
    let children = ask(&mut simulation, tree.which_children()).unwrap();
    let ids: Vec<_> = children.iter().map(|child| &*child.id).collect();
    assert_eq!(ids, ["a", "b", "nested"]);
    assert_eq!(children[0].pid, simulation.named("a"));
    assert_eq!((children[2].pid, children[2].kind), (Some(pid), ChildKind::Supervisor));
    assert_eq!(simulation.process_info(pid).unwrap().parent, Some(tree.pid()));
    let counts = ask(&mut simulation, tree.count_children()).unwrap();
    assert_eq!((counts.specs, counts.running, counts.waiting, counts.supervisors), (3, 3, 0, 1));
}

#[test]
fn a_child_is_found_by_its_id_also_after_a_restart() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let first = ask(&mut simulation, tree.child::<End>("a")).unwrap().unwrap();
    first.send(End::Error).unwrap();
    simulation.run_for(S / 10);
    assert_eq!(ask(&mut simulation, tree.child::<End>("a")), Ok(None), "it waits");
    simulation.run_for(S);
    let second = ask(&mut simulation, tree.child::<End>("a")).unwrap().unwrap();
    assert_ne!(first.pid(), second.pid());
    assert_eq!(ask(&mut simulation, tree.child::<u8>("a")), Ok(None), "it takes no such messages");
    assert_eq!(ask(&mut simulation, tree.child::<End>("x")), unknown("x"));
}

#[test]
fn whoever_looks_is_answered_while_a_child_is_started_or_stopped() {
    let mut simulation = simulation();
    let slow = ChildSpec::with_factory("slow", |start| async move {
        start.runtime().sleep(10 * S).await;
        start.process().spawn(|_: Context<()>| pending::<()>())
    });
    let tree = Supervisor::one_for_one().child(slow).spawn(&simulation).unwrap();
    let seen = ask(&mut simulation, tree.which_children()).unwrap();
    assert_eq!((seen[0].state, simulation.now() < S), (ChildState::Stopped, true));
    ask(&mut simulation, tree.ready()).unwrap();
    let stopped = simulation.spawn({
        let tree = tree.clone();
        async move { tree.terminate_child("slow").await }
    });
    let _stopped = stopped.unwrap();
    let asked = simulation.run_for(S);
    assert_eq!(ask(&mut simulation, tree.which_children()).unwrap()[0].state, ChildState::Running);
    assert!(simulation.now() < asked + S);
    simulation.run_for(5 * S);
    assert_eq!(ask(&mut simulation, tree.which_children()).unwrap()[0].state, ChildState::Stopped);
}

// ---- Changed.

#[test]
fn a_child_that_is_added_is_supervised_like_the_others() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    ask(&mut simulation, tree.add_child(worker(&journal, "c"))).unwrap();
    end(&mut simulation, "c", End::Error, 2 * S);
    assert_eq!(journal.take(), "+c -c +c");
    tree.stop();
    ask(&mut simulation, tree.exited());
    assert_eq!(journal.take(), "-c -b -a");
}

#[test]
fn a_terminated_child_stays_stopped_until_it_is_started_or_deleted() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    assert_eq!(ask(&mut simulation, tree.terminate_child("a")), Ok(()));
    assert_eq!(ask(&mut simulation, tree.terminate_child("a")), Ok(()), "it is");
    simulation.run_for(100 * S);
    assert_eq!(journal.take(), "-a");
    let pid = ask(&mut simulation, tree.restart_child("a")).unwrap();
    assert_eq!(simulation.named("a"), Some(pid));
    ask(&mut simulation, tree.terminate_child("a")).unwrap();
    assert_eq!(ask(&mut simulation, tree.delete_child("a")), Ok(()));
    assert_eq!(ask(&mut simulation, tree.restart_child("a")), unknown("a"));
    assert_eq!(ask(&mut simulation, tree.which_children()).unwrap().len(), 1);
    assert!(ask(&mut simulation, tree.add_child(worker(&journal, "a"))).is_ok());
}

#[test]
fn a_terminated_temporary_child_is_forgotten() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let brief = worker(&journal, "brief").restart(Restart::Temporary);
    ask(&mut simulation, tree.add_child(brief)).unwrap();
    ask(&mut simulation, tree.terminate_child("brief")).unwrap();
    assert_eq!(ask(&mut simulation, tree.delete_child("brief")), unknown("brief"));
}

#[test]
fn a_child_that_waits_can_be_started_at_once_or_terminated() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    end(&mut simulation, "a", End::Error, S / 10);
    ask(&mut simulation, tree.restart_child("a")).unwrap();
    assert_eq!(journal.take(), "-a +a");
    simulation.run_for(10 * S);
    assert_eq!(journal.take(), "", "and not a second time");
    end(&mut simulation, "b", End::Error, S / 10);
    ask(&mut simulation, tree.terminate_child("b")).unwrap();
    simulation.run_for(10 * S);
    assert_eq!(journal.take(), "-b");
}

// ---- Refused.

#[test]
fn a_running_child_is_neither_started_nor_deleted_nor_added_again() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let runs = SupervisorError::ChildRuns("a".to_owned());
    assert_eq!(ask(&mut simulation, tree.restart_child("a")), Err(runs.clone()));
    assert_eq!(ask(&mut simulation, tree.delete_child("a")), Err(runs));
    let double = ask(&mut simulation, tree.add_child(worker(&journal, "a")));
    assert_eq!(double, Err(SupervisorError::DuplicateChild("a".to_owned())));
    assert_eq!(journal.take(), "");
}

#[test]
fn unknown_children_are_refused() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    assert_eq!(ask(&mut simulation, tree.terminate_child("x")), unknown("x"));
    assert_eq!(ask(&mut simulation, tree.restart_child("x")), unknown("x"));
    assert_eq!(ask(&mut simulation, tree.delete_child("x")), unknown("x"));
    let text = unknown::<()>("x").unwrap_err().to_string();
    assert_eq!(text, "the supervisor has no child \"x\"");
}

#[test]
fn impossible_supervisors_are_not_spawned() {
    let (simulation, journal) = (simulation(), Journal::default());
    let fails = |supervisor: Supervisor| supervisor.spawn(&simulation).unwrap_err();
    let double = [worker(&journal, "a"), worker(&journal, "a")];
    let error = fails(Supervisor::one_for_one().children(double));
    assert_eq!(error, SupervisorError::DuplicateChild("a".to_owned()));
    let error = fails(Supervisor::one_for_one().intensity(1, Duration::ZERO));
    assert!(matches!(error, SupervisorError::Config(_)), "{error}");
    for jitter in [-0.1, 1.1, f64::NAN] {
        let odd = Backoff { jitter, ..Backoff::default() };
        let error = fails(Supervisor::one_for_one().backoff(odd));
        assert!(matches!(error, SupervisorError::Config(_)), "{error}");
        let error = fails(Supervisor::one_for_one().child(worker(&journal, "a").backoff(odd)));
        assert!(matches!(error, SupervisorError::Config(_)), "{error}");
    }
    let falling = Backoff { first: 100 * S, ..Backoff::default() };
    assert!(matches!(
        fails(Supervisor::one_for_one().backoff(falling)),
        SupervisorError::Config(_)
    ));
    let _taken = simulation.process().name("tree").spawn(|_: Context<()>| pending::<()>());
    let error = fails(Supervisor::one_for_one().name("tree"));
    assert!(matches!(error, SupervisorError::Spawn(SpawnError::NameTaken(..))), "{error}");
    assert_eq!(simulation.processes().len(), 1);
}

#[test]
fn a_child_of_its_own_can_not_ask_the_supervisor_while_it_is_started() {
    let mut simulation = simulation();
    let cell = std::sync::Arc::new(std::sync::OnceLock::<SupervisorHandle>::new());
    let handle = cell.clone();
    let curious = ChildSpec::with_factory("curious", move |start| {
        let cell = cell.clone();
        async move {
            let tree = cell.get().unwrap();
            let error = tree.which_children().await.unwrap_err();
            assert_eq!(error, SupervisorError::Call(CallError::ToSelf));
            start.process().spawn(|_: Context<()>| pending::<()>())
        }
    });
    let tree = Supervisor::one_for_one().child(curious).spawn(&simulation).unwrap();
    handle.set(tree.clone()).unwrap();
    assert_eq!(ask(&mut simulation, tree.ready()), Ok(()));
}

#[test]
fn asked_for_more_changes_than_it_keeps_a_supervisor_says_so() {
    let mut simulation = simulation();
    let slow = ChildSpec::with_factory("slow", |start| async move {
        start.runtime().sleep(10 * S).await;
        start.process().spawn(|_: Context<()>| pending::<()>())
    });
    let tree = Supervisor::one_for_one().child(slow).spawn(&simulation).unwrap();
    let mut asked = Vec::new();
    for _ in 0..process::BOUND + 10 {
        let tree = tree.clone();
        asked.push(simulation.spawn(async move { tree.delete_child("none").await }).unwrap());
        simulation.run_for(Duration::from_micros(10));
    }
    ask(&mut simulation, tree.ready()).unwrap_err();
    simulation.run_for(20 * S);
    let answers: Vec<_> = asked.into_iter().map(|mut asked| asked.join().unwrap()).collect();
    let full = Err(SupervisorError::Call(CallError::Full));
    assert_eq!(answers.iter().filter(|answer| **answer == unknown("none")).count(), process::BOUND);
    assert_eq!(answers.iter().filter(|answer| **answer == full).count(), 10);
}

#[test]
fn all_is_an_error_once_the_supervisor_has_exited() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    tree.stop();
    let reason = ask(&mut simulation, tree.exited());
    let exited = SupervisorError::Exited(reason);
    assert!(!tree.is_alive());
    assert_eq!(ask(&mut simulation, tree.ready()), Err(exited.clone()));
    assert_eq!(ask(&mut simulation, tree.count_children()), Err(exited.clone()));
    assert_eq!(ask(&mut simulation, tree.add_child(worker(&journal, "c"))), Err(exited.clone()));
    assert_eq!(ask(&mut simulation, tree.terminate_child("a")), Err(exited));
}

#[test]
fn what_was_asked_when_the_supervisor_gives_up_is_answered_with_its_end() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let mortal = ChildSpec::new("mortal", |ctx: Context<()>| async move {
        ctx.sleep(S).await;
        Err("it failed")
    });
    let strict = Supervisor::one_for_one().intensity(0, S);
    let tree = up(&mut simulation, strict.child(mortal).child(worker(&journal, "a")));
    let slow = ChildSpec::with_factory("slow", |start| async move {
        start.runtime().sleep(2 * S).await;
        start.process().spawn(|_: Context<()>| pending::<()>())
    });
    let asker = tree.clone();
    let added = simulation.spawn(async move { asker.add_child(slow).await });
    let mut added = added.unwrap();
    simulation.run_for(S / 2);
    let asked = ask(&mut simulation, tree.terminate_child("a"));
    let reason = ask(&mut simulation, tree.exited());
    assert_eq!(asked, Err(SupervisorError::Exited(reason)));
    assert!(added.join().unwrap().is_ok(), "it was added before that was known");
}
