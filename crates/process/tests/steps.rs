//! Do processes that are state machines get every event once, and do their commands get done?

mod common;

use std::{
    mem,
    sync::{Arc, Mutex, mpsc::Sender},
    time::Duration,
};

use common::{channel, runtime};
use kernel::{Report, Runtime};
use process::{
    Addr, Context, Event, ExitReason, InitContext, Payload, Process, ProcessError, ProcessState,
    Processes, SLEEP, SpawnError, StepOutput, UnknownMethod, block_on,
};

type Step =
    Box<dyn FnMut(&mut Vec<Event<Payload>>, &mut StepOutput) -> Result<(), ProcessError> + Send>;

/// A process whose parts are given, and which tells when it is closed.
struct Scripted {
    step: Step,
    closed: Option<Sender<&'static str>>,
}

impl Scripted {
    fn new(
        step: impl FnMut(&mut Vec<Event<Payload>>, &mut StepOutput) -> Result<(), ProcessError>
        + Send
        + 'static,
    ) -> Scripted {
        Scripted { step: Box::new(step), closed: None }
    }
}

impl Process for Scripted {
    fn init(&mut self, _: &InitContext, method: &str, _: Payload) -> Result<(), ProcessError> {
        match method {
            "main" => Ok(()),
            "panic" => panic!("in init"),
            other => Err(UnknownMethod(other.to_owned()).into()),
        }
    }

    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        (self.step)(events, out)
    }

    fn close(&mut self) {
        if let Some(tell) = self.closed.take() {
            tell.send("closed").unwrap();
        }
    }
}

fn start(runtime: &kernel::Runtime, scripted: Scripted) -> Addr<Payload> {
    runtime.process().start(scripted, "main", ()).unwrap()
}

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
fn several_yields_are_open_at_once_and_each_completes_with_its_tag() {
    let runtime = runtime(2);
    runtime.handle_command("double", |command| {
        let number = command.input.as_int().unwrap();
        command.complete(Ok((2 * number).into()));
    });
    runtime.handle_blocking("upper", |input| Ok(input.as_text().unwrap().to_uppercase().into()));
    runtime.handle_blocking("fail", |_| Err("it can not".to_owned()));
    runtime.handle_blocking("panic", |_| panic!("in a handler"));
    runtime.handle_command("forget", drop);
    runtime.handle_command("panic at once", |_| panic!("in a turn"));
    let (tell, told) = channel();
    let mut left = 8;
    start(
        &runtime,
        Scripted::new(move |events, out| {
            if events.is_empty() {
                out.command(1, "double", 21);
                out.command(2, "upper", "tea");
                out.command(3, "fail", ());
                out.command(4, "panic", ());
                out.command(5, "forget", ());
                out.command(6, "no such command", ());
                out.sleep(7, Duration::from_millis(1));
                out.command(8, "panic at once", ());
            }
            for event in events.drain(..) {
                if let Event::Completed { tag, result } = event {
                    left -= 1;
                    tell.send((tag, result)).unwrap();
                }
            }
            if left == 0 {
                out.done()
            } else {
                out.blocked()
            }
            Ok(())
        }),
    );
    let mut results: Vec<_> = (0..8).map(|_| told.next()).collect();
    results.sort_by_key(|(tag, _)| *tag);
    let text = |at: usize| results[at].1.as_ref().unwrap_err().as_str();
    assert_eq!(results[0].1, Ok(42.into()));
    assert_eq!(results[1].1, Ok("TEA".into()));
    assert_eq!(text(2), "it can not");
    assert_eq!(text(3), "the handler panicked: in a handler");
    assert_eq!(text(4), "the handler gave no answer");
    assert_eq!(text(5), "no handler is registered for the command \"no such command\"");
    assert_eq!(results[6].1, Ok(Payload::Empty));
    assert_eq!(text(7), "the handler panicked: in a turn");
}

#[test]
fn sleep_is_built_in_and_wants_a_whole_number_of_nanoseconds() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    simulation.handle_command(SLEEP, |_| panic!("a handler of that name is never called"));
    let (tell, told) = channel();
    let handle = simulation.handle().clone();
    let scripted = Scripted::new(move |events, out| {
        if events.is_empty() {
            out.command(1, SLEEP, 1_000_000);
            out.command(2, SLEEP, "x");
            out.command(3, SLEEP, -1);
            out.sleep(4, Duration::from_millis(2));
        }
        for event in events.drain(..) {
            let Event::Completed { tag, result } = event else { continue };
            tell.send((tag, handle.now().as_millis(), result)).unwrap();
        }
        out.blocked();
        Ok(())
    });
    simulation.process().start(scripted, "main", ()).unwrap();
    simulation.run();
    let refused = || Err("sleep wants a whole number of nanoseconds".to_owned());
    let slept = || Ok(Payload::Empty);
    let expected = [(2, 0, refused()), (3, 0, refused()), (1, 1, slept()), (4, 2, slept())];
    assert_eq!(told.all(), expected);
}

