//! Can a supervisor's children be seen and changed while it runs, and is nonsense refused?

mod common;

use std::{future::pending, time::Duration};

use common::tree::{End, Journal, S, end, simulation, up, worker};
use kernel::Simulation;
use process::{
    Backoff, CallError, ChildKind, ChildSpec, ChildState, Context, Event, ExitReason, InitContext,
    Payload, Process, ProcessError, Processes, Restart, SpawnError, StepOutput, Supervisor,
    SupervisorError, SupervisorHandle, UnknownMethod,
};

/// Asks the supervisor something, and waits for the answer.
macro_rules! ask {
    ($simulation:expr, $question:expr) => {
        $simulation.block_on($question).unwrap()
    };
}

fn pair(simulation: &mut Simulation, journal: &Journal) -> SupervisorHandle {
    let children = ["a", "b"].map(|id| worker(journal, id));
    let tree = up(simulation, Supervisor::one_for_one().children(children));
    journal.take();
    tree
}

fn unknown<T>(id: &str) -> Result<T, SupervisorError> {
    Err(SupervisorError::UnknownChild(id.to_owned()))
}

// ---- Seen.

#[test]
fn children_are_listed_in_the_order_of_their_start() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let nested = ChildSpec::supervisor("nested", Supervisor::one_for_all);
    let pid = ask!(simulation, tree.add_child(nested)).unwrap();
    let children = ask!(simulation, tree.which_children()).unwrap();
    let ids: Vec<_> = children.iter().map(|child| &*child.id).collect();
    assert_eq!(ids, ["a", "b", "nested"]);
    assert_eq!(children[0].pid, simulation.named("a"));
    assert_eq!((children[2].pid, children[2].kind), (Some(pid), ChildKind::Supervisor));
    assert_eq!(simulation.process_info(pid).unwrap().parent, Some(tree.pid()));
    let counts = ask!(simulation, tree.count_children()).unwrap();
    assert_eq!((counts.specs, counts.running, counts.waiting, counts.supervisors), (3, 3, 0, 1));
}

#[test]
fn a_child_is_found_by_its_id_also_after_a_restart() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let first = ask!(simulation, tree.child::<End>("a")).unwrap().unwrap();
    first.send(End::Error).unwrap();
    simulation.run_for(S / 10);
    assert_eq!(ask!(simulation, tree.child::<End>("a")), Ok(None), "it waits");
    simulation.run_for(S);
    let second = ask!(simulation, tree.child::<End>("a")).unwrap().unwrap();
    assert_ne!(first.pid(), second.pid());
    assert_eq!(ask!(simulation, tree.child::<u8>("a")), Ok(None), "it takes no such messages");
    assert_eq!(ask!(simulation, tree.child::<End>("x")), unknown("x"));
}

#[test]
fn whoever_looks_is_answered_while_a_child_is_started_or_stopped() {
    let mut simulation = simulation();
    let slow = ChildSpec::with_factory("slow", |start| async move {
        start.runtime().sleep(10 * S).await;
        start.process().spawn(|_: Context<()>| pending::<()>())
    });
    let tree = Supervisor::one_for_one().child(slow).spawn(&simulation).unwrap();
    let seen = ask!(simulation, tree.which_children()).unwrap();
    assert_eq!((seen[0].state, simulation.now() < S), (ChildState::Stopped, true));
    ask!(simulation, tree.ready()).unwrap();
    let stopped = simulation.spawn({
        let tree = tree.clone();
        async move { tree.terminate_child("slow").await }
    });
    let _stopped = stopped.unwrap();
    let asked = simulation.run_for(S);
    assert_eq!(ask!(simulation, tree.which_children()).unwrap()[0].state, ChildState::Running);
    assert!(simulation.now() < asked + S);
    simulation.run_for(5 * S);
    assert_eq!(ask!(simulation, tree.which_children()).unwrap()[0].state, ChildState::Stopped);
}

// ---- Changed.

