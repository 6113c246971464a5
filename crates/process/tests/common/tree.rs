//! Supervised children that note when they begin and end, and end as they are told.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use kernel::{Runtime, Simulation};
use process::{ChildSpec, Context, Processes, Supervisor, SupervisorHandle};

pub(crate) const S: Duration = Duration::from_secs(1);

pub(crate) fn simulation() -> Simulation {
    Runtime::builder().workers(2).on_report(|_| {}).simulate(1).unwrap()
}

/// What happened: `+a` when child `a` began, `-a` when it ended.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub(crate) fn note(&self, word: impl Into<String>) {
        self.0.lock().unwrap().push(word.into());
    }

    /// What happened since the last time.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(" ")
    }

    /// Notes the beginning now, and the end when it is dropped.
    pub(crate) fn life(&self, id: &str) -> Life {
        self.note(format!("+{id}"));
        Life(self.clone(), id.to_owned())
    }
}

pub(crate) struct Life(Journal, String);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.note(format!("-{}", self.1));
    }
}

/// How a worker is to end.
pub(crate) enum End {
    Well,
    Error,
    Panic,
}

/// A child, named as its id, that ends as it is told.
pub(crate) fn worker(journal: &Journal, id: &'static str) -> ChildSpec {
    let journal = journal.clone();
    let start = move |mut ctx: Context<End>| async move {
        let _life = journal.life(id);
        match ctx.receive().await {
            Some(End::Error) => Err("it failed"),
            Some(End::Panic) => panic!("it panicked"),
            _ => Ok(()),
        }
    };
    ChildSpec::new(id, start).name(id)
}

/// A child that fails as soon as it runs.
pub(crate) fn doomed(journal: &Journal, id: &'static str) -> ChildSpec {
    let journal = journal.clone();
    ChildSpec::new(id, move |_: Context<()>| async move {
        let _life = journal.life(id);
        Err("it always fails")
    })
}

/// Spawns a supervisor and waits until its children have been started.
pub(crate) fn up(simulation: &mut Simulation, supervisor: Supervisor) -> SupervisorHandle {
    let handle = supervisor.spawn(simulation).unwrap();
    simulation.block_on(handle.ready()).unwrap().unwrap();
    simulation.run_for(Duration::from_millis(1));
    handle
}

/// Lets a child end, and runs for a while.
pub(crate) fn end(simulation: &mut Simulation, id: &str, end: End, run_for: Duration) {
    simulation.send_to_named(id, end).unwrap();
    simulation.run_for(run_for);
}

/// Asks a supervisor something, and waits for the answer.
pub(crate) fn ask<F: Future>(simulation: &mut Simulation, question: F) -> F::Output {
    simulation.block_on(question).unwrap()
}

/// A supervisor of two workers, a and b.
pub(crate) fn pair(simulation: &mut Simulation, journal: &Journal) -> SupervisorHandle {
    let children = ["a", "b"].map(|id| worker(journal, id));
    let tree = up(simulation, Supervisor::one_for_one().children(children));
    journal.take();
    tree
}
