//! Does every engine that this build has behave the same to the one who runs a program?

use std::sync::{Arc, Mutex};

use kernel::Runtime;
use task::{
    EngineKind, LogSink, NO_ARGUMENTS, Options, Program, Scheduler, TaskError, TaskResult,
    TrapKind, Value,
};

/// Runs a test on each engine.
fn on_each_engine(test: impl Fn(Options)) {
    let jit = cfg!(feature = "jit").then_some(EngineKind::Wasmtime);
    for engine in [EngineKind::Wasmi].into_iter().chain(jit) {
        println!("{engine:?}");
        let mut options = Options::default();
        options.engine = engine;
        options.num_workers = Some(2);
        // Places are reserved when a program is loaded: no more than most of these need.
        options.limits.jit_tasks = 200;
        test(options);
    }
}

fn scheduler(wat: &str, options: Options) -> Scheduler {
    let module = wat::parse_str(wat).expect("the guest is good WAT");
    Scheduler::new(module, options).expect("the program is loaded")
}

/// Runs `main` and all that it spawns.
fn run(wat: &str, options: Options) -> Vec<TaskResult> {
    let scheduler = scheduler(wat, options);
    scheduler.spawn("main", NO_ARGUMENTS).expect("there is a main");
    scheduler.run().expect("this is no turn")
}

#[track_caller]
fn number(result: &TaskResult) -> i64 {
    match result.outcome.as_deref() {
        Ok([Value::I64(number)]) => *number,
        other => panic!("{other:?} instead of a number"),
    }
}

#[track_caller]
fn trap_kind(result: &TaskResult) -> TrapKind {
    match &result.outcome {
        Err(TaskError::Trap(trap)) => trap.kind,
        other => panic!("{other:?} instead of a trap"),
    }
}

