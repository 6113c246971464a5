//! How fast are ractor's actors?
//!
//! Without its tracing spans per message. An actor is started by awaiting its spawn, which is done
//! at the first poll; `spawn_instant` would start a second task for it.

use std::{marker::PhantomData, time::Duration};

use benches::{Args, Line, process::measure};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::runtime::{Builder, Handle};

use crate::actors::{Actors, Behaviour, Library, Next, Place};

#[derive(Clone)]
struct Ractor(Handle);

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(args.workers).enable_time().build().expect("tokio starts");
    let lines = measure(args, &args.peer, &Actors(Ractor(runtime.handle().clone())));
    runtime.shutdown_background();
    lines
}

struct Shell<B>(PhantomData<fn() -> B>);

impl Library for Ractor {
    type Address<B: Behaviour<Self>> = ActorRef<u64>;

    fn start<B: Behaviour<Self>>(&self, _: Place, behaviour: B) -> ActorRef<u64> {
        let _entered = self.0.enter();
        let spawned = Actor::spawn(None, Shell::<B>(PhantomData), behaviour);
        futures_lite::future::block_on(spawned).expect("it starts").0
    }

    fn send<B: Behaviour<Self>>(to: &ActorRef<u64>, number: u64) {
        to.cast(number).expect("the receiver lives");
    }

    fn send_after<B: Behaviour<Self>>(to: &ActorRef<u64>, after: Duration, number: u64) {
        to.send_after(after, move || number);
    }
}

impl<B: Behaviour<Ractor>> Actor for Shell<B> {
    type Msg = u64;
    type State = B;
    type Arguments = B;

    async fn pre_start(&self, _: ActorRef<u64>, behaviour: B) -> Result<B, ActorProcessingErr> {
        Ok(behaviour)
    }

    async fn post_start(&self, me: ActorRef<u64>, state: &mut B) -> Result<(), ActorProcessingErr> {
        let next = state.started(&me);
        stop_if(next, &me)
    }

    async fn handle(
        &self,
        me: ActorRef<u64>,
        number: u64,
        state: &mut B,
    ) -> Result<(), ActorProcessingErr> {
        let next = state.got(&me, number);
        stop_if(next, &me)
    }

    async fn post_stop(&self, _: ActorRef<u64>, state: &mut B) -> Result<(), ActorProcessingErr> {
        state.ended();
        Ok(())
    }
}

fn stop_if(next: Next, me: &ActorRef<u64>) -> Result<(), ActorProcessingErr> {
    if next == Next::Stop {
        me.stop(None);
    }
    Ok(())
}
