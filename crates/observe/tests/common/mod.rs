//! Is a trace well formed? What every test of timelines asks of what was written.

use std::collections::{BTreeMap, HashMap, HashSet};

use kernel::{EventKind, Recording};
use serde_json::Value;

/// A slice on a track, in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    pub(crate) name: String,
    pub(crate) cat: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// A trace that has passed all checks.
pub(crate) struct Trace {
    pub(crate) whole: Value,
    /// Their numbers, in order.
    pub(crate) processes: Vec<u64>,
    /// By process and track, in order of their start.
    pub(crate) tracks: BTreeMap<(u64, u64), Vec<Slice>>,
    /// Arrows by cause.
    pub(crate) arrows: HashMap<String, usize>,
    pub(crate) counters: usize,
}

pub(crate) fn text(runtimes: &[(&str, &Recording)]) -> String {
    let mut bytes = Vec::new();
    observe::timeline::write(&mut bytes, runtimes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Writes recordings, reads them back and checks: turns are all there, slices nest, arrows have
/// both their ends and these lie in slices, everything is on a track with a name.
pub(crate) fn check(runtimes: &[(&str, &Recording)]) -> Trace {
    let whole: Value = serde_json::from_str(&text(runtimes)).expect("it is JSON");
    let events = whole["traceEvents"].as_array().expect("there are events");
    let tracks = slices(events);
    for (track, slices) in &tracks {
        assert_nested(*track, slices);
    }
    let processes: Vec<u64> = named(events, "process_name").map(|(pid, _)| pid).collect();
    for ((_, recording), &pid) in runtimes.iter().zip(&processes) {
        let begun = count(recording, |kind| kind == EventKind::Run);
        let turns = tracks.iter().filter(|((process, _), _)| *process == pid);
        let turns = turns.flat_map(|(_, slices)| slices).filter(|slice| slice.cat == "turn");
        let cut = turns.clone().count() as u64 - begun;
        assert!(cut <= recording.dropped, "a turn was made up");
    }
    let named: Vec<(u64, u64)> = named(events, "thread_name").collect();
    assert!(tracks.keys().all(|track| named.contains(track)), "a track has no name");
    let numbers = named.iter().map(|(_, tid)| tid).chain(&processes);
    let distinct: HashSet<&u64> = numbers.clone().collect();
    assert_eq!(distinct.len(), numbers.count(), "two have the same number");
    let arrows = arrows(events, &tracks);
    let counters = events.iter().filter(|event| event["ph"] == "C").count();
    Trace { processes, tracks, arrows, counters, whole: whole.clone() }
}

pub(crate) fn count(recording: &Recording, is: impl Fn(EventKind) -> bool) -> u64 {
    recording.events.iter().filter(|event| is(event.kind)).count() as u64
}

/// What gets a name of this kind: process and track.
fn named<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = (u64, u64)> + 'a {
    events.iter().filter(move |event| event["name"] == kind).map(place)
}

fn place(event: &Value) -> (u64, u64) {
    (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())
}

/// Times are written in microseconds with three digits: exact in a double for some days.
fn nanos(value: &Value) -> u64 {
    (value.as_f64().expect("a time is a number") * 1000.0).round() as u64
}

fn slices(events: &[Value]) -> BTreeMap<(u64, u64), Vec<Slice>> {
    let mut tracks: BTreeMap<_, Vec<Slice>> = BTreeMap::new();
    for event in events {
        assert!(event["ph"] != "B" && event["ph"] != "E", "slices are complete events");
        if event["ph"] == "X" {
            let start = nanos(&event["ts"]);
            tracks.entry(place(event)).or_default().push(Slice {
                name: event["name"].as_str().unwrap().to_owned(),
                cat: event["cat"].as_str().unwrap().to_owned(),
                start,
                end: start + nanos(&event["dur"]),
            });
        }
    }
    for slices in tracks.values_mut() {
        slices.sort_by_key(|slice| (slice.start, u64::MAX - slice.end));
    }
    tracks
}

/// Of two slices on a track one lies inside of the other, or they have at most a moment in common.
fn assert_nested(track: (u64, u64), slices: &[Slice]) {
    let mut open: Vec<&Slice> = Vec::new();
    for slice in slices {
        while open.last().is_some_and(|outer| outer.end <= slice.start) {
            open.pop();
        }
        if let Some(outer) = open.last() {
            assert!(slice.end <= outer.end, "{track:?}: {slice:?} overlaps {outer:?}");
        }
        open.push(slice);
    }
}

fn arrows(events: &[Value], tracks: &BTreeMap<(u64, u64), Vec<Slice>>) -> HashMap<String, usize> {
    let mut starts = HashMap::new();
    let mut ends = HashMap::new();
    for event in events {
        let (what, ends_here) = match event["ph"].as_str().unwrap() {
            "s" => ("start", false),
            "f" => ("end", true),
            _ => continue,
        };
        let at = nanos(&event["ts"]);
        let inside = tracks.get(&place(event)).is_some_and(|slices| {
            let begun = slices.partition_point(|slice| slice.start <= at);
            slices[..begun].iter().rev().any(|slice| at <= slice.end)
        });
        assert!(inside, "the {what} of an arrow lies in no slice: {event}");
        let side = if ends_here { &mut ends } else { &mut starts };
        let cat = event["cat"].as_str().unwrap().to_owned();
        assert!(side.insert(event["id"].as_u64().unwrap(), (cat, at)).is_none(), "two {what}s");
    }
    assert_eq!(starts.len(), ends.len(), "an arrow has one end only");
    let mut arrows = HashMap::new();
    for (id, (cat, from)) in starts {
        let (other, to) = ends.get(&id).expect("an arrow has no end");
        assert_eq!(&cat, other);
        assert!(from <= *to, "an arrow goes back in time");
        *arrows.entry(cat).or_default() += 1;
    }
    arrows
}
