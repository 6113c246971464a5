//! Input that makes no sense: each a clear error or a documented no-op, none a hang.

mod common;

use std::{
    process::Command,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use common::{Log, alone, real};
use kernel::{
    Attributes, BuildError, Builder, Discipline, JoinError, LEVELS_MAX, Placement, Runtime,
    ScheduleError, Step, Turn, WORKERS_MAX, WorkerId,
};

/// Both kinds of runtime refuse, with the same words.
#[track_caller]
fn refused(builder: impl Fn() -> Builder, text: &str) {
    assert_eq!(builder().build().unwrap_err().to_string(), text);
    assert_eq!(builder().simulate(0).unwrap_err().to_string(), text);
}

#[test]
fn zero_workers_are_refused() {
    refused(
        || Runtime::builder().workers(0),
        "a runtime needs at least one worker; leave the number out for one per core",
    );
}

#[test]
fn more_workers_than_can_be_numbered_are_refused() {
    refused(
        || Runtime::builder().workers(WORKERS_MAX + 1),
        "4097 workers are more than the 4096 that a runtime can have",
    );
}

#[test]
fn quantum_of_no_time_is_refused() {
    let text = "the quantum (or feedback slice) is zero; a turn needs some time";
    refused(|| Runtime::builder().quantum(Duration::ZERO), text);
    let feedback = Discipline::Feedback { levels: 3, slice: Duration::ZERO };
    refused(|| Runtime::builder().discipline(feedback), text);
}

#[test]
fn budget_of_no_operations_is_refused() {
    refused(
        || Runtime::builder().budget(0),
        "the budget is zero; a turn needs some operations, or leave it out",
    );
}

#[test]
fn feedback_without_a_level_is_refused() {
    let feedback = Discipline::Feedback { levels: 0, slice: Duration::from_millis(1) };
    refused(
        || Runtime::builder().discipline(feedback),
        "a feedback discipline needs at least one level",
    );
}

#[test]
fn feedback_with_more_levels_than_there_can_be_is_refused() {
    let with = |levels| {
        let feedback = Discipline::Feedback { levels, slice: Duration::from_millis(1) };
        Runtime::builder().workers(1).discipline(feedback)
    };
    for levels in [LEVELS_MAX + 1, usize::MAX] {
        let text =
            format!("{levels} levels are more than the 1024 that a feedback discipline can have");
        refused(|| with(levels), &text);
    }
    let mut simulation = with(LEVELS_MAX).simulate(0).unwrap();
    simulation.submit(|_| {}).unwrap();
    simulation.run();
    assert_eq!(simulation.metrics().total().turns, 1);
}

#[test]
fn ageing_that_is_no_positive_number_is_refused() {
    for (ageing, text) in [
        (f64::NAN, "the ageing rate is NaN; it must be 0 (strict) or a positive number"),
        (f64::INFINITY, "the ageing rate is inf; it must be 0 (strict) or a positive number"),
        (-1.0, "the ageing rate is -1; it must be 0 (strict) or a positive number"),
    ] {
        refused(|| Runtime::builder().discipline(Discipline::Priority { ageing }), text);
    }
}

#[test]
fn priority_that_is_not_finite_is_refused_and_nothing_is_queued() {
    let simulation = alone(Discipline::Priority { ageing: 0.0 });
    for priority in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let about = Attributes { priority, ..Attributes::default() };
        let error = simulation.submit_with(about, |_| {}).unwrap_err();
        assert!(matches!(error, ScheduleError::PriorityNotFinite(_)));
        let expected = format!("the priority is {priority}; it must be a finite number");
        assert_eq!(error.to_string(), expected);
        let made = simulation.strand().priority(priority).start(|_| Step::End(()));
        assert_eq!(made.unwrap_err().to_string(), expected);
    }
    assert_eq!(simulation.metrics().queued, 0);
}

