//! Are messages delivered once, in order per pair, or given back?

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use common::{channel, echo, eventually, idler, runtime};
use kernel::{Discipline, Runtime, Step, Turn, yield_now};
use process::{Addr, Context, ExitReason, MailboxKind, Processes, SendError, SpawnError, block_on};

#[test]
fn message_to_an_idle_process_is_received() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let echo = echo(&runtime, tell);
    for number in 0..100 {
        echo.send(number).unwrap();
        assert_eq!(told.next(), number);
    }
}

#[test]
fn messages_of_each_of_many_senders_arrive_once_and_in_order() {
    const SENDERS: usize = 8;
    const EACH: usize = 2000;
    let runtime = runtime(2);
    let (tell, told) = channel();
    let builder = runtime.process().mailbox(MailboxKind::Unbounded);
    let receiver = builder.spawn(move |mut ctx: Context<(usize, usize)>| async move {
        let mut next = [0; SENDERS];
        for received in 0..SENDERS * EACH {
            let (sender, number) = ctx.receive().await.unwrap();
            assert_eq!(next[sender], number, "of sender {sender}");
            next[sender] += 1;
            if received % 7 == 0 {
                yield_now().await; // so that it pauses with mail in the box
            }
        }
        tell.send(next).unwrap();
    });
    let receiver = receiver.unwrap();
    for sender in 0..SENDERS {
        let receiver = receiver.clone();
        let process = runtime.spawn_process(move |_: Context<()>| async move {
            for number in 0..EACH {
                match number % 3 {
                    0 => receiver.hand_off((sender, number)).unwrap(),
                    _ => receiver.send((sender, number)).unwrap(),
                }
                if number % 5 == 0 {
                    yield_now().await;
                }
            }
        });
        process.unwrap();
    }
    assert_eq!(told.next(), [EACH; SENDERS]);
}

#[test]
fn messages_that_come_while_a_process_sleeps_are_received_in_order() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let sleeper = runtime.spawn_process(move |mut ctx: Context<u32>| async move {
        ctx.receive().await.unwrap();
        for _ in 0..3 {
            ctx.sleep(Duration::from_millis(2)).await;
        }
        for _ in 0..50 {
            tell.send(ctx.receive().await.unwrap()).unwrap();
        }
    });
    let sleeper = sleeper.unwrap();
    sleeper.send(0).unwrap();
    for number in 0..50 {
        sleeper.send(number).unwrap();
        std::thread::yield_now();
    }
    for number in 0..50 {
        assert_eq!(told.next(), number);
    }
}

#[test]
fn messages_of_any_size_and_alignment_arrive() {
    #[repr(align(64))]
    #[derive(Debug, PartialEq, Clone, Copy)]
    struct Aligned(u8);
    let runtime = runtime(2);
    let (tell, told) = channel();
    let one = echo(&runtime, tell);
    one.send([7u64; 100]).unwrap();
    one.send([8u64; 100]).unwrap();
    assert_eq!((told.next(), told.next()), ([7; 100], [8; 100]));
    let (tell, told) = channel();
    let two = echo(&runtime, tell);
    two.send(Aligned(1)).unwrap();
    assert_eq!(told.next(), Aligned(1));
    let (tell, told) = channel();
    let three = echo(&runtime, tell);
    three.send(()).unwrap();
    told.next();
    let (tell, told) = channel();
    let four = echo(&runtime, tell);
    four.send(u128::MAX).unwrap();
    assert_eq!(told.next(), u128::MAX);
}

#[test]
fn every_message_is_dropped_once_also_when_its_process_is_killed() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let runtime = runtime(2);
    let drops = Arc::new(AtomicUsize::new(0));
    let stuck = runtime.spawn_process(|ctx: Context<Counted>| async move {
        std::future::pending::<()>().await;
        drop(ctx);
    });
    let stuck = stuck.unwrap();
    for _ in 0..10 {
        stuck.send(Counted(drops.clone())).unwrap();
    }
    stuck.kill();
    assert_eq!(block_on(stuck.exited()), ExitReason::Killed);
    assert_eq!(drops.load(Relaxed), 10);
    let back = stuck.send(Counted(drops.clone()));
    assert!(matches!(back, Err(SendError::Exited(_))));
    drop(back);
    assert_eq!(drops.load(Relaxed), 11);
}

