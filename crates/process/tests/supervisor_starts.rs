//! What becomes of a start that fails, panics, takes too long or gives what nobody expected?

mod common;

use std::{future::pending, time::Duration};

use common::tree::{Journal, S, ask, pair, simulation, up, worker};
use process::{
    ChildSpec, ChildState, Context, Event, ExitReason, InitContext, Payload, Process, ProcessError,
    Processes, StepOutput, Supervisor, SupervisorError, UnknownMethod,
};

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
    assert_eq!(ask(&mut simulation, tree.ready()), Err(SupervisorError::Exited(reason.clone())));
    assert_eq!(ask(&mut simulation, tree.exited()), reason);
    assert_eq!(journal.take(), "+a -a");
    assert!(simulation.processes().is_empty());
}

#[test]
fn a_nested_supervisor_that_can_not_start_is_a_start_that_fails() {
    let mut simulation = simulation();
    let inner = || Supervisor::one_for_one().child(refusing("leaf"));
    let nested = ChildSpec::supervisor("nested", inner);
    let tree = Supervisor::one_for_one().child(nested).spawn(&simulation).unwrap();
    let error = ask(&mut simulation, tree.ready()).unwrap_err().to_string();
    assert!(error.contains("\"nested\"") && error.contains("\"leaf\""), "{error}");
    assert!(error.ends_with("it does not want to"), "{error}");
    let impossible =
        ChildSpec::supervisor("odd", || Supervisor::one_for_one().intensity(1, Duration::ZERO));
    let tree = Supervisor::one_for_one().child(impossible).spawn(&simulation).unwrap();
    let error = ask(&mut simulation, tree.ready()).unwrap_err().to_string();
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
        let error = ask(&mut simulation, tree.add_child(spec)).unwrap_err();
        let SupervisorError::ChildStart(id, reason) = error else { panic!("{error}") };
        assert_eq!(id, text);
        assert_eq!(reason.to_string(), format!("error: its factory panicked: {text}"));
    }
    simulation.run_for(S);
    assert_eq!(simulation.processes().len(), 3, "what a factory left behind is gone");
    assert_eq!(ask(&mut simulation, tree.which_children()).unwrap().len(), 2);
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
    let error = ask(&mut simulation, tree.ready()).unwrap_err().to_string();
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
    assert_eq!(ask(&mut simulation, tree.exited()), ExitReason::Shutdown);
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
    ask(&mut simulation, tree.terminate_child("once")).unwrap();
    let error = ask(&mut simulation, tree.restart_child("once")).unwrap_err();
    assert_eq!(error.to_string(), "child \"once\" could not be started: error: no more");
    simulation.run_for(100 * S);
    assert_eq!(simulation.processes().len(), 1);
    assert_eq!(ask(&mut simulation, tree.which_children()).unwrap()[0].state, ChildState::Stopped);
}

#[test]
fn a_name_that_is_taken_is_a_start_that_fails() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let tree = pair(&mut simulation, &journal);
    let _taken = simulation.process().name("c").spawn(|_: Context<()>| pending::<()>());
    let error =
        ask(&mut simulation, tree.add_child(worker(&journal, "c"))).unwrap_err().to_string();
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
    let first = ask(&mut simulation, tree.child::<()>("elsewhere")).unwrap().unwrap();
    first.send(()).unwrap();
    simulation.run_for(2 * S);
    let second = ask(&mut simulation, tree.child::<()>("elsewhere")).unwrap().unwrap();
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
    let loose = ask(&mut simulation, tree.child::<()>("loose")).unwrap().unwrap();
    loose.send(()).unwrap();
    simulation.run_for(2 * S);
    assert_eq!(journal.take(), "+loose -loose +loose");
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
    ask(&mut simulation, tree.exited());
    assert_eq!(journal.take(), "closed");
}

#[test]
fn a_state_machine_without_the_method_fails_at_every_start_and_ends_its_supervisor() {
    let (mut simulation, journal) = (simulation(), Journal::default());
    let made = journal.clone();
    let child = ChildSpec::machine("odd", "none", move || (Machine(made.clone()), Payload::Empty));
    let tree = up(&mut simulation, Supervisor::one_for_one().intensity(2, 60 * S).child(child));
    let reason = ask(&mut simulation, tree.exited()).to_string();
    assert!(reason.contains("has no method \"none\""), "{reason}");
    assert_eq!(journal.take(), ["none closed"; 3].join(" "));
}
