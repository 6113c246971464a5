//! Is what came in time received, also when the quantum is over?

mod common;

use std::time::Duration;

use common::{channel, runtime};
use process::{Context, Event, Processes};

/// A message waits, and the turn has used up its quantum: what comes of asking for it?
fn received<T, Fut>(ask: fn(Context<u32>) -> Fut) -> T
where
    T: Send + 'static,
    Fut: Future<Output = T> + Send + 'static,
{
    let runtime = runtime(1);
    let (tell, told) = channel();
    let process = runtime.spawn_process(move |ctx: Context<u32>| async move {
        ctx.addr().send(7).unwrap();
        while !ctx.runtime().turn_expired() {}
        tell.send(ask(ctx).await).ok().unwrap();
    });
    process.unwrap();
    told.next()
}

#[test]
fn message_that_waits_when_the_quantum_is_over_is_received_within_no_time() {
    let result = received(|mut ctx| async move { ctx.receive_within(Duration::ZERO).await });
    assert_eq!(result, Ok(Some(7)));
}

#[test]
fn wanted_message_that_waits_when_the_quantum_is_over_is_received_within_no_time() {
    let result = received(|mut ctx| async move {
        let runtime = ctx.runtime().clone();
        runtime.timeout(Duration::ZERO, ctx.receive_if(|number| *number == 7)).await
    });
    assert_eq!(result, Ok(Some(7)));
}

#[test]
fn event_that_waits_when_the_quantum_is_over_comes_within_no_time() {
    let result = received(|mut ctx| async move {
        let runtime = ctx.runtime().clone();
        match runtime.timeout(Duration::ZERO, ctx.event()).await {
            Ok(Event::Message(number)) => Some(number),
            _ => None,
        }
    });
    assert_eq!(result, Some(7));
}

#[test]
fn without_a_message_no_time_is_over_when_the_quantum_is() {
    let result = received(|mut ctx| async move {
        let own = ctx.receive().await;
        while !ctx.runtime().turn_expired() {}
        (own, ctx.receive_within(Duration::ZERO).await.is_err())
    });
    assert_eq!(result, (Some(7), true));
}
