//! Names, groups, routing, inspection and shutdown: are processes found, shown and stopped?

mod common;

use std::{
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use common::{channel, eventually, idler, runtime};
use kernel::{Handle, Runtime};
use process::{
    BOUND, BOUND_MAX, CHILD_START_TIMEOUT, CHILD_STOP_TIMEOUT, Context, ExitReason, MailboxKind,
    Payload, Pid, ProcessState, Processes, RESTART_PERIOD, RESTARTS_MAX, Receiver, Reply,
    STOP_TIMEOUT, SendError, SpawnError, block_on,
};

#[test]
fn a_name_finds_its_process_until_it_exits() {
    let runtime = runtime(2);
    let builder = runtime.process().name("clerk");
    let clerk = builder.spawn(|mut ctx: Context<u8>| async move {
        ctx.receive().await;
    });
    let clerk = clerk.unwrap();
    assert_eq!(runtime.named("clerk"), Some(clerk.pid()));
    assert_eq!(runtime.process_info(clerk.pid()).unwrap().name.as_deref(), Some("clerk"));
    let second = runtime.process().name("clerk").spawn(|_: Context<()>| async {});
    assert_eq!(second.unwrap_err(), SpawnError::NameTaken("clerk".into(), clerk.pid()));
    assert_eq!(runtime.send_to_named("nobody", 1u8), Err(SendError::Unknown(1)));
    assert_eq!(runtime.find_named::<u8>("clerk"), Some(clerk.clone()));
    assert_eq!(runtime.find_named::<()>("clerk"), None, "its messages are of another type");
    assert_eq!(runtime.find_named::<u8>("nobody"), None);
    runtime.send_to_named("clerk", 1u8).unwrap();
    block_on(clerk.exited());
    assert_eq!(runtime.named("clerk"), None);
    assert_eq!(runtime.find_named::<u8>("clerk"), None);
    runtime.process().name("clerk").spawn(|_: Context<()>| async {}).unwrap();
}

/// Also while the exit is under way: hence so many rounds, and the eager look.
#[test]
fn whoever_hears_of_an_exit_finds_pid_name_and_group_given_up() {
    let runtime = runtime(2);
    for _ in 0..2_000 {
        let builder = runtime.process().name("clerk");
        let clerk = builder.spawn(|mut ctx: Context<Reply<()>>| async move {
            ctx.join_group("clerks");
            let reply = ctx.receive().await.unwrap();
            reply.send(()).unwrap();
        });
        let clerk = clerk.unwrap();
        block_on(clerk.call(|reply| reply)).unwrap();
        while clerk.exit_reason().is_none() {
            std::thread::yield_now();
        }
        assert_eq!(runtime.named("clerk"), None);
        assert_eq!(runtime.group("clerks"), []);
        assert!(runtime.process_info(clerk.pid()).is_none());
    }
}

#[test]
fn a_pid_finds_its_process_if_the_type_of_messages_is_right() {
    let runtime = runtime(2);
    let idler = idler(&runtime);
    assert_eq!(runtime.find::<()>(idler.pid()), Some(idler.clone()));
    assert_eq!(runtime.find::<u8>(idler.pid()), None);
    assert_eq!(runtime.send_to(idler.pid(), 'x'), Err(SendError::Unknown('x')));
    let unknown: Pid = "123456789.77".parse().unwrap();
    assert_eq!(runtime.send_to(unknown, ()), Err(SendError::Unknown(())));
    assert!(!runtime.kill_process(unknown) && !runtime.cancel_process(unknown));
    assert!(runtime.process_info(unknown).is_none());
    assert!(runtime.kill_process(idler.pid()));
    block_on(idler.exited());
    assert_eq!(runtime.send_to(idler.pid(), ()), Err(SendError::Unknown(())));
}

#[test]
fn a_group_has_its_members_until_they_leave_or_exit() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let member = || {
        let tell = tell.clone();
        let member = runtime.spawn_process(move |mut ctx: Context<bool>| async move {
            ctx.join_group("choir");
            ctx.join_group("choir");
            tell.send(()).unwrap();
            while let Some(leave) = ctx.receive().await {
                if leave {
                    assert!(ctx.leave_group("choir"));
                    assert!(!ctx.leave_group("choir"));
                    tell.send(()).unwrap();
                }
            }
        });
        told.next();
        member.unwrap()
    };
    let (one, two) = (member(), member());
    let mut both = [one.pid(), two.pid()];
    both.sort();
    assert_eq!(runtime.group("choir"), both);
    assert_eq!(runtime.process_info(one.pid()).unwrap().groups, ["choir"]);
    one.send(true).unwrap();
    told.next();
    assert_eq!(runtime.group("choir"), [two.pid()]);
    two.kill();
    block_on(two.exited());
    assert!(runtime.group("choir").is_empty());
}

