//! Timelines: what is written is a trace that viewers can show, whatever was recorded.

mod common;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use common::{check, count, text};
use kernel::{
    Discipline, EventKind, Handle, Placement, Recording, Runtime, Simulation, Step, Strand, Turn,
    each_seed,
};
use observe::timeline::{Ending, tracks};

/// Some of everything: strands that wake each other and hand off, yields, jobs that make jobs,
/// timers, and wakes from outside.
fn mixture(handle: &Handle) {
    let strands: Arc<OnceLock<Vec<Strand>>> = Arc::default();
    let mut made = Vec::new();
    for i in 0..6 {
        let (others, mut turns) = (strands.clone(), 0);
        let body = move |turn: &mut Turn<'_>| {
            turns += 1;
            turn.spend(100 * (i + 1));
            if let Some(others) = others.get() {
                let next = &others[(i as usize + 1) % others.len()];
                match turns % 3 {
                    0 => turn.hand_off(next),
                    _ => drop(next.wake()),
                }
            }
            turn.submit(move |turn| {
                turn.spend(50 * i);
                turn.submit(|turn| turn.spend(10));
            });
            match turns {
                1..=8 if turns % 4 == 0 => Step::Yield,
                1..=8 => Step::Pause,
                _ => Step::End(()),
            }
        };
        // Half of them have a name.
        let builder = handle.strand();
        let builder = if i % 2 == 0 { builder.name(format!("till {i}")) } else { builder };
        made.push(builder.idle(body).unwrap().0);
    }
    for (i, strand) in made.iter().enumerate() {
        strand.wake().unwrap();
        let _ = handle.wake_after(Duration::from_micros(i as u64 + 1), strand).unwrap();
    }
    // The strands keep each other: they are let go with the list.
    assert!(strands.set(made).is_ok());
}

fn simulated(seed: u64, events: usize) -> Simulation {
    let builder = Runtime::builder().workers(1 + (seed % 4) as usize).record(events);
    let builder = match seed % 5 {
        0 => builder.discipline(Discipline::Fifo),
        1 => builder.discipline(Discipline::Priority { ageing: 0.0 }),
        2 => builder.placement(Placement::RoundRobin),
        _ => builder,
    };
    builder.simulate(seed).unwrap()
}

#[test]
fn traces_of_simulated_runs_are_well_formed() {
    each_seed(100, |seed| {
        let mut simulation = simulated(seed, 100_000);
        mixture(&simulation);
        simulation.run();
        let recording = simulation.recording();
        let trace = check(&[("simulation", &recording)]);
        // All was recorded, so every wake has led to a turn.
        let queued = |kind| kind == EventKind::Wake;
        assert!(trace.arrows["wake"] as u64 >= count(&recording, queued) / 2, "seed {seed}");
        assert!(trace.counters > 0);
    });
}

#[test]
fn traces_of_runs_that_did_not_fit_or_end_are_well_formed() {
    each_seed(200, |seed| {
        let mut simulation = simulated(seed, 1 + (seed % 40) as usize);
        mixture(&simulation);
        simulation.run_for(Duration::from_nanos(777 + 100 * seed));
        let recording = simulation.recording();
        let trace = check(&[("simulation", &recording)]);
        let said = &trace.whole["otherData"]["simulation: events that no longer fitted"];
        assert_eq!(said.as_str(), Some(&*recording.dropped.to_string()));
        let told = trace.whole["traceEvents"].as_array().unwrap().iter().any(|event| {
            event["name"].as_str().is_some_and(|name| name.contains("no longer fitted"))
        });
        assert_eq!(told, recording.dropped > 0, "seed {seed}");
    });
}

#[test]
fn same_seed_gives_the_same_bytes() {
    let run = |seed| {
        let mut simulation = simulated(seed, 1000);
        mixture(&simulation);
        simulation.run();
        text(&[("simulation", &simulation.recording())])
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(11));
}

