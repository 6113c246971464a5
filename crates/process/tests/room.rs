//! Do those who wait for room in a mailbox wait without turning, and get what they waited for?

mod common;

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use common::channel;
use kernel::{Runtime, Simulation};
use process::{Addr, CallError, Context, MailboxKind, ProcessBuilder, Processes, Reply};

const S: Duration = Duration::from_secs(1);

fn simulation() -> Simulation {
    Runtime::builder().workers(2).simulate(0).unwrap()
}

fn small(simulation: &Simulation) -> ProcessBuilder<'_> {
    simulation.process().mailbox(MailboxKind::Bounded(1))
}

/// Whom a process sends to, or something to send.
enum Mail {
    To(Addr<Mail>),
    Filler,
}

/// Gets an address, and when its own mailbox is full waits for room behind that.
async fn fill_and_send(mut ctx: Context<Mail>) {
    let Some(Mail::To(other)) = ctx.receive().await else { return };
    ctx.addr().send(Mail::Filler).unwrap();
    // A turn in which the other has done the same.
    ctx.sleep(S).await;
    other.send_wait(Mail::Filler).await.unwrap();
}

fn steps(simulation: &Simulation, of: &Addr<Mail>) -> u64 {
    simulation.process_info(of.pid()).expect("it waits").steps
}

#[test]
fn two_who_wait_for_room_in_each_other_stand_still() {
    let mut simulation = simulation();
    let [one, other] = [(); 2].map(|()| small(&simulation).spawn(fill_and_send).unwrap());
    one.send(Mail::To(other.clone())).unwrap();
    other.send(Mail::To(one.clone())).unwrap();
    // This comes back, though neither has an end.
    simulation.run();
    let before = [&one, &other].map(|process| steps(&simulation, process));
    simulation.run_for(S);
    assert_eq!([&one, &other].map(|process| steps(&simulation, process)), before);
    assert!(one.is_alive() && other.is_alive());
}

#[test]
fn who_waits_for_room_in_its_own_mailbox_stands_still() {
    let mut simulation = simulation();
    let alone = small(&simulation).spawn(fill_and_send).unwrap();
    alone.send(Mail::To(alone.clone())).unwrap();
    simulation.run();
    assert!(alone.is_alive());
    assert_eq!(alone.mailbox_len(), 1);
}

#[test]
fn who_receives_beside_waiting_for_room_in_its_own_mailbox_goes_on() {
    let mut simulation = simulation();
    let (tell, told) = channel();
    let process = small(&simulation).spawn(move |mut ctx: Context<u32>| async move {
        let own = ctx.addr();
        own.send(1).unwrap();
        let mut sending = pin!(own.send_wait(2));
        let mut received = Vec::new();
        let mut sent = false;
        while received.len() < 2 {
            let mut receiving = pin!(ctx.receive());
            let message = poll_fn(|cx| {
                sent = sent || sending.as_mut().poll(cx).is_ready();
                match receiving.as_mut().poll(cx) {
                    Poll::Ready(message) => Poll::Ready(message),
                    Poll::Pending => Poll::Pending,
                }
            });
            received.extend(message.await);
        }
        tell.send(received).unwrap();
    });
    process.unwrap();
    simulation.run();
    assert_eq!(told.next(), [1, 2]);
}

/// Answers what it is asked, a second for each.
async fn slow(mut ctx: Context<(u32, Reply<u32>)>) {
    while let Some((number, reply)) = ctx.receive().await {
        ctx.sleep(S).await;
        let _ = reply.send(number);
    }
}

/// Ten ask at once; their answers, in the order of their numbers.
fn ask(limit: Option<Duration>, waits: bool) -> Vec<Result<u32, CallError>> {
    let mut simulation = simulation();
    let slow = small(&simulation).spawn(slow).unwrap();
    let asked: Vec<_> = (0..10)
        .map(|number| {
            let slow = slow.clone();
            let asks = async move {
                let call = slow.call(|reply| (number, reply));
                let call = match limit {
                    Some(limit) => call.within(limit),
                    None => call,
                };
                if waits { call.wait_for_room().await } else { call.await }
            };
            simulation.spawn(asks).unwrap()
        })
        .collect();
    simulation.run_for(60 * S);
    asked.into_iter().map(|mut answer| answer.join().unwrap()).collect()
}

#[test]
fn calls_that_wait_for_room_are_all_answered() {
    assert_eq!(ask(None, true), (0..10).map(Ok).collect::<Vec<_>>());
}

#[test]
fn calls_that_do_not_wait_for_room_are_refused() {
    let refused = ask(None, false).into_iter().filter(|answer| *answer == Err(CallError::Full));
    assert!(refused.count() >= 8, "one is answered meanwhile, and one waits");
}

#[test]
fn limit_of_a_call_is_for_the_wait_for_room_too() {
    let limit = 4 * S + S / 2;
    let answers = ask(Some(limit), true);
    let (answered, late): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(answered.len(), 4);
    assert!(late.into_iter().all(|answer| answer == Err(CallError::Timeout(limit))));
}

#[test]
fn call_that_waits_for_room_hears_that_the_process_has_exited() {
    let mut simulation = simulation();
    let brief = small(&simulation).spawn(|ctx: Context<(u32, Reply<u32>)>| async move {
        ctx.sleep(S).await;
    });
    let brief = brief.unwrap();
    let asks = |number| {
        let brief = brief.clone();
        simulation.spawn(async move { brief.call(|reply| (number, reply)).wait_for_room().await })
    };
    let mut asked = [0, 1].map(|number| asks(number).unwrap());
    simulation.run();
    let mut answers = asked.each_mut().map(|answer| answer.join().unwrap().unwrap_err());
    answers.sort_by_key(|error| *error == CallError::NoReply);
    assert_eq!(answers, [CallError::Exited, CallError::NoReply]);
}

#[test]
fn call_to_oneself_is_refused_also_if_it_would_wait_for_room() {
    let mut simulation = simulation();
    let (tell, told) = channel();
    let alone = small(&simulation).spawn(move |ctx: Context<Reply<u32>>| async move {
        tell.send(ctx.addr().call(|reply| reply).wait_for_room().await).unwrap();
    });
    alone.unwrap();
    simulation.run();
    assert_eq!(told.next(), Err(CallError::ToSelf));
}
