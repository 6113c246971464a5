//! Does everyone who is tied to a process hear how it ended, and nobody else?

mod common;

use std::{future::pending, time::Duration};

use common::{channel, idler, runtime};
use process::{Addr, Context, Event, ExitReason, Pid, Processes, SpawnError, block_on};

/// A process that ends as it is told.
enum End {
    Well,
    Error,
    Panic,
}

fn mortal(runtime: &kernel::Handle) -> Addr<End> {
    let mortal = runtime.spawn_process(|mut ctx: Context<End>| async move {
        match ctx.receive().await {
            Some(End::Error) => Err("it failed"),
            Some(End::Panic) => panic!("it panicked"),
            _ => Ok(()),
        }
    });
    mortal.unwrap()
}

#[test]
fn each_end_has_its_reason() {
    let runtime = runtime(2);
    let ends = [
        (End::Well, ExitReason::Normal),
        (End::Error, ExitReason::Error("it failed".into())),
        (End::Panic, ExitReason::Panic("it panicked".into())),
    ];
    for (end, reason) in ends {
        let mortal = mortal(&runtime);
        assert_eq!(mortal.exit_reason(), None);
        mortal.send(end).unwrap();
        assert_eq!(block_on(mortal.exited()), reason);
        assert_eq!(mortal.exit_reason(), Some(reason.clone()));
        assert_eq!(block_on(mortal.exited()), reason, "also for those who ask late");
    }
    let killed = mortal(&runtime);
    killed.kill();
    assert_eq!(block_on(killed.exited()), ExitReason::Killed);
    let cancelled = mortal(&runtime);
    cancelled.cancel();
    assert_eq!(block_on(cancelled.exited()), ExitReason::Shutdown);
}

#[test]
fn cancel_asks_and_the_process_decides() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let stubborn = runtime.spawn_process(move |mut ctx: Context<u8>| async move {
        assert!(ctx.receive().await.is_none());
        assert!(ctx.receive().await.is_none(), "it stays cancelled");
        assert!(ctx.is_cancelled());
        tell.send(ctx.try_receive()).unwrap();
        pending::<()>().await;
    });
    let stubborn = stubborn.unwrap();
    // In this order: a message that is there first may be read first.
    stubborn.cancel();
    stubborn.send(9).unwrap();
    let _ = told.next();
    assert!(stubborn.is_alive());
    stubborn.kill();
    assert_eq!(block_on(stubborn.exited()), ExitReason::Killed);
}

#[test]
fn a_process_that_fails_takes_its_links_with_it() {
    let runtime = runtime(2);
    let first = mortal(&runtime);
    let pid = first.pid();
    let linked = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        ctx.link(pid);
        ctx.receive().await;
    });
    let linked = linked.unwrap();
    let next = linked.pid();
    let third = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        ctx.link(next);
        ctx.receive().await;
    });
    let third = third.unwrap();
    while runtime.process_info(next).is_some_and(|info| info.links.len() < 2) {
        std::thread::yield_now();
    }
    first.send(End::Error).unwrap();
    let reason = ExitReason::Error("it failed".into());
    assert_eq!(block_on(linked.exited()), reason);
    assert_eq!(block_on(third.exited()), reason, "and theirs");
}

#[test]
fn a_process_that_ends_well_leaves_its_links_alone() {
    let runtime = runtime(2);
    let first = mortal(&runtime);
    let pid = first.pid();
    let (tell, told) = channel();
    let linked = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        ctx.link(pid);
        tell.send(()).unwrap();
        ctx.receive().await;
    });
    let linked = linked.unwrap();
    told.next();
    first.send(End::Well).unwrap();
    block_on(first.exited());
    while !runtime.process_info(linked.pid()).unwrap().links.is_empty() {
        std::thread::yield_now();
    }
    assert!(linked.is_alive());
}

#[test]
fn one_that_traps_exits_is_told_and_lives() {
    let runtime = runtime(2);
    let first = mortal(&runtime);
    let pid = first.pid();
    let (tell, told) = channel();
    let trapping = runtime.process().trap_exits().spawn(move |mut ctx: Context<()>| async move {
        ctx.link(pid);
        tell.send(None).unwrap();
        if let Event::Exit { pid, reason } = ctx.event().await {
            tell.send(Some((pid, reason))).unwrap();
        }
        ctx.receive().await;
    });
    let trapping = trapping.unwrap();
    told.next();
    first.send(End::Panic).unwrap();
    assert_eq!(told.next(), Some((pid, ExitReason::Panic("it panicked".into()))));
    assert!(trapping.is_alive());
}

