//! Do the commands of state machines get done, and does each completion come once, with its tag?

mod common;

use std::{
    mem,
    sync::{Arc, Mutex, mpsc::Sender},
    time::Duration,
};

use common::{
    channel, runtime,
    scripted::{Scripted, start},
};
use kernel::Runtime;
use process::{
    Context, Event, ExitReason, Payload, Process, ProcessError, Processes, SLEEP, StepOutput,
    block_on,
};

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