#[test]
fn a_send_to_an_exited_process_gives_the_message_back() {
    let runtime = runtime(1);
    let brief = runtime.spawn_process(|_: Context<u8>| async {}).unwrap();
    block_on(brief.exited());
    assert_eq!(brief.send(5), Err(SendError::Exited(5)));
    assert_eq!(brief.hand_off(6), Err(SendError::Exited(6)));
    let many = brief.send_many([7, 8]).unwrap_err();
    assert_eq!((many.sent, many.error, many.rest), (0, SendError::Exited(7), vec![8]));
    assert_eq!(block_on(brief.send_wait(9)), Err(SendError::Exited(9)));
    assert!(!brief.is_alive());
}

#[test]
fn a_send_after_shutdown_gives_the_message_back() {
    let runtime = runtime(1);
    let idler = idler(&runtime);
    runtime.shutdown();
    assert_eq!(idler.send(()), Err(SendError::Stopped(())));
}

#[test]
fn a_full_mailbox_gives_the_message_back_and_takes_more_once_read() {
    let runtime = runtime(1);
    let (go, gone) = channel();
    let builder = runtime.process().mailbox(MailboxKind::Bounded(3));
    let (tell, told) = channel();
    let slow = builder.spawn(move |mut ctx: Context<u32>| async move {
        tell.send(0).unwrap();
        gone.next();
        while let Some(number) = ctx.receive().await {
            tell.send(number).unwrap();
        }
    });
    let slow = slow.unwrap();
    told.next(); // it is in its first turn, and waits for us
    for number in 1..=3 {
        slow.send(number).unwrap();
    }
    assert_eq!(slow.send(4), Err(SendError::Full(4)));
    assert_eq!(slow.mailbox_len(), 3);
    let many = slow.send_many([5, 6]).unwrap_err();
    assert_eq!((many.sent, many.error, many.rest), (0, SendError::Full(5), vec![6]));
    go.send(()).unwrap();
    assert_eq!([told.next(), told.next(), told.next()], [1, 2, 3]);
    slow.send(7).unwrap();
    assert_eq!(told.next(), 7);
}

#[test]
fn a_mailbox_that_drops_the_oldest_keeps_the_newest_in_order() {
    let runtime = runtime(1);
    let (go, gone) = channel();
    let (tell, told) = channel();
    let builder = runtime.process().mailbox(MailboxKind::DropOldest(3));
    let slow = builder.spawn(move |mut ctx: Context<u32>| async move {
        tell.send(0).unwrap();
        gone.next();
        while let Some(number) = ctx.receive().await {
            tell.send(number).unwrap();
        }
    });
    let slow = slow.unwrap();
    told.next();
    for number in 1..=10 {
        slow.send(number).unwrap();
    }
    assert_eq!(runtime.process_info(slow.pid()).unwrap().dropped, 7);
    go.send(()).unwrap();
    assert_eq!([told.next(), told.next(), told.next()], [8, 9, 10]);
    slow.send(11).unwrap();
    assert_eq!(told.next(), 11);
}

/// The first turn of the receiver keeps one of two workers until the mailbox is full and all senders
/// wait: none of them blocks the other.
#[test]
fn senders_that_wait_for_room_in_a_full_mailbox_all_finish() {
    const SENDERS: usize = 50;
    const EACH: usize = 200;
    const BOUND: usize = 4;
    let runtime = runtime(2);
    let ((tell, told), (open, gate)) = (channel(), channel());
    let builder = runtime.process().mailbox(MailboxKind::Bounded(BOUND));
    let receiver = builder.spawn(move |mut ctx: Context<(usize, usize)>| async move {
        tell.send(()).unwrap();
        gate.next();
        // The last is the one that fills the mailbox.
        let mut next = [0; SENDERS + 1];
        for _ in 0..BOUND + SENDERS * EACH {
            let (sender, number) = ctx.receive().await.unwrap();
            assert_eq!(next[sender], number);
            next[sender] += 1;
        }
        tell.send(()).unwrap();
    });
    let receiver = receiver.unwrap();
    told.next();
    for number in 0..BOUND {
        receiver.send((SENDERS, number)).unwrap();
    }
    assert_eq!(receiver.send((SENDERS, BOUND)), Err(SendError::Full((SENDERS, BOUND))));
    for sender in 0..SENDERS {
        let receiver = receiver.clone();
        let process = runtime.spawn_process(move |_: Context<()>| async move {
            for number in 0..EACH {
                receiver.send_wait((sender, number)).await.unwrap();
            }
        });
        process.unwrap();
    }
    // All wait for room, and none of them has a worker.
    eventually(|| runtime.process_counts().idle == SENDERS);
    open.send(()).unwrap();
    told.next();
}

