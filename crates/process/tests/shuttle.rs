//! Does everyone who is tied to a process hear of its end, in thousands of random schedules?
//!
//! Each schedule builds a runtime of two workers. A word that is lost shows as a deadlock, which
//! shuttle reports with the schedule. `SHIFTWORK_SCHEDULES` sets the number of schedules per test
//! and scheduler.
#![cfg(shuttle)]

#[path = "shuttle/completions.rs"]
mod completions;
#[path = "shuttle/supervision.rs"]
mod supervision;

use kernel::{Handle, Runtime};
use process::{Addr, Context, Event, ExitReason, MailboxKind, Pid, Processes, Reply, SendError};
use shuttle::{
    Config, MaxSteps, Runner,
    scheduler::{PctScheduler, RandomScheduler},
    sync::mpsc::{Sender, channel},
};

const DEPTH: usize = 4;
const STEPS_MAX: usize = 100_000;

fn check(world: impl Fn() + Send + Sync + Copy + 'static) {
    let text = std::env::var("SHIFTWORK_SCHEDULES");
    let schedules = text.map_or(1000, |text| text.parse().expect("SHIFTWORK_SCHEDULES: a number"));
    let mut config = Config::new();
    config.stack_size = 0x20000;
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    Runner::new(RandomScheduler::new(schedules), config.clone()).run(world);
    Runner::new(PctScheduler::new(DEPTH, schedules), config).run(world);
}

fn runtime() -> Runtime {
    Runtime::builder().workers(2).on_report(|_| {}).build().unwrap()
}

/// A process that fails when it gets a message.
fn failing(runtime: &Handle) -> Addr<()> {
    let failing = runtime.spawn_process(|mut ctx: Context<()>| async move {
        ctx.receive().await;
        Err("it failed")
    });
    failing.unwrap()
}

/// Tells how a process ended.
fn watch<M: Send + 'static>(runtime: &Handle, addr: Addr<M>, tell: Sender<ExitReason>) {
    let watcher = runtime.spawn_process(move |_: Context<()>| async move {
        tell.send(addr.exited().await).unwrap();
    });
    watcher.unwrap();
}

fn error() -> ExitReason {
    ExitReason::Error("it failed".into())
}

#[test]
fn linked_while_the_other_exits_hears_of_it_once() {
    check(|| {
        let runtime = runtime();
        let other = failing(&runtime);
        let pid = other.pid();
        let (tell, told) = channel();
        let trapping =
            runtime.process().trap_exits().spawn(move |mut ctx: Context<()>| async move {
                ctx.link(pid);
                match ctx.event().await {
                    Event::Exit { pid: from, reason } => tell.send((from, reason)).unwrap(),
                    event => panic!("{event:?}"),
                }
                assert!(ctx.try_receive().is_none());
            });
        trapping.unwrap();
        let _ = other.send(());
        let (from, reason) = told.recv().unwrap();
        assert_eq!(from, pid);
        assert!([error(), ExitReason::NoProcess].contains(&reason), "{reason}");
        runtime.shutdown();
    });
}

#[test]
fn two_that_link_to_each_other_while_one_fails_both_end() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let linking = |mut ctx: Context<Pid>| async move {
            while let Some(pid) = ctx.receive().await {
                ctx.link(pid);
            }
        };
        let one = runtime.spawn_process(linking).unwrap();
        let other = runtime.spawn_process(linking).unwrap();
        let third = failing(&runtime);
        watch(&runtime, one.clone(), tell.clone());
        watch(&runtime, other.clone(), tell);
        let _ = one.send(other.pid());
        let _ = other.send(one.pid());
        let _ = other.send(third.pid());
        let _ = third.send(());
        for _ in 0..2 {
            let reason = told.recv().unwrap();
            assert!([error(), ExitReason::NoProcess].contains(&reason), "{reason}");
        }
        runtime.shutdown();
    });
}

#[test]
fn unlinked_while_the_other_fails_hears_nothing_of_it() {
    check(|| {
        let runtime = runtime();
        let other = failing(&runtime);
        let pid = other.pid();
        let ((tell, told), (tell_other, told_other)) = (channel(), channel());
        let untied = runtime.spawn_process(move |mut ctx: Context<()>| async move {
            ctx.link(pid);
            ctx.unlink(pid);
            ctx.receive().await;
        });
        let untied = untied.unwrap();
        watch(&runtime, untied.clone(), tell);
        watch(&runtime, other.clone(), tell_other);
        let _ = other.send(());
        let _ = untied.send(());
        assert_eq!(told.recv().unwrap(), ExitReason::Normal);
        assert_eq!(told_other.recv().unwrap(), error());
        runtime.shutdown();
    });
}

#[test]
fn monitored_while_it_is_killed_is_told_of_once() {
    check(|| {
        let runtime = runtime();
        let other = failing(&runtime);
        let pid = other.pid();
        let (tell, told) = channel();
        for _ in 0..2 {
            let tell = tell.clone();
            let watcher = runtime.spawn_process(move |mut ctx: Context<()>| async move {
                let id = ctx.monitor(pid);
                match ctx.event().await {
                    Event::Down { monitor, reason, .. } => {
                        tell.send((monitor == id, reason)).unwrap()
                    }
                    event => panic!("{event:?}"),
                }
            });
            watcher.unwrap();
        }
        other.kill();
        for _ in 0..2 {
            let (same, reason) = told.recv().unwrap();
            assert!(same && [ExitReason::Killed, ExitReason::NoProcess].contains(&reason));
        }
        runtime.shutdown();
    });
}

