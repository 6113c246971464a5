//! Do processes that are state machines get every event once, and end as they should?

mod common;

use std::{sync::mpsc::Sender, time::Duration};

use common::{
    channel, runtime,
    scripted::{Scripted, start},
};
use kernel::{Report, Runtime};
use process::{
    Context, Event, ExitReason, InitContext, Payload, Process, ProcessError, ProcessState,
    Processes, SpawnError, StepOutput, UnknownMethod, block_on,
};

#[test]
fn init_gets_the_method_the_input_and_the_context() {
    struct Init(Sender<(String, Payload, Option<Duration>, Option<i64>)>);
    impl Process for Init {
        fn init(
            &mut self,
            context: &InitContext,
            method: &str,
            input: Payload,
        ) -> Result<(), ProcessError> {
            let level = context.values.get("level").and_then(Payload::as_int);
            self.0.send((method.to_owned(), input, context.deadline, level)).unwrap();
            Ok(())
        }
        fn step(
            &mut self,
            _: &mut Vec<Event<Payload>>,
            out: &mut StepOutput,
        ) -> Result<(), ProcessError> {
            out.done();
            Ok(())
        }
    }
    let runtime = runtime(1);
    let (tell, told) = channel();
    let deadline = Duration::from_secs(3600);
    let builder = runtime.process().value("level", 3).deadline(deadline);
    builder.start(Init(tell), "second", "input").unwrap();
    assert_eq!(told.next(), ("second".into(), "input".into(), Some(deadline), Some(3)));
}

/// Adds to a number, or doubles it.
struct Sums(fn(i64) -> i64, i64, Sender<i64>);

impl Process for Sums {
    fn init(&mut self, _: &InitContext, method: &str, input: Payload) -> Result<(), ProcessError> {
        self.0 = match method {
            "add" => |number| number + 10,
            "double" => |number| 2 * number,
            other => return Err(UnknownMethod(other.to_owned()).into()),
        };
        self.1 = input.as_int().ok_or("it wants a number")?;
        Ok(())
    }

    fn step(
        &mut self,
        _: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        self.2.send((self.0)(self.1))?;
        out.done();
        Ok(())
    }
}

#[test]
fn each_entry_method_begins_in_its_own_way() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    for (method, input, expected) in
        [("add", 7.into(), Ok(17)), ("double", 7.into(), Ok(14)), ("add", "x".into(), Err(()))]
    {
        let input: Payload = input;
        let sums = Sums(|number| number, 0, tell.clone());
        let process = simulation.process().start(sums, method, input).unwrap();
        simulation.run();
        let reason = process.exit_reason().unwrap();
        match expected {
            Ok(number) => assert_eq!((reason, told.next()), (ExitReason::Normal, number)),
            Err(()) => assert_eq!(reason, ExitReason::error("it wants a number")),
        }
    }
    assert!(told.all().is_empty());
}

#[test]
fn an_unknown_method_ends_it_with_the_name() {
    let runtime = runtime(1);
    let process = runtime.process().start(Scripted::new(|_, _| Ok(())), "nope", ()).unwrap();
    let reason = block_on(process.exited());
    assert_eq!(reason, ExitReason::Error("the process has no method \"nope\"".into()));
}