#[test]
fn a_sender_that_waits_for_room_is_told_when_the_process_exits() {
    let runtime = runtime(2);
    let builder = runtime.process().mailbox(MailboxKind::Bounded(1));
    let full = builder.spawn(|ctx: Context<u8>| async move {
        std::future::pending::<()>().await;
        drop(ctx);
    });
    let full = full.unwrap();
    while full.send(1).is_ok() {
        std::thread::yield_now();
    }
    let (tell, told) = channel();
    let (to, ready) = (full.clone(), tell.clone());
    let sender = runtime.spawn_process(move |_: Context<()>| async move {
        ready.send(Ok(())).unwrap();
        tell.send(to.send_wait(2).await).unwrap();
    });
    sender.unwrap();
    assert_eq!(told.next(), Ok(()));
    full.kill();
    assert_eq!(told.next(), Err(SendError::Exited(2)));
}

#[test]
fn selective_receive_leaves_the_others_in_order() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let picky = runtime.spawn_process(move |mut ctx: Context<u32>| async move {
        for wanted in [5, 2, 9] {
            tell.send(ctx.receive_if(|number| *number == wanted).await.unwrap()).unwrap();
        }
        for _ in 0..4 {
            tell.send(ctx.receive().await.unwrap()).unwrap();
        }
    });
    let picky = picky.unwrap();
    for number in [1, 2, 3, 4, 5, 6] {
        picky.send(number).unwrap();
    }
    assert_eq!([told.next(), told.next()], [5, 2]);
    picky.send(9).unwrap();
    assert_eq!(told.next(), 9);
    assert_eq!([told.next(), told.next(), told.next(), told.next()], [1, 3, 4, 6]);
}

#[test]
fn receive_with_a_timeout_gives_up_and_loses_nothing() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let patient = runtime.spawn_process(move |mut ctx: Context<u32>| async move {
        let nothing = ctx.receive_within(Duration::from_millis(1)).await;
        tell.send(nothing.is_err()).unwrap();
        let something = ctx.receive_within(Duration::from_secs(60)).await;
        tell.send(something.ok() == Some(Some(3))).unwrap();
    });
    let patient = patient.unwrap();
    assert!(told.next());
    patient.send(3).unwrap();
    assert!(told.next());
}

#[test]
fn a_process_that_always_has_mail_does_not_starve_another() {
    let runtime = runtime(1);
    let (tell, told) = channel();
    let busy = runtime.spawn_process(move |mut ctx: Context<u64>| async move {
        let own = ctx.addr();
        while let Some(number) = ctx.receive().await {
            let _ = own.send(number + 1);
        }
    });
    let busy = busy.unwrap();
    busy.send(0).unwrap();
    for _ in 0..3 {
        let tell = tell.clone();
        runtime.spawn_process(move |_: Context<()>| async move { tell.send(()).unwrap() }).unwrap();
        told.next();
    }
    busy.kill();
}

#[test]
fn two_that_hand_off_to_each_other_do_not_starve_a_third() {
    let runtime = runtime(1);
    let (tell, told) = channel();
    enum Ball {
        From(Addr<Ball>),
    }
    let bounce = |mut ctx: Context<Ball>| async move {
        while let Some(Ball::From(other)) = ctx.receive().await {
            let _ = other.hand_off(Ball::From(ctx.addr()));
        }
    };
    let one = runtime.spawn_process(bounce).unwrap();
    let other = runtime.spawn_process(bounce).unwrap();
    one.send(Ball::From(other.clone())).unwrap();
    for _ in 0..3 {
        let tell = tell.clone();
        runtime.spawn_process(move |_: Context<()>| async move { tell.send(()).unwrap() }).unwrap();
        told.next();
    }
    one.kill();
    other.kill();
}

