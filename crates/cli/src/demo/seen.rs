//! How does a running demo look to others? `shiftwork demo --listen` tells, and `shiftwork top` asks.

use std::{
    cmp::Reverse,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use ::node::watch::Watched;
use shiftwork::{
    Handle,
    observe::{
        Snapshot,
        snapshot::{Done, ENTRIES_MAX, Entry, Runtime, new_run},
    },
    process::{ProcessInfo, Processes},
};

use super::{census::word, jobs, part::Part};

/// The one runtime of the demo.
const RUNTIME: &str = "demo";

/// What others may look at, and pause.
pub(crate) fn watched(handle: &Handle, parts: &Arc<Vec<Part>>) -> Watched {
    let runtimes = vec![(RUNTIME, handle.clone())];
    let (handle, parts, run) = (handle.clone(), parts.clone(), new_run());
    Watched { runtimes, snapshot: Box::new(move || snapshot(&handle, &parts, &run)) }
}

fn snapshot(handle: &Handle, parts: &[Part], run: &str) -> Snapshot {
    let (runtime, processes) = (Runtime::of(RUNTIME, handle), handle.processes());
    let messages = parts.iter().map(|part| part.messages(part.count())).sum();
    let turns = runtime.workers.iter().map(|worker| worker.turns).sum();
    let done =
        [("turns", turns), ("jobs", jobs::metrics(handle).completed), ("messages", messages)];
    let entries_total = (parts.len() + processes.len()) as u64;
    let mut processes: Vec<Entry> = processes.iter().map(process).collect();
    processes.sort_by_key(|process| Reverse(process.done));
    // Every part is seen, also one that has just begun.
    processes.truncate(ENTRIES_MAX.saturating_sub(parts.len()));
    let mut entries: Vec<Entry> = parts.iter().map(Entry::from).chain(processes).collect();
    entries.sort_by_key(|entry| Reverse(entry.done));
    Snapshot {
        program: "demo".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        run: run.to_owned(),
        time_ms: time_ms(),
        uptime_seconds: handle.now().as_secs_f64(),
        runtimes: vec![runtime],
        entries,
        entries_total,
        done: done.map(|(what, count)| Done { what: what.to_owned(), count }).into(),
    }
}

/// The time of day, in milliseconds.
#[allow(clippy::disallowed_methods, reason = "it is shown, and nothing depends on it")]
fn time_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

impl From<&Part> for Entry {
    fn from(part: &Part) -> Entry {
        Entry {
            kind: part.kind.to_owned(),
            name: part.name.to_owned(),
            state: part.unit.to_owned(),
            done: part.count(),
            ..Entry::default()
        }
    }
}

fn process(process: &ProcessInfo) -> Entry {
    Entry {
        kind: "process".to_owned(),
        name: super::census::name(process),
        state: word(process.state).to_owned(),
        done: process.steps,
        waiting: process.mailbox_len as u64,
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shiftwork::{Runtime as Kernel, process::Context};

    #[test]
    fn parts_and_processes_are_seen_the_busiest_first() {
        let mut simulation = Kernel::builder().workers(1).simulate(1).unwrap();
        let listener = |mut ctx: Context<u8>| async move { while ctx.receive().await.is_some() {} };
        simulation.process().name("busy").spawn(listener).unwrap().send(1).unwrap();
        simulation.run();
        let (part, tally) = Part::new("graphs", "graphs done");
        tally.add(100);
        let seen = snapshot(&simulation.handle(), &[part.of("job")], "one");
        assert_eq!((seen.program.as_str(), seen.entries_total), ("demo", 2));
        let names: Vec<_> = seen.entries.iter().map(|entry| (&*entry.kind, &*entry.name)).collect();
        assert_eq!(names, [("job", "graphs"), ("process", "busy")]);
        assert_eq!((seen.entries[0].done, seen.entries[1].state.as_str()), (100, "idle"));
    }
}
