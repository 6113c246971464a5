//! Guests that go on calling while what they call is being closed.

use std::sync::mpsc;

use task::LogSink;

use super::*;

/// Waits for ever in each call that can wait, again and again, whatever the answer is.
const DEFIANT: &str = r#"
    (table (export "table") 1 funcref)
    (elem (i32.const 0) $defiant)
    (func $defiant (param $channel i64) (result i64)
        (loop $again
            (drop (call $chan_recv
                (local.get $channel) (i32.const 0) (i32.const 8) (i32.const 8)))
            (drop (call $chan_close (local.get $channel)))
            (local.set $channel (call $chan_open (i32.const 0)))
            (drop (call $chan_send (local.get $channel) (i32.const 0) (i32.const 8)))
            (drop (call $spawn (i32.const 0) (local.get $channel)))
            (drop (call $lock
                (call $mutex_open (i32.const 0) (i32.const 8))
                (i32.const 0) (i32.const 8) (i32.const 8)))
            (i64.store (i32.const 0) (local.get $channel))
            (drop (call $select (i32.const 0) (i32.const 1) (i64.const -1)))
            (call $sleep (i64.const 1000000000000))
            (call $yield_now)
            (br $again))
        (i64.const 0))
    (func (export "main") (result i64) (call $defiant (call $chan_open (i32.const 0))))
"#;

#[test]
fn a_guest_that_calls_on_after_a_shutdown_is_ended() {
    for engine in engines() {
        let street = Street::new(engine);
        let program = street.load(&module(DEFIANT), |_| ()).unwrap();
        for _ in 0..4 {
            program.spawn("main", NO_ARGUMENTS).unwrap();
        }
        street.neighbour_finishes();
        program.shutdown();
        let results = program.run().unwrap();
        assert_eq!(results.len(), 4, "none was spawned after the shutdown");
        for result in results {
            assert_eq!(result.outcome, Err(TaskError::Cancelled), "{engine:?}");
        }
        assert!(program.spawn("main", NO_ARGUMENTS).is_err());
        assert_eq!(program.stats().memory, 0);
    }
}

/// Each blocking call is answered with code 4, once it waits and when it is made after that.
#[test]
fn a_guest_that_is_asked_to_end_is_told_so_in_every_call() {
    let guest = r#"
        (table (export "table") 1 funcref)
        (elem (i32.const 0) $never)
        (func $never (param i64) (result i64) (unreachable))
        (func (export "main") (result i64) (local $channel i64) (local $codes i64)
            (call $log (i32.const 2) (i32.const 0) (i32.const 0))
            (local.set $channel (call $chan_open (i32.const 0)))
            (local.set $codes
                (i64.extend_i32_s (call $chan_recv
                    (local.get $channel) (i32.const 0) (i32.const 8) (i32.const 8))))
            (local.set $codes (i64.add
                (i64.mul (local.get $codes) (i64.const 10))
                (i64.extend_i32_s
                    (call $chan_send (local.get $channel) (i32.const 0) (i32.const 8)))))
            (i64.store (i32.const 0) (local.get $channel))
            (local.set $codes (i64.sub
                (i64.mul (local.get $codes) (i64.const 10))
                (i64.extend_i32_s
                    (call $select (i32.const 0) (i32.const 1) (i64.const -1)))))
            (local.set $codes (i64.add
                (i64.mul (local.get $codes) (i64.const 10))
                (i64.extend_i32_s (call $lock
                    (call $mutex_open (i32.const 0) (i32.const 8))
                    (i32.const 0) (i32.const 8) (i32.const 8)))))
            (local.set $codes (i64.sub
                (i64.mul (local.get $codes) (i64.const 10))
                (call $spawn (i32.const 0) (i64.const 0))))
            (local.set $codes (i64.add
                (i64.mul (local.get $codes) (i64.const 10))
                (i64.extend_i32_s (call $await (i64.const 1) (i32.const 0)))))
            (local.get $codes))"#;
    for engine in engines() {
        let street = Street::new(engine);
        let (begun, begins) = mpsc::channel();
        let log = LogSink::new(move |_| begun.send(()).unwrap());
        let program = street.load(&module(guest), |options| options.log = log).unwrap();
        // Task 1 is only there to be awaited: it waits too.
        let tasks = [(); 2].map(|()| program.spawn("main", NO_ARGUMENTS).unwrap());
        // One that has not begun is asked nothing.
        tasks.iter().for_each(|_| begins.recv().unwrap());
        street.neighbour_finishes();
        assert!(program.cancel(tasks[1]));
        // The other one would be found in a deadlock otherwise.
        program.shutdown();
        let results = program.run().unwrap();
        assert_eq!(returned(&results[1]), 444_444, "{engine:?}");
    }
}

