//! Guests that take whatever they can get: time, stack, memory, tasks, channels.

use super::*;

#[test]
fn endless_loops_keep_nobody_from_finishing() {
    for engine in engines() {
        let street = Street::new(engine);
        let guest = module(r#"(func (export "main") (loop $again (br $again)))"#);
        let program = street.load(&guest, |_| ()).unwrap();
        for _ in 0..3 * WORKERS {
            program.spawn("main", NO_ARGUMENTS).unwrap();
        }
        // They still run when the neighbour is done.
        street.neighbour_finishes();
        assert_eq!(program.stats().live, 3 * WORKERS);
        program.shutdown();
        let results = program.run().unwrap();
        assert_eq!(results.len(), 3 * WORKERS);
        for result in results {
            assert_eq!(result.outcome, Err(TaskError::Cancelled), "{engine:?}");
        }
    }
}

#[test]
fn an_endless_loop_ends_with_its_fuel() {
    let guest = r#"(func (export "main") (loop $again (br $again)))"#;
    beside_a_neighbour(
        guest,
        |options| options.fuel = Some(1_000_000),
        |_, results| {
            assert_eq!(trapped(&results[0]), TrapKind::OutOfFuel);
        },
    );
}

#[test]
fn an_endless_start_function_is_a_task_like_any_other() {
    let guest = r#"
        (func $start (loop $again (br $again)))
        (start $start)
        (func (export "main"))"#;
    beside_a_neighbour(
        guest,
        |options| options.fuel = Some(1_000_000),
        |_, results| {
            assert_eq!(trapped(&results[0]), TrapKind::OutOfFuel);
        },
    );
}

#[test]
fn runaway_recursion_fails_that_task() {
    let guests = [
        r#"(func $main (export "main") (call $main))"#,
        // Frames of different sizes, and through a table.
        r#"(func $main (export "main") (result i64) (local i64 i64 i64 i64 i64 i64 i64 i64)
            (i64.add (call $main) (i64.const 1)))"#,
        r#"(table 1 funcref) (elem (i32.const 0) $main)
           (func $main (export "main") (call_indirect (i32.const 0)))"#,
    ];
    for guest in guests {
        beside_a_neighbour(
            guest,
            |_| (),
            |_, results| {
                assert_eq!(trapped(&results[0]), TrapKind::StackOverflow);
            },
        );
    }
}

#[test]
fn a_memory_bomb_is_told_no() {
    // Grows by a page until it can not, and writes to the end of all it has got.
    let guest = r#"
        (func (export "main") (result i64)
            (loop $more
                (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
            (i64.store
                (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 8))
                (i64.const 1))
            (i64.extend_i32_u (memory.size)))"#;
    beside_a_neighbour(
        guest,
        |options| options.limits.task_memory = 10 << 16,
        |_, results| assert_eq!(returned(&results[0]), 10),
    );
    beside_a_neighbour(
        guest,
        // The stack takes a part of the last one.
        |options| options.limits.program_memory = 8 << 16,
        |_, results| assert_eq!(returned(&results[0]), 7),
    );
}

#[test]
fn tasks_that_find_no_memory_fail_alone() {
    // Three that stay and have one page each, of five; the stacks take a part of the last one, so that
    // the fifth task finds none.
    let guest = r#"
        (table (export "table") 1 funcref)
        (elem (i32.const 0) $stay)
        (func $stay (param i64) (result i64)
            (i64.extend_i32_s
                (call $chan_recv (local.get 0) (i32.const 0) (i32.const 0) (i32.const 0))))
        (func (export "main") (result i64) (local $channel i64) (local $last i64)
            (local.set $channel (call $chan_open (i32.const 0)))
            (drop (call $spawn (i32.const 0) (local.get $channel)))
            (drop (call $spawn (i32.const 0) (local.get $channel)))
            (drop (call $spawn (i32.const 0) (local.get $channel)))
            (call $sleep (i64.const 1000000))
            (local.set $last (call $spawn (i32.const 0) (local.get $channel)))
            (if (i32.ne (call $await (local.get $last) (i32.const 0)) (i32.const 3))
                (then (unreachable)))
            (i64.extend_i32_s (call $chan_close (local.get $channel))))"#;
    for engine in engines() {
        // In the simulated runtime, where those who stay have begun when the sleep is over.
        let mut simulation = Runtime::builder().workers(WORKERS).simulate(1).unwrap();
        let mut options = Options::default();
        options.engine = engine;
        options.limits.program_memory = 5 << 16;
        let program = Program::load(&simulation, module(guest), options).unwrap();
        program.spawn("main", NO_ARGUMENTS).unwrap();
        let results = simulation.block_on(program.finished()).unwrap();
        assert_eq!(returned(&results[0]), 0);
        for stayed in &results[1..4] {
            assert_eq!(returned(stayed), 1, "it was closed while they waited");
        }
        assert_eq!(trapped(&results[4]), TrapKind::Limit);
        assert_eq!(program.stats().memory, 0);
    }
}

#[test]
fn a_spawn_bomb_is_told_no() {
    // Each spawns two of its kind, and stays until both have ended.
    let guest = r#"
        (table (export "table") 1 funcref)
        (elem (i32.const 0) $bomb)
        (func $bomb (param i64) (result i64) (local $left i64) (local $right i64)
            (local.set $left (call $spawn (i32.const 0) (i64.const 0)))
            (local.set $right (call $spawn (i32.const 0) (i64.const 0)))
            (drop (call $await (local.get $left) (i32.const 0)))
            (drop (call $await (local.get $right) (i32.const 0)))
            (i64.const 0))
        (func (export "main") (result i64) (call $bomb (i64.const 0)))"#;
    for engine in engines() {
        let street = Street::new(engine);
        let limits = |options: &mut Options| {
            (options.limits.tasks, options.limits.results) = (50, 1_000);
        };
        let program = street.load(&module(guest), limits).unwrap();
        program.spawn("main", NO_ARGUMENTS).unwrap();
        // Those that were told no end and make room for others, so it goes on until it is stopped.
        street.neighbour_finishes();
        program.shutdown();
        let results = program.run().unwrap();
        let stats = program.stats();
        assert!(stats.live_max <= 50, "{stats:?}");
        assert_eq!((stats.live, stats.memory), (0, 0), "{stats:?}");
        assert_eq!(results.len() as u64, stats.spawned.min(1_000));
    }
}

#[test]
fn a_channel_flood_is_told_no() {
    // Sends a full page to a channel that nobody reads, until it is told no: returns the code.
    let flood = |len: u32| {
        format!(
            r#"(func (export "main") (result i64) (local $channel i64) (local $code i32)
                (local.set $channel (call $chan_open (i32.const 1000)))
                (loop $more
                    (local.set $code
                        (call $chan_send (local.get $channel) (i32.const 0) (i32.const {len})))
                    (br_if $more (i32.eqz (local.get $code))))
                (i64.extend_i32_s (local.get $code)))"#
        )
    };
    let limits = |options: &mut Options| {
        options.limits.channel_capacity = 1_000;
        options.limits.bytes_in_flight = 1 << 20;
        options.limits.message_bytes = 60_000;
    };
    beside_a_neighbour(&flood(50_000), limits, |program, results| {
        assert_eq!(returned(&results[0]), 7, "bytes in flight");
        assert!(program.stats().bytes_in_flight <= 1 << 20);
    });
    beside_a_neighbour(&flood(60_001), limits, |program, results| {
        assert_eq!(returned(&results[0]), 7, "one message");
        assert_eq!(program.stats().bytes_in_flight, 0);
    });
    // As many as there is room for, and then it waits for ever.
    beside_a_neighbour(&flood(0), limits, |_, results| {
        assert!(matches!(results[0].outcome, Err(TaskError::Deadlock(..))), "{results:?}");
    });
}

