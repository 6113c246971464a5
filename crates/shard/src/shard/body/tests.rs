//! Does a panic in a turn leave somebody waiting?

use std::{sync::Arc, thread, time::Duration};

use alloy_primitives::Address;
use kernel::{Body, Discipline, Runtime, Step, Turn, WorkerState};

use super::ShardBody;
use crate::{
    Config, Shards,
    amend::{AmendError, Amendment, Request},
    shard::{Inner, Mail, lock},
    store::MemoryStore,
};

const ADDRESS: Address = Address::repeat_byte(7);
const LONG: Duration = Duration::from_secs(60);

/// A body in whose first turn something is as it says.
struct Prepared<F> {
    body: ShardBody,
    prepare: Option<F>,
}

impl<F: FnOnce(&mut ShardBody) + Send + 'static> Body for Prepared<F> {
    type Output = ();

    fn turn(&mut self, turn: &mut Turn<'_>) -> Step<()> {
        if let Some(prepare) = self.prepare.take() {
            prepare(&mut self.body);
        }
        self.body.turn(turn)
    }
}

/// Gives turns to such a body.
fn run(prepare: impl FnOnce(&mut ShardBody) + Send + 'static) {
    let mut simulation = Runtime::builder().simulate(1).unwrap();
    let store = Arc::new(MemoryStore::new());
    let shards = Shards::open(&simulation, Config::default(), store, 0).unwrap();
    let created = simulation.block_on(shards.create(ADDRESS)).unwrap().unwrap();
    let body = ShardBody::new(created.inner.clone());
    let prepared = Prepared { body, prepare: Some(prepare) };
    let (strand, _) = simulation.handle().strand().idle_body(prepared).unwrap();
    strand.wake().unwrap();
    simulation.run_for(LONG);
}

/// The next turn reads that a block is committed, when none is in flight, and panics.
fn send_trap(inner: &Inner) {
    lock(&inner.mail).push_back(Mail::Committed(Ok(())));
}

#[test]
fn an_amendment_whose_commit_panics_is_told_as_a_fault() {
    let (request, acknowledgement) = Request::new(Amendment::new());
    run(|body| {
        body.amendments.set_in_flight(request);
        send_trap(&body.inner);
    });
    let told = acknowledgement.wait();
    assert!(matches!(told, Err(AmendError::Fault(_))), "{told:?}");
}

#[test]
fn an_amendment_in_flight_without_a_block_is_not_looked_at_again_and_again() {
    let (request, acknowledgement) = Request::new(Amendment::new());
    run(|body| body.amendments.set_in_flight(request));
    // The turn has ended, and all has gone with the simulation.
    assert!(acknowledgement.wait().is_err());
}

#[test]
fn one_that_panics_while_it_is_to_end_does_not_keep_it_waiting() {
    let runtime = Runtime::builder().workers(1).discipline(Discipline::Fifo).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let shards = Shards::open(&runtime, Config::default(), store, 0).unwrap();
    shards.amend(ADDRESS, Amendment::new()).wait().unwrap();
    let inner = shards.get(ADDRESS).unwrap().inner.clone();
    runtime.pause();
    while runtime.workers().iter().any(|state| *state != WorkerState::Paused) {
        thread::yield_now();
    }
    send_trap(&inner);
    let closed = thread::scope(|scope| {
        scope.spawn(|| {
            while lock(&inner.mail).len() < 2 {
                thread::yield_now();
            }
            runtime.resume();
        });
        shards.close(LONG)
    });
    assert!(inner.quarantine().is_some(), "it has not panicked");
    assert!(closed.is_clean(), "{closed:?}");
}
