//! Guests that call with pointers outside their memory, and with handles that are not theirs.

use super::*;

/// The ids of the first channel and the first mutex that a program opens.
const CHANNEL: i64 = (1 << 60) | 1;
const MUTEX: i64 = (1 << 61) | 1;

/// The length of a guest's memory.
const END: i64 = 1 << 16;

/// Calls to be made, each in a task of its own, and what they are to return.
#[derive(Default)]
struct Tries {
    functions: String,
    expected: Vec<(String, i64)>,
}

impl Tries {
    /// `call` is as in WAT; `wide`: it returns an `i64`.
    fn add(&mut self, call: &str, wide: bool, expected: i64) {
        let name = format!("try {}", self.expected.len());
        let result =
            if wide { format!("({call})") } else { format!("(i64.extend_i32_s ({call}))") };
        self.functions += &format!("(func (export \"{name}\") (result i64) {result})\n");
        self.expected.push((format!("{name}: {call}"), expected));
    }

    fn int(&mut self, call: &str, expected: i64) {
        self.add(call, false, expected);
    }

    fn id(&mut self, call: &str, expected: i64) {
        self.add(call, true, expected);
    }

    /// A call that returns nothing returns, and the memory is as it was.
    fn nothing(&mut self, call: &str) {
        self.add(&format!("block (result i64) ({call}) (i64.load (i32.const 0))"), true, 0);
    }

    /// Makes them all, after `main` has opened a mutex and a channel, with a message in it.
    #[track_caller]
    fn check(&self) {
        let guest = format!(
            r#"(table (export "table") 3 funcref)
            (elem (i32.const 1) $other $wrong)
            (func $other (param i64) (result i64) (i64.const 0))
            (func $wrong (param i32) (result i64) (i64.const 0))
            (func (export "main") (result i64)
                (drop (call $mutex_open (i32.const 0) (i32.const 8)))
                (drop (call $chan_send
                    (call $chan_open (i32.const 2)) (i32.const 0) (i32.const 8)))
                (i64.const 0))
            {}"#,
            self.functions
        );
        for engine in engines() {
            let street = Street::new(engine);
            let program = street.load(&module(&guest), |_| ()).unwrap();
            program.spawn("main", NO_ARGUMENTS).unwrap();
            program.run().unwrap();
            let before = program.stats();
            for at in 0..self.expected.len() {
                program.spawn(&format!("try {at}"), NO_ARGUMENTS).unwrap();
            }
            let results = program.run().unwrap();
            for (result, (what, expected)) in results[1..].iter().zip(&self.expected) {
                let returned = Ok(vec![Value::I64(*expected)]);
                assert_eq!(result.outcome, returned, "{engine:?}, {what}");
            }
            let after = program.stats();
            assert_eq!(after.spawned, 1 + self.expected.len() as u64, "nothing else was spawned");
            assert_eq!(
                (after.channels, after.mutexes, after.bytes_in_flight),
                (before.channels, before.mutexes, before.bytes_in_flight),
                "nothing was sent, taken or opened"
            );
            street.neighbour_finishes();
        }
    }
}

/// Pointers and lengths that are no part of a page.
const OUTSIDE: [(i64, i64); 9] = [
    (0, END + 1),
    (END, 1),
    (END + 1, 0),
    (1, END),
    (-1, 1),
    (-8, 16),
    (0, -1),
    (i32::MIN as i64, 0),
    (i32::MAX as i64, i32::MAX as i64),
];

#[test]
fn pointers_outside_the_memory_are_refused_in_every_call() {
    let mut tries = Tries::default();
    for (at, len) in OUTSIDE {
        let part = format!("(i32.const {at}) (i32.const {len})");
        tries.id(&format!("call $spawn_with (i32.const 1) {part}"), -9);
        tries.int(&format!("call $input {part}"), -9);
        tries.int(&format!("call $chan_send (i64.const {CHANNEL}) {part}"), 9);
        tries.int(&format!("call $chan_recv (i64.const {CHANNEL}) {part} (i32.const 0)"), 9);
        tries.id(&format!("call $mutex_open {part}"), -9);
        tries.int(&format!("call $lock (i64.const {MUTEX}) {part} (i32.const 0)"), 9);
        tries.int(&format!("call $unlock (i64.const {MUTEX}) {part}"), 9);
        tries.nothing(&format!("call $log (i32.const 0) {part}"));
        tries.nothing(&format!("call $random {part}"));
    }
    for at in [END - 3, END, -1, -4, i32::MIN.into(), i32::MAX.into()] {
        let buffer = "(i32.const 0) (i32.const 8)";
        tries.int(&format!("call $chan_recv (i64.const {CHANNEL}) {buffer} (i32.const {at})"), 9);
        tries.int(&format!("call $lock (i64.const {MUTEX}) {buffer} (i32.const {at})"), 9);
        tries.int(&format!("call $await (i64.const 1) (i32.const {at})"), 9);
        tries.int(&format!("call $select (i32.const {at}) (i32.const 1) (i64.const 0)"), -9);
    }
    for (at, count) in [(0, -1), (0, i32::MIN), (65529, 1), (-16, 2)] {
        let list = format!("(i32.const {at}) (i32.const {count})");
        tries.int(&format!("call $select {list} (i64.const 0)"), -9);
    }
    tries.check();
}

