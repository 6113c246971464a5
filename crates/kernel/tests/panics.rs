//! A panic ends the strand or job it happens in, and nobody else.

mod common;

use std::{
    panic,
    sync::{
        Arc, Mutex, Once,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use common::{DISCIPLINES, Log, settle};
use kernel::{Builder, JoinError, Report, Runtime, Step, Turn};

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// The panics here are on purpose; their messages would only be noise.
fn quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            let worker = std::thread::current().name().is_some_and(|n| n.starts_with("quiet"));
            if !worker {
                loud(about);
            }
        }));
    });
}

/// One worker, and a log of what it reports.
fn reporting(builder: Builder) -> (Runtime, Log<String>) {
    quietly();
    let reports = Log::new();
    let theirs = reports.clone();
    let report = move |report: &Report| match report {
        Report::Panicked { name, text, .. } => theirs.push(format!("{name}: {text}")),
        other => theirs.push(other.to_string()),
    };
    let runtime = builder.workers(1).name("quiet").on_report(report).build().unwrap();
    settle(&runtime);
    (runtime, reports)
}

/// The worker still works, and so many panics were counted.
#[track_caller]
fn goes_on(runtime: &Runtime, panics: u64) {
    assert_eq!(runtime.compute(|_| "still here").unwrap().join(), Ok("still here"));
    assert_eq!(runtime.metrics().total().panics, panics);
}

#[test]
fn panic_in_a_turn_ends_the_strand_and_tells_its_owner_under_every_discipline() {
    for discipline in DISCIPLINES {
        let (runtime, reports) = reporting(Runtime::builder().discipline(discipline));
        let mut turns = 0;
        let body = move |_: &mut Turn<'_>| -> Step<()> {
            turns += 1;
            assert!(turns < 3, "the third turn");
            Step::Yield
        };
        let (strand, mut join) = runtime.strand().name("fragile").start(body).unwrap();
        assert_eq!(join.join(), Err(JoinError::Panicked("the third turn".into())));
        common::until(|| strand.is_done());
        assert_eq!(strand.wake(), Ok(()), "it has ended, and is not left running");
        goes_on(&runtime, 1);
        assert_eq!(reports.all(), ["fragile: the third turn"]);
    }
}

#[test]
fn panic_in_a_job_is_contained() {
    let (runtime, reports) = reporting(Runtime::builder());
    runtime.submit(|_| panic!("nobody waits")).unwrap();
    let mut join = runtime.compute(|_| -> u32 { panic!("somebody {}", "waits") }).unwrap();
    assert_eq!(join.join(), Err(JoinError::Panicked("somebody waits".into())));
    goes_on(&runtime, 2);
    assert_eq!(reports.all(), ["job: nobody waits", "job: somebody waits"]);
}

#[test]
fn panic_in_a_future_is_contained() {
    let (runtime, reports) = reporting(Runtime::builder());
    let mut join = runtime
        .spawn(async {
            kernel::yield_now().await;
            panic!("in the second poll");
        })
        .unwrap();
    assert_eq!(join.join(), Err::<(), _>(JoinError::Panicked("in the second poll".into())));
    goes_on(&runtime, 1);
    assert_eq!(reports.len(), 1);
}

#[test]
fn panic_without_a_text_is_contained() {
    let (runtime, _) = reporting(Runtime::builder());
    let mut join = runtime.compute(|_| panic::panic_any(7)).unwrap();
    assert_eq!(join.join(), Err::<(), _>(JoinError::Panicked("a panic without a text".into())));
    goes_on(&runtime, 1);
}

#[test]
fn panic_in_the_drop_of_a_body_that_ends_is_contained() {
    let (runtime, reports) = reporting(Runtime::builder());
    let bomb = Bomb("in the drop");
    let body = move |_: &mut Turn<'_>| {
        let _ = &bomb;
        Step::End("a result")
    };
    let (_, mut join) = runtime.strand().name("bomb").start(body).unwrap();
    assert_eq!(join.join(), Err(JoinError::Panicked("in the drop".into())));
    goes_on(&runtime, 1);
    assert_eq!(reports.all(), ["bomb: in the drop"]);
}

#[test]
fn panic_in_a_turn_and_another_in_the_drop_of_its_body_are_contained() {
    let (runtime, reports) = reporting(Runtime::builder());
    let bomb = Bomb("and then in the drop");
    let body = move |_: &mut Turn<'_>| -> Step<()> {
        let _ = &bomb;
        panic!("first in the turn");
    };
    let (_, mut join) = runtime.strand().start(body).unwrap();
    assert!(matches!(join.join(), Err(JoinError::Panicked(_))));
    goes_on(&runtime, 1);
    assert_eq!(reports.len(), 1);
}

#[test]
fn panic_in_the_drop_of_a_future_that_is_aborted_is_contained() {
    let (runtime, _) = reporting(Runtime::builder());
    let bomb = Bomb("in the drop");
    let mut join = runtime
        .spawn(async move {
            let _bomb = bomb;
            std::future::pending::<()>().await;
        })
        .unwrap();
    settle(&runtime);
    join.abort();
    assert_eq!(join.join(), Err(JoinError::Panicked("in the drop".into())));
    assert_eq!(runtime.compute(|_| 1).unwrap().join(), Ok(1));
}

