//! What happened between two looks?
//!
//! Counters only grow, and the time between is that of the program's own clock, so a clock that is
//! set moves nothing. Text is cleaned here: behind this file there is none that a stranger wrote.

use std::collections::HashMap;

use observe::snapshot;

use super::{
    state::{BaseChain, Node, State},
    waiting::{Recent, Waiting},
    words::clean,
};

/// All that is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    /// Program and version.
    pub(crate) program: String,
    pub(crate) uptime_seconds: f64,
    pub(crate) done: Vec<Done>,
    pub(crate) node: Option<Node>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) runtimes: Vec<Runtime>,
    pub(crate) entries: Vec<Entry>,
    /// Also those that are not listed.
    pub(crate) entries_total: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Done {
    pub(crate) what: String,
    pub(crate) count: u64,
    pub(crate) rate: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Worker {
    /// Which runtime.
    pub(crate) runtime: usize,
    /// Which of its workers.
    pub(crate) number: usize,
    /// `shards 0`.
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) runs: String,
    /// The share of the time that it was on a core, where the system tells.
    pub(crate) busy: Option<f64>,
    pub(crate) turns: Option<f64>,
    pub(crate) steals: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Runtime {
    pub(crate) name: String,
    pub(crate) queued: u64,
    pub(crate) timers: u64,
    pub(crate) waiting: Waiting,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entry {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) rate: Option<f64>,
    pub(crate) done: u64,
    pub(crate) waiting: u64,
    /// Empty where there is none.
    pub(crate) error: String,
}

impl Picture {
    /// `recent` has one for each runtime.
    pub(crate) fn new(before: Option<&State>, now: &State, recent: &[Recent]) -> Picture {
        let between = Between::new(before, now);
        let (now, node) = (&now.snapshot, &now.node);
        Picture {
            program: clean(&format!("{} {}", now.program, now.version)),
            uptime_seconds: now.uptime_seconds,
            done: now.done.iter().map(|done| between.done(done)).collect(),
            node: node.as_ref().map(clean_node),
            workers: between.workers(now),
            runtimes: now
                .runtimes
                .iter()
                .enumerate()
                .map(|(at, runtime)| Runtime {
                    name: clean(&runtime.name),
                    queued: runtime.queued,
                    timers: runtime.timers,
                    waiting: recent.get(at).map(Recent::waiting).unwrap_or_default(),
                })
                .collect(),
            entries: between.entries(&now.entries),
            entries_total: now.entries_total,
        }
    }
}

fn clean_node(node: &Node) -> Node {
    let clean_chain = |chain: &BaseChain| BaseChain {
        trouble: chain.trouble.as_deref().map(clean),
        ..chain.clone()
    };
    Node { base_chain: node.base_chain.as_ref().map(clean_chain), ..node.clone() }
}

/// The look before, and how long ago it was.
struct Between<'a> {
    before: Option<&'a snapshot::Snapshot>,
    seconds: f64,
}