#[test]
fn affinity_to_a_worker_that_does_not_exist_is_refused() {
    let placement = Placement::affinity(|_| Some(WorkerId::new(7)));
    let runtime = real(Runtime::builder().workers(2).placement(placement));
    let text = "the affinity function failed: there is no worker 7; the runtime has 2, \
                numbered from 0";
    assert_eq!(runtime.submit(|_| {}).unwrap_err().to_string(), text);
    assert_eq!(runtime.compute(|_| ()).unwrap_err().to_string(), text);
    assert_eq!(runtime.spawn(async {}).unwrap_err().to_string(), text);
    let made = runtime.strand().start(|_| Step::End(()));
    assert_eq!(made.unwrap_err().to_string(), text);
    assert_eq!(runtime.shutdown().turns, 0);
}

#[test]
fn pausing_a_worker_that_does_not_exist_is_refused() {
    let runtime = real(Runtime::builder().workers(1));
    let text = "there is no worker 1; the runtime has 1, numbered from 0";
    let worker = WorkerId::new(1);
    assert_eq!(runtime.pause_worker(worker).unwrap_err().to_string(), text);
    assert_eq!(runtime.resume_worker(worker).unwrap_err().to_string(), text);
}

#[test]
fn level_below_the_lowest_is_the_lowest() {
    let feedback = Discipline::Feedback { levels: 2, slice: Duration::from_millis(1) };
    let mut simulation = alone(feedback);
    let log = Log::new();
    let note = |name: &'static str| {
        let log = log.clone();
        move |_: &mut Turn<'_>| log.push(name)
    };
    let about = Attributes { level: u32::MAX, ..Attributes::default() };
    let theirs = log.clone();
    let mut turns = 0;
    let body = move |turn: &mut Turn<'_>| {
        turns += 1;
        theirs.push("strand");
        match turns {
            // It would sink further,
            1 => {
                turn.simulate(Duration::from_millis(1));
                Step::Yield
            }
            // And now it rises.
            2 => Step::Pause,
            _ => Step::End(()),
        }
    };
    let (strand, _) = simulation.strand().attributes(about.clone()).start(body).unwrap();
    simulation.submit_with(about, note("low")).unwrap();
    simulation.submit(note("high")).unwrap();
    simulation.run();
    assert_eq!(log.take(), ["high", "strand", "low", "strand"]);
    strand.wake().unwrap();
    simulation.submit(note("high")).unwrap();
    simulation.run();
    assert_eq!(log.all(), ["strand", "high"]);
}

#[test]
fn waking_what_has_ended_does_nothing() {
    let runtime = real(Runtime::builder().workers(1));
    let (strand, mut join) = runtime.strand().start(|_| Step::End(1)).unwrap();
    assert_eq!(join.join(), Ok(1));
    assert_eq!(strand.wake(), Ok(()));
    let timer = runtime.wake_after(Duration::ZERO, &strand).unwrap();
    common::until(|| runtime.metrics().timers == 0);
    assert!(!timer.cancel(), "it has fired");
    assert_eq!(runtime.shutdown().turns, 1);
}

/// It could wait for the very worker that it holds. The handle stays usable.
#[test]
fn waiting_inside_a_turn_of_the_same_runtime_is_refused() {
    let runtime = real(Runtime::builder().workers(1));
    let handle = runtime.handle();
    let mut outer = runtime
        .compute(move |_| {
            let mut inner = handle.compute(|_| 7).unwrap();
            (inner.join(), inner)
        })
        .unwrap();
    let (refused, mut inner) = outer.join().unwrap();
    assert_eq!(refused, Err(JoinError::WouldBlock));
    assert_eq!(inner.join(), Ok(7));
}

#[test]
fn waiting_inside_a_turn_of_another_runtime_is_allowed() {
    let [one, other] = [(); 2].map(|()| real(Runtime::builder().workers(1)));
    let handle = other.handle();
    let mut outer = one.compute(move |_| handle.compute(|_| 7).unwrap().join()).unwrap();
    assert_eq!(outer.join(), Ok(Ok(7)));
}