#[test]
fn a_thousand_children_are_awaited() {
    on_each_engine(|mut options| {
        options.limits.jit_tasks = 1_001;
        let results = run(
            r#"(module
                (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
                (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
                (memory 1)
                (table (export "table") 1 funcref)
                (elem (i32.const 0) func $square)
                (func $square (param i64) (result i64) (i64.mul (local.get 0) (local.get 0)))
                (func (export "main") (result i64) (local $i i64) (local $sum i64)
                    (loop $more
                        (local.set $i (i64.add (local.get $i) (i64.const 1)))
                        (i64.store (i32.wrap_i64 (i64.shl (local.get $i) (i64.const 3)))
                            (call $spawn (i32.const 0) (local.get $i)))
                        (br_if $more (i64.lt_u (local.get $i) (i64.const 1000))))
                    (loop $more
                        (drop (call $await
                            (i64.load (i32.wrap_i64 (i64.shl (local.get $i) (i64.const 3))))
                            (i32.const 0)))
                        (local.set $sum (i64.add (local.get $sum) (i64.load (i32.const 0))))
                        (br_if $more (i64.ne (i64.const 0)
                            (local.tee $i (i64.sub (local.get $i) (i64.const 1))))))
                    (local.get $sum)))"#,
            options,
        );
        assert_eq!(results.len(), 1_001);
        assert_eq!(number(&results[0]), (1..=1_000).map(|i| i * i).sum::<i64>());
    });
}

#[test]
fn two_tasks_play_ping_pong_over_channels() {
    on_each_engine(|options| {
        let results = run(
            r#"(module
                (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
                (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
                (import "shiftwork" "chan_send" (func $send (param i64 i32 i32) (result i32)))
                (import "shiftwork" "chan_recv" (func $recv (param i64 i32 i32 i32) (result i32)))
                (import "shiftwork" "chan_close" (func $close (param i64) (result i32)))
                (memory 1)
                (table (export "table") 1 funcref)
                (elem (i32.const 0) func $pong)
                ;; Channels are numbered in their order: pings go over one, pongs over the next.
                (func $pong (param $pings i64) (result i64)
                    (loop $more
                        (if (call $recv (local.get $pings) (i32.const 0) (i32.const 8) (i32.const 8))
                            (then (return (i64.load (i32.const 0)))))
                        (i64.store (i32.const 0) (i64.add (i64.load (i32.const 0)) (i64.const 1)))
                        (drop (call $send (i64.add (local.get $pings) (i64.const 1))
                            (i32.const 0) (i32.const 8)))
                        (br $more))
                    (unreachable))
                (func (export "main") (result i64) (local $pings i64) (local $pongs i64)
                    (local.set $pings (call $open (i32.const 0)))
                    (local.set $pongs (call $open (i32.const 1)))
                    (drop (call $spawn (i32.const 0) (local.get $pings)))
                    (loop $more
                        (drop (call $send (local.get $pings) (i32.const 0) (i32.const 8)))
                        (drop (call $recv (local.get $pongs)
                            (i32.const 0) (i32.const 8) (i32.const 8)))
                        (br_if $more (i64.lt_u (i64.load (i32.const 0)) (i64.const 5000))))
                    (drop (call $close (local.get $pings)))
                    (i64.load (i32.const 0))))"#,
            options,
        );
        assert_eq!([number(&results[0]), number(&results[1])], [5_000, 5_000]);
    });
}

const BAD: &str = r#"
    (module
        (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
        (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
        (import "shiftwork" "yield_now" (func $yield_now))
        (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
        (import "shiftwork" "chan_recv" (func $recv (param i64 i32 i32 i32) (result i32)))
        (memory 1)
        (table (export "table") 4 funcref)
        (elem (i32.const 0) func $divide $deep $bomb $wait)
        (func $divide (param i64) (result i64)
            (i64.div_u (i64.const 1) (i64.sub (local.get 0) (local.get 0))))
        (func $deep (param i64) (result i64)
            (i64.add (call $deep (local.get 0)) (i64.const 1)))
        (func $bomb (param $generations i64) (result i64)
            (if (i64.eqz (local.get $generations)) (then (return (i64.const 0))))
            (local.set $generations (i64.sub (local.get $generations) (i64.const 1)))
            (drop (call $spawn (i32.const 2) (local.get $generations)))
            (call $spawn (i32.const 2) (local.get $generations)))
        (func $wait (param i64) (result i64)
            (i64.extend_i32_s
                (call $recv (call $open (i32.const 1)) (i32.const 0) (i32.const 8) (i32.const 8))))
        (func (export "fails") (param i32) (result i64)
            (i64.extend_i32_u
                (call $await (call $spawn (local.get 0) (i64.const 7)) (i32.const 0))))
        (func (export "bomb") (result i64) (call $bomb (i64.const 12)))
        (func (export "wait") (result i64) (call $wait (i64.const 0)))
        (func (export "spin") (loop $again (br $again)))
        (func (export "swap") (loop $again (call $yield_now) (br $again)))
        (func (export "grow") (result i64)
            (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
            (i64.extend_i32_u (memory.size)))
        (func (export "quick") (result i64) (i64.const 1)))
"#;

#[test]
fn a_trap_fails_one_task_and_its_awaiter_is_told() {
    on_each_engine(|options| {
        for (index, kind) in [(0, TrapKind::DivisionByZero), (1, TrapKind::StackOverflow)] {
            let scheduler = scheduler(BAD, options.clone());
            scheduler.spawn("fails", [index]).unwrap();
            let results = scheduler.run().unwrap();
            assert_eq!(number(&results[0]), 3);
            assert_eq!(trap_kind(&results[1]), kind);
        }
    });
}

#[test]
fn endless_loops_on_every_worker_let_others_finish() {
    on_each_engine(|options| {
        let scheduler = scheduler(BAD, options);
        let endless: Vec<_> = ["spin", "spin", "swap"]
            .map(|function| scheduler.spawn(function, NO_ARGUMENTS).unwrap())
            .into();
        let program = scheduler.program();
        let runtime = program.runtime().clone();
        for _ in 0..100 {
            let quick = program.spawn("quick", NO_ARGUMENTS).unwrap();
            let mut end = runtime.spawn(program.task(quick)).unwrap();
            assert_eq!(number(&end.join().unwrap().unwrap()), 1);
        }
        for task in endless {
            assert!(program.cancel(task));
        }
        let results = scheduler.run().unwrap();
        for result in &results[..3] {
            assert_eq!(result.outcome, Err(TaskError::Cancelled));
        }
    });
}

/// In whatever order they run, the tasks of twelve generations do not find room for eight.
#[test]
fn a_spawn_bomb_is_stopped_by_the_limit() {
    on_each_engine(|mut options| {
        options.limits.tasks = 8;
        let scheduler = scheduler(BAD, options);
        scheduler.spawn("bomb", NO_ARGUMENTS).unwrap();
        let results = scheduler.run().unwrap();
        assert!(results.iter().any(|result| number(result) == -7), "none was refused");
        assert_eq!(scheduler.program().stats().live_max, 8);
    });
}

/// A tenth of them, with a tenth of the memory that a program has by default.
#[test]
fn there_is_memory_for_a_hundred_thousand_tasks_with_a_page_each() {
    let mut options = Options::default();
    options.num_workers = Some(2);
    options.limits.program_memory /= 10;
    let scheduler = scheduler(
        r#"(module
            (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
            (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
            (import "shiftwork" "chan_send" (func $send (param i64 i32 i32) (result i32)))
            (import "shiftwork" "chan_recv" (func $recv (param i64 i32 i32 i32) (result i32)))
            (import "shiftwork" "chan_close" (func $close (param i64) (result i32)))
            (memory 1)
            (table (export "table") 1 funcref)
            (elem (i32.const 0) func $wait)
            ;; Each says that it is there, and waits at the next channel until that is closed.
            (func $wait (param $told i64) (result i64)
                (drop (call $send (local.get $told) (i32.const 0) (i32.const 8)))
                (i64.extend_i32_u
                    (call $recv (i64.add (local.get $told) (i64.const 1))
                        (i32.const 0) (i32.const 8) (i32.const 8))))
            (func (export "main") (param $tasks i32) (local $told i64) (local $gate i64)
                (local $left i32)
                (local.set $told (call $open (i32.const 100)))
                (local.set $gate (call $open (i32.const 0)))
                (local.set $left (local.get $tasks))
                (loop $more
                    (drop (call $spawn (i32.const 0) (local.get $told)))
                    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                    (br_if $more (local.get $left)))
                (loop $more
                    (drop (call $recv (local.get $told)
                        (i32.const 0) (i32.const 8) (i32.const 8)))
                    (local.set $tasks (i32.sub (local.get $tasks) (i32.const 1)))
                    (br_if $more (local.get $tasks)))
                (drop (call $close (local.get $gate)))))"#,
        options,
    );
    scheduler.spawn("main", [10_000]).unwrap();
    let results = scheduler.run().unwrap();
    assert_eq!(results.len(), 10_001);
    assert_eq!(scheduler.program().stats().live_max, 10_001);
    assert!(results[1..].iter().all(|result| number(result) == 1), "the gate was closed for each");
}

/// A guest that can not go on executes `unreachable`, and may log why before.
#[test]
fn a_guest_that_gives_up_right_after_a_refusal_is_known_to_have_met_a_limit() {
    let guest = |between: &str| {
        format!(
            r#"(module
                (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
                (import "shiftwork" "log" (func $log (param i32 i32 i32)))
                (import "shiftwork" "now" (func $now (result i64)))
                (memory 1)
                (table (export "table") 1 funcref)
                (elem (i32.const 0) func $nothing)
                (func $nothing (param i64))
                (func (export "main")
                    (if (i64.eq (call $spawn (i32.const 0) (i64.const 0)) (i64.const -7))
                        (then {between} (unreachable)))))"#
        )
    };
    on_each_engine(|mut options| {
        options.limits.tasks = 1;
        let log = "(call $log (i32.const 0) (i32.const 0) (i32.const 0))";
        let now = "(drop (call $now))";
        for (between, refused) in [("", Some("spawn")), (log, Some("spawn")), (now, None)] {
            let results = run(&guest(between), options.clone());
            let Err(TaskError::Trap(trap)) = &results[0].outcome else { panic!("{results:?}") };
            assert_eq!((trap.kind, trap.refused), (TrapKind::Unreachable, refused));
            let says = "unreachable executed after `spawn` was refused by a limit of the program";
            assert_eq!(trap.to_string().starts_with(says), refused.is_some(), "{trap}");
        }
    });
}

#[test]
fn mutexes_that_are_closed_make_room_for_others() {
    on_each_engine(|mut options| {
        options.limits.mutexes = 1;
        let results = run(
            r#"(module
                (import "shiftwork" "mutex_open" (func $open (param i32 i32) (result i64)))
                (import "shiftwork" "mutex_close" (func $close (param i64) (result i32)))
                (import "shiftwork" "lock" (func $lock (param i64 i32 i32 i32) (result i32)))
                (memory 1)
                (func (export "main") (result i64) (local $mutex i64) (local $rounds i64)
                    (loop $more
                        (local.set $mutex (call $open (i32.const 0) (i32.const 8)))
                        (if (i64.lt_s (local.get $mutex) (i64.const 0))
                            (then (return (local.get $mutex))))
                        (if (i32.ne (call $close (local.get $mutex)) (i32.const 0))
                            (then (return (i64.const -100))))
                        (if (i32.ne (call $lock (local.get $mutex)
                                (i32.const 0) (i32.const 8) (i32.const 8)) (i32.const 1))
                            (then (return (i64.const -200))))
                        (local.set $rounds (i64.add (local.get $rounds) (i64.const 1)))
                        (br_if $more (i64.lt_s (local.get $rounds) (i64.const 1000))))
                    (local.get $rounds)))"#,
            options,
        );
        assert_eq!(number(&results[0]), 1_000);
    });
}

#[test]
fn memory_grows_to_the_limit_of_the_task_or_of_the_program() {
    on_each_engine(|mut options| {
        options.limits.task_memory = 10 << 16;
        // One more, of which the stack takes a part.
        options.limits.program_memory = 11 << 16;
        let scheduler = scheduler(BAD, options);
        scheduler.spawn("grow", NO_ARGUMENTS).unwrap();
        assert_eq!(number(&scheduler.run().unwrap()[0]), 10);
        // What it had is free again.
        scheduler.spawn("grow", NO_ARGUMENTS).unwrap();
        assert_eq!(number(&scheduler.run().unwrap()[1]), 10);
    });
}

/// None of these has a memory. The large table leaves room for one task, the stacks for some.
#[test]
fn tables_and_stacks_count_in_the_memory_of_the_program() {
    on_each_engine(|mut options| {
        options.limits.program_memory = 100_000;
        let waiting = |table: &str, options: &Options| {
            let text = format!(
                r#"(module
                    (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
                    (import "shiftwork" "chan_send" (func $send (param i64 i32 i32) (result i32)))
                    {table}
                    (func (export "main")
                        (drop (call $send (call $open (i32.const 0)) (i32.const 0) (i32.const 0)))))"#
            );
            let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
            let module = wat::parse_str(text).unwrap();
            let program = Program::load(&simulation, module, options.clone()).unwrap();
            for _ in 0..200 {
                program.spawn("main", NO_ARGUMENTS).unwrap();
            }
            let results = simulation.block_on(program.finished()).unwrap();
            let stayed = |result: &&TaskResult| match &result.outcome {
                Err(TaskError::Deadlock(..)) => true,
                Err(TaskError::Trap(trap)) if trap.kind == TrapKind::Limit => false,
                other => panic!("{other:?}"),
            };
            assert_eq!(program.stats().memory, 0, "all is given back");
            results.iter().filter(stayed).count()
        };
        let stack = if options.engine == EngineKind::Wasmi { 512 } else { 4 << 10 };
        assert_eq!(waiting("", &options), 100_000 / stack);
        assert_eq!(waiting("(table 10000 funcref)", &options), 1);
        assert_eq!(waiting("(table 100 funcref)", &options), 100_000 / (stack + 800));
    });
}

/// As compilers write them: Rust's old mangling, its new one, and that of C++.
#[test]
fn a_trap_names_its_function_as_people_write_it() {
    on_each_engine(|options| {
        let jit = options.engine == EngineKind::Wasmtime;
        let results = run(
            r#"(module
                (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
                (table (export "table") 3 funcref)
                (elem (i32.const 0) func 2 3 4)
                (func (export "main") (result i64)
                    (drop (call $spawn (i32.const 0) (i64.const 0)))
                    (drop (call $spawn (i32.const 1) (i64.const 0)))
                    (call $spawn (i32.const 2) (i64.const 0)))
                (func (@name "_ZN5guest4work17h0123456789abcdefE") (param i64) (unreachable))
                (func (@name "_RNvCs1234_5guest4rest") (param i64) (unreachable))
                (func (@name "_Z4playl") (param i64) (unreachable)))"#,
            options,
        );
        for (result, name) in results[1..].iter().zip(["guest::work", "guest::rest", "play(long)"])
        {
            let Err(TaskError::Trap(trap)) = &result.outcome else { panic!("{result:?}") };
            assert_eq!((&*result.func, trap.function.as_deref()), (name, Some(name)));
            assert_eq!(trap.backtrace.first().map(String::as_str), jit.then_some(name));
        }
    });
}

#[test]
fn fuel_ends_a_task_that_does_not() {
    on_each_engine(|mut options| {
        options.fuel = Some(250_000);
        let scheduler = scheduler(BAD, options);
        for function in ["spin", "swap"] {
            scheduler.spawn(function, NO_ARGUMENTS).unwrap();
        }
        for result in scheduler.run().unwrap() {
            assert_eq!(trap_kind(&result), TrapKind::OutOfFuel);
            assert!((250_000..260_000).contains(&result.fuel), "{} used", result.fuel);
        }
    });
}

/// It returns after an operation, or a call, that costs more than it has in all.
#[test]
fn a_last_operation_that_costs_more_than_is_left_fails_the_task() {
    let guest = r#"(module
        (import "shiftwork" "random" (func $random (param i32 i32)))
        (memory 2)
        (func (export "fill") (memory.fill (i32.const 0) (i32.const 1) (i32.const 131072)))
        (func (export "random") (call $random (i32.const 0) (i32.const 131072)))
        (func (export "both")
            (memory.fill (i32.const 0) (i32.const 1) (i32.const 131072))
            (call $random (i32.const 0) (i32.const 131072))))"#;
    on_each_engine(|options| {
        for (fuel, enough) in [(1_000, false), (1_000_000, true)] {
            let mut options = options.clone();
            options.fuel = Some(fuel);
            let scheduler = scheduler(guest, options);
            for function in ["fill", "random", "both"] {
                scheduler.spawn(function, NO_ARGUMENTS).unwrap();
            }
            for result in scheduler.run().unwrap() {
                if enough {
                    assert!(result.outcome.is_ok() && result.fuel <= fuel, "{result:?}");
                } else {
                    assert_eq!(trap_kind(&result), TrapKind::OutOfFuel, "{}", result.func);
                    assert!(result.fuel >= fuel, "{result:?}");
                }
            }
        }
    });
}

#[test]
fn a_deadlock_is_found() {
    on_each_engine(|options| {
        let scheduler = scheduler(BAD, options);
        for _ in 0..100 {
            scheduler.spawn("wait", NO_ARGUMENTS).unwrap();
        }
        let results = scheduler.run().unwrap();
        assert_eq!(results.len(), 100);
        for result in results {
            assert!(matches!(result.outcome, Err(TaskError::Deadlock(..))), "{result:?}");
        }
    });
}

/// Suspended in the middle of a call or a loop, or not begun: nothing is left to run.
#[test]
fn a_program_is_dropped_while_its_tasks_run() {
    on_each_engine(|options| {
        let module = wat::parse_str(BAD).unwrap();
        let runtime = Runtime::builder().workers(2).build().unwrap();
        for _ in 0..5 {
            let program = Program::load(&runtime, &module, options.clone()).unwrap();
            for function in ["wait", "spin", "swap", "quick"] {
                program.spawn(function, NO_ARGUMENTS).unwrap();
            }
        }
        let scheduler = scheduler(BAD, options);
        scheduler.spawn("wait", NO_ARGUMENTS).unwrap();
        scheduler.spawn("spin", NO_ARGUMENTS).unwrap();
        scheduler.shutdown();
        runtime.shutdown_background();
    });
}

#[test]
fn the_same_seed_gives_the_same_interleaving() {
    const TALK: &str = r#"
        (module
            (import "shiftwork" "log" (func $log (param i32 i32 i32)))
            (import "shiftwork" "sleep" (func $sleep (param i64)))
            (import "shiftwork" "random" (func $random (param i32 i32)))
            (memory 1)
            (func (export "main") (param $letter i32) (local $round i32)
                (loop $more
                    (call $random (i32.const 0) (i32.const 1))
                    (i32.store8 (i32.const 1)
                        (i32.add (i32.const 97) (i32.rem_u (i32.load8_u (i32.const 0)) (i32.const 26))))
                    (i32.store8 (i32.const 2) (local.get $letter))
                    (call $log (i32.const 2) (i32.const 1) (i32.const 2))
                    (call $sleep (i64.extend_i32_u (i32.load8_u (i32.const 0))))
                    (br_if $more (i32.lt_u
                        (local.tee $round (i32.add (local.get $round) (i32.const 1)))
                        (i32.const 10))))))"#;
    fn talk(mut options: Options, seed: u64) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        options.log = LogSink::new({
            let lines = lines.clone();
            move |line| lines.lock().unwrap().push(line.text.to_owned())
        });
        let mut simulation = Runtime::builder().workers(2).simulate(seed).unwrap();
        let program = Program::load(&simulation, wat::parse_str(TALK).unwrap(), options).unwrap();
        for letter in "ABCDE".bytes() {
            program.spawn("main", [i64::from(letter)]).unwrap();
        }
        simulation.block_on(program.finished()).unwrap();
        std::mem::take(&mut *lines.lock().unwrap())
    }
    on_each_engine(|options| {
        for seed in 0..3 {
            let first = talk(options.clone(), seed);
            assert_eq!(first.len(), 50);
            assert_eq!(first, talk(options.clone(), seed));
            assert_ne!(first, talk(options.clone(), seed + 100));
        }
    });
}

/// Only one engine has places; a task that finds none fails, and the others go on.
#[cfg(feature = "jit")]
#[test]
fn a_task_without_a_place_fails_alone() {
    let mut options = Options::default();
    options.engine = EngineKind::Wasmtime;
    options.num_workers = Some(2);
    options.limits.jit_tasks = 10;
    let scheduler = scheduler(BAD, options);
    for _ in 0..15 {
        scheduler.spawn("wait", NO_ARGUMENTS).unwrap();
    }
    let results = scheduler.run().unwrap();
    let (waited, refused): (Vec<_>, Vec<_>) =
        results.iter().partition(|result| matches!(result.outcome, Err(TaskError::Deadlock(..))));
    assert_eq!((waited.len(), refused.len()), (10, 5));
    for result in refused {
        assert_eq!(trap_kind(result), TrapKind::Limit);
    }
}
