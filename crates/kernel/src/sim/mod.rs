//! The simulated runtime: the same scheduler on one thread, with virtual time and a seed.
//!
//! The queues, the disciplines, the state words, the turns and the timers are those of the real
//! runtime. What differs is who calls: instead of threads that park, one loop picks a free
//! worker, lets it take a turn, and moves the clock to whatever comes next. The seed decides only
//! what the discipline leaves open (which of the free workers goes first, which victim is stolen
//! from, in which order turns that end at the same time end), so `Fifo` stays FIFO.
//!
//! A turn lasts [`TURN_COST`] plus what its body spends ([`Turn::spend`](crate::Turn::spend),
//! [`Turn::simulate`](crate::Turn::simulate)). Turns of different workers overlap, so twice the
//! workers finish independent work in half the time. When nobody can run, the clock jumps to the
//! next effect, end of turn or timer.

pub(crate) mod events;
mod seeds;

pub use seeds::each_seed;

use std::{
    fmt,
    future::Future,
    ops::Deref,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use crate::{
    panics,
    report::WorkerChange,
    runtime::handle::Handle,
    sim::events::Effect,
    slot::PAUSE,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    turn::Turn,
    worker::{Begun, Ended, Worker},
    world::{self, Dice, Nanos},
};

/// What a turn costs in virtual time when its body spends nothing. Among several workers the seed
/// takes up to a tenth off, as real turns differ too: otherwise turns in step would never overtake
/// each other.
pub const TURN_COST: Duration = Duration::from_nanos(100);

const JITTER: usize = 11;

/// A runtime in virtual time, on the calling thread, with every open choice made by a seed.
///
/// The same seed gives the same run, event for event; another seed gives another order. It
/// derefs to a [`Handle`], so code under test is given that and can not tell the difference.
///
/// ```
/// use std::time::Duration;
/// use kernel::Runtime;
///
/// let run = |seed| {
///     let mut simulation = Runtime::builder().workers(2).record(1024).simulate(seed)?;
///     for _ in 0..8 {
///         // As if each had worked for ten milliseconds.
///         simulation.submit(|turn| turn.simulate(Duration::from_millis(10)))?;
///     }
///     simulation.run();
///     Ok::<_, Box<dyn std::error::Error>>((simulation.now(), simulation.recording()))
/// };
/// let (time, events) = run(1)?;
/// assert_eq!(time.as_millis(), 40); // 8 jobs of 10 ms on 2 workers
/// assert_eq!(run(1)?.1, events);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation {
    handle: Handle,
    seats: Vec<Seat>,
    dice: Dice,
    seed: u64,
}

/// A simulated worker, and the turn it is in.
struct Seat {
    worker: Worker,
    turn: Option<(Nanos, Ended)>,
}

/// A simulation has nothing left to run, and what was waited for is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stuck {
    /// The seed of the run.
    pub seed: u64,
    /// The virtual time at which it stopped.
    pub at: Duration,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing is left to run after {:?} of virtual time, ", self.at)?;
        write!(f, "and the future is not ready (seed {})", self.seed)
    }
}

impl std::error::Error for Stuck {}

impl Simulation {
    pub(crate) fn new(handle: Handle, workers: Vec<Worker>, seed: u64) -> Simulation {
        for worker in &workers {
            worker.shared.tell(worker.id, WorkerChange::Ready);
        }
        let seats = workers.into_iter().map(|worker| Seat { worker, turn: None }).collect();
        // Another stream than the one the workers' dice came from.
        Simulation { handle, seats, dice: Dice::seeded(seed ^ 0x5157_F0B7), seed }
    }

    /// A handle, for the code under test.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The seed that makes its choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs until nothing is left to do: no turn, nothing queued, no timer. Returns the time.
    ///
    /// Strands that yield for ever never let it end: use [`run_for`](Simulation::run_for) there.
    pub fn run(&mut self) -> Duration {
        while self.step(Nanos::MAX) {}
        self.handle.now()
    }

    /// Runs for so much virtual time. Turns that end later are left in progress.
    pub fn run_for(&mut self, duration: Duration) -> Duration {
        let clock = &self.handle.shared.clock;
        let until = clock.now().saturating_add(world::nanos(duration));
        while self.step(until) {}
        self.handle.shared.clock.set(until);
        self.handle.now()
    }

