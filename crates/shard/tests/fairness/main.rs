//! What one shard may cost another, and what must never happen to one that takes turns.

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod shutdown;
mod turns;

use std::time::Duration;

use kernel::{Discipline, Runtime, Simulation};

const QUANTUM: Duration = Duration::from_millis(100);

fn simulation(workers: usize, seed: u64) -> Simulation {
    let builder = Runtime::builder().workers(workers).discipline(Discipline::Fifo);
    builder.quantum(QUANTUM).simulate(seed).unwrap()
}