#[test]
fn waiting_for_a_simulation_that_nobody_runs_is_refused() {
    let mut simulation = alone(Discipline::Fifo);
    let mut join = simulation.compute(|_| 7).unwrap();
    assert_eq!(join.join(), Err(JoinError::WouldBlock));
    simulation.run();
    assert_eq!(join.join(), Ok(7));
}

#[test]
fn strand_waiting_for_itself_is_refused() {
    let runtime = real(Runtime::builder().workers(1));
    let cell = Arc::new(std::sync::Mutex::new(None));
    let theirs = cell.clone();
    let (strand, join) = runtime
        .strand()
        .idle(move |_: &mut Turn<'_>| {
            let mut own: kernel::JoinHandle<()> = theirs.lock().unwrap().take().unwrap();
            assert_eq!(own.join(), Err(JoinError::WouldBlock));
            Step::End(())
        })
        .unwrap();
    *cell.lock().unwrap() = Some(join);
    strand.wake().unwrap();
    common::until(|| strand.is_done());
    assert_eq!(runtime.metrics().total().panics, 0);
}

#[test]
fn dropping_the_runtime_inside_its_own_turn_is_allowed() {
    let runtime = real(Runtime::builder().workers(2));
    let (handle, (send, receive)) = (runtime.handle(), std::sync::mpsc::channel());
    handle
        .submit(move |_| {
            drop(runtime);
            send.send(()).unwrap();
        })
        .unwrap();
    receive.recv().unwrap();
    assert_eq!(handle.submit(|_| {}), Err(ScheduleError::Stopped));
}

#[test]
fn dropping_a_simulation_with_turns_in_progress_is_allowed() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut simulation = Runtime::builder().workers(2).simulate(0).unwrap();
    for _ in 0..10 {
        let theirs = drops.clone();
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            let _ = &theirs;
            turn.simulate(Duration::from_secs(1));
            Step::Yield
        };
        simulation.strand().start(body).unwrap();
    }
    simulation.run_for(Duration::from_millis(1));
    drop(simulation);
    assert_eq!(Arc::strong_count(&drops), 1);
}

// ---- SHIFTWORK_WORKERS, in a process of its own: the environment belongs to all threads.

const CHILD: &str = "SHIFTWORK_TEST_CHILD";

/// Not a test of its own: in the child process it says what the builder made of the variable.
#[test]
fn child_says_how_many_workers_there_are() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    match Runtime::new() {
        Ok(runtime) => println!("workers: {}", runtime.worker_count()),
        Err(error @ BuildError::WorkersVariable(_)) => println!("refused: {error}"),
        Err(error) => println!("otherwise: {error}"),
    }
    let said = Runtime::builder().workers(3).build().map(|runtime| runtime.worker_count());
    println!("the builder's word: {}", said.unwrap());
}

fn child(workers: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_says_how_many_workers_there_are", "--nocapture"]);
    command.env(CHILD, "1").env_remove("SHIFTWORK_WORKERS");
    if let Some(workers) = workers {
        command.env("SHIFTWORK_WORKERS", workers);
    }
    let output = command.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn variable_says_how_many_workers_when_the_builder_does_not() {
    let said = child(Some("5"));
    assert!(said.contains("workers: 5\n"), "{said}");
    assert!(said.contains("the builder's word: 3\n"), "{said}");
}

#[test]
fn variable_that_is_no_positive_number_is_refused_unless_the_builder_says_it() {
    for bad in ["", "0", "-1", "many", "1.5", " 2", "99999999999999999999999"] {
        let said = child(Some(bad));
        let text = format!(
            "refused: SHIFTWORK_WORKERS is {bad:?}; set it to a positive number, or unset it\n"
        );
        assert!(said.contains(&text), "{said}");
        assert!(said.contains("the builder's word: 3\n"), "{said}");
    }
}

#[test]
fn without_the_variable_there_is_one_worker_per_core() {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let said = child(None);
    assert!(said.contains(&format!("workers: {cores}\n")), "{said}");
}