    /// Runs until `future` is ready; it is polled outside of the workers.
    ///
    /// # Errors
    /// [`Stuck`] if nothing is left that could make it ready.
    pub fn block_on<F: Future>(&mut self, future: F) -> Result<F::Output, Stuck> {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        let mut future = pin!(future);
        loop {
            if woken.0.swap(false, Relaxed)
                && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Ok(output);
            }
            if !woken.0.load(Relaxed) && !self.step(Nanos::MAX) {
                return Err(Stuck { seed: self.seed, at: self.handle.now() });
            }
        }
    }

    /// The recorded events as text, one per line: equal for equal seeds.
    pub fn log(&self) -> String {
        self.handle.recording().to_string()
    }

    /// Does the next thing, if there is one not later than `until`.
    fn step(&mut self, until: Nanos) -> bool {
        if self.start_a_turn() {
            return true;
        }
        match self.next_time() {
            Some(at) if at <= until => {
                self.handle.shared.clock.set(at);
                self.take_effect(at);
                true
            }
            _ => false,
        }
    }

    /// Lets one of the free workers take a turn; the seed says who is asked first. Those who would
    /// find nothing are not asked: with a thousand workers, each would look at all others.
    fn start_a_turn(&mut self) -> bool {
        let count = self.seats.len();
        let first = self.dice.below(count);
        let shared = &self.handle.shared;
        let mut for_all = None;
        (0..count).map(|i| (first + i) % count).any(|at| {
            let Seat { worker, turn } = &mut self.seats[at];
            let paused = worker.slot().asked() & PAUSE != 0;
            if paused != worker.slot().is_paused() {
                worker.slot().set_paused(paused);
                let change = if paused { WorkerChange::Paused } else { WorkerChange::Ready };
                worker.shared.tell(worker.id, change);
            }
            if turn.is_some() || paused {
                return false;
            }
            let own = || shared.has_own_entries(at);
            if !own() && !*for_all.get_or_insert_with(|| shared.has_entries_for_all()) {
                return false;
            }
            let entry = worker.enter(|| worker.next().or_else(|| worker.steal(false)));
            let Some(entry) = entry else { return false };
            let begun = worker.enter(|| worker.begin(entry));
            *turn = begun.map(|begun| take_turn(worker, begun));
            true
        })
    }

    /// When something happens next.
    fn next_time(&self) -> Option<Nanos> {
        let shared = &self.handle.shared;
        let effect = shared.events.as_ref().and_then(|events| events.lock().next());
        let turn = self.seats.iter().filter_map(|seat| Some(seat.turn.as_ref()?.0)).min();
        [effect, turn, shared.timers.next()].into_iter().flatten().min()
    }

    /// Lets everything happen that is due: effects, then ends of turns, then timers.
    fn take_effect(&mut self, now: Nanos) {
        let shared = self.handle.shared.clone();
        let events = shared.events.as_ref().expect("a simulation has events");
        loop {
            let Some(effect) = events.lock().pop(now) else { break };
            match effect {
                Effect::Wake { worker, strand } => {
                    shared.recorder.on_behalf_of(worker, || strand.0.wake());
                }
                Effect::Call { worker, call } => {
                    let worker = &self.seats[worker].worker;
                    worker.enter(|| panics::contain(|| call(&mut Turn::new(worker, None))));
                }
                Effect::Place { worker: None, entry, rank, place } => {
                    shared.place_in(None, entry, &rank, place, 0);
                }
                Effect::Place { worker: Some(worker), entry, rank, place } => {
                    let worker = &self.seats[worker].worker;
                    shared.place_in(Some(worker), entry, &rank, place, 0);
                }
            }
        }
        let first = self.dice.below(self.seats.len());
        let (earlier, later) = self.seats.split_at_mut(first);
        for seat in later.iter_mut().chain(earlier) {
            seat.end_turn_if_due(now);
        }
        shared.timers.fire(now, |_| 0);
    }
}

impl Seat {
    fn end_turn_if_due(&mut self, now: Nanos) {
        let Some((_, ended)) = self.turn.take_if(|(end, _)| *end <= now) else { return };
        let worker = &self.worker;
        worker.slot().leave_turn();
        let claimed = worker.enter(|| {
            let claimed = worker.finish(ended)?;
            worker.keep_claim(claimed)
        });
        self.turn = claimed.map(|strand| take_turn(worker, Begun::Strand(strand)));
    }
}

/// Runs a turn now; returns when it ends.
fn take_turn(worker: &Worker, begun: Begun) -> (Nanos, Ended) {
    let start = worker.shared.clock.now();
    let ended = worker.enter(|| worker.take_turn(begun));
    let alone = worker.shared.slots.len() == 1;
    worker.pass(world::nanos(TURN_COST) - if alone { 0 } else { worker.roll(JITTER) });
    let lasted = worker.turn_nanos();
    worker.rest_the_clock();
    (start.saturating_add(lasted), ended)
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

impl Deref for Simulation {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let shared = self.handle.shared.clone();
        shared.refuse();
        shared.idle.close();
        for seat in &mut self.seats {
            if let Some((_, ended)) = seat.turn.take() {
                seat.worker.abandon(ended);
            }
        }
        let events = shared.events.as_ref().expect("a simulation has events");
        let left = events.lock().take_all();
        drop(left);
        shared.tenants.desert();
        shared.tenants.close();
        shared.drop_all();
        shared.timers.close();
        shared.joiners.close();
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("seed", &self.seed)
            .field("now", &self.handle.now())
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}