impl<'a> Between<'a> {
    fn new(before: Option<&'a State>, now: &State) -> Between<'a> {
        let before = before.filter(|before| now.follows(before)).map(|before| &before.snapshot);
        let seconds = before.map_or(0.0, |it| now.snapshot.uptime_seconds - it.uptime_seconds);
        Between { before, seconds }
    }

    /// What went back is another one with the same name.
    fn rate(&self, before: Option<u64>, now: u64) -> Option<f64> {
        let more = now.checked_sub(before?)?;
        (self.seconds > 0.0).then(|| more as f64 / self.seconds)
    }

    fn done(&self, now: &snapshot::Done) -> Done {
        let all = self.before.map_or(&[][..], |before| &before.done);
        let before = all.iter().find(|done| done.what == now.what);
        let rate = self.rate(before.map(|done| done.count), now.count);
        Done { what: clean(&now.what), count: now.count, rate }
    }

    fn workers(&self, now: &snapshot::Snapshot) -> Vec<Worker> {
        let mut workers = Vec::new();
        for (at, runtime) in now.runtimes.iter().enumerate() {
            let before = self.before.and_then(|before| before.runtimes.get(at));
            let before = before.filter(|before| before.name == runtime.name);
            for (number, worker) in runtime.workers.iter().enumerate() {
                let before = before.and_then(|before| before.workers.get(number));
                workers.push(Worker {
                    runtime: at,
                    number,
                    name: clean(&format!("{} {number}", runtime.name)),
                    state: clean(&worker.state),
                    runs: worker.runs.as_deref().map(clean).unwrap_or_default(),
                    busy: self.busy(before, worker),
                    turns: self.rate(before.map(|before| before.turns), worker.turns),
                    steals: self.rate(before.map(|before| before.steals), worker.steals),
                });
            }
        }
        workers
    }

    fn busy(&self, before: Option<&snapshot::Worker>, now: &snapshot::Worker) -> Option<f64> {
        // A thread that had not started yet had used nothing.
        let used = now.cpu_seconds? - before?.cpu_seconds.unwrap_or(0.0);
        (self.seconds > 0.0).then(|| (used / self.seconds).clamp(0.0, 1.0))
    }

    fn entries(&self, now: &[snapshot::Entry]) -> Vec<Entry> {
        let counts = self.before.map(|before| counts(&before.entries)).unwrap_or_default();
        let same_name = self::counts(now);
        let row = |entry: &snapshot::Entry| {
            let key = (entry.kind.as_str(), entry.name.as_str());
            let before = counts.get(&key).zip(same_name.get(&key));
            let before = before.and_then(|(before, now)| pair(before, now, entry.done));
            Entry {
                kind: clean(&entry.kind),
                name: clean(&entry.name),
                state: clean(&entry.state),
                rate: self.rate(before, entry.done),
                done: entry.done,
                waiting: entry.waiting,
                error: entry.error.as_deref().map(clean).unwrap_or_default(),
            }
        };
        now.iter().map(row).collect()
    }
}

/// What those of each kind and name have done, the least first: several may have one name.
fn counts(entries: &[snapshot::Entry]) -> HashMap<(&str, &str), Vec<u64>> {
    let mut counts: HashMap<_, Vec<u64>> = HashMap::new();
    for entry in entries {
        counts.entry((&*entry.kind, &*entry.name)).or_default().push(entry.done);
    }
    for done in counts.values_mut() {
        done.sort_unstable();
    }
    counts
}

/// What the one that has now done so much had done before. Of those that share a name the one that
/// had done least is taken for the one that has; if some came or went, nobody can tell.
fn pair(before: &[u64], now: &[u64], done: u64) -> Option<u64> {
    if before.len() != now.len() {
        return None;
    }
    now.binary_search(&done).ok().map(|at| before[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::Snapshot;

    fn at(uptime_seconds: f64, turns: u64, entries: &[(&str, u64)]) -> State {
        let worker = snapshot::Worker {
            state: "running".to_owned(),
            turns,
            cpu_seconds: Some(uptime_seconds / 4.0),
            ..snapshot::Worker::default()
        };
        let entry = |(name, done): &(&str, u64)| snapshot::Entry {
            name: (*name).to_owned(),
            done: *done,
            ..snapshot::Entry::default()
        };
        State {
            snapshot: Snapshot {
                uptime_seconds,
                runtimes: vec![snapshot::Runtime {
                    name: "r".to_owned(),
                    workers: vec![worker],
                    ..snapshot::Runtime::default()
                }],
                entries: entries.iter().map(entry).collect(),
                done: vec![snapshot::Done { what: "jobs".to_owned(), count: turns }],
                ..Snapshot::default()
            },
            node: None,
        }
    }

    fn rates(picture: &Picture) -> Vec<(&str, Option<f64>)> {
        picture.entries.iter().map(|entry| (entry.name.as_str(), entry.rate)).collect()
    }

    #[test]
    fn rates_are_differences_over_the_programs_own_time() {
        let (before, now) = (at(10.0, 100, &[("a", 3)]), at(12.0, 150, &[("a", 4), ("b", 9)]));
        let picture = Picture::new(Some(&before), &now, &[]);
        let worker = &picture.workers[0];
        assert_eq!((worker.turns, worker.steals, worker.busy), (Some(25.0), Some(0.0), Some(0.25)));
        assert_eq!(picture.done[0].rate, Some(25.0));
        assert_eq!(rates(&picture), [("a", Some(0.5)), ("b", None)]);
    }

    #[test]
    fn the_first_look_and_one_after_a_restart_have_no_rates() {
        let (before, now) = (at(10.0, 100, &[("a", 3)]), at(2.0, 150, &[("a", 4)]));
        for before in [None, Some(&before)] {
            let picture = Picture::new(before, &now, &[]);
            let worker = &picture.workers[0];
            assert_eq!((worker.turns, worker.busy, picture.done[0].rate), (None, None, None));
            assert_eq!(rates(&picture), [("a", None)]);
        }
        let twice = Picture::new(Some(&now), &now, &[]);
        assert_eq!(twice.workers[0].turns, None, "no time has passed");
    }

    #[test]
    fn those_with_one_name_do_not_take_each_others_counts() {
        let before = at(1.0, 0, &[("a", 100), ("a", 5), ("b", 9)]);
        let now = at(2.0, 0, &[("a", 7), ("a", 110), ("b", 2)]);
        let picture = Picture::new(Some(&before), &now, &[]);
        // What has done less than before is another one.
        assert_eq!(rates(&picture), [("a", Some(2.0)), ("a", Some(10.0)), ("b", None)]);
        let one_more = at(2.0, 0, &[("a", 7), ("a", 110), ("a", 1)]);
        let picture = Picture::new(Some(&before), &one_more, &[]);
        assert!(picture.entries.iter().all(|entry| entry.rate.is_none()));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        let mut state = at(1.0, 0, &[("\x1b[2J", 1)]);
        let evil = || "a\x1b]0;b\x07\n".to_owned();
        let snapshot = &mut state.snapshot;
        (snapshot.program, snapshot.version) = (evil(), evil());
        snapshot.done[0].what = evil();
        snapshot.runtimes[0].name = evil();
        snapshot.runtimes[0].workers[0].state = evil();
        snapshot.runtimes[0].workers[0].runs = Some(evil());
        let entry = &mut snapshot.entries[0];
        (entry.kind, entry.state, entry.error) = (evil(), evil(), Some(evil()));
        let base_chain = BaseChain { trouble: Some(evil()), ..BaseChain::default() };
        state.node = Some(Node { base_chain: Some(base_chain), ..Node::default() });
        let shown = format!("{:?}", Picture::new(None, &state, &[]));
        // Debug would escape it.
        assert!(!shown.contains("\\u{1b}") && !shown.contains("\\n"), "{shown}");
        assert!(shown.contains("a␛]0;b␇␊"), "{shown}");
    }
}