#[test]
fn panic_in_the_drop_of_a_job_that_never_ran_is_contained() {
    quietly();
    let runtime = Runtime::builder().workers(1).name("quiet").build().unwrap();
    let gate = common::occupy(&runtime);
    let dropped = Arc::new(AtomicUsize::new(0));
    for _ in 0..3 {
        let (bomb, theirs) = (Bomb("in the drop"), dropped.clone());
        runtime
            .submit(move |_| {
                theirs.fetch_add(1, Relaxed);
                drop(bomb);
            })
            .unwrap();
    }
    let handle = runtime.handle();
    // What waits is dropped here, on this thread, whose own panics are loud.
    std::thread::scope(|scope| {
        let quiet = std::thread::Builder::new().name("quiet dropper".into());
        quiet.spawn_scoped(scope, || drop(runtime)).unwrap();
    });
    assert_eq!(handle.metrics().dropped, 3);
    assert_eq!(dropped.load(Relaxed), 0, "they were dropped, not run");
    gate.open();
}

#[test]
fn panic_in_the_reporter_is_contained() {
    quietly();
    let runtime = Runtime::builder()
        .workers(1)
        .name("quiet")
        .on_report(|_| panic!("the reporter itself"))
        .build()
        .unwrap();
    let mut join = runtime.compute(|_| -> u32 { panic!("reported") }).unwrap();
    assert_eq!(join.join(), Err(JoinError::Panicked("reported".into())));
    goes_on(&runtime, 1);
}

#[test]
fn panic_in_an_affinity_reaches_its_caller_and_leaves_the_runtime_whole() {
    quietly();
    let armed = Arc::new(Mutex::new(true));
    let theirs = armed.clone();
    let placement = kernel::Placement::affinity(move |_| {
        assert!(!*theirs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), "affinity");
        None
    });
    let runtime = Runtime::builder().workers(1).placement(placement).build().unwrap();
    let caught = std::thread::scope(|scope| {
        let quiet = std::thread::Builder::new().name("quiet caller".into());
        let submit = || runtime.submit(|_| {}).unwrap();
        quiet.spawn_scoped(scope, submit).unwrap().join()
    });
    assert!(caught.is_err());
    *armed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = false;
    goes_on(&runtime, 0);
}

#[test]
fn thousand_panics_leave_every_worker_working() {
    quietly();
    let runtime = Runtime::builder().workers(2).name("quiet").on_report(|_| {}).build().unwrap();
    let mut joins: Vec<_> = (0..1000)
        .map(|number| runtime.compute(move |_| assert!(number % 2 == 0, "odd")).unwrap())
        .collect();
    for (number, join) in joins.iter_mut().enumerate() {
        let odd = Err(JoinError::Panicked("odd".into()));
        assert_eq!(join.join(), if number % 2 == 0 { Ok(()) } else { odd });
    }
    settle(&runtime);
    assert_eq!(runtime.metrics().total().panics, 500);
}

#[test]
fn panic_in_a_simulated_turn_is_contained_too() {
    let reports = Log::new();
    let theirs = reports.clone();
    let mut simulation = Runtime::builder()
        .workers(1)
        .on_report(move |report| theirs.push(report.to_string()))
        .simulate(0)
        .unwrap();
    let mut join = simulation.compute(|_| -> u32 { panic::panic_any("simulated") }).unwrap();
    let mut other = simulation.compute(|_| 2).unwrap();
    simulation.run();
    assert_eq!(join.join(), Err(JoinError::Panicked("simulated".into())));
    assert_eq!(other.join(), Ok(2));
    assert_eq!(reports.all(), ["job panicked on worker 0 and has ended as failed: simulated"]);
}

// ---- In a process of its own: were it not contained, it would abort.

const CHILD: &str = "SHIFTWORK_TEST_CHILD";

/// Not a test of its own: in the child process it panics with payloads that panic when dropped.
#[test]
fn child_panics_with_bombs() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let runtime = Runtime::builder()
        .workers(1)
        .name("quiet")
        .on_report(|_| panic::panic_any(Bomb("the reporter's")))
        .build()
        .unwrap();
    quietly();
    runtime.submit(|_| panic::panic_any(Bomb("a job's"))).unwrap();
    let body = |_: &mut Turn<'_>| -> Step<()> { panic::panic_any(Bomb("a strand's")) };
    let (strand, mut join) = runtime.strand().start(body).unwrap();
    assert!(matches!(join.join(), Err(JoinError::Panicked(_))));
    common::until(|| strand.is_done());
    assert_eq!(runtime.compute(|_| "still here").unwrap().join(), Ok("still here"));
    println!("contained");
}

#[test]
fn panic_whose_payload_panics_when_dropped_is_contained() {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_panics_with_bombs", "--nocapture"]).env(CHILD, "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("contained"), "{said}{why}");
}
