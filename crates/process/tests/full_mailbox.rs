//! Does everything but a message reach a process whose mailbox is full?
//!
//! News of an exit is read behind the messages that wait, but is never refused for want of room. A
//! request to end, a completion and an exit that ends the process do not wait at all.

mod common;

use std::{
    sync::{Arc, Mutex, mpsc::Sender},
    time::Duration,
};

use common::{PATIENCE, Told, channel, eventually, idler, runtime};
use kernel::Runtime;
use process::{
    Addr, Context, Event, ExitReason, MailboxKind, Payload, Pid, Process, ProcessBuilder,
    ProcessError, ProcessState, Processes, SendError, StepOutput, block_on,
};

const BOUND: usize = 3;

/// Who exited, and why.
type News = (Pid, ExitReason);

/// Fills the mailbox of a process that does not read now.
fn fill<M: Default + Send + 'static>(process: &Addr<M>) {
    assert!((0..BOUND).all(|_| process.send(M::default()).is_ok()));
    assert!(is_full(process));
}

fn is_full<M: Default + Send + 'static>(process: &Addr<M>) -> bool {
    matches!(process.send(M::default()), Err(SendError::Full(_))) && process.mailbox_len() == BOUND
}

/// A process that does something, stays in its first turn until it may go on, and then reads all
/// there is, up to news of an exit.
fn reader(
    builder: ProcessBuilder<'_>,
    first: impl FnOnce(&Context<u8>) + Send + 'static,
) -> (Addr<u8>, Sender<()>, Told<Option<News>>) {
    let ((begin, begun), (open, gate), (tell, told)) = (channel(), channel(), channel());
    let builder = builder.mailbox(MailboxKind::Bounded(BOUND));
    let reader = builder.spawn(move |mut ctx: Context<u8>| async move {
        first(&ctx);
        begin.send(()).unwrap();
        gate.next();
        loop {
            match ctx.event().await {
                Event::Message(_) => tell.send(None).unwrap(),
                Event::Exit { pid, reason } | Event::Down { pid, reason, .. } => {
                    return tell.send(Some((pid, reason))).unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
    });
    begun.next();
    (reader.unwrap(), open, told)
}

#[test]
fn news_of_an_exit_is_read_behind_the_messages_of_a_full_mailbox() {
    let runtime = runtime(2);
    let monitor = |ctx: &Context<u8>, pid| {
        ctx.monitor(pid);
    };
    for tie in [Context::link, monitor] {
        let other = idler(&runtime);
        let pid = other.pid();
        let builder = runtime.process().trap_exits();
        let (reader, open, told) = reader(builder, move |ctx| tie(ctx, pid));
        fill(&reader);
        other.kill();
        block_on(other.exited());
        assert!(is_full(&reader), "the news takes no room, and makes none");
        open.send(()).unwrap();
        for _ in 0..BOUND {
            assert_eq!(told.next(), None);
        }
        assert_eq!(told.next(), Some((pid, ExitReason::Killed)));
    }
}

#[test]
fn an_exit_of_a_link_ends_a_process_whose_mailbox_is_full() {
    let runtime = runtime(2);
    let other = idler(&runtime);
    let pid = other.pid();
    let (reader, open, told) = reader(runtime.process(), move |ctx| ctx.link(pid));
    fill(&reader);
    other.kill();
    block_on(other.exited());
    open.send(()).unwrap();
    assert_eq!(block_on(reader.exited()), ExitReason::Killed);
    // It may have read in the turn that it was in, but it was not told.
    assert!(told.all().iter().all(Option::is_none));
    assert_eq!(reader.send(1), Err(SendError::Exited(1)));
}

/// It is idle, and messages do not wake it to any purpose: the exit does.
#[test]
fn an_exit_of_a_link_ends_a_process_that_waits_for_something_else_with_a_full_mailbox() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let other = idler(&simulation);
    let pid = other.pid();
    let builder = simulation.process().mailbox(MailboxKind::Bounded(BOUND));
    let sleeper = builder.spawn(move |ctx: Context<u8>| async move {
        ctx.link(pid);
        ctx.sleep(PATIENCE).await;
    });
    let sleeper = sleeper.unwrap();
    simulation.run_for(Duration::from_secs(1));
    fill(&sleeper);
    simulation.run_for(Duration::from_secs(1));
    assert_eq!(sleeper.state(), ProcessState::Idle);
    other.kill();
    simulation.run_for(Duration::from_secs(1));
    assert_eq!(sleeper.exit_reason(), Some(ExitReason::Killed));
}

/// Waits for a command and a timer, and reads messages only afterwards. Tells the tags of what is
/// complete, 3 for a request to end, and 0 for each message.
struct Waits {
    tell: Sender<u64>,
    timer: Duration,
    open: u32,
}

impl Process for Waits {
    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        if events.is_empty() {
            out.command(1, "later", ());
            out.sleep(2, self.timer);
        }
        for event in events.drain(..) {
            match event {
                Event::Completed { tag, .. } => {
                    self.open -= 1;
                    self.tell.send(tag)?;
                }
                Event::Message(_) => self.tell.send(0)?,
                Event::Cancel => self.tell.send(3)?,
                other => panic!("{other:?}"),
            }
        }
        if self.open > 0 {
            out.blocked();
        }
        Ok(())
    }
}

#[test]
fn a_completion_reaches_a_blocked_process_whose_mailbox_is_full() {
    let runtime = runtime(2);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = kept.clone();
    runtime.handle_command("later", move |command| keep.lock().unwrap().push(command));
    let (tell, told) = channel();
    let builder = runtime.process().mailbox(MailboxKind::Bounded(BOUND));
    let waits = Waits { tell, timer: Duration::from_millis(1), open: 2 };
    let process = builder.start(waits, "", ()).unwrap();
    eventually(|| process.state() == ProcessState::Blocked);
    // A turn that begins meanwhile may let in one more, but none reads them.
    eventually(|| process.send(Payload::Empty).is_err());
    kept.lock().unwrap().pop().unwrap().complete(Ok(Payload::Empty));
    let mut tags = [told.next(), told.next()];
    tags.sort();
    assert_eq!(tags, [1, 2]);
    for _ in 0..BOUND {
        assert_eq!(told.next(), 0);
    }
}

#[test]
fn a_request_to_end_and_a_timer_reach_a_blocked_process_whose_mailbox_is_full() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    simulation.handle_blocking("later", Ok);
    let (tell, told) = channel();
    let builder = simulation.process().mailbox(MailboxKind::Bounded(BOUND));
    let waits = Waits { tell, timer: Duration::from_secs(1), open: 2 };
    let process = builder.start(waits, "", ()).unwrap();
    simulation.run_for(Duration::from_millis(500));
    assert_eq!(told.all(), [1]);
    fill(&process);
    process.cancel();
    simulation.run_for(Duration::from_millis(400));
    assert_eq!(told.all(), [3]);
    assert!(is_full(&process));
    simulation.run();
    assert_eq!(told.all(), [2, 0, 0, 0]);
}