#[test]
fn a_child_that_is_added_is_supervised_like_the_others() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    ask!(simulation, tree.add_child(worker(&journal, "c"))).unwrap();
    end(&mut simulation, "c", End::Error, 2 * S);
    assert_eq!(journal.take(), "+c -c +c");
    tree.stop();
    ask!(simulation, tree.exited());
    assert_eq!(journal.take(), "-c -b -a");
}

#[test]
fn a_terminated_child_stays_stopped_until_it_is_started_or_deleted() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    assert_eq!(ask!(simulation, tree.terminate_child("a")), Ok(()));
    assert_eq!(ask!(simulation, tree.terminate_child("a")), Ok(()), "it is");
    simulation.run_for(100 * S);
    assert_eq!(journal.take(), "-a");
    let pid = ask!(simulation, tree.restart_child("a")).unwrap();
    assert_eq!(simulation.named("a"), Some(pid));
    ask!(simulation, tree.terminate_child("a")).unwrap();
    assert_eq!(ask!(simulation, tree.delete_child("a")), Ok(()));
    assert_eq!(ask!(simulation, tree.restart_child("a")), unknown("a"));
    assert_eq!(ask!(simulation, tree.which_children()).unwrap().len(), 1);
    assert!(ask!(simulation, tree.add_child(worker(&journal, "a"))).is_ok());
}

#[test]
fn a_terminated_temporary_child_is_forgotten() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let brief = worker(&journal, "brief").restart(Restart::Temporary);
    ask!(simulation, tree.add_child(brief)).unwrap();
    ask!(simulation, tree.terminate_child("brief")).unwrap();
    assert_eq!(ask!(simulation, tree.delete_child("brief")), unknown("brief"));
}

#[test]
fn a_child_that_waits_can_be_started_at_once_or_terminated() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    end(&mut simulation, "a", End::Error, S / 10);
    ask!(simulation, tree.restart_child("a")).unwrap();
    assert_eq!(journal.take(), "-a +a");
    simulation.run_for(10 * S);
    assert_eq!(journal.take(), "", "and not a second time");
    end(&mut simulation, "b", End::Error, S / 10);
    ask!(simulation, tree.terminate_child("b")).unwrap();
    simulation.run_for(10 * S);
    assert_eq!(journal.take(), "-b");
}

// ---- Refused.

#[test]
fn a_running_child_is_neither_started_nor_deleted_nor_added_again() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let runs = SupervisorError::ChildRuns("a".to_owned());
    assert_eq!(ask!(simulation, tree.restart_child("a")), Err(runs.clone()));
    assert_eq!(ask!(simulation, tree.delete_child("a")), Err(runs));
    let double = ask!(simulation, tree.add_child(worker(&journal, "a")));
    assert_eq!(double, Err(SupervisorError::DuplicateChild("a".to_owned())));
    assert_eq!(journal.take(), "");
}

#[test]
fn unknown_children_are_refused() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    assert_eq!(ask!(simulation, tree.terminate_child("x")), unknown("x"));
    assert_eq!(ask!(simulation, tree.restart_child("x")), unknown("x"));
    assert_eq!(ask!(simulation, tree.delete_child("x")), unknown("x"));
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
    assert_eq!(ask!(simulation, tree.ready()), Ok(()));
}

// ---- Starts that fail.

fn refusing(id: &'static str) -> ChildSpec {
    ChildSpec::with_factory(id, |_| async { Err::<process::Addr<()>, _>("it does not want to") })
}

#[test]
fn a_first_start_that_fails_ends_the_supervisor_and_stops_those_that_were_started() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let children = [worker(&journal, "a"), refusing("b"), worker(&journal, "c")];
    let tree = Supervisor::one_for_one().children(children).spawn(&simulation).unwrap();
    let text = "child \"b\" could not be started: error: it does not want to";
    let reason = ExitReason::Error(text.into());
    assert_eq!(ask!(simulation, tree.ready()), Err(SupervisorError::Exited(reason.clone())));
    assert_eq!(ask!(simulation, tree.exited()), reason);
    assert_eq!(journal.take(), "+a -a");
    assert!(simulation.processes().is_empty());
}