#[test]
fn linking_to_a_process_that_is_gone_counts_as_its_exit() {
    let runtime = runtime(2);
    let brief = runtime.spawn_process(|_: Context<()>| async {}).unwrap();
    block_on(brief.exited());
    let gone = brief.pid();
    let late = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        ctx.link(gone);
        ctx.receive().await;
    });
    assert_eq!(block_on(late.unwrap().exited()), ExitReason::NoProcess);
}

#[test]
fn unlinked_processes_do_not_end_together() {
    let runtime = runtime(2);
    let first = mortal(&runtime);
    let pid = first.pid();
    let (tell, told) = channel();
    let untied = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        ctx.link(pid);
        ctx.unlink(pid);
        tell.send(()).unwrap();
        ctx.receive().await;
    });
    let untied = untied.unwrap();
    told.next();
    first.send(End::Error).unwrap();
    block_on(first.exited());
    assert!(runtime.process_info(untied.pid()).unwrap().links.is_empty());
    untied.send(()).unwrap();
    assert_eq!(block_on(untied.exited()), ExitReason::Normal);
}

/// The exit is under way when it unties itself: it has not heard of it, or not read of it.
#[test]
fn exit_of_a_link_that_is_under_way_does_not_arrive_after_unlink() {
    for traps in [false, true] {
        let runtime = runtime(2);
        let first = mortal(&runtime);
        let gone: Pid = "4711.3".parse().unwrap();
        let (tell, told) = channel();
        let theirs = first.clone();
        let untied = runtime.spawn_process(move |mut ctx: Context<()>| async move {
            ctx.trap_exits(traps);
            ctx.link(theirs.pid());
            ctx.link(gone);
            theirs.send(End::Error).unwrap();
            // On another worker, while this one is in its turn. Links are told before monitors.
            block_on(theirs.exited());
            if traps {
                kernel::yield_now().await;
            }
            ctx.unlink(theirs.pid());
            ctx.unlink(gone);
            // What is under way is heard when a turn begins: so that there is one before the message.
            kernel::yield_now().await;
            tell.send(()).unwrap();
            assert!(matches!(ctx.event().await, Event::Message(())));
        });
        let untied = untied.unwrap();
        told.next();
        untied.send(()).unwrap();
        assert_eq!(block_on(untied.exited()), ExitReason::Normal);
    }
}

#[test]
fn one_that_is_linked_twice_hears_of_the_exit_once() {
    let runtime = runtime(2);
    let first = mortal(&runtime);
    let (tell, told) = channel();
    let trapping = runtime.process().trap_exits().spawn(move |mut ctx: Context<()>| async move {
        ctx.link(first.pid());
        ctx.link(first.pid());
        first.send(End::Error).unwrap();
        while let Event::Exit { pid, .. } = ctx.event().await {
            tell.send(pid == first.pid()).unwrap();
            ctx.addr().send(()).unwrap();
        }
    });
    block_on(trapping.unwrap().exited());
    assert_eq!(told.all(), [true]);
}

#[test]
fn a_monitor_is_told_once_and_lives() {
    let runtime = runtime(2);
    let first = mortal(&runtime);
    let pid = first.pid();
    let (tell, told) = channel();
    let watcher = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        let one = ctx.monitor(pid);
        let two = ctx.monitor(pid);
        let ended = ctx.monitor(pid);
        assert!(ctx.demonitor(pid, ended));
        assert!(!ctx.demonitor(pid, ended));
        tell.send(None).unwrap();
        let mut seen = Vec::new();
        while let Event::Down { monitor, pid, reason } = ctx.event().await {
            seen.push(monitor);
            if seen.len() == 2 {
                seen.sort();
                assert_eq!(seen, [one, two]);
                tell.send(Some((pid, reason))).unwrap();
            }
        }
    });
    let watcher = watcher.unwrap();
    told.next();
    first.kill();
    assert_eq!(told.next(), Some((pid, ExitReason::Killed)));
    assert!(watcher.is_alive());
}

