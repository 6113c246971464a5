//! How does a program start tasks, wait for them, and let others run?

use core::time::Duration;

use crate::{
    error::{Error, check, positive},
    host,
};

/// What a task runs. Its argument is what it was spawned with, or the length of its input.
pub type Function = extern "C" fn(i64) -> i64;

/// A task: a name for it, which may be copied and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Task(i64);

impl Task {
    /// Starts a task that calls `function(argument)` in an instance of its own.
    pub fn spawn(function: Function, argument: i64) -> Result<Task, Error> {
        positive(host::spawn(table_index(function), argument)).map(Task)
    }

    /// Starts a task with bytes, which it reads with [`input`]. `function` gets their length.
    pub fn spawn_with(function: Function, bytes: &[u8]) -> Result<Task, Error> {
        let index = table_index(function);
        // SAFETY: the slice is readable.
        let answer = unsafe { host::spawn_with(index, bytes.as_ptr(), bytes.len() as i32) };
        positive(answer).map(Task)
    }

    /// Waits until it has ended, and gives its result. May be done many times, and by many.
    pub fn join(self) -> Result<i64, Error> {
        let mut result = 0;
        // SAFETY: the place for the result is ours.
        check(unsafe { host::wait(self.0, &mut result) }, 0)?;
        Ok(result)
    }

    /// The task that calls.
    pub fn current() -> Task {
        Task(host::myself())
    }

    /// Its number.
    pub fn id(self) -> i64 {
        self.0
    }

    /// The task with this number, if there is one.
    pub fn from_id(id: i64) -> Task {
        Task(id)
    }
}

/// The bytes that this task was spawned with, copied to the start of `buffer`; returns their length.
///
/// # Errors
/// `TooSmall` if they do not fit. The length was the argument of the task's function.
pub fn input(buffer: &mut [u8]) -> Result<usize, Error> {
    // SAFETY: the slice is ours to write.
    let answer = unsafe { host::input(buffer.as_mut_ptr(), buffer.len() as i32) };
    let length = positive(answer.into())? as usize;
    if length > buffer.len() { Err(Error::TooSmall(length)) } else { Ok(length) }
}

/// Lets others run first.
pub fn yield_now() {
    host::yield_now();
}

/// Waits for this long, or until this task is asked to end.
pub fn sleep(time: Duration) {
    host::sleep(nanoseconds(time));
}

pub(crate) fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Where the host finds a function: on wasm32 a pointer to a function is its place in the table.
fn table_index(function: Function) -> i32 {
    function as usize as i32
}