#[test]
fn a_nested_supervisor_that_can_not_start_is_a_start_that_fails() {
    let mut simulation = simulation();
    let inner = || Supervisor::one_for_one().child(refusing("leaf"));
    let nested = ChildSpec::supervisor("nested", inner);
    let tree = Supervisor::one_for_one().child(nested).spawn(&simulation).unwrap();
    let error = ask!(simulation, tree.ready()).unwrap_err().to_string();
    assert!(error.contains("\"nested\"") && error.contains("\"leaf\""), "{error}");
    assert!(error.ends_with("it does not want to"), "{error}");
    let impossible =
        ChildSpec::supervisor("odd", || Supervisor::one_for_one().intensity(1, Duration::ZERO));
    let tree = Supervisor::one_for_one().child(impossible).spawn(&simulation).unwrap();
    let error = ask!(simulation, tree.ready()).unwrap_err().to_string();
    assert!(error.contains("the period of an intensity is not zero"), "{error}");
}

#[test]
fn a_panic_in_a_factory_is_a_start_that_fails() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let at_once = ChildSpec::with_factory("at once", |_| -> std::future::Ready<_> {
        let refused: Result<process::Addr<()>, &str> = Err("");
        if refused.is_err() {
            panic!("at once");
        }
        std::future::ready(refused)
    });
    let later = ChildSpec::with_factory("later", |start| async move {
        start.runtime().sleep(S).await;
        let addr = start.process().spawn(|_: Context<()>| pending::<()>());
        assert!(addr.is_err(), "later");
        addr
    });
    for (spec, text) in [(at_once, "at once"), (later, "later")] {
        let error = ask!(simulation, tree.add_child(spec)).unwrap_err();
        let SupervisorError::ChildStart(id, reason) = error else { panic!("{error}") };
        assert_eq!(id, text);
        assert_eq!(reason.to_string(), format!("error: its factory panicked: {text}"));
    }
    simulation.run_for(S);
    assert_eq!(simulation.processes().len(), 3, "what a factory left behind is gone");
    assert_eq!(ask!(simulation, tree.which_children()).unwrap().len(), 2);
}

#[test]
fn a_factory_that_takes_too_long_is_a_start_that_fails() {
    let mut simulation = simulation();
    let slow = ChildSpec::with_factory("slow", |start| async move {
        let addr = start.process().spawn(|_: Context<()>| pending::<()>());
        pending::<()>().await;
        addr
    });
    let slow = slow.start_within(3 * S).stop_within(S);
    let tree = Supervisor::one_for_one().child(slow).spawn(&simulation).unwrap();
    let error = ask!(simulation, tree.ready()).unwrap_err().to_string();
    assert!(error.ends_with("it did not start within 3s"), "{error}");
    assert_eq!(simulation.now().as_secs(), 4, "what it left behind is stopped before that is said");
    assert!(simulation.processes().is_empty());
}

#[test]
fn asked_to_end_while_a_factory_takes_its_time_it_ends_at_once() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let slow = ChildSpec::with_factory("slow", |_| pending::<Result<process::Addr<()>, &str>>());
    let tree = Supervisor::one_for_one().child(worker(&journal, "a")).child(slow);
    let tree = tree.spawn(&simulation).unwrap();
    simulation.run_for(S);
    tree.stop();
    assert_eq!(ask!(simulation, tree.exited()), ExitReason::Shutdown);
    assert_eq!((journal.take().as_str(), simulation.now().as_secs()), ("+a -a", 1));
}