/// What is no channel, no mutex, or no task: those of another kind, of another program, of nobody.
#[test]
fn foreign_handles_are_no_handles() {
    let mut tries = Tries::default();
    // The neighbour has two channels and task 2, and this program has one channel and no mutex 2.
    for nobody in [0, 1, -1, MUTEX, MUTEX + 1, CHANNEL + 1, CHANNEL | MUTEX, i64::MAX, i64::MIN] {
        let channel = format!("(i64.const {nobody})");
        let buffer = "(i32.const 0) (i32.const 8)";
        tries.int(&format!("call $chan_send {channel} {buffer}"), 6);
        tries.int(&format!("call $chan_recv {channel} {buffer} (i32.const 8)"), 6);
        tries.int(&format!("call $chan_close {channel}"), 6);
        let list = format!("(i64.store (i32.const 8) {channel})");
        tries.int(
            &format!(
                "block (result i32) {list} \
                 (call $select (i32.const 8) (i32.const 1) (i64.const -1))"
            ),
            -6,
        );
    }
    for nobody in [0, 1, -1, CHANNEL, MUTEX + 1, CHANNEL | MUTEX, i64::MAX, i64::MIN] {
        let mutex = format!("(i64.const {nobody}) (i32.const 0) (i32.const 8)");
        tries.int(&format!("call $lock {mutex} (i32.const 8)"), 6);
        tries.int(&format!("call $unlock {mutex}"), 6);
        tries.int(&format!("call $mutex_close (i64.const {nobody})"), 6);
    }
    for nobody in [0, -1, CHANNEL, MUTEX, 1_000_000, i64::MAX, i64::MIN] {
        tries.int(&format!("call $await (i64.const {nobody}) (i32.const 0)"), 6);
    }
    // Not locked by the one who calls.
    tries.int(&format!("call $unlock (i64.const {MUTEX}) (i32.const 0) (i32.const 8)"), 9);
    // Oneself: whoever it is.
    tries.int("call $await (call $self) (i32.const 0)", 9);
    // Entries that are empty, of another type, or not there.
    for index in [0, 2, 3, -1, i32::MAX, i32::MIN] {
        tries.id(&format!("call $spawn (i32.const {index}) (i64.const 0)"), -9);
        let input = "(i32.const 0) (i32.const 8)";
        tries.id(&format!("call $spawn_with (i32.const {index}) {input}"), -9);
    }
    tries.check();
}

#[test]
fn closed_channels_stay_closed() {
    // Each line: if the code is not the one that is expected, return the line's number.
    let guest = r#"
        (func (export "main") (result i64) (local $channel i64)
            (local.set $channel (call $chan_open (i32.const 2)))
            (drop (call $chan_send (local.get $channel) (i32.const 0) (i32.const 8)))
            (if (i32.ne (call $chan_close (local.get $channel)) (i32.const 0))
                (then (return (i64.const 1))))
            (if (i32.ne (call $chan_close (local.get $channel)) (i32.const 1))
                (then (return (i64.const 2))))
            (if (i32.ne
                    (call $chan_send (local.get $channel) (i32.const 0) (i32.const 8))
                    (i32.const 1))
                (then (return (i64.const 3))))
            (if (i32.ne
                    (call $chan_recv
                        (local.get $channel) (i32.const 0) (i32.const 8) (i32.const 8))
                    (i32.const 0))
                (then (return (i64.const 4))))
            (if (i32.ne
                    (call $chan_recv
                        (local.get $channel) (i32.const 0) (i32.const 8) (i32.const 8))
                    (i32.const 1))
                (then (return (i64.const 5))))
            (if (i32.ne (call $chan_close (local.get $channel)) (i32.const 1))
                (then (return (i64.const 6))))
            (i64.store (i32.const 0) (local.get $channel))
            (if (i32.ne
                    (call $select (i32.const 0) (i32.const 1) (i64.const -1))
                    (i32.const 0))
                (then (return (i64.const 7))))
            (if (i64.eq (call $chan_open (i32.const 0)) (local.get $channel))
                (then (return (i64.const 8))))
            (i64.const 0))"#;
    beside_a_neighbour(
        guest,
        |_| (),
        |_, results| {
            assert_eq!(returned(&results[0]), 0);
        },
    );
}
