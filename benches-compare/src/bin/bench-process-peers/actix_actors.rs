//! How fast are actix's actors?
//!
//! They stay on the thread they start on, an arbiter; there is one for each worker. Placement is
//! chosen in actix's favour: a spawner on each arbiter, neighbours of a ring on the same one.

use std::time::Duration;

use actix::{
    Actor, ActorContext, Addr, Arbiter, ArbiterHandle, AsyncContext, Context, Handler, Message,
};
use benches::{Args, Line, process::measure};

use crate::actors::{Actors, Behaviour, Library, Next, Place};

#[derive(Clone)]
struct Actix(Vec<ArbiterHandle>);

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let _system = actix::System::new();
    let arbiters: Vec<Arbiter> = (0..args.workers).map(|_| Arbiter::new()).collect();
    measure(args, &args.peer, &Actors(Actix(arbiters.iter().map(Arbiter::handle).collect())))
}

struct Shell<B>(B);

enum Mail {
    Number(u64),
    /// To be sent later: actix's timers belong to the actor that is to get the message.
    After(Duration, u64),
}

impl Message for Mail {
    type Result = ();
}

impl Library for Actix {
    type Address<B: Behaviour<Self>> = Addr<Shell<B>>;

    fn start<B: Behaviour<Self>>(&self, at: Place, behaviour: B) -> Addr<Shell<B>> {
        match at {
            Place::Here => Shell(behaviour).start(),
            Place::Worker(at) => Shell::start_in_arbiter(&self.0[at], |_| Shell(behaviour)),
        }
    }

    fn send<B: Behaviour<Self>>(to: &Addr<Shell<B>>, number: u64) {
        to.do_send(Mail::Number(number));
    }

    fn send_after<B: Behaviour<Self>>(to: &Addr<Shell<B>>, after: Duration, number: u64) {
        to.do_send(Mail::After(after, number));
    }

    fn places(&self) -> usize {
        self.0.len()
    }
}

impl<B: Behaviour<Actix>> Actor for Shell<B> {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if self.0.started(&context.address()) == Next::Stop {
            context.stop();
        }
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        self.0.ended();
    }
}

impl<B: Behaviour<Actix>> Handler<Mail> for Shell<B> {
    type Result = ();

    fn handle(&mut self, mail: Mail, context: &mut Context<Self>) {
        match mail {
            Mail::Number(number) => {
                if self.0.got(&context.address(), number) == Next::Stop {
                    context.stop();
                }
            }
            Mail::After(after, number) => {
                context.notify_later(Mail::Number(number), after);
            }
        }
    }
}