#[test]
fn a_failed_restart_by_hand_leaves_the_child_stopped() {
    let mut simulation = simulation();
    let mut starts = 0;
    let once = ChildSpec::with_factory("once", move |start| {
        starts += 1;
        let first = starts == 1;
        async move {
            let addr = start.process().spawn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
            });
            if first { addr.map_err(|error| error.to_string()) } else { Err("no more".to_owned()) }
        }
    });
    let tree = up(&mut simulation, Supervisor::one_for_one().child(once));
    ask!(simulation, tree.terminate_child("once")).unwrap();
    let error = ask!(simulation, tree.restart_child("once")).unwrap_err();
    assert_eq!(error.to_string(), "child \"once\" could not be started: error: no more");
    simulation.run_for(100 * S);
    assert_eq!(simulation.processes().len(), 1);
    assert_eq!(ask!(simulation, tree.which_children()).unwrap()[0].state, ChildState::Stopped);
}

#[test]
fn a_name_that_is_taken_is_a_start_that_fails() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let _taken = simulation.process().name("c").spawn(|_: Context<()>| pending::<()>());
    let error = ask!(simulation, tree.add_child(worker(&journal, "c"))).unwrap_err().to_string();
    assert!(error.contains("has the name \"c\""), "{error}");
}

#[test]
fn a_process_from_elsewhere_is_tied_to_the_supervisor_when_a_factory_gives_it() {
    let mut simulation = simulation();
    let elsewhere = ChildSpec::with_factory("elsewhere", |start| async move {
        let handle = start.runtime().clone();
        handle.spawn_process(|mut ctx: Context<()>| async move {
            ctx.receive().await;
        })
    });
    let tree = up(&mut simulation, Supervisor::one_for_one().child(elsewhere));
    let first = ask!(simulation, tree.child::<()>("elsewhere")).unwrap().unwrap();
    first.send(()).unwrap();
    simulation.run_for(2 * S);
    let second = ask!(simulation, tree.child::<()>("elsewhere")).unwrap().unwrap();
    tree.kill();
    simulation.run_for(S);
    assert_eq!(second.exit_reason(), Some(ExitReason::Killed));
}

#[test]
fn a_child_that_unties_itself_is_still_restarted() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let child = journal.clone();
    let child = ChildSpec::new("loose", move |mut ctx: Context<()>| async move {
        let _life = child.life("loose");
        ctx.unlink(ctx.parent().unwrap());
        ctx.receive().await;
    });
    let tree = up(&mut simulation, Supervisor::one_for_one().child(child));
    let loose = ask!(simulation, tree.child::<()>("loose")).unwrap().unwrap();
    loose.send(()).unwrap();
    simulation.run_for(2 * S);
    assert_eq!(journal.take(), "+loose -loose +loose");
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
    ask!(simulation, tree.ready()).unwrap_err();
    simulation.run_for(20 * S);
    let answers: Vec<_> = asked.into_iter().map(|mut asked| asked.join().unwrap()).collect();
    let full = Err(SupervisorError::Call(CallError::Full));
    assert_eq!(answers.iter().filter(|answer| **answer == unknown("none")).count(), process::BOUND);
    assert_eq!(answers.iter().filter(|answer| **answer == full).count(), 10);
}

#[test]
fn on_real_threads_a_child_that_is_killed_again_and_again_is_always_back() {
    let runtime = common::runtime(2);
    let (tell, told) = common::channel();
    let child = ChildSpec::new("child", move |mut ctx: Context<()>| async move {
        tell.send(ctx.pid()).unwrap();
        ctx.receive().await;
    });
    let hasty = Supervisor::one_for_one().unlimited_restarts().backoff(Backoff::none());
    let tree = hasty.child(child.name("child")).spawn(&runtime).unwrap();
    let mut last = told.next();
    for _ in 0..1000 {
        assert!(runtime.kill_process(last));
        let next = told.next();
        assert_ne!(last, next);
        last = next;
    }
    assert_eq!(process::block_on(tree.count_children()).unwrap().restarts, 1000);
    tree.stop();
    assert_eq!(process::block_on(tree.exited()), ExitReason::Shutdown);
    assert!(runtime.named("child").is_none());
}