#[test]
fn a_monitor_of_a_process_that_is_gone_is_told_at_once() {
    let runtime = runtime(2);
    let gone: Pid = "4711.3".parse().unwrap();
    let (tell, told) = channel();
    let watcher = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        let id = ctx.monitor(gone);
        if let Event::Down { monitor, pid, reason } = ctx.event().await {
            tell.send((monitor == id, pid, reason)).unwrap();
        }
    });
    watcher.unwrap();
    assert_eq!(told.next(), (true, gone, ExitReason::NoProcess));
}

#[test]
fn a_child_is_linked_unless_it_is_detached() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let parent = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        let linked = ctx.spawn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
        });
        let builder = ctx.process().detached();
        let detached = builder.spawn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
        });
        tell.send((linked.unwrap(), detached.unwrap())).unwrap();
        ctx.receive().await;
    });
    let parent = parent.unwrap();
    let (linked, detached) = told.next();
    for child in [&linked, &detached] {
        assert_eq!(runtime.process_info(child.pid()).unwrap().parent, Some(parent.pid()));
    }
    parent.kill();
    assert_eq!(block_on(linked.exited()), ExitReason::Killed);
    assert!(detached.is_alive());
}

#[test]
fn a_panic_before_the_first_await_ends_the_process_and_its_links() {
    let runtime = runtime(1);
    let (tell, told) = channel();
    let parent = runtime.spawn_process(move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        #[allow(unreachable_code, reason = "it is to panic before it is a future")]
        let child = ctx.spawn(|_: Context<()>| {
            panic!("at once");
            async {}
        });
        let child = child.unwrap().pid();
        if let Event::Exit { pid, reason } = ctx.event().await {
            tell.send((pid == child, reason)).unwrap();
        }
    });
    parent.unwrap();
    assert_eq!(told.next(), (true, ExitReason::Panic("at once".into())));
}

#[test]
fn system_signals_do_not_wait_behind_a_full_mailbox() {
    let runtime = runtime(2);
    let full = idler(&runtime);
    let hoarder = runtime.spawn_process(|mut ctx: Context<u8>| async move {
        while let Event::Message(_) = ctx.event().await {
            while !ctx.is_cancelled() {
                kernel::yield_now().await; // its mailbox fills up
            }
        }
    });
    let hoarder = hoarder.unwrap();
    while hoarder.send(0).is_ok() {
        std::thread::yield_now();
    }
    hoarder.cancel();
    assert_eq!(block_on(hoarder.exited()), ExitReason::Shutdown);
    drop(full);
}

#[test]
fn pids_are_never_used_twice() {
    let runtime = runtime(1);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..3000 {
        let brief = runtime.spawn_process(|_: Context<()>| async {}).unwrap();
        assert!(seen.insert(brief.pid()), "{} again", brief.pid());
    }
}

#[test]
fn a_process_lives_on_without_an_address_and_ends_with_its_runtime() {
    struct Tell(std::sync::mpsc::Sender<()>);
    impl Drop for Tell {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let runtime = runtime(2);
    let (tell, told) = channel();
    let lonely = runtime.spawn_process(move |mut ctx: Context<u8>| async move {
        let _tell = Tell(tell);
        while ctx.receive().await.is_some() {}
    });
    let pid = lonely.unwrap().pid();
    while runtime.process_info(pid).unwrap().steps == 0 {
        std::thread::yield_now();
    }
    assert!(runtime.send_to(pid, 7u8).is_ok());
    assert!(told.all().is_empty());
    drop(runtime);
    told.next();
}

#[test]
fn nothing_is_spawned_after_shutdown() {
    let runtime = runtime(1);
    let handle = runtime.handle();
    runtime.shutdown();
    let refused = handle.spawn_process(|_: Context<()>| async {});
    let error = refused.unwrap_err();
    assert!(matches!(error, SpawnError::Schedule(_) | SpawnError::Stopping), "{error}");
}

#[test]
fn a_timer_sends_its_message_and_a_dropped_one_does_not() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let echo = common::echo(&runtime, tell);
    drop(echo.send_after(Duration::from_millis(1), 1).unwrap());
    let timer = echo.send_after(Duration::from_millis(3), 2).unwrap();
    assert_eq!(told.next(), 2);
    assert!(!timer.cancel(), "it has fired");
}
