//! Can a state machine do what a process that is a closure can: be a parent, be in groups, and stop
//! watching another? And what is called of one, however early it ends?

mod common;

use std::{mem, panic::catch_unwind, sync::mpsc::Sender};

use common::{channel, runtime};
use kernel::{Runtime, each_seed};
use process::{
    Context, Event, ExitReason, InitContext, Payload, Pid, Process, ProcessError, Processes,
    StepOutput, block_on,
};

type Events = Vec<Event<Payload>>;

/// A machine whose step is given, and what it does first, if it does something.
struct Machine<S> {
    init: fn(&InitContext),
    step: S,
}

impl<S> Process for Machine<S>
where
    S: FnMut(&mut Events, &mut StepOutput) -> Result<(), ProcessError> + Send + 'static,
{
    fn init(&mut self, context: &InitContext, _: &str, _: Payload) -> Result<(), ProcessError> {
        (self.init)(context);
        Ok(())
    }

    fn step(&mut self, events: &mut Events, out: &mut StepOutput) -> Result<(), ProcessError> {
        (self.step)(events, out)
    }
}

fn machine<S>(step: S) -> Machine<S>
where
    S: FnMut(&mut Events, &mut StepOutput) -> Result<(), ProcessError> + Send + 'static,
{
    Machine { init: |_| {}, step }
}

/// Waits until it is asked to end.
async fn wait(ctx: Context<()>) {
    ctx.cancelled().await;
}

#[test]
fn a_machine_is_in_groups_from_init_or_a_step_until_it_leaves_or_exits() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let mut singer = machine(|events, out| {
        for event in events.drain(..) {
            let Event::Message(word) = event else { continue };
            out.leave_group("never joined");
            match word.as_text() {
                Some("rise") => {
                    out.leave_group("choir");
                    out.join_group("soloists");
                    out.join_group("soloists");
                }
                _ => out.done(),
            }
        }
        Ok(())
    });
    singer.init = |ctx| ctx.join_group("choir");
    let singer = simulation.process().start(singer, "", ()).unwrap();
    simulation.run();
    assert_eq!(simulation.group("choir"), [singer.pid()]);
    singer.send("rise".into()).unwrap();
    simulation.run();
    assert!(simulation.group("choir").is_empty());
    assert_eq!(simulation.group("soloists"), [singer.pid()]);
    assert_eq!(simulation.process_info(singer.pid()).unwrap().groups, ["soloists"]);
    singer.send("end".into()).unwrap();
    simulation.run();
    assert!(simulation.group("soloists").is_empty());
}

#[test]
fn a_machine_that_joins_in_the_step_that_fails_or_in_its_last_one_is_in_no_group() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    for fails in [false, true] {
        let member = machine(move |_, out| {
            out.join_group("choir");
            out.done();
            if fails { Err("no voice".into()) } else { Ok(()) }
        });
        let member = simulation.process().start(member, "", ()).unwrap();
        simulation.run();
        assert_eq!(member.exit_reason().unwrap().is_normal(), !fails);
        assert!(simulation.group("choir").is_empty());
    }
}

#[test]
fn children_from_init_and_from_a_step_are_linked_unless_they_are_detached() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let mut parent = machine(|events, out| {
        if events.is_empty() {
            out.spawn(wait)?;
            out.process().name("stepped").start(machine(|_, _| Ok(())), "", ())?;
            out.process().name("free").detached().spawn(wait)?;
        }
        Ok(())
    });
    parent.init = |ctx| {
        ctx.spawn(wait).unwrap();
        ctx.process().name("inited").start(machine(|_, _| Ok(())), "", ()).unwrap();
        ctx.process().name("freed").detached().spawn(wait).unwrap();
    };
    let parent = simulation.process().name("parent").start(parent, "", ()).unwrap();
    simulation.run();
    let children = simulation.processes();
    let children = children.iter().filter(|info| info.pid != parent.pid());
    assert!(children.clone().all(|info| info.parent == Some(parent.pid())));
    let detached = |name: &str| ["free", "freed"].contains(&name);
    for info in children.clone() {
        let linked = !info.name.as_deref().is_some_and(detached);
        assert_eq!(info.links, if linked { vec![parent.pid()] } else { vec![] }, "{info:?}");
    }
    assert_eq!(children.count(), 6);

    parent.kill();
    simulation.run();
    let mut left: Vec<_> =
        simulation.processes().into_iter().filter_map(|info| info.name).collect();
    left.sort();
    assert_eq!(left, ["free", "freed"]);
}