/// The order in which a target and another process run that is queued after a process has sent to the
/// target by `tell`, in its turn.
fn order_after(tell: fn(&Addr<&'static str>)) -> Vec<&'static str> {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (note, noted) = channel();
    let target = echo(&simulation, note.clone());
    simulation.run(); // until the target is idle
    let sender = simulation.spawn_process(move |ctx: Context<()>| async move {
        tell(&target);
        let other = note.clone();
        let other = move |_: Context<()>| async move { other.send("queued after").unwrap() };
        ctx.runtime().spawn_process(other).unwrap();
        yield_now().await;
        note.send("sender again").unwrap();
    });
    sender.unwrap();
    simulation.run();
    noted.all()
}

/// The other lies on top of the worker's queue: after an ordinary send it runs first.
#[test]
fn a_handed_to_process_runs_next_before_one_that_was_queued_after_it() {
    let sent = order_after(|target| target.send("sent").unwrap());
    assert_eq!(sent, ["queued after", "sent", "sender again"]);
    let handed = order_after(|target| target.hand_off("handed to").unwrap());
    assert_eq!(handed, ["handed to", "queued after", "sender again"]);
    let used_up = order_after(|target| target.clone().hand_off_last("handed to").unwrap());
    assert_eq!(used_up, ["handed to", "queued after", "sender again"]);
}

#[test]
fn a_queued_process_that_is_handed_to_runs_next_and_reads_in_order() {
    let order = order_after(|target| {
        target.send("a").unwrap(); // it is queued from now on
        target.hand_off("b").unwrap();
    });
    assert_eq!(order, ["a", "b", "queued after", "sender again"]);
}

#[test]
fn an_address_that_is_used_up_by_a_hand_off_sends_as_any_other() {
    for discipline in [Discipline::Stealing, Discipline::Fifo] {
        let runtime = Runtime::builder().workers(1).discipline(discipline).build().unwrap();
        let (tell, told) = channel();
        let target = echo(&runtime, tell);
        target.clone().hand_off_last(0).unwrap(); // from no turn at all
        let theirs = target.clone();
        let sender = runtime.spawn_process(move |_: Context<()>| async move {
            for number in 1..=3 {
                theirs.clone().hand_off_last(number).unwrap(); // more than once in a turn
            }
            kernel::yield_now().await;
            theirs.send(4).unwrap();
            theirs.hand_off_last(5).unwrap();
        });
        block_on(sender.unwrap().exited());
        assert_eq!([(); 6].map(|()| told.next()), [0, 1, 2, 3, 4, 5]);
        target.kill();
        block_on(target.exited());
        assert_eq!(target.hand_off_last(6), Err(SendError::Exited(6)));
    }
}

#[test]
fn a_process_hands_off_to_itself_and_to_one_that_is_full_by_addresses_that_are_used_up() {
    let runtime = runtime(1);
    let (tell, told) = channel();
    let full = runtime.process().mailbox(MailboxKind::Bounded(1));
    let full =
        full.spawn(|mut ctx: Context<u32>| async move { while ctx.receive().await.is_some() {} });
    let full = full.unwrap();
    let own = runtime.spawn_process(move |mut ctx: Context<u32>| async move {
        ctx.addr().hand_off_last(1).unwrap();
        full.send(2).unwrap();
        tell.send(full.clone().hand_off_last(3)).unwrap();
        assert_eq!(ctx.receive().await, Some(1));
        full.cancel();
    });
    assert!(block_on(own.unwrap().exited()).is_normal());
    assert_eq!(told.next(), Err(SendError::Full(3)));
}

#[test]
fn a_process_without_an_address_is_found_by_its_pid_and_none_is_made_after_shutdown() {
    let runtime = runtime(1);
    let pid = runtime.spawn_pid(|ctx: Context<()>| async move { ctx.cancelled().await }).unwrap();
    assert_eq!(runtime.process_info(pid).unwrap().pid, pid);
    assert!(runtime.cancel_process(pid));
    let handle = runtime.handle().clone();
    runtime.shutdown();
    assert!(handle.process_info(pid).is_none() && !handle.kill_process(pid));
    let late = handle.spawn_pid(|_: Context<()>| async {});
    assert!(matches!(late, Err(SpawnError::Stopping)), "{late:?}");
}

#[test]
fn hand_off_to_a_queued_process_keeps_the_order_of_its_mail() {
    let runtime = runtime(1);
    let (tell, told) = channel();
    let target = echo(&runtime, tell);
    let sender = runtime.spawn_process(move |_: Context<()>| async move {
        for round in 0..100 {
            target.send(3 * round).unwrap(); // it is queued from now on
            target.hand_off(3 * round + 1).unwrap();
            target.send(3 * round + 2).unwrap();
            yield_now().await;
        }
    });
    sender.unwrap();
    for number in 0..300 {
        assert_eq!(told.next(), number);
    }
}

/// A job has no turn after which somebody could be run. Inside of a strand's turn that waits for a
/// branch it has none either.
#[test]
fn handed_off_by_a_job_inside_of_a_turn_that_joins_is_received() {
    let runtime = runtime(1);
    let (tell, told) = channel();
    let target = echo(&runtime, tell);
    for number in 0..10 {
        let target = target.clone();
        let body = move |turn: &mut Turn<'_>| {
            let target = target.clone();
            turn.join(|turn| turn.submit(move |_| target.hand_off(number).unwrap()), |_| ());
            Step::End(())
        };
        runtime.strand().start(body).unwrap().1.join().unwrap();
        assert_eq!(told.next(), number);
    }
}
