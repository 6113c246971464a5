//! Do programs in other languages do what they say, on every engine that this build has?
//!
//! They are compiled by `cargo xtask guests`, from `guests` and from the guide, `docs/tasks.md`.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use kernel::Runtime;
use task::{EngineKind, LogSink, NO_ARGUMENTS, Options, Program, Scheduler, TaskResult, Value};

const LANGUAGES: [&str; 3] = ["assemblyscript", "c", "rust"];

fn engines() -> Vec<EngineKind> {
    let jit = cfg!(feature = "jit").then_some(EngineKind::Wasmtime);
    [EngineKind::Wasmi].into_iter().chain(jit).collect()
}

/// The compiled program. `None` if it could not be compiled here, which is then said.
#[track_caller]
fn guest(language: &str, name: &str) -> Option<Vec<u8>> {
    // Cargo's own folder for tests lies in the target directory, and so do the guests.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let file: PathBuf = target.join("guests").join(language).join(format!("{name}.wasm"));
    if let Ok(why) = fs::read_to_string(file.with_extension("skipped")) {
        eprintln!("{language}/{name} was not run: {why}");
        return None;
    }
    match fs::read(&file) {
        Ok(module) => Some(module),
        Err(error) => panic!("no {}: {error}; run `cargo xtask guests` first", file.display()),
    }
}

/// What was run.
struct Ran {
    results: Vec<TaskResult>,
    /// Lines of the log, in their order.
    log: Vec<String>,
    preemptions: u64,
}

impl Ran {
    /// What `main` returned. No task failed.
    #[track_caller]
    fn number(&self) -> i64 {
        for result in &self.results {
            assert!(result.outcome.is_ok(), "{result:?}");
        }
        self.number_of_main()
    }

    #[track_caller]
    fn number_of_main(&self) -> i64 {
        assert_eq!(self.results[0].func, "main");
        match self.results[0].outcome.as_deref() {
            Ok([Value::I64(number)]) => *number,
            other => panic!("{other:?}"),
        }
    }
}

/// Options that collect the log.
fn options(engine: EngineKind) -> (Options, Arc<Mutex<Vec<String>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut options = Options::default();
    options.engine = engine;
    options.num_workers = Some(2);
    options.log = LogSink::new({
        let log = log.clone();
        move |line| log.lock().unwrap().push(format!("{}: {}", line.level, line.text))
    });
    (options, log)
}

fn run(module: &[u8], engine: EngineKind, threshold: Option<u64>) -> Ran {
    let (mut options, log) = options(engine);
    options.preemption_threshold = threshold;
    let scheduler = Scheduler::new(module, options).unwrap();
    scheduler.spawn("main", NO_ARGUMENTS).unwrap();
    let results = scheduler.run().unwrap();
    let preemptions = scheduler.program().stats().preemptions;
    scheduler.shutdown();
    let log = std::mem::take(&mut *log.lock().unwrap());
    Ran { results, log, preemptions }
}

fn simulate(module: &[u8], engine: EngineKind, seed: u64) -> Ran {
    let (options, log) = options(engine);
    let mut simulation = Runtime::builder().workers(2).simulate(seed).unwrap();
    let program = Program::load(&simulation, module, options).unwrap();
    program.spawn("main", NO_ARGUMENTS).unwrap();
    let results = simulation.block_on(program.finished()).unwrap();
    let preemptions = program.stats().preemptions;
    let log = std::mem::take(&mut *log.lock().unwrap());
    Ran { results, log, preemptions }
}

/// Runs a program in all languages that have it, on all engines.
#[track_caller]
fn check(languages: &[&str], name: &str, expected: i64, tasks: usize) {
    for language in languages {
        let Some(module) = guest(language, name) else { continue };
        for engine in engines() {
            let ran = run(&module, engine, None);
            assert_eq!(ran.number(), expected, "{language}/{name} on {engine:?}");
            assert_eq!(ran.results.len(), tasks, "{language}/{name} on {engine:?}");
        }
    }
}

#[test]
fn eight_tasks_add_the_primes() {
    check(&LANGUAGES, "parallel_sum", 21_171_191, 9);
}