#[test]
fn monitored_while_it_sends_and_exits_is_told_of_behind_its_messages() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let watcher = runtime.spawn_process(move |mut ctx: Context<u32>| async move {
            let own = ctx.addr();
            let builder = ctx.process().detached();
            let other = builder.spawn(move |mut ctx: Context<()>| async move {
                ctx.receive().await;
                own.send(1).unwrap();
                own.send(2).unwrap();
            });
            let other = other.unwrap();
            ctx.monitor(other.pid());
            other.send(()).unwrap();
            let mut read = Vec::new();
            while let Event::Message(number) = ctx.event().await {
                read.push(number);
            }
            tell.send(read).unwrap();
        });
        watcher.unwrap();
        assert_eq!(told.recv().unwrap(), [1, 2]);
        runtime.shutdown();
    });
}

#[test]
fn told_of_an_exit_a_watcher_finds_the_name_and_the_group_free() {
    check(|| {
        let runtime = runtime();
        let named = runtime.process().name("a").spawn(|mut ctx: Context<()>| async move {
            ctx.join_group("all");
            ctx.receive().await;
        });
        let named = named.unwrap();
        let (tell, told) = channel();
        let watched = named.clone();
        let watcher = runtime.spawn_process(move |ctx: Context<()>| async move {
            watched.exited().await;
            let runtime = ctx.runtime();
            tell.send((runtime.named("a"), runtime.group("all"))).unwrap();
        });
        watcher.unwrap();
        let _ = named.send(());
        assert_eq!(told.recv().unwrap(), (None, vec![]));
        runtime.shutdown();
    });
}

/// Its context joins in the turn of another.
#[test]
fn killed_while_it_is_joined_to_a_group_a_process_is_not_in_it() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let joined = tell.clone();
        let member = runtime.spawn_process(move |ctx: Context<()>| async move {
            let helper = ctx.runtime().clone().spawn_process(move |_: Context<()>| async move {
                ctx.join_group("all");
                ctx.join_group("some");
                joined.send(ExitReason::Normal).unwrap();
            });
            helper.unwrap();
            std::future::pending::<()>().await;
        });
        let member = member.unwrap();
        watch(&runtime, member.clone(), tell);
        member.kill();
        while told.recv().is_ok() {} // until the watcher and the helper are gone, if there is one
        // The turn in which it ends is over when the runtime is down.
        let handle = runtime.handle().clone();
        runtime.shutdown();
        assert_eq!((handle.group("all"), handle.group("some")), (vec![], vec![]));
    });
}

#[test]
fn found_by_its_pid_while_it_exits_is_sent_to_or_unknown() {
    check(|| {
        let runtime = runtime();
        let other = failing(&runtime);
        let pid = other.pid();
        let (tell, told) = channel();
        watch(&runtime, other.clone(), tell.clone());
        let sender = runtime.spawn_process(move |ctx: Context<()>| async move {
            for _ in 0..3 {
                let sent = ctx.runtime().send_to(pid, ());
                let fine = matches!(
                    sent,
                    Ok(()) | Err(SendError::Unknown(())) | Err(SendError::Exited(()))
                );
                assert!(fine, "{sent:?}");
            }
            tell.send(ExitReason::Normal).unwrap();
        });
        sender.unwrap();
        drop(other);
        let ends = [told.recv().unwrap(), told.recv().unwrap()];
        assert!(ends.contains(&error()), "{ends:?}");
        runtime.shutdown();
    });
}

#[test]
fn called_while_the_other_is_killed_gets_a_reply_or_the_reason() {
    check(|| {
        let runtime = runtime();
        let server = runtime.spawn_process(|mut ctx: Context<Reply<u32>>| async move {
            while let Some(reply) = ctx.receive().await {
                let _ = reply.send(7);
            }
        });
        let server = server.unwrap();
        let (tell, told) = channel();
        let asked = server.clone();
        let caller = runtime.spawn_process(move |_: Context<()>| async move {
            for _ in 0..2 {
                tell.send(asked.call(|reply| reply).await).unwrap();
            }
        });
        caller.unwrap();
        server.kill();
        for _ in 0..2 {
            let reply = told.recv().unwrap();
            assert!(reply.is_err() || reply == Ok(7));
        }
        runtime.shutdown();
    });
}

#[test]
fn senders_that_wait_for_room_are_all_served() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let builder = runtime.process().mailbox(MailboxKind::Bounded(1));
        let receiver = builder.spawn(move |mut ctx: Context<u32>| async move {
            for _ in 0..4 {
                tell.send(ctx.receive().await.unwrap()).unwrap();
            }
        });
        let receiver = receiver.unwrap();
        for number in 0..2 {
            let receiver = receiver.clone();
            let sender = runtime.spawn_process(move |_: Context<()>| async move {
                receiver.send_wait(2 * number).await.unwrap();
                receiver.send_wait(2 * number + 1).await.unwrap();
            });
            sender.unwrap();
        }
        drop(receiver);
        let mut seen: Vec<u32> = (0..4).map(|_| told.recv().unwrap()).collect();
        seen.sort();
        assert_eq!(seen, [0, 1, 2, 3]);
        runtime.shutdown();
    });
}

#[test]
fn a_runtime_that_is_dropped_ends_all_its_processes() {
    check(|| {
        struct Tell(Sender<()>);
        impl Drop for Tell {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let runtime = runtime();
        let (tell, told) = channel();
        for _ in 0..2 {
            let tell = Tell(tell.clone());
            let idler = runtime.spawn_process(move |mut ctx: Context<()>| async move {
                let _tell = tell;
                while ctx.receive().await.is_some() {}
            });
            let _ = idler.unwrap().send(());
        }
        drop(runtime);
        told.recv().unwrap();
        told.recv().unwrap();
    });
}
