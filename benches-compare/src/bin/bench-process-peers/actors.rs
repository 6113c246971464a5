//! How are the workloads written for a library of actors?
//!
//! Once, for all three: a library says how to start an actor, send it a number and stop it
//! ([`Library`]), and the actors are plain structs with a handler ([`Behaviour`]). All of it is
//! generic, so that each library gets the code one would write for it by hand.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use benches::{
    Tally,
    process::{CHILDREN, Inject, SENDERS, Send as Start, System, Told},
    ticks::{self, Schedule},
};

/// Where an actor starts, for a library whose actors stay on one thread.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Where the caller runs, which must be on a worker.
    Here,
    Worker(usize),
}

/// After a message: wait for the next, or end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Wait,
    Stop,
}

/// What a library of actors offers, as far as the workloads need it.
pub(crate) trait Library: Clone + Send + Sync + Unpin + 'static {
    type Address<B: Behaviour<Self>>: Clone + Send + Sync + Unpin + 'static;

    fn start<B: Behaviour<Self>>(&self, at: Place, behaviour: B) -> Self::Address<B>;

    fn send<B: Behaviour<Self>>(to: &Self::Address<B>, number: u64);

    fn send_after<B: Behaviour<Self>>(to: &Self::Address<B>, after: Duration, number: u64);

    /// Threads to which actors are bound. One where they move freely.
    fn places(&self) -> usize {
        1
    }
}

/// What an actor does.
pub(crate) trait Behaviour<L: Library>: Send + Sync + Unpin + Sized + 'static {
    fn started(&mut self, _me: &L::Address<Self>) -> Next {
        Next::Wait
    }

    fn got(&mut self, _me: &L::Address<Self>, _number: u64) -> Next {
        Next::Wait
    }

    /// It has ended, and this is the last thing it does.
    fn ended(&mut self) {}
}