/// The step goes on until the child is gone: a link that were made afterwards would find nobody.
#[test]
fn a_child_that_fails_before_the_step_is_over_is_told_of_with_its_own_reason() {
    for traps in [true, false] {
        let runtime = runtime(2);
        let (tell, told) = channel();
        let parent = machine(move |events, out| {
            if events.is_empty() {
                let child = out.spawn(|_: Context<()>| async { Err::<(), _>("at once") })?;
                while child.is_alive() {
                    std::thread::yield_now();
                }
                tell.send((child.pid(), None))?;
            }
            for event in events.drain(..) {
                let Event::Exit { pid, reason } = event else { panic!("{event:?}") };
                tell.send((pid, Some(reason)))?;
                out.done();
            }
            Ok(())
        });
        let builder = runtime.process();
        let builder = if traps { builder.trap_exits() } else { builder };
        let parent = builder.start(parent, "", ()).unwrap();
        let (child, _) = told.next();
        let failed = ExitReason::error("at once");
        if traps {
            assert_eq!(told.next(), (child, Some(failed)));
            assert_eq!(block_on(parent.exited()), ExitReason::Normal);
        } else {
            assert_eq!(block_on(parent.exited()), failed);
        }
    }
}

/// They are spawned by a machine that is killed meanwhile: none of those that are linked lives on.
#[test]
fn children_of_a_machine_that_is_killed_while_it_spawns_end_with_it() {
    let runtime = runtime(2);
    for round in 0..100 {
        let (tell, told) = channel();
        let parent = machine(move |_, out| {
            let child = out.spawn(wait)?;
            let _ = tell.send(child); // nobody listens any more
            out.proceed();
            Ok(())
        });
        let parent = runtime.process().start(parent, "", ()).unwrap();
        let mut children: Vec<_> = (0..1 + round % 5).map(|_| told.next()).collect();
        parent.kill();
        assert_eq!(block_on(parent.exited()), ExitReason::Killed);
        children.extend(told.all());
        for child in children {
            assert_eq!(block_on(child.exited()), ExitReason::Killed);
        }
    }
}

/// The output is taken to another thread, and used there while the machine is killed and afterwards.
#[test]
fn a_child_of_a_machine_that_exits_meanwhile_or_has_exited_ends_as_it_did() {
    let runtime = runtime(2);
    for _ in 0..100 {
        let (tell, told) = channel();
        let parent = machine(move |_, out| {
            tell.send(mem::take(out)).unwrap();
            Ok(())
        });
        let parent = runtime.process().start(parent, "", ()).unwrap();
        let out = told.next();
        let (child, out) = std::thread::scope(|scope| {
            let spawned = scope.spawn(|| (out.spawn(wait).unwrap(), out));
            parent.kill();
            spawned.join().unwrap()
        });
        assert_eq!(block_on(child.exited()), ExitReason::Killed);
        assert_eq!(block_on(parent.exited()), ExitReason::Killed);
        assert_eq!(block_on(out.spawn(wait).unwrap().exited()), ExitReason::Killed);
    }
}

/// A machine that monitors another twice, tells what it hears, and forgets it when it is sent 0.
fn watcher(other: Pid, tell: Sender<i64>) -> impl Process {
    machine(move |events, out| {
        if events.is_empty() {
            out.monitor(other);
            out.monitor(other);
        }
        for event in events.drain(..) {
            tell.send(match event {
                Event::Message(number) => {
                    let number = number.as_int().ok_or("no number")?;
                    if number == 0 {
                        out.demonitor(other);
                    }
                    number
                }
                Event::Down { pid, reason: ExitReason::Killed, .. } if pid == other => -1,
                other => panic!("{other:?}"),
            })?;
        }
        Ok(())
    })
}