#[test]
fn all_is_an_error_once_the_supervisor_has_exited() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    tree.stop();
    let reason = ask!(simulation, tree.exited());
    let exited = SupervisorError::Exited(reason);
    assert!(!tree.is_alive());
    assert_eq!(ask!(simulation, tree.ready()), Err(exited.clone()));
    assert_eq!(ask!(simulation, tree.count_children()), Err(exited.clone()));
    assert_eq!(ask!(simulation, tree.add_child(worker(&journal, "c"))), Err(exited.clone()));
    assert_eq!(ask!(simulation, tree.terminate_child("a")), Err(exited));
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
    let asked = ask!(simulation, tree.terminate_child("a"));
    let reason = ask!(simulation, tree.exited());
    assert_eq!(asked, Err(SupervisorError::Exited(reason)));
    assert!(added.join().unwrap().is_ok(), "it was added before that was known");
}

// ---- State machines.

struct Machine(Journal);

impl Process for Machine {
    fn init(&mut self, _: &InitContext, method: &str, _: Payload) -> Result<(), ProcessError> {
        self.0.note(method);
        if method == "main" { Ok(()) } else { Err(UnknownMethod(method.to_owned()).into()) }
    }

    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        for event in events.drain(..) {
            match event {
                Event::Message(_) => return Err("it got a message".into()),
                Event::Cancel => out.done(),
                _ => {}
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        self.0.note("closed");
    }
}

#[test]
fn state_machines_are_supervised_too() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let made = journal.clone();
    let child =
        ChildSpec::machine("machine", "main", move || (Machine(made.clone()), Payload::Empty));
    let tree = up(&mut simulation, Supervisor::one_for_one().child(child.name("machine")));
    simulation.send_to_named("machine", Payload::Empty).unwrap();
    simulation.run_for(2 * S);
    assert_eq!(journal.take(), "main closed main");
    tree.stop();
    ask!(simulation, tree.exited());
    assert_eq!(journal.take(), "closed");
}

#[test]
fn a_state_machine_without_the_method_fails_at_every_start_and_ends_its_supervisor() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let made = journal.clone();
    let child = ChildSpec::machine("odd", "none", move || (Machine(made.clone()), Payload::Empty));
    let tree = up(&mut simulation, Supervisor::one_for_one().intensity(2, 60 * S).child(child));
    let reason = ask!(simulation, tree.exited()).to_string();
    assert!(reason.contains("has no method \"none\""), "{reason}");
    assert_eq!(journal.take(), ["none closed"; 3].join(" "));
}

#[test]
fn on_real_threads_a_child_that_never_ends_its_turn_does_not_hold_the_others_up() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static LET_GO: AtomicBool = AtomicBool::new(false);
    let runtime = common::runtime(2);
    let (tell, told) = common::channel();
    let stuck = ChildSpec::new("stuck", |mut ctx: Context<()>| async move {
        ctx.receive().await;
        while !LET_GO.load(Relaxed) {
            std::thread::yield_now();
        }
    });
    let other = ChildSpec::new("other", move |mut ctx: Context<()>| {
        let tell = tell.clone();
        async move {
            ctx.receive().await;
            tell.send(ctx.is_cancelled()).unwrap();
        }
    });
    let stuck = stuck.stop_within(Duration::ZERO).name("stuck");
    let tree = Supervisor::one_for_one().child(other).child(stuck).spawn(&runtime).unwrap();
    process::block_on(tree.ready()).unwrap();
    runtime.send_to_named("stuck", ()).unwrap();
    while runtime.named("stuck").and_then(|pid| runtime.process_info(pid)).unwrap().mailbox_len > 0
    {
    }
    tree.stop();
    assert!(told.next());
    assert_eq!(process::block_on(tree.exited()), ExitReason::Shutdown);
    LET_GO.store(true, Relaxed);
}