/// Ends at once.
struct Brief(&'static Tally);

impl<L: Library> Behaviour<L> for Brief {
    fn started(&mut self, _: &L::Address<Self>) -> Next {
        Next::Stop
    }

    fn ended(&mut self) {
        self.0.add();
    }
}

/// Waits for a message that does not come.
struct Idle(&'static Tally);

impl<L: Library> Behaviour<L> for Idle {
    fn started(&mut self, _: &L::Address<Self>) -> Next {
        self.0.add();
        Next::Wait
    }
}

/// Starts others, in its place.
struct Spawner<L, B> {
    library: L,
    count: u64,
    make: fn(&'static Tally) -> B,
    tally: &'static Tally,
    keep: bool,
}

impl<L: Library, B: Behaviour<L>> Behaviour<L> for Spawner<L, B> {
    fn started(&mut self, _: &L::Address<Self>) -> Next {
        for _ in 0..self.count {
            let address = self.library.start(Place::Here, (self.make)(self.tally));
            if self.keep {
                // An actor without addresses would end. To keep one takes no memory.
                std::mem::forget(address);
            }
        }
        Next::Stop
    }
}

/// Known once all are started.
type MemberAddress<L> = OnceLock<<L as Library>::Address<Member<L>>>;

struct Member<L: Library> {
    ring: Arc<[MemberAddress<L>]>,
    next: usize,
    done: &'static Tally,
}

impl<L: Library> Behaviour<L> for Member<L> {
    fn got(&mut self, _: &L::Address<Self>, hops: u64) -> Next {
        if hops == 0 {
            self.done.add();
        } else {
            L::send(self.ring[self.next].get().expect("the ring is closed"), hops - 1);
        }
        Next::Wait
    }
}

struct Receiver {
    got: u64,
    all: u64,
    done: &'static Tally,
}

impl<L: Library> Behaviour<L> for Receiver {
    fn got(&mut self, _: &L::Address<Self>, _: u64) -> Next {
        self.got += 1;
        if self.got == self.all {
            self.got = 0;
            self.done.add();
        }
        Next::Wait
    }
}

struct Sender<L: Library> {
    to: L::Address<Receiver>,
    count: u64,
}

impl<L: Library> Behaviour<L> for Sender<L> {
    fn started(&mut self, _: &L::Address<Self>) -> Next {
        (0..self.count).for_each(|number| L::send(&self.to, number));
        Next::Stop
    }
}

/// To whom a node of the skynet gives its sum.
enum Above<L: Library> {
    Parent(L::Address<Node<L>>),
    Outside(Option<Told>),
}

struct Node<L: Library> {
    library: L,
    above: Above<L>,
    first: u64,
    leaves: u64,
    sum: u64,
    missing: u64,
}

impl<L: Library> Node<L> {
    fn new(library: L, above: Above<L>, first: u64, leaves: u64) -> Node<L> {
        Node { library, above, first, leaves, sum: 0, missing: CHILDREN }
    }

    fn give(&mut self, sum: u64) -> Next {
        match &mut self.above {
            Above::Parent(parent) => L::send(parent, sum),
            Above::Outside(told) => (told.take().expect("there is one sum"))(sum),
        }
        Next::Stop
    }
}

impl<L: Library> Behaviour<L> for Node<L> {
    fn started(&mut self, me: &L::Address<Self>) -> Next {
        if self.leaves == 1 {
            return self.give(self.first);
        }
        let share = self.leaves / CHILDREN;
        for child in 0..CHILDREN {
            let above = Above::Parent(me.clone());
            let first = self.first + child * share;
            let node = Node::new(self.library.clone(), above, first, share);
            // The root's children are spread, and each keeps what is below it near.
            let is_root = matches!(self.above, Above::Outside(_));
            let at = if is_root {
                Place::Worker(child as usize % self.library.places())
            } else {
                Place::Here
            };
            self.library.start(at, node);
        }
        Next::Wait
    }

    fn got(&mut self, _: &L::Address<Self>, sum: u64) -> Next {
        self.sum += sum;
        self.missing -= 1;
        if self.missing == 0 { self.give(self.sum) } else { Next::Wait }
    }
}

struct Ticked {
    process: u64,
    schedule: &'static Schedule,
}

impl Ticked {
    fn arm<L: Library>(&self, me: &L::Address<Self>, tick: u64) -> Next {
        let Some(due) = self.schedule.due(tick) else { return Next::Stop };
        L::send_after(me, due.saturating_duration_since(Instant::now()), tick);
        Next::Wait
    }
}

impl<L: Library> Behaviour<L> for Ticked {
    fn started(&mut self, me: &L::Address<Self>) -> Next {
        self.arm::<L>(me, 0)
    }

    fn got(&mut self, me: &L::Address<Self>, tick: u64) -> Next {
        self.schedule.handled(self.process, tick);
        self.arm::<L>(me, tick + 1)
    }
}

struct Hog;

impl<L: Library> Behaviour<L> for Hog {
    fn started(&mut self, _: &L::Address<Self>) -> Next {
        ticks::hog()
    }
}

/// A library, measured.
pub(crate) struct Actors<L>(pub(crate) L);

impl<L: Library> Actors<L> {
    /// One spawner in each place, with its share.
    fn spawners<B: Behaviour<L>>(
        &self,
        count: u64,
        tally: &'static Tally,
        make: fn(&'static Tally) -> B,
        keep: bool,
    ) {
        let places = self.0.places() as u64;
        for place in 0..places {
            let count = (place + 1) * count / places - place * count / places;
            let spawner = Spawner { library: self.0.clone(), count, make, tally, keep };
            self.0.start(Place::Worker(place as usize), spawner);
        }
    }

    fn place(&self, at: u64, of: u64) -> Place {
        Place::Worker((at * self.0.places() as u64 / of) as usize)
    }
}

impl<L: Library> System for Actors<L> {
    fn spawn(&self, count: u64, done: &'static Tally) {
        self.spawners(count, done, Brief, false);
    }

    fn idle(&self, count: u64, started: &'static Tally) {
        self.spawners(count, started, Idle, true);
    }

    /// Neighbours share a thread where threads matter, and so do the two of a ping-pong.
    fn ring(&self, members: u64, done: &'static Tally) -> Inject {
        let ring: Arc<[MemberAddress<L>]> = (0..members).map(|_| OnceLock::new()).collect();
        for at in 0..members {
            let next = ((at + 1) % members) as usize;
            let at_once = if members == 2 { 0 } else { at };
            let member = Member::<L> { ring: ring.clone(), next, done };
            let address = self.0.start(self.place(at_once, members), member);
            assert!(ring[at as usize].set(address).is_ok(), "each member is made once");
        }
        Box::new(move |member, hops| {
            L::send(ring[member as usize].get().expect("the ring is closed"), hops);
        })
    }

    fn fan_in(&self, each: u64, done: &'static Tally) -> Start {
        let receiver = Receiver { got: 0, all: each * SENDERS, done };
        let address = self.0.start(Place::Worker(0), receiver);
        let library = self.0.clone();
        Box::new(move |each| {
            for at in 0..SENDERS {
                let sender = Sender::<L> { to: address.clone(), count: each };
                library.start(Place::Worker(at as usize % library.places()), sender);
            }
        })
    }

    fn skynet(&self, leaves: u64, told: Told) {
        let root = Node::new(self.0.clone(), Above::Outside(Some(told)), 0, leaves);
        self.0.start(Place::Worker(0), root);
    }

    fn latency(&self, schedule: &'static Schedule, hogs: usize) {
        for process in 0..ticks::PROCESSES {
            let place = self.place(process, ticks::PROCESSES);
            std::mem::forget(self.0.start(place, Ticked { process, schedule }));
        }
        for hog in 0..hogs {
            std::mem::forget(self.0.start(Place::Worker(hog % self.0.places()), Hog));
        }
    }
}