/// Two runtimes beside each other: the one that started later is drawn later.
#[test]
fn several_runtimes_are_processes_of_one_trace() {
    let first = real(Runtime::builder().workers(1).record(100));
    first.compute(|_| ()).unwrap().join().unwrap();
    let before = first.now().as_nanos() as u64;
    let second = real(Runtime::builder().workers(2).record(100));
    second.compute(|_| ()).unwrap().join().unwrap();
    let (first, second) = (ended(first), ended(second));
    let trace = check(&[("shards", &first), ("queries", &second)]);
    let names: Vec<&str> = trace.whole["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["name"] == "process_name")
        .map(|event| event["args"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["shards", "queries"]);
    let turn = |process: usize| {
        let process = trace.processes[process];
        let mut turns = trace.tracks.iter().filter(|((pid, _), _)| *pid == process);
        turns.find_map(|(_, slices)| slices.iter().find(|slice| slice.cat == "turn")).unwrap()
    };
    assert_eq!((turn(0).name.as_str(), turn(1).name.as_str()), ("job", "job"));
    assert!(turn(0).start < before && before < turn(1).start, "the second was started later");
}

#[test]
fn trace_of_nothing_is_a_trace() {
    assert!(check(&[]).tracks.is_empty());
    let simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    assert!(check(&[("idle", &simulation.recording())]).tracks.is_empty());
}

/// Two workers may see the same moment, and then the recording has them in any order.
#[test]
fn arrow_starts_before_it_ends_also_at_the_same_moment() {
    let mut simulation = Runtime::builder().workers(1).record(1000).simulate(0).unwrap();
    simulation.submit(|turn| turn.spend(10)).unwrap();
    simulation.run();
    let mut recording = simulation.recording();
    let kinds = |recording: &Recording| [0, 1].map(|place| recording.events[place].kind);
    assert_eq!(kinds(&recording), [EventKind::Wake, EventKind::Run]);
    assert_eq!(recording.events[0].at, recording.events[1].at);
    for _ in 0..2 {
        let trace = check(&[("simulation", &recording)]);
        let events = trace.whole["traceEvents"].as_array().unwrap();
        let ends: Vec<&str> = events.iter().filter_map(|event| event["ph"].as_str()).collect();
        let ends: Vec<&&str> = ends.iter().filter(|phase| ["s", "f"].contains(phase)).collect();
        assert_eq!(ends, [&"s", &"f"]);
        recording.events.swap(0, 1);
    }
}

/// Names are anybody's text.
#[test]
fn names_with_control_characters_quotes_and_markup_come_back_as_they_were() {
    let names =
        ["a\"b\\c", "line\nbreak\u{0}\u{1b}[31m", "</script><b>&amp;", "\u{202e}käse\u{7f}"];
    let mut simulation = Runtime::builder().workers(1).record(1000).simulate(0).unwrap();
    for name in names {
        simulation.strand().name(name).start(|_| Step::End(())).unwrap();
    }
    simulation.strand().name("x".repeat(10_000)).start(|_| Step::End(())).unwrap();
    simulation.run();
    let recording = simulation.recording();
    let trace = check(&[("<i>run\u{7}time</i>", &recording)]);
    let turns: Vec<&str> = trace.tracks[&(1, 2)].iter().map(|slice| slice.name.as_str()).collect();
    for name in names {
        assert!(turns.contains(&name), "{name:?} is not in {turns:?}");
    }
    assert!(turns.iter().all(|name| name.chars().count() <= 201), "a long name is cut");
    let raw = text(&[("<i>run\u{7}time</i>", &recording)]);
    assert!(raw.chars().all(|c| c == '\n' || !c.is_ascii_control() || c == '\u{7f}'));
}

/// A strand that has ended and is gone keeps its name in the recording.
#[test]
fn strands_that_are_gone_keep_their_names() {
    let mut simulation = Runtime::builder().workers(2).record(1000).simulate(3).unwrap();
    for i in 0..10 {
        drop(simulation.strand().name(format!("guest {i}")).start(|_| Step::End(())).unwrap());
    }
    simulation.run();
    let trace = check(&[("inn", &simulation.recording())]);
    let mut names: Vec<&str> = trace.tracks.values().flatten().map(|s| s.name.as_str()).collect();
    names.retain(|name| name.starts_with("guest"));
    names.sort_unstable();
    assert_eq!(names, (0..10).map(|i| format!("guest {i}")).collect::<Vec<_>>());
}

#[test]
fn hand_off_and_steal_are_arrows_between_the_right_tracks() {
    let mut simulation = Runtime::builder().workers(2).record(1000).simulate(0).unwrap();
    let target = simulation.strand().name("target").idle(|_| Step::End(())).unwrap().0;
    let body = move |turn: &mut Turn<'_>| {
        turn.hand_off(&target);
        for _ in 0..4 {
            turn.submit(|turn| turn.simulate(Duration::from_micros(5)));
        }
        turn.simulate(Duration::from_micros(10));
        Step::End(())
    };
    simulation.strand().name("sender").start(body).unwrap();
    simulation.run();
    let recording = simulation.recording();
    let trace = check(&[("simulation", &recording)]);
    assert_eq!(trace.arrows["hand-off"], 1);
    let steals = recording.events.iter().filter(|event| event.kind == EventKind::Steal);
    assert!(steals.clone().count() > 0);
    assert!(steals.clone().all(|event| event.victim.is_some() && event.victim != event.worker));
    assert_eq!(trace.arrows["steal"], steals.count());
}

/// What runs on real threads, read while it runs: some turns have not ended, some arrows have no end
/// yet, and others were overwritten.
#[test]
fn traces_of_real_runs_are_well_formed_at_any_moment() {
    for events in [7, 300, 100_000] {
        let runtime = real(Runtime::builder().workers(3).record(events));
        for _ in 0..20 {
            mixture(&runtime);
            check(&[("real", &runtime.recording())]);
        }
        let recording = ended(runtime);
        check(&[("real", &recording)]);
        assert_eq!(recording.dropped > 0, events < 100_000);
    }
}

/// While a turn waits for a branch its worker takes others inside of it.
#[test]
fn turns_inside_of_turns_nest() {
    fn sum(turn: &mut Turn<'_>, n: u64) -> u64 {
        if n == 0 {
            return 1;
        }
        turn.submit(|_| {});
        let (left, right) = turn.join(|turn| sum(turn, n - 1), |turn| sum(turn, n - 1));
        left + right
    }
    let runtime = real(Runtime::builder().workers(3).record(1 << 17));
    assert_eq!(runtime.compute(|turn| sum(turn, 12)).unwrap().join(), Ok(1 << 12));
    let recording = ended(runtime);
    check(&[("branches", &recording)]);
    let depth = tracks(&recording).into_iter().flatten().map(|slice| slice.depth).max();
    assert!(depth > Some(0), "no turn was taken inside of another");
}

/// Switched at any moment, also in the middle of turns: no turn has an end without a beginning.
#[test]
fn recorder_that_is_switched_while_turns_run_leaves_no_half_turns() {
    let runtime = real(Runtime::builder().workers(2));
    for round in 0..40 {
        runtime.record(round % 2 == 0);
        mixture(&runtime);
        let recording = runtime.recording();
        assert_eq!(recording.dropped, 0);
        check(&[("switched", &recording)]);
        assert!(tracks(&recording).iter().flatten().all(|slice| !slice.cut));
    }
}

/// A turn that began while one recording went on, and ends in the next.
#[test]
fn turn_from_an_earlier_recording_is_not_in_the_next() {
    let runtime = real(Runtime::builder().workers(1).record(1000));
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (tell, begun) = std::sync::mpsc::channel();
    let mut long = runtime
        .compute(move |_| {
            tell.send(()).unwrap();
            wait.recv().unwrap();
        })
        .unwrap();
    begun.recv().unwrap();
    assert_eq!(tracks(&runtime.recording())[0][0].ending, Ending::Open);
    runtime.record(false);
    runtime.record(true);
    go.send(()).unwrap();
    long.join().unwrap();
    let (_, mut next) = runtime.strand().name("next").start(|_| Step::End(())).unwrap();
    next.join().unwrap();
    let recording = ended(runtime);
    check(&[("second", &recording)]);
    let turns = &tracks(&recording)[0];
    assert_eq!((turns.len(), turns[0].cut, turns[0].ending), (1, false, Ending::End));
    assert_eq!(recording.name_of(turns[0].strand), "next");
}

/// Who looks again and again sees each turn that overlaps what he asked for.
#[test]
fn part_of_a_recording_has_the_turns_that_had_begun_before() {
    let mut simulation = Runtime::builder().workers(2).record(1000).simulate(5).unwrap();
    for _ in 0..6 {
        simulation.submit(|turn| turn.simulate(Duration::from_micros(10))).unwrap();
    }
    simulation.run();
    let whole: Vec<_> = tracks(&simulation.recording()).into_iter().flatten().collect();
    for since in (0..40).map(Duration::from_micros) {
        let recording = simulation.recording_since(since);
        check(&[("part", &recording)]);
        let part: Vec<_> = tracks(&recording).into_iter().flatten().collect();
        let expected = whole.iter().filter(|slice| slice.end >= since).count();
        assert_eq!(part.len(), expected, "since {since:?}");
        assert!(part.iter().all(|slice| !slice.cut && whole.contains(slice)));
    }
}

/// A writer that fails: the error is its own, and nothing panics.
#[test]
fn error_of_the_writer_is_handed_on() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut simulation = simulated(3, 10_000);
    mixture(&simulation);
    simulation.run();
    let recording = simulation.recording();
    let length = text(&[("run", &recording)]).len();
    for room in [0, 100, length / 2, length - 1] {
        let error = observe::timeline::write(&mut Full(room), &[("run", &recording)]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
    observe::timeline::write(&mut Full(length), &[("run", &recording)]).unwrap();
}

fn real(builder: kernel::Builder) -> Runtime {
    builder.on_report(|_| {}).build().unwrap()
}

/// What was recorded when all is done.
fn ended(runtime: Runtime) -> Recording {
    let handle = runtime.handle();
    runtime.shutdown();
    handle.recording()
}