/// Its context joins from a thread of its own while the process is killed.
#[test]
fn a_group_that_is_joined_while_its_process_exits_does_not_keep_it() {
    let runtime = runtime(2);
    for _ in 0..300 {
        let (give, given) = channel();
        let process = runtime.spawn_process(move |ctx: Context<()>| async move {
            give.send(ctx).unwrap();
            std::future::pending::<()>().await;
        });
        let (process, ctx) = (process.unwrap(), given.next());
        std::thread::scope(|scope| {
            scope.spawn(|| ["alto", "bass", "tenor"].map(|group| ctx.join_group(group)));
            process.kill();
        });
        block_on(process.exited());
        ctx.join_group("late");
        for group in ["alto", "bass", "tenor", "late"] {
            // What is joined as late as that may be left a moment after the exit is seen.
            eventually(|| runtime.group(group).is_empty());
        }
    }
}

#[test]
fn a_payload_is_relayed_to_a_process_of_the_runtime_first() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let local = common::echo::<Payload>(&runtime, tell);
    runtime.relay(local.pid(), "here".into()).unwrap();
    assert_eq!(told.next(), "here".into());
    let nobody = runtime.relay(Pid::foreign(3).unwrap(), 1.into()).unwrap_err();
    assert_eq!(nobody.into_message(), 1.into());
}

/// Notes each message, and answers as it is told to.
struct Post(Sender<&'static str>, &'static str, fn(Payload) -> Result<(), SendError<Payload>>);

impl Receiver for Post {
    fn receive(&self, _: Pid, message: Payload) -> Result<(), SendError<Payload>> {
        self.0.send(self.1).unwrap();
        (self.2)(message)
    }
}

#[test]
fn receivers_are_asked_in_their_order_until_one_knows_the_pid() {
    let pid = Pid::foreign(3).unwrap();
    let takes = |_| Ok(());
    for (first, expected, asked) in [
        (takes as fn(_) -> _, Ok(()), vec!["first"]),
        (|message| Err(SendError::Unknown(message)), Ok(()), vec!["first", "second"]),
        (|message| Err(SendError::Full(message)), Err(SendError::Full(1.into())), vec!["first"]),
    ] {
        let simulation = Runtime::builder().workers(1).simulate(0).unwrap();
        let (tell, told) = channel();
        simulation.add_receiver(Arc::new(Post(tell.clone(), "first", first)));
        simulation.add_receiver(Arc::new(Post(tell, "second", takes)));
        assert_eq!(simulation.relay(pid, 1.into()), expected);
        assert_eq!(told.all(), asked);
    }
}

#[test]
fn a_mailbox_bound_that_is_not_possible_is_refused() {
    let runtime = runtime(1);
    for bound in [0, 65_001, usize::MAX] {
        for mailbox in [MailboxKind::Bounded(bound), MailboxKind::DropOldest(bound)] {
            let builder = runtime.process().mailbox(mailbox);
            let refused = builder.spawn(|_: Context<()>| async {});
            assert_eq!(refused.unwrap_err(), SpawnError::Bound(bound));
        }
    }
}

#[test]
fn inspection_shows_what_a_process_does() {
    let runtime = runtime(2);
    let idler = idler(&runtime);
    let info = || runtime.process_info(idler.pid()).unwrap();
    while info().state != ProcessState::Idle {
        std::thread::yield_now();
    }
    assert_eq!((info().steps, info().mailbox_len, info().mailbox_bound), (1, 0, Some(1024)));
    assert_eq!((info().parent, info().monitors, info().cancelled), (None, 0, false));
    // One turn in many is timed, of which the sixteenth is the first.
    for turn in 2..=16 {
        assert_eq!(info().cpu_time, None);
        idler.send(()).unwrap();
        while info().steps < turn || info().state != ProcessState::Idle {
            std::thread::yield_now();
        }
    }
    let timed = info();
    assert!(timed.cpu_time.is_some_and(|time| !time.is_zero()));
    assert!(timed.cpu_time.unwrap() <= timed.age + Duration::from_millis(1));
    assert!(timed.age < Duration::from_secs(60));
    let (go, gone) = channel::<()>();
    let busy = runtime.spawn_process(move |_: Context<u8>| async move { gone.next() });
    let busy = busy.unwrap();
    while runtime.process_info(busy.pid()).unwrap().state != ProcessState::Running {
        std::thread::yield_now();
    }
    busy.send(1).unwrap();
    assert_eq!(runtime.process_info(busy.pid()).unwrap().mailbox_len, 1);
    assert_eq!(runtime.processes().len(), 2);
    go.send(()).unwrap();
    block_on(busy.exited());
    assert_eq!(runtime.processes().len(), 1);
}

