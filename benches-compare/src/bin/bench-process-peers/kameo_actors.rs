//! How fast are kameo's actors?
//!
//! With unbounded mailboxes, so that a send is never refused and needs no `await`, and without
//! kameo's tracing.

use std::{convert::Infallible, time::Duration};

use benches::{Args, Line, process::measure};
use kameo::{
    actor::{Actor, ActorRef, Spawn, WeakActorRef},
    error::ActorStopReason,
    mailbox,
    message::{Context, Message},
};
use tokio::runtime::{Builder, Handle};

use crate::actors::{Actors, Behaviour, Library, Next, Place};

#[derive(Clone)]
struct Kameo(Handle);

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(args.workers).enable_time().build().expect("tokio starts");
    let lines = measure(args, &args.peer, &Actors(Kameo(runtime.handle().clone())));
    runtime.shutdown_background();
    lines
}

struct Shell<B>(B);

impl Library for Kameo {
    type Address<B: Behaviour<Self>> = ActorRef<Shell<B>>;

    fn start<B: Behaviour<Self>>(&self, _: Place, behaviour: B) -> ActorRef<Shell<B>> {
        let _entered = self.0.enter();
        Shell::spawn_with_mailbox(behaviour, mailbox::unbounded())
    }

    fn send<B: Behaviour<Self>>(to: &ActorRef<Shell<B>>, number: u64) {
        to.tell(number).try_send().expect("the receiver lives");
    }

    fn send_after<B: Behaviour<Self>>(to: &ActorRef<Shell<B>>, after: Duration, number: u64) {
        to.tell(number).send_after(after);
    }
}

impl<B: Behaviour<Kameo>> Actor for Shell<B> {
    type Args = B;
    type Error = Infallible;

    async fn on_start(mut behaviour: B, me: ActorRef<Self>) -> Result<Self, Infallible> {
        if behaviour.started(&me) == Next::Stop {
            me.kill();
        }
        Ok(Shell(behaviour))
    }

    async fn on_stop(
        &mut self,
        _: WeakActorRef<Self>,
        _: ActorStopReason,
    ) -> Result<(), Infallible> {
        self.0.ended();
        Ok(())
    }
}

impl<B: Behaviour<Kameo>> Message<u64> for Shell<B> {
    type Reply = ();

    async fn handle(&mut self, number: u64, context: &mut Context<Self, ()>) {
        if self.0.got(context.actor_ref(), number) == Next::Stop {
            context.stop();
        }
    }
}
