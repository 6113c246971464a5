//! Where the tasks run: on real workers, or in a simulation.

use std::{future::Future, ops::Deref, time::Duration};

use anyhow::{Context, Result};
use shiftwork::{Handle, Runtime, Simulation, process::block_on};

use super::Options;
use crate::timeline;

/// What is still in a turn after this, at the end, is left behind. Turns of tasks are short.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) enum World {
    Real(Runtime),
    Simulated(Simulation),
}

impl World {
    pub(crate) fn new(options: &Options) -> Result<World> {
        // A turn that took long says nothing about the guest, and a panic fails its task, which is told.
        let mut builder = Runtime::builder().name("run").on_report(|_| ());
        if let Some(workers) = options.workers {
            builder = builder.workers(workers);
        }
        if options.timeline.is_some() || options.gantt.is_some() {
            builder = builder.record(timeline::EVENTS);
        }
        let world = match options.seed {
            Some(seed) => builder.simulate(seed).map(World::Simulated),
            None => builder.build().map(World::Real),
        };
        world.context("could not start the workers")
    }

    pub(crate) fn block_on<F: Future>(&mut self, future: F) -> Result<F::Output> {
        match self {
            World::Real(_) => Ok(block_on(future)),
            World::Simulated(simulation) => Ok(simulation.block_on(future)?),
        }
    }

    /// Stops the workers.
    pub(crate) fn close(self) {
        if let World::Real(runtime) = self {
            // Late turns end with the process.
            let _ = runtime.shutdown_timeout(PATIENCE);
        }
    }
}

impl Deref for World {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        match self {
            World::Real(runtime) => runtime,
            World::Simulated(simulation) => simulation,
        }
    }
}