#[test]
fn numbers_go_through_the_pipeline_and_none_is_lost() {
    let squares = (1..=1_000).map(|number| number * number).sum();
    check(&["assemblyscript", "c"], "pipeline", squares, 6);
}

#[test]
fn every_philosopher_eats_and_every_fork_was_used() {
    let (meals, uses) = (5 * 100, 2 * 5 * 100);
    check(&["assemblyscript", "c"], "philosophers", meals * 1_000_000 + uses, 6);
}

#[test]
fn the_first_green_threads_of_the_guide_return_what_it_says() {
    for language in LANGUAGES {
        let Some(module) = guest(language, "hello") else { continue };
        for engine in engines() {
            let ran = run(&module, engine, None);
            assert_eq!((ran.number(), ran.results.len()), (385, 11), "{language} on {engine:?}");
            assert_eq!(ran.log.len(), 10, "{language} on {engine:?}: {:?}", ran.log);
            assert!(ran.log.iter().all(|line| line.starts_with("info: squaring")), "{:?}", ran.log);
            // The compilers have kept the names of functions.
            assert!(ran.results[1..].iter().all(|result| result.func.contains("square")));
        }
    }
}

#[test]
fn the_other_programs_of_the_guide_return_what_it_says() {
    for (name, expected, tasks) in
        [("spawn", 42, 2), ("channels", 5_050, 2), ("select", 42, 2), ("mutex", 1_000, 11)]
    {
        check(&["assemblyscript"], name, expected, tasks);
    }
}

#[test]
fn a_failed_assertion_is_logged_and_fails_its_task_alone() {
    let Some(module) = guest("assemblyscript", "errors") else { return };
    for engine in engines() {
        let ran = run(&module, engine, None);
        assert_eq!(ran.number_of_main(), 25);
        let failed: Vec<_> = ran.results.iter().filter(|result| result.outcome.is_err()).collect();
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].awaited);
        assert_eq!(ran.log, ["error: nothing to divide by in errors.ts:4"]);
    }
}

/// Between any two operations another task may run. With a slice of a few dozen operations each of
/// them is cut in many places.
#[test]
fn programs_that_are_cut_into_small_slices_return_the_same() {
    for language in ["assemblyscript", "c"] {
        for (name, expected) in [("pipeline", 333_833_500), ("philosophers", 500_001_000)] {
            let Some(module) = guest(language, name) else { continue };
            for engine in engines() {
                for threshold in [20, 150, 1_000] {
                    let ran = run(&module, engine, Some(threshold));
                    assert_eq!(ran.number(), expected, "{language}/{name}, {threshold} a slice");
                    assert!(ran.preemptions > 0, "{language}/{name}, {threshold} a slice");
                }
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_interleaving_and_others_the_same_result() {
    for language in LANGUAGES {
        let Some(module) = guest(language, "hello") else { continue };
        for engine in engines() {
            for seed in 0..10 {
                let [first, second] = [(); 2].map(|()| simulate(&module, engine, seed));
                assert_eq!(first.number(), 385, "{language} on {engine:?}, seed {seed}");
                assert_eq!(first.log, second.log, "{language} on {engine:?}, seed {seed}");
                assert_eq!(first.results, second.results, "{language} on {engine:?}, seed {seed}");
            }
        }
    }
}

#[test]
fn seeds_do_not_change_what_a_program_computes() {
    for language in ["assemblyscript", "c"] {
        for (name, expected) in [("pipeline", 333_833_500), ("philosophers", 500_001_000)] {
            let Some(module) = guest(language, name) else { continue };
            for engine in engines() {
                for seed in 0..10 {
                    let [first, second] = [(); 2].map(|()| simulate(&module, engine, seed));
                    assert_eq!(first.number(), expected, "{language}/{name}, seed {seed}");
                    assert_eq!(first.results, second.results, "{language}/{name}, seed {seed}");
                    assert_eq!(
                        first.preemptions, second.preemptions,
                        "{language}/{name}, seed {seed}"
                    );
                }
            }
        }
    }
}