#[test]
fn an_address_tells_the_state_also_when_the_process_is_complete() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    let process = simulation.spawn_process(move |mut ctx: Context<()>| async move {
        tell.send(ctx.addr().state()).unwrap();
        ctx.receive().await;
    });
    let process = process.unwrap();
    let by_pid = |on: &Handle| on.process_info(process.pid()).map(|info| info.state);
    let expect = |on: &Handle, state| {
        assert_eq!((process.state(), by_pid(on)), (state, Some(state)));
    };
    expect(&simulation, ProcessState::Ready);
    simulation.run();
    assert_eq!(told.next(), ProcessState::Running);
    expect(&simulation, ProcessState::Idle);
    process.send(()).unwrap();
    simulation.run();
    assert_eq!((process.state(), by_pid(&simulation)), (ProcessState::Complete, None));
}

#[test]
fn stopping_asks_then_kills_and_counts() {
    let runtime = runtime(2);
    for _ in 0..5 {
        idler(&runtime);
    }
    for _ in 0..2 {
        let failing = runtime.spawn_process(|mut ctx: Context<()>| async move {
            while ctx.receive().await.is_some() {}
            Err("it would not")
        });
        failing.unwrap();
    }
    for _ in 0..3 {
        let deaf = runtime.spawn_process(|ctx: Context<()>| async move {
            std::future::pending::<()>().await;
            drop(ctx);
        });
        deaf.unwrap();
    }
    let report = block_on(runtime.stop_processes(Duration::from_millis(50)));
    assert_eq!((report.orderly, report.failed, report.killed, report.left), (5, 2, 3, 0));
    assert!(runtime.processes().is_empty());
    let refused = runtime.spawn_process(|_: Context<()>| async {});
    assert_eq!(refused.unwrap_err(), SpawnError::Stopping);
}

#[test]
fn one_that_does_not_hear_is_killed_when_the_time_is_over() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let deaf = simulation.spawn_process(|ctx: Context<()>| async move {
        std::future::pending::<()>().await;
        drop(ctx);
    });
    let deaf = deaf.unwrap();
    simulation.run();
    let begun = simulation.now();
    let stopped = simulation.stop_processes(STOP_TIMEOUT);
    let report = simulation.block_on(stopped).unwrap();
    assert_eq!((report.orderly, report.failed, report.killed, report.left), (0, 0, 1, 0));
    assert_eq!(simulation.now() - begun, Duration::from_secs(10));
    assert_eq!(deaf.exit_reason(), Some(ExitReason::Killed));
}

/// It is killed too, but that takes effect at the end of its turn.
#[test]
fn one_whose_turn_does_not_end_is_left_a_second_after_the_time_is_over() {
    let runtime = runtime(2);
    let ((begin, begun), (open, gate)) = (channel(), channel());
    let busy = runtime.spawn_process(move |_: Context<()>| async move {
        begin.send(()).unwrap();
        gate.next()
    });
    let busy = busy.unwrap();
    begun.next();
    let (timeout, from) = (Duration::from_millis(10), runtime.now());
    let report = block_on(runtime.stop_processes(timeout));
    assert_eq!((report.orderly, report.failed, report.killed, report.left), (0, 0, 0, 1));
    assert!(runtime.now() - from >= timeout + Duration::from_secs(1));
    open.send(()).unwrap();
    block_on(busy.exited());
}

#[test]
fn defaults_are_what_the_documents_say() {
    let seconds = Duration::from_secs;
    assert_eq!((RESTARTS_MAX, RESTART_PERIOD), (5, seconds(60)));
    assert_eq!((CHILD_STOP_TIMEOUT, CHILD_START_TIMEOUT), (seconds(5), seconds(30)));
    assert_eq!(STOP_TIMEOUT, seconds(10));
    assert_eq!((BOUND, BOUND_MAX), (1024, 65_000));
}

/// One that stops the others neither asks itself to end, nor waits for itself, nor kills itself.
#[test]
fn a_process_may_stop_all_the_others() {
    for deaf in [0, 2] {
        let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
        for _ in 0..3 {
            idler(&simulation);
        }
        for _ in 0..deaf {
            let deaf = simulation.spawn_process(|ctx: Context<()>| async move {
                std::future::pending::<()>().await;
                drop(ctx);
            });
            deaf.unwrap();
        }
        let limit = Duration::from_secs(5);
        let (tell, told) = channel();
        let stopper = simulation.spawn_process(move |ctx: Context<()>| async move {
            let report = ctx.runtime().stop_processes(limit).await;
            tell.send((report, ctx.is_cancelled(), ctx.runtime().now() < limit)).unwrap();
        });
        let stopper = stopper.unwrap();
        simulation.run();
        let (report, cancelled, in_time) = told.next();
        assert_eq!((report.orderly, report.failed, report.killed, report.left), (3, 0, deaf, 0));
        assert_eq!((cancelled, in_time), (false, deaf == 0));
        assert_eq!(stopper.exit_reason(), Some(ExitReason::Normal));
    }
}
