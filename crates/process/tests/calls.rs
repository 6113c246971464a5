//! Does a call end with its reply, or with the reason why there is none?

mod common;

use std::time::Duration;

use common::{channel, runtime};
use process::{CallError, Context, MailboxKind, Processes, Reply, block_on};

type Ask = (u32, Reply<u32>);

fn doubler(runtime: &kernel::Runtime) -> process::Addr<Ask> {
    let server = runtime.spawn_process(|mut ctx: Context<Ask>| async move {
        while let Some((number, reply)) = ctx.receive().await {
            let _ = reply.send(2 * number);
        }
    });
    server.unwrap()
}

#[test]
fn a_call_gets_its_reply_from_a_process_and_from_a_thread() {
    for workers in [1, 2] {
        let runtime = runtime(workers);
        let server = doubler(&runtime);
        let (tell, told) = channel();
        let asked = server.clone();
        let caller = runtime.spawn_process(move |_: Context<()>| async move {
            for number in 0..1000 {
                let doubled = asked.call(|reply| (number, reply)).await;
                assert_eq!(doubled, Ok(2 * number));
            }
            tell.send(()).unwrap();
        });
        caller.unwrap();
        told.next();
        assert_eq!(block_on(server.call(|reply| (21, reply))), Ok(42));
    }
}

#[test]
fn request_and_reply_touch_no_queue_where_both_share_a_worker() {
    let runtime = runtime(1);
    let server = doubler(&runtime);
    let (tell, told) = channel();
    let on = runtime.handle();
    let caller = runtime.spawn_process(move |_: Context<()>| async move {
        server.call(|reply| (0, reply)).await.unwrap();
        let before = on.metrics().total();
        for number in 0..100 {
            server.call(|reply| (number, reply)).await.unwrap();
        }
        let after = on.metrics().total();
        tell.send((after.wakes - before.wakes, after.hand_offs - before.hand_offs)).unwrap();
    });
    caller.unwrap();
    let (wakes, hand_offs) = told.next();
    assert!(wakes <= 2, "{wakes} wakes: only when the quantum is over");
    assert!(hand_offs >= 198, "{hand_offs}");
}

#[test]
fn a_call_to_oneself_is_refused() {
    let runtime = runtime(1);
    let (tell, told) = channel();
    let lonely = runtime.spawn_process(move |ctx: Context<Ask>| async move {
        let own = ctx.addr();
        tell.send(own.call(|reply| (1, reply)).await).unwrap();
    });
    lonely.unwrap();
    assert_eq!(told.next(), Err(CallError::ToSelf));
}

#[test]
fn a_call_to_an_exited_process_is_refused() {
    let runtime = runtime(1);
    let brief = runtime.spawn_process(|_: Context<Ask>| async {}).unwrap();
    block_on(brief.exited());
    assert_eq!(block_on(brief.call(|reply| (1, reply))), Err(CallError::Exited));
}

#[test]
fn a_call_to_a_full_process_is_refused() {
    let runtime = runtime(1);
    let builder = runtime.process().mailbox(MailboxKind::Bounded(1));
    let full = builder.spawn(|ctx: Context<Option<Reply<u32>>>| async move {
        std::future::pending::<()>().await;
        drop(ctx);
    });
    let full = full.unwrap();
    while full.send(None).is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(block_on(full.call(Some)), Err(CallError::Full));
}

#[test]
fn a_dropped_request_and_one_whose_process_exits_tell_the_caller() {
    let runtime = runtime(2);
    let careless = runtime.spawn_process(|mut ctx: Context<Ask>| async move {
        drop(ctx.receive().await);
        ctx.receive().await; // dropped with the process
    });
    let careless = careless.unwrap();
    assert_eq!(block_on(careless.call(|reply| (1, reply))), Err(CallError::NoReply));
    assert_eq!(block_on(careless.call(|reply| (1, reply))), Err(CallError::NoReply));
    let idle = runtime.spawn_process(|ctx: Context<Ask>| async move {
        std::future::pending::<()>().await;
        drop(ctx);
    });
    let idle = idle.unwrap();
    let (tell, told) = channel();
    let asked = idle.clone();
    let caller = runtime.spawn_process(move |_: Context<()>| async move {
        let call = asked.call(|reply| (1, reply));
        tell.send(None).unwrap();
        tell.send(Some(call.await)).unwrap();
    });
    caller.unwrap();
    told.next();
    idle.kill();
    let error = told.next().unwrap().unwrap_err();
    assert!(matches!(error, CallError::NoReply | CallError::Exited), "{error}");
}

#[test]
fn a_call_times_out_and_the_late_reply_comes_back() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let (answer, answered) = channel::<()>();
    let slow = runtime.spawn_process(move |mut ctx: Context<Ask>| async move {
        let (number, reply) = ctx.receive().await.unwrap();
        answered.next();
        assert!(!reply.is_wanted());
        tell.send(reply.send(number)).unwrap();
    });
    let slow = slow.unwrap();
    let limit = Duration::from_millis(1);
    let timed_out = block_on(slow.call(|reply| (7, reply)).within(limit));
    assert_eq!(timed_out, Err(CallError::Timeout(limit)));
    answer.send(()).unwrap();
    assert_eq!(told.next().unwrap_err().0, 7);
}

#[test]
fn a_reply_may_be_given_later_and_by_another() {
    let runtime = runtime(2);
    let helper = runtime.spawn_process(|mut ctx: Context<Ask>| async move {
        while let Some((number, reply)) = ctx.receive().await {
            ctx.sleep(Duration::from_millis(1)).await;
            let _ = reply.send(number);
        }
    });
    let helper = helper.unwrap();
    let front = runtime.spawn_process(move |mut ctx: Context<Ask>| async move {
        while let Some(ask) = ctx.receive().await {
            let _ = helper.send(ask);
        }
    });
    assert_eq!(block_on(front.unwrap().call(|reply| (5, reply))), Ok(5));
}

#[test]
fn waiting_for_a_reply_does_not_lose_messages() {
    let runtime = runtime(1);
    let server = doubler(&runtime);
    let (tell, told) = channel();
    let caller = runtime.spawn_process(move |mut ctx: Context<u32>| async move {
        let mut sum = 0;
        for number in 0..100 {
            server.call(|reply| (number, reply)).await.unwrap();
            ctx.addr().send(number).unwrap();
            sum += ctx.receive().await.unwrap();
        }
        tell.send(sum).unwrap();
    });
    caller.unwrap();
    assert_eq!(told.next(), 4950);
}