#[test]
fn a_machine_hears_once_by_each_monitor_and_nothing_by_those_it_has_ended() {
    for demonitors in [false, true] {
        let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
        let (tell, told) = channel();
        let other = common::idler(&simulation);
        let watcher = simulation.process().start(watcher(other.pid(), tell), "", ()).unwrap();
        simulation.run();
        if demonitors {
            watcher.send(0.into()).unwrap();
            simulation.run();
            assert_eq!(told.all(), [0]);
            assert_eq!(simulation.process_info(other.pid()).unwrap().monitors, 0);
        }
        other.kill();
        simulation.run();
        let heard: &[i64] = if demonitors { &[] } else { &[-1, -1] };
        assert_eq!(told.all(), heard);
    }
}

/// The news is behind all messages that wait, and the one that ends the monitors is the first of them.
#[test]
fn a_monitor_that_is_ended_when_its_news_is_on_its_way_brings_nothing() {
    each_seed(200, |seed| {
        let mut simulation = Runtime::builder().workers(2).simulate(seed).unwrap();
        let (tell, told) = channel();
        let other = common::idler(&simulation);
        let builder = simulation.process();
        let watcher = builder.start(watcher(other.pid(), tell), "", ()).unwrap();
        simulation.run();
        watcher.send_many((0..100).map(Payload::from)).unwrap();
        other.kill();
        simulation.run();
        assert!(told.all().into_iter().eq(0..100));
    });
}

#[test]
fn an_output_that_no_step_was_given_has_no_children() {
    assert!(catch_unwind(|| drop(StepOutput::default().process())).is_err());
}

#[test]
fn a_step_that_takes_its_output_away_gets_another_the_next_time() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    let mut steps = 0;
    let parent = machine(move |_, out| {
        let taken = mem::take(out);
        tell.send(taken.spawn(|_: Context<()>| async {})?.pid())?;
        steps += 1;
        if steps < 3 {
            out.proceed();
        } else {
            out.done();
        }
        Ok(())
    });
    let parent = simulation.process().start(parent, "", ()).unwrap();
    simulation.run();
    assert_eq!(parent.exit_reason(), Some(ExitReason::Normal));
    assert_eq!(told.all().len(), 3);
}

/// Notes what is called, and that it is dropped.
struct Notes(Sender<&'static str>, Result<(), &'static str>);

impl Process for Notes {
    fn init(&mut self, _: &InitContext, _: &str, _: Payload) -> Result<(), ProcessError> {
        self.0.send("init")?;
        Ok(self.1?)
    }

    fn step(&mut self, _: &mut Events, _: &mut StepOutput) -> Result<(), ProcessError> {
        self.0.send("step")?;
        Ok(())
    }

    fn close(&mut self) {
        self.0.send("close").unwrap();
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.0.send("drop").unwrap();
    }
}

#[test]
fn a_machine_that_is_ended_before_its_first_turn_is_neither_initialised_nor_closed() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    let unstarted = simulation.process().start(Notes(tell.clone(), Ok(())), "", ()).unwrap();
    unstarted.kill();
    simulation.run();
    assert_eq!(unstarted.exit_reason(), Some(ExitReason::Killed));
    assert_eq!(told.all(), ["drop"]);

    let parent = simulation.spawn_process(move |ctx: Context<()>| async move {
        ctx.process().start(Notes(tell, Ok(())), "", ()).unwrap();
        Err::<(), _>("before its child has run")
    });
    simulation.run();
    assert!(matches!(parent.unwrap().exit_reason(), Some(ExitReason::Error(_))));
    assert_eq!(told.all(), ["drop"]);
}

#[test]
fn a_machine_is_closed_once_if_it_was_initialised() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    simulation.process().start(Notes(tell.clone(), Err("not today")), "", ()).unwrap();
    simulation.run();
    assert_eq!(told.all(), ["init", "close", "drop"]);

    let begun = simulation.process().start(Notes(tell, Ok(())), "", ()).unwrap();
    simulation.run();
    begun.kill();
    simulation.run();
    assert_eq!(told.all(), ["init", "step", "close", "drop"]);
}
