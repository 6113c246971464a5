//! One round: a runtime under one discipline and one placement, from its start to its shutdown.

use std::{
    ops::AddAssign,
    process::exit,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use kernel::{Builder, Handle};

use crate::world::{Dice, STRANDS, World};

/// Threads that are no workers.
const OUTSIDE: usize = 2;
/// What does not come to rest for so long is stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of the rounds of one discipline.
#[derive(Default)]
pub(crate) struct Sums {
    pub(crate) rounds: u64,
    pub(crate) wakes: u64,
    pub(crate) turns: u64,
    pub(crate) jobs: u64,
    pub(crate) timers: u64,
    pub(crate) hand_offs: u64,
    pub(crate) steals: u64,
    pub(crate) parks: u64,
    pub(crate) panics: u64,
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.rounds += other.rounds;
        self.wakes += other.wakes;
        self.turns += other.turns;
        self.jobs += other.jobs;
        self.timers += other.timers;
        self.hand_offs += other.hand_offs;
        self.steals += other.steals;
        self.parks += other.parks;
        self.panics += other.panics;
        self.lost += other.lost;
        self.doubled += other.doubled;
    }
}

/// One discipline under one placement, for so long.
pub(crate) fn round(
    builder: Builder,
    length: Duration,
    dice: &mut Dice,
    tell: &mut impl FnMut(u64),
) -> Sums {
    let runtime = builder.build().expect("the machine gives some threads");
    let handle = runtime.handle();
    let world = Arc::new(World::new());
    (0..STRANDS).for_each(|at| world.fill(at, dice, &handle));
    let start = |dice: Dice| {
        let (world, handle) = (world.clone(), handle.clone());
        thread::spawn(move || world.poke(dice, &handle))
    };
    let outside: Vec<_> = (0..OUTSIDE).map(|_| start(dice.fork())).collect();
    let begun = Instant::now();
    while begun.elapsed() < length {
        thread::sleep(Duration::from_millis(50).min(length));
        tell(world.wakes.load(Relaxed));
    }
    world.over.store(true, Relaxed);
    wait_until("the threads outside to end", &world, &handle, || {
        outside.iter().all(|thread| thread.is_finished())
    });
    let timers: Vec<_> = outside.into_iter().map(|thread| thread.join()).collect();
    // Half of the rounds come to rest first; the others are shut down in the middle of it all.
    if dice.below(2) == 0 {
        let at_rest = || world.owed() + world.timers_owed() == 0;
        wait_until("the last wakes, jobs and timers", &world, &handle, at_rest);
    }
    if let Err(error) = runtime.shutdown_timeout(PATIENCE) {
        stuck(&format!("the shutdown: {error}"), &world, &handle);
    }
    drop(timers);
    let total = handle.metrics().total();
    let sums = Sums {
        rounds: 1,
        wakes: world.wakes.load(Relaxed),
        turns: total.turns,
        jobs: world.jobs.load(Relaxed),
        timers: world.timers_fired.load(Relaxed),
        hand_offs: total.hand_offs,
        steals: total.steals,
        parks: total.parks,
        panics: total.panics,
        lost: world.owed(),
        doubled: world.doubled(),
    };
    world.clear();
    sums
}

/// Waits, but not for ever.
fn wait_until(what: &str, world: &World, handle: &Handle, ready: impl Fn() -> bool) {
    let begun = Instant::now();
    while !ready() {
        if begun.elapsed() > PATIENCE {
            stuck(what, world, handle);
        }
        thread::sleep(Duration::from_micros(100));
    }
}

fn stuck(what: &str, world: &World, handle: &Handle) -> ! {
    let metrics = handle.metrics();
    println!("soak: stuck, waited {PATIENCE:?} for {what}");
    println!("{handle:?}");
    println!("workers: {:?}", handle.workers());
    println!("{} queued, {} timers, {} dropped", metrics.queued, metrics.timers, metrics.dropped);
    println!("{} wakes and jobs, {} timers owed", world.owed(), world.timers_owed());
    world.print_unseen();
    println!("soak: stuck");
    exit(1);
}