/// Those who wait when a channel closes are told, and what they do to it then changes nothing.
#[test]
fn a_channel_is_closed_by_many_at_once_while_others_wait() {
    let guest = r#"
        (table (export "table") 3 funcref)
        (elem (i32.const 0) $receiver $sender $closer)
        (func $receiver (param $channel i64) (result i64) (local $code i32)
            (loop $more
                (local.set $code (call $chan_recv
                    (local.get $channel) (i32.const 0) (i32.const 8) (i32.const 8)))
                (br_if $more (i32.eqz (local.get $code))))
            (drop (call $chan_close (local.get $channel)))
            (i64.extend_i32_s (local.get $code)))
        (func $sender (param $channel i64) (result i64) (local $code i32)
            (loop $more
                (local.set $code
                    (call $chan_send (local.get $channel) (i32.const 0) (i32.const 8)))
                (br_if $more (i32.eqz (local.get $code))))
            (drop (call $chan_close (local.get $channel)))
            (i64.extend_i32_s (local.get $code)))
        (func $closer (param $channel i64) (result i64)
            (call $yield_now)
            (i64.extend_i32_s (i32.gt_u (call $chan_close (local.get $channel)) (i32.const 1))))
        (func (export "main") (result i64) (local $channel i64) (local $left i32)
            (local.set $channel (call $chan_open (i32.const 1)))
            (local.set $left (i32.const 8))
            (loop $more
                (drop (call $spawn (i32.const 0) (local.get $channel)))
                (drop (call $spawn (i32.const 1) (local.get $channel)))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br_if $more (local.get $left)))
            (drop (call $spawn (i32.const 2) (local.get $channel)))
            (drop (call $spawn (i32.const 2) (local.get $channel)))
            (i64.const 0))"#;
    for _ in 0..20 {
        beside_a_neighbour(
            guest,
            |_| (),
            |program, results| {
                assert_eq!(results.len(), 19);
                assert_eq!(returned(&results[0]), 0);
                for told in &results[1..17] {
                    assert_eq!(returned(told), 1, "{}", told.func);
                }
                for closer in &results[17..] {
                    assert_eq!(returned(closer), 0, "closed, or closed already");
                }
                assert_eq!((program.stats().channels, program.stats().bytes_in_flight), (0, 0));
            },
        );
    }
}

/// The log is somebody's code. In one step a task gives a receiver its message and lets the log panic.
#[test]
fn a_task_sends_and_lets_the_log_panic_and_the_receiver_goes_on() {
    let guest = r#"
        (table (export "table") 2 funcref)
        (elem (i32.const 0) $receiver $sender)
        (func $receiver (param $channel i64) (result i64)
            (i64.extend_i32_s (call $chan_recv
                (local.get $channel) (i32.const 0) (i32.const 8) (i32.const 8))))
        (func $sender (param $channel i64)
            (drop (call $chan_send (local.get $channel) (i32.const 0) (i32.const 8)))
            (call $log (i32.const 0) (i32.const 0) (i32.const 0)))
        (func (export "main") (result i64) (local $channel i64)
            (local.set $channel (call $chan_open (i32.const 0)))
            (drop (call $spawn (i32.const 0) (local.get $channel)))
            (call $sleep (i64.const 1000000))
            (call $spawn (i32.const 1) (local.get $channel)))"#;
    for engine in engines() {
        // In the simulated runtime, where the receiver waits when the sleep is over.
        let mut simulation = Runtime::builder().workers(1).on_report(|_| {}).simulate(1).unwrap();
        let mut options = Options::default();
        options.engine = engine;
        options.limits.jit_tasks = 10;
        options.log = LogSink::new(|_| panic!("no room"));
        let program = Program::load(&simulation, module(guest), options).unwrap();
        program.spawn("main", NO_ARGUMENTS).unwrap();
        let results = simulation.block_on(program.finished()).unwrap();
        assert_eq!((returned(&results[0]), returned(&results[1])), (3, 0), "{engine:?}");
        assert!(matches!(results[2].outcome, Err(TaskError::Panicked(_))), "{results:?}");
        assert_eq!((program.stats().live, program.stats().memory), (0, 0));
    }
}