/// Yields so many commands of this name, tells of each completion, and ends.
fn yields(count: u64, name: &'static str, tell: Sender<Result<Payload, String>>) -> Scripted {
    let mut left = count;
    Scripted::new(move |events, out| {
        if events.is_empty() {
            (0..count).for_each(|tag| out.command(tag, name, ()));
        }
        for event in events.drain(..) {
            if let Event::Completed { result, .. } = event {
                left -= 1;
                tell.send(result).unwrap();
            }
        }
        if left == 0 {
            out.done()
        } else {
            out.blocked()
        }
        Ok(())
    })
}

#[test]
fn a_handler_that_blocks_does_not_keep_the_only_worker_from_others() {
    let runtime = runtime(1);
    let ((enter, entered), (open, gate)) = (channel(), channel());
    let gate = Mutex::new(gate);
    runtime.handle_blocking("wait", move |_| {
        enter.send(()).unwrap();
        Ok(gate.lock().unwrap().next())
    });
    let (tell, told) = channel();
    start(&runtime, yields(1, "wait", tell));
    entered.next();
    let opener = move |_: Context<()>| async move { open.send(Payload::from(7)).unwrap() };
    runtime.spawn_process(opener).unwrap();
    assert_eq!(told.next(), Ok(7.into()));
}

/// One command more than there are threads: it waits for one of them.
#[test]
fn a_command_more_than_there_are_threads_is_completed_too() {
    const COMMANDS: u64 = 65;
    let runtime = runtime(1);
    let ((enter, entered), (open, gate)) = (channel(), channel());
    let gate = Mutex::new(gate);
    runtime.handle_blocking("wait", move |_| {
        enter.send(()).unwrap();
        Ok(gate.lock().unwrap().next())
    });
    let (tell, told) = channel();
    let process = start(&runtime, yields(COMMANDS, "wait", tell));
    for _ in 1..COMMANDS {
        entered.next();
    }
    for number in 0..COMMANDS {
        open.send(Payload::from(number as i64)).unwrap();
    }
    let mut results: Vec<_> = (0..COMMANDS).map(|_| told.next().unwrap()).collect();
    results.sort_by_key(Payload::as_int);
    assert!(results.into_iter().eq((0..COMMANDS as i64).map(Payload::from)));
    assert_eq!(block_on(process.exited()), ExitReason::Normal);
}

/// Its process has not heard of the panic when it asks for the second.
#[test]
fn the_tag_of_a_handler_that_panicked_is_free_after_the_step_that_hears_of_it() {
    let mut simulation =
        kernel::Runtime::builder().workers(1).on_report(|_| {}).simulate(0).unwrap();
    simulation.handle_command("panic", |_| panic!("on purpose"));
    simulation.handle_command("answer", |command| command.complete(Ok(42.into())));
    let (tell, told) = channel();
    let mut first = true;
    let scripted = Scripted::new(move |events, out| {
        if mem::take(&mut first) {
            out.command(1, "panic", ());
            out.command(1, "answer", ());
        }
        for event in events.drain(..) {
            let Event::Completed { result, .. } = event else { continue };
            if result.as_ref().is_err_and(|text| text.contains("on purpose")) {
                out.command(1, "answer", ());
            }
            tell.send(result).unwrap();
        }
        Ok(())
    });
    simulation.process().start(scripted, "main", ()).unwrap();
    simulation.run();
    let mut failed = [told.next(), told.next()].map(Result::unwrap_err);
    failed.sort();
    let open = "the tag 1 belongs to a yield that is not complete";
    assert_eq!(failed, ["the handler panicked: on purpose", open]);
    assert_eq!(told.next(), Ok(42.into()));
}

