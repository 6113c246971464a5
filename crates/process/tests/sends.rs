//! Are messages that are sent many at once, or after a time, received in order, given back, or dropped?

mod common;

use std::{
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use common::{Told, channel, eventually, idler, runtime};
use kernel::Runtime;
use process::{Addr, Context, MailboxKind, Processes, SendError, block_on};

/// A process that tells what it receives, and stays in its first turn until it may go on.
fn held<M: Send + 'static>(
    runtime: &kernel::Handle,
    mailbox: MailboxKind,
) -> (Addr<M>, Sender<()>, Told<M>) {
    let ((begin, begun), (open, gate), (tell, told)) = (channel(), channel(), channel());
    let held = runtime.process().mailbox(mailbox).spawn(move |mut ctx: Context<M>| async move {
        begin.send(()).unwrap();
        gate.next();
        while let Some(message) = ctx.receive().await {
            tell.send(message).unwrap();
        }
    });
    begun.next();
    (held.unwrap(), open, told)
}

#[test]
fn of_more_messages_than_there_is_room_for_the_first_are_sent_and_the_others_come_back() {
    let runtime = runtime(1);
    let (held, open, told) = held(&runtime, MailboxKind::Bounded(3));
    let error = held.send_many(1..=5).unwrap_err();
    assert_eq!((error.sent, error.error, error.rest), (3, SendError::Full(4), vec![5]));
    let error = held.send_many(6..=7).unwrap_err();
    assert_eq!((error.sent, error.error, error.rest), (0, SendError::Full(6), vec![7]));
    open.send(()).unwrap();
    assert_eq!([(); 3].map(|()| told.next()), [1, 2, 3]);
    held.send(8).unwrap();
    assert_eq!(told.next(), 8);
    assert!(told.all().is_empty());
}

/// They go in chains of 512.
#[test]
fn more_messages_than_go_at_once_are_received_in_order() {
    const MANY: usize = 3 * 512 + 7;
    let runtime = runtime(2);
    let (held, open, told) = held(&runtime, MailboxKind::Bounded(MANY - 1));
    let error = held.send_many(0..MANY + 2).unwrap_err();
    assert_eq!((error.sent, error.error), (MANY - 1, SendError::Full(MANY - 1)));
    assert_eq!(error.rest, [MANY, MANY + 1]);
    assert_eq!(held.mailbox_len(), MANY - 1);
    open.send(()).unwrap();
    for number in 0..MANY - 1 {
        assert_eq!(told.next(), number);
    }
}

#[test]
fn many_messages_of_two_senders_are_received_in_the_order_of_each() {
    const EACH: usize = 2000;
    let runtime = runtime(2);
    let (held, open, told) = held(&runtime, MailboxKind::Unbounded);
    open.send(()).unwrap();
    std::thread::scope(|scope| {
        for sender in 0..2 {
            let held = held.clone();
            scope.spawn(move || {
                let sent = held.send_many((0..EACH).map(|number| (sender, number)));
                assert_eq!(sent.unwrap(), EACH);
            });
        }
    });
    let mut next = [0; 2];
    for _ in 0..2 * EACH {
        let (sender, number): (usize, usize) = told.next();
        assert_eq!(number, next[sender]);
        next[sender] += 1;
    }
}

#[test]
fn messages_whose_time_comes_when_the_mailbox_is_full_are_dropped_and_the_others_stay() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    let builder = simulation.process().mailbox(MailboxKind::Bounded(1));
    let sleeper = builder.spawn(move |mut ctx: Context<Arc<u32>>| async move {
        ctx.sleep(Duration::from_secs(2)).await;
        while let Some(number) = ctx.receive().await {
            tell.send(*number).unwrap();
        }
    });
    let (sleeper, late) = (sleeper.unwrap(), Arc::new(1));
    sleeper.send(Arc::new(0)).unwrap();
    sleeper.send_after(Duration::from_secs(1), late.clone()).unwrap().detach();
    sleeper.send_after(Duration::from_secs(3), Arc::new(2)).unwrap().detach();
    simulation.run_for(Duration::from_millis(1500));
    assert_eq!((Arc::strong_count(&late), sleeper.mailbox_len()), (1, 1));
    simulation.run();
    assert_eq!(told.all(), [0, 2]);
}

#[test]
fn messages_whose_time_comes_when_the_process_has_exited_are_dropped() {
    let runtime = runtime(2);
    let message = Arc::new(());
    let brief = runtime.spawn_process(|mut ctx: Context<Arc<()>>| async move {
        ctx.receive().await;
    });
    let brief = brief.unwrap();
    let soon = brief.send_after(Duration::from_millis(1), message.clone()).unwrap();
    brief.kill();
    block_on(brief.exited());
    let late = brief.send_after(Duration::ZERO, message.clone()).unwrap();
    eventually(|| soon.is_over() && late.is_over() && Arc::strong_count(&message) == 1);
    assert_eq!(brief.send(message.clone()), Err(SendError::Exited(message)));
    // The worker that rang the timers goes on.
    let other = idler(&runtime);
    other.cancel();
    block_on(other.exited());
}
