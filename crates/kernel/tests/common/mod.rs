//! What the tests share: gates, logs, and a way to wait for a state that shows.

#![allow(dead_code, reason = "each file of tests uses a part of it")]

use std::{
    sync::{Arc, Condvar, Mutex, mpsc},
    thread,
    time::Duration,
};

use kernel::{Builder, Discipline, Handle, Placement, Runtime, Simulation, WorkerState};

/// Every discipline, with modest parameters.
pub(crate) const DISCIPLINES: [Discipline; 5] = [
    Discipline::Fifo,
    Discipline::Stealing,
    Discipline::Priority { ageing: 0.0 },
    Discipline::Priority { ageing: 0.5 },
    Discipline::Feedback { levels: 3, slice: Duration::from_micros(1) },
];

/// Those of one word if `SHIFTWORK_DISCIPLINE` says so, as `cargo xtask sim --discipline` does; else
/// every one.
pub(crate) fn disciplines() -> Vec<Discipline> {
    let mut all = DISCIPLINES.to_vec();
    if let Ok(word) = std::env::var("SHIFTWORK_DISCIPLINE") {
        // It is the first of how a discipline is written.
        all.retain(|discipline| {
            let written = format!("{discipline:?}").to_lowercase();
            written.split(' ').next() == Some(word.as_str())
        });
        assert!(!all.is_empty(), "SHIFTWORK_DISCIPLINE is {word:?}, which is no discipline");
    }
    all
}

/// Every placement; the affinity is by key, to the first `workers`.
pub(crate) fn placements(workers: usize) -> [Placement; 6] {
    let by_key = move |about: &kernel::Attributes| {
        Some(kernel::WorkerId::new(about.key? as usize % workers))
    };
    [
        Placement::Any,
        Placement::RoundRobin,
        Placement::LeastLoaded,
        Placement::Fastest,
        Placement::affinity(by_key),
        Placement::IdleFirst,
    ]
}

/// A runtime on real threads whose workers have started and found nothing to do.
pub(crate) fn real(builder: Builder) -> Runtime {
    let runtime = builder.on_report(|_| {}).build().unwrap();
    settle(&runtime);
    runtime
}

/// One simulated worker: every order is then the discipline's own.
pub(crate) fn alone(discipline: Discipline) -> Simulation {
    Runtime::builder().workers(1).discipline(discipline).simulate(0).unwrap()
}

/// Waits for something that other threads will make true.
pub(crate) fn until(mut visible: impl FnMut() -> bool) {
    while !visible() {
        thread::yield_now();
    }
}

/// Waits until every worker is parked.
pub(crate) fn settle(handle: &Handle) {
    until(|| handle.workers().iter().all(|state| *state == WorkerState::Idle));
}

/// Holds up whoever comes to it, until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(crate) fn pass(&self) {
        let mut open = self.0.0.lock().unwrap();
        while !*open {
            open = self.0.1.wait(open).unwrap();
        }
    }
}

/// Keeps one worker in a turn until the gate is opened; returns once that turn has begun.
pub(crate) fn occupy(handle: &Handle) -> Gate {
    let gate = Gate::default();
    let (begun, wait) = mpsc::channel();
    let theirs = gate.clone();
    handle
        .submit(move |_| {
            begun.send(()).unwrap();
            theirs.pass();
        })
        .unwrap();
    wait.recv().unwrap();
    gate
}

/// What happened, in order.
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T: Clone> Log<T> {
    pub(crate) fn new() -> Log<T> {
        Log(Arc::new(Mutex::new(Vec::new())))
    }

    pub(crate) fn push(&self, value: T) {
        self.0.lock().unwrap().push(value);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// What there is, and from now on an empty log.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Log<T> {
        Log(self.0.clone())
    }
}

/// A small generator for random worlds (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}