#[test]
fn panics_in_init_step_and_close_are_exits_with_their_text() {
    let (report, reported) = channel();
    let builder = Runtime::builder().workers(1);
    let builder = builder.on_report(move |what| match what {
        Report::Panicked { text, .. } => report.send(text.clone()).unwrap(),
        other => panic!("{other}"),
    });
    let runtime = builder.build().unwrap();
    let (tell, told) = channel();
    let mut scripted = Scripted::new(|_, _| Ok(()));
    scripted.closed = Some(tell.clone());
    let process = runtime.process().start(scripted, "panic", ()).unwrap();
    assert_eq!(block_on(process.exited()), ExitReason::Panic("in init".into()));
    assert_eq!(told.next(), "closed");

    let mut scripted = Scripted::new(|_, _| panic!("in step"));
    scripted.closed = Some(tell);
    let process = start(&runtime, scripted);
    assert_eq!(block_on(process.exited()), ExitReason::Panic("in step".into()));
    assert_eq!(told.next(), "closed");

    let process = runtime.process().start(BadClose(StepOutput::done), "", ()).unwrap();
    assert_eq!(block_on(process.exited()), ExitReason::Panic("in close".into()));
    assert_eq!([(); 3].map(|()| reported.next()), ["in init", "in step", "in close"]);
    assert_eq!(runtime.metrics().total().panics, 3);
}

/// A process that panics when it is closed.
struct BadClose(fn(&mut StepOutput));

impl Process for BadClose {
    fn step(
        &mut self,
        _: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        (self.0)(out);
        Ok(())
    }

    fn close(&mut self) {
        panic!("in close");
    }
}

#[test]
fn a_panic_in_close_changes_nothing_of_a_worse_end() {
    let mut simulation = Runtime::builder().workers(1).on_report(|_| {}).simulate(0).unwrap();
    let mut start = |step: fn(&mut StepOutput)| {
        let process = simulation.process().start(BadClose(step), "", ()).unwrap();
        simulation.run();
        process
    };
    let panics = start(|_| panic!("in step"));
    let killed = start(StepOutput::idle);
    killed.kill();
    simulation.run();
    assert_eq!(panics.exit_reason(), Some(ExitReason::Panic("in step".into())));
    assert_eq!(killed.exit_reason(), Some(ExitReason::Killed));
}

#[test]
fn a_killed_process_is_closed() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let mut scripted = Scripted::new(|_, out| {
        out.idle();
        Ok(())
    });
    scripted.closed = Some(tell);
    let process = start(&runtime, scripted);
    while runtime.process_info(process.pid()).unwrap().steps == 0 {
        std::thread::yield_now();
    }
    process.kill();
    assert_eq!(told.next(), "closed");
    assert_eq!(block_on(process.exited()), ExitReason::Killed);
}

#[test]
fn messages_come_as_events_in_order() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let process = start(
        &runtime,
        Scripted::new(move |events, _| {
            for event in events.drain(..) {
                match event {
                    Event::Message(message) => tell.send(message.as_int().unwrap())?,
                    other => panic!("{other:?}"),
                }
            }
            Ok(())
        }),
    );
    for number in 0..500 {
        process.send(number.into()).unwrap();
    }
    for number in 0..500 {
        assert_eq!(told.next(), number);
    }
}

#[test]
fn a_blocked_process_is_not_stepped_by_messages_but_by_cancel() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let process = start(
        &runtime,
        Scripted::new(move |events, out| {
            if events.is_empty() {
                out.sleep(1, Duration::from_secs(3600));
            }
            for event in events.drain(..) {
                tell.send(format!("{event:?}"))?;
            }
            out.blocked();
            Ok(())
        }),
    );
    let state = || runtime.process_info(process.pid()).unwrap().state;
    while state() != ProcessState::Blocked {
        std::thread::yield_now();
    }
    process.send("waits".into()).unwrap();
    process.cancel();
    assert_eq!(told.next(), "Cancel");
    while state() != ProcessState::Blocked {
        std::thread::yield_now();
    }
    assert_eq!(process.mailbox_len(), 1);
}

#[test]
fn a_deadline_asks_the_process_to_end() {
    let runtime = runtime(2);
    let scripted = Scripted::new(|events, out| {
        if let Some(Event::Cancel) = events.pop() {
            out.done();
        }
        Ok(())
    });
    let deadline = runtime.now() + Duration::from_millis(2);
    let process = runtime.process().deadline(deadline).start(scripted, "main", ()).unwrap();
    assert_eq!(block_on(process.exited()), ExitReason::Shutdown);
}

