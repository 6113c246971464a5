//! What a file of bytes stands for: a program, who starts it, and who disturbs it.

use arbitrary::Arbitrary;

/// Functions of a program at most.
pub(super) const FUNCTIONS_MAX: usize = 5;

/// Locals of a function that hold what calls have returned.
pub(super) const SLOTS: u8 = 6;

#[derive(Debug, Arbitrary)]
pub(super) struct Scenario {
    /// One to four.
    pub(super) workers: u8,
    pub(super) seed: u16,
    /// Operations of a slice.
    pub(super) threshold: u16,
    pub(super) tight: Tight,
    pub(super) functions: Vec<Function>,
    /// The first tasks: which function, with which argument.
    pub(super) tasks: Vec<(u8, Argument)>,
    pub(super) acts: Vec<Act>,
}

/// Which limits are reached at once.
#[derive(Debug, Arbitrary)]
pub(super) struct Tight {
    pub(super) tasks: bool,
    pub(super) results: bool,
    pub(super) messages: bool,
    pub(super) bytes: bool,
    pub(super) memory: bool,
    pub(super) select: bool,
}

#[derive(Debug, Arbitrary)]
pub(super) struct Function {
    pub(super) kind: Kind,
    pub(super) body: Vec<Op>,
}

/// The type of a function. Guests can spawn the first two.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum Kind {
    Answers,
    Silent,
    TakesInt,
    TakesNothing,
    AnswersTwice,
}

/// Something that a guest does.
#[derive(Debug, Arbitrary)]
pub(super) enum Op {
    /// Calls the host, and keeps the result.
    Call {
        import: u8,
        arguments: [Argument; 4],
        keep: u8,
    },
    /// Spawns a function that there is.
    Spawn {
        function: u8,
        argument: Argument,
        keep: u8,
    },
    /// Sends to a channel of a small number, from a place that there is.
    Send {
        channel: u8,
        len: u8,
    },
    /// Receives from such a channel.
    Receive {
        channel: u8,
        room: u8,
    },
    /// Locks a mutex of a small number, does something, and unlocks it.
    Locked {
        mutex: u8,
        room: u8,
        len: u8,
        body: Vec<Op>,
    },
    /// Writes ids to the memory, and selects.
    Select {
        channels: [u8; 3],
        timeout: Argument,
    },
    Store {
        at: Argument,
        value: Argument,
    },
    Load {
        at: Argument,
        keep: u8,
    },
    Repeat {
        times: u8,
        body: Vec<Op>,
    },
    /// If what a call has returned is this code, as it is or negative.
    If {
        slot: u8,
        code: u8,
        body: Vec<Op>,
    },
    Work(u8),
    GrowMemory(Argument),
    CallIndirect {
        index: Argument,
        argument: Argument,
    },
    Loop,
    Recurse,
    Unreachable,
    Divide {
        by: Argument,
    },
    Return,
}

/// A number.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum Argument {
    /// What a call has returned.
    Slot(u8),
    /// What the function was called with.
    Parameter,
    Small(i8),
    /// One where things change: see `EDGES`.
    Edge(u8),
    Channel(u8),
    Mutex(u8),
    Any(i64),
}

/// Numbers near the ends of a page, of an `i32`, of an `i64`, and of what ids are made of.
pub(super) const EDGES: [i64; 24] = [
    0,
    4,
    8,
    16,
    1 << 12,
    (1 << 12) + 1,
    (1 << 16) - 8,
    (1 << 16) - 4,
    (1 << 16) - 1,
    1 << 16,
    (1 << 16) + 1,
    1 << 17,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 4,
    (1 << 32) - 1,
    1 << 32,
    -8,
    -1,
    1 << 60,
    1 << 61,
    (1 << 60) | (1 << 61) | 1,
    i64::MAX,
    i64::MIN,
];

/// Something that Rust does meanwhile.
#[derive(Debug, Arbitrary)]
pub(super) enum Act {
    /// So many nanoseconds pass.
    Wait(u16),
    Cancel(u8),
    Spawn(u8, Argument),
    /// Asks for what is known of all tasks.
    Inspect,
    /// Awaits one task, for a moment.
    Await(u8),
    Shutdown,
    /// Drops the program while its tasks run.
    Leave,
}

impl Argument {
    /// The number, where there is no guest whose slots could be asked.
    pub(super) fn outside(self) -> i64 {
        match self {
            Argument::Slot(_) | Argument::Parameter => 0,
            Argument::Small(number) => number.into(),
            Argument::Edge(at) => EDGES[usize::from(at) % EDGES.len()],
            Argument::Channel(number) => channel(number),
            Argument::Mutex(number) => mutex(number),
            Argument::Any(number) => number,
        }
    }
}

/// The id of one of the first channels.
pub(super) fn channel(number: u8) -> i64 {
    (1 << 60) | i64::from(number % 4 + 1)
}

/// The id of one of the first mutexes.
pub(super) fn mutex(number: u8) -> i64 {
    (1 << 61) | i64::from(number % 4 + 1)
}