#[test]
fn channels_and_mutexes_without_end_are_told_no() {
    let open = |call: &str| {
        format!(
            r#"(func (export "main") (result i64) (local $code i64) (local $count i64)
                (loop $more
                    (local.set $count (i64.add (local.get $count) (i64.const 1)))
                    (local.set $code (call {call}))
                    (br_if $more (i64.gt_s (local.get $code) (i64.const 0))))
                (i64.add (i64.mul (local.get $count) (i64.const 100)) (local.get $code)))"#
        )
    };
    let limits = |options: &mut Options| {
        (options.limits.channels, options.limits.mutexes) = (100, 100);
    };
    for call in ["$chan_open (i32.const 0)", "$mutex_open (i32.const 0) (i32.const 8)"] {
        beside_a_neighbour(&open(call), limits, |_, results| {
            assert_eq!(returned(&results[0]), 101 * 100 - 7);
        });
    }
}

/// On wasmi zeroes are written to all of a memory when an instance is made; whoever gets one that was left
/// by another has nothing to pay for.
#[test]
fn whoever_needs_a_large_instance_pays_for_its_making() {
    // Three that are there at the same time, and one after them.
    let guest = r#"(module
        (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
        (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
        (import "shiftwork" "sleep" (func $sleep (param i64)))
        (memory 64)
        (table (export "table") 1 funcref)
        (elem (i32.const 0) $stay)
        (func $stay (param i64) (call $sleep (i64.const 1000000000)))
        (func (export "main") (result i64) (local $last i64)
            (drop (call $spawn (i32.const 0) (i64.const 0)))
            (drop (call $spawn (i32.const 0) (i64.const 0)))
            (local.set $last (call $spawn (i32.const 0) (i64.const 0)))
            (drop (call $await (local.get $last) (i32.const 0)))
            (call $sleep (i64.const 1000000000))
            (call $spawn (i32.const 0) (i64.const 0))))"#;
    for engine in engines() {
        let mut simulation = Runtime::builder().workers(1).simulate(1).unwrap();
        let mut options = Options::default();
        options.engine = engine;
        options.limits.jit_tasks = 10;
        let module = wat::parse_str(guest).unwrap();
        let program = Program::load(&simulation, module, options).unwrap();
        program.spawn("main", NO_ARGUMENTS).unwrap();
        let results = simulation.block_on(program.finished()).unwrap();
        assert_eq!(returned(&results[0]), 5);
        let pages_price = (64 << 16) / 64;
        for made in &results[1..4] {
            let pays = made.fuel > pages_price - 3_000;
            assert_eq!(pays, engine == EngineKind::Wasmi, "{engine:?}: {}", made.fuel);
        }
        assert!(results[4].fuel < 1_000, "{engine:?}: {}", results[4].fuel);
    }
}