/// It has let go of the command before: whoever completes it then is too late.
#[test]
fn a_handler_that_keeps_its_command_and_panics_completes_it_once() {
    let mut simulation =
        kernel::Runtime::builder().workers(1).on_report(|_| {}).simulate(0).unwrap();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = kept.clone();
    simulation.handle_command("keep", move |command| {
        keep.lock().unwrap().push(command);
        panic!("after that");
    });
    let (tell, told) = channel();
    let scripted = Scripted::new(move |events, out| {
        if events.is_empty() {
            out.command(1, "keep", ());
        }
        for event in events.drain(..) {
            tell.send(format!("{event:?}"))?;
        }
        Ok(())
    });
    let process = simulation.process().start(scripted, "main", ()).unwrap();
    simulation.run();
    kept.lock().unwrap().pop().unwrap().complete(Ok(1.into()));
    process.send("hello".into()).unwrap();
    simulation.run();
    let failed = "Completed { tag: 1, result: Err(\"the handler panicked: after that\") }";
    assert_eq!(told.all(), [failed, "Message(\"hello\")"]);
}

#[test]
fn a_tag_that_is_open_refuses_a_second_yield_and_still_completes() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    start(
        &runtime,
        Scripted::new(move |events, out| {
            if events.is_empty() {
                out.sleep(1, Duration::from_millis(2));
                out.sleep(1, Duration::from_millis(2));
            }
            for event in events.drain(..) {
                if let Event::Completed { tag: 1, result } = event {
                    tell.send(result.is_ok())?;
                }
            }
            out.blocked();
            Ok(())
        }),
    );
    assert_eq!([told.next(), told.next()], [false, true]);
}

/// The request to end comes behind 199 refusals, and before the timer.
#[test]
fn more_refusals_than_a_step_may_hear_come_in_the_next_ones_and_none_is_lost() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    simulation.handle_command("cancel", |command| {
        command.runtime().cancel_process(command.pid());
        command.complete(Ok(Payload::Empty));
    });
    let (tell, told) = channel();
    let scripted = Scripted::new(move |events, out| {
        if events.is_empty() {
            for _ in 0..200 {
                out.sleep(1, Duration::from_millis(2));
            }
            out.command(2, "cancel", ());
        }
        let refused = |event: &&Event<_>| matches!(event, Event::Completed { result: Err(_), .. });
        let others = events.iter().filter(|event| !refused(event));
        let others: Vec<_> = others.map(|event| format!("{event:?}")).collect();
        tell.send((events.len(), others.concat()))?;
        out.blocked();
        Ok(())
    });
    simulation.process().start(scripted, "main", ()).unwrap();
    simulation.run();
    let (lengths, others): (Vec<_>, Vec<_>) = told.all().into_iter().unzip();
    assert_eq!(lengths, [0, 64, 64, 64, 9, 1]);
    let done = |tag: u64| format!("Completed {{ tag: {tag}, result: Ok(Empty) }}");
    assert_eq!(others[4..], [format!("Cancel{}", done(2)), done(1)]);
}

#[test]
fn a_revoked_yield_brings_nothing() {
    let runtime = runtime(2);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = kept.clone();
    runtime.handle_command("later", move |command| keep.lock().unwrap().push(command));
    let (tell, told) = channel();
    let process = start(
        &runtime,
        Scripted::new(move |events, out| {
            if events.is_empty() {
                out.command(1, "later", ());
                out.sleep(2, Duration::from_secs(3600));
                out.revoke(1);
                out.revoke(2);
            }
            for event in events.drain(..) {
                tell.send(format!("{event:?}"))?;
            }
            Ok(())
        }),
    );
    while kept.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    let command = kept.lock().unwrap().pop().unwrap();
    command.complete(Ok(1.into()));
    process.send("hello".into()).unwrap();
    assert_eq!(told.next(), "Message(\"hello\")");
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

/// Gives a command, revokes it, and gives another with the same tag.
struct ChangesItsMind(Sender<Result<Payload, String>>, bool);

impl Process for ChangesItsMind {
    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        if !std::mem::replace(&mut self.1, true) {
            out.command(1, "slow", "first");
            out.revoke(1);
            out.command(1, "slow", "second");
        }
        for event in events.drain(..) {
            if let Event::Completed { result, .. } = event {
                self.0.send(result).unwrap();
                out.done();
            }
        }
        Ok(())
    }
}

#[test]
fn completion_of_a_revoked_yield_is_not_taken_for_that_of_the_next_with_its_tag() {
    let mut simulation = kernel::Runtime::builder().workers(1).simulate(0).unwrap();
    let held = Arc::new(Mutex::new(Vec::new()));
    let theirs = held.clone();
    simulation.handle_command("slow", move |command| theirs.lock().unwrap().push(command));
    let (tell, told) = channel();
    simulation.process().start(ChangesItsMind(tell, false), "run", ()).unwrap();
    simulation.run();
    for command in held.lock().unwrap().drain(..) {
        let (input, completion) = command.split();
        completion.complete(Ok(input));
        simulation.run();
    }
    assert_eq!(told.all(), [Ok(Payload::from("second"))]);
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