#[test]
fn one_that_idles_with_nothing_to_wake_it_is_allowed_and_seen() {
    let runtime = runtime(1);
    let process = start(&runtime, Scripted::new(|_, _| Ok(())));
    while runtime.process_info(process.pid()).unwrap().state != ProcessState::Idle {
        std::thread::yield_now();
    }
    let other = runtime.spawn_process(|_: Context<()>| async {}).unwrap();
    block_on(other.exited());
    assert_eq!(runtime.processes().len(), 1);
}

#[test]
fn one_that_continues_lets_others_run_in_between() {
    let runtime = runtime(1);
    let process = start(
        &runtime,
        Scripted::new(|_, out| {
            out.proceed();
            Ok(())
        }),
    );
    let (tell, told) = channel();
    runtime.spawn_process(move |_: Context<()>| async move { tell.send(()).unwrap() }).unwrap();
    told.next();
    process.kill();
}

/// Monitors the first of two when it begins, and links to the second.
#[test]
fn one_that_monitors_and_links_hears_of_both_exits() {
    let runtime = runtime(2);
    let [watched, tied] = [(); 2].map(|()| common::idler(&runtime));
    let (first, second) = (watched.pid(), tied.pid());
    let (tell, told) = channel();
    let scripted = Scripted::new(move |events, out| {
        if events.is_empty() {
            out.monitor(first);
            out.link(second);
            tell.send("begun".to_owned())?;
        }
        for event in events.drain(..) {
            tell.send(match event {
                Event::Down { pid, reason, .. } if pid == first => format!("down: {reason:?}"),
                Event::Exit { pid, reason } if pid == second => format!("exit: {reason:?}"),
                other => format!("{other:?}"),
            })?;
        }
        // It hears of exits also while it is blocked.
        out.blocked();
        Ok(())
    });
    let process = runtime.process().trap_exits().start(scripted, "main", ()).unwrap();
    assert_eq!(told.next(), "begun");
    while runtime.process_info(process.pid()).unwrap().state != ProcessState::Blocked {
        std::thread::yield_now();
    }
    assert_eq!(runtime.process_info(second).unwrap().links, [process.pid()]);
    watched.kill();
    assert_eq!(told.next(), "down: Killed");
    tied.kill();
    assert_eq!(told.next(), "exit: Killed");
}

#[test]
fn one_that_links_and_does_not_trap_ends_with_the_other_unless_it_unlinks() {
    let runtime = runtime(2);
    for unlinks in [false, true] {
        let other = common::idler(&runtime);
        let pid = other.pid();
        let (tell, told) = channel();
        let scripted = Scripted::new(move |events, out| {
            if events.is_empty() {
                out.link(pid);
                if unlinks {
                    out.unlink(pid);
                }
                tell.send(())?;
            } else {
                out.done();
            }
            Ok(())
        });
        let process = start(&runtime, scripted);
        told.next();
        while runtime.process_info(process.pid()).unwrap().state != ProcessState::Idle {
            std::thread::yield_now();
        }
        other.kill();
        block_on(other.exited());
        if unlinks {
            process.send(Payload::Empty).unwrap();
        }
        let expected = if unlinks { ExitReason::Normal } else { ExitReason::Killed };
        assert_eq!(block_on(process.exited()), expected);
    }
}

#[test]
fn values_and_deadlines_are_refused_where_nobody_would_look_at_them() {
    let runtime = runtime(1);
    let builders = [
        runtime.process().name("one").value("level", 3),
        runtime.process().name("one").deadline(Duration::from_secs(1)),
    ];
    for builder in builders {
        let error = builder.spawn(|_: Context<()>| async {}).unwrap_err();
        assert_eq!(error, SpawnError::NotAMachine);
        let text = "the process was not spawned: values and a deadline are for state machines";
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(runtime.named("one"), None);
}
