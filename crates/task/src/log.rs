//! Where the lines go that guests log.

use std::{fmt, sync::Arc};

use crate::id::TaskId;

/// How important a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something went wrong.
    Error,
    /// Something may be wrong.
    Warn,
    /// What happens.
    Info,
    /// What helps to find a mistake.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The level that a guest has given: 0 to 4. Below is 0, and above is 4.
    pub(crate) fn of(number: i32) -> LogLevel {
        match number {
            ..=0 => LogLevel::Error,
            1 => LogLevel::Warn,
            2 => LogLevel::Info,
            3 => LogLevel::Debug,
            _ => LogLevel::Trace,
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        })
    }
}

/// A line that a guest has logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLine<'a> {
    /// The task.
    pub task: TaskId,
    /// How important it is.
    pub level: LogLevel,
    /// The line. Bytes that are no UTF-8 have been replaced.
    pub text: &'a str,
}

type Sink = dyn Fn(LogLine<'_>) + Send + Sync;

/// Takes the lines that guests log. By default they are dropped.
///
/// The function is called in the turn of the task, so it should be short. If it panics, that task
/// fails. Under [`EngineKind::Wasmtime`](crate::EngineKind::Wasmtime) it runs on the stack of the guest,
/// where 512 KiB are kept for it and for what it calls; one that uses more ends the process.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use task::{LogSink, NO_ARGUMENTS, Options, Scheduler};
///
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let mut options = Options::default();
/// options.log = LogSink::new({
///     let lines = lines.clone();
///     move |line| lines.lock().unwrap().push(format!("{}: {}", line.level, line.text))
/// });
/// let module = wat::parse_str(
///     r#"(module
///         (import "shiftwork" "log" (func $log (param i32 i32 i32)))
///         (memory 1)
///         (data (i32.const 0) "hello")
///         (func (export "main") (call $log (i32.const 2) (i32.const 0) (i32.const 5))))"#,
/// )?;
/// let scheduler = Scheduler::new(module, options)?;
/// scheduler.spawn("main", NO_ARGUMENTS)?;
/// scheduler.run()?;
/// assert_eq!(*lines.lock().unwrap(), ["info: hello"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct LogSink(Option<Arc<Sink>>);

impl LogSink {
    /// Lines go to this function.
    pub fn new(sink: impl Fn(LogLine<'_>) + Send + Sync + 'static) -> LogSink {
        LogSink(Some(Arc::new(sink)))
    }

    pub(crate) fn write(&self, task: TaskId, level: i32, text: &[u8]) {
        if let Some(sink) = &self.0 {
            let text = &String::from_utf8_lossy(text);
            sink(LogLine { task, level: LogLevel::of(level), text });
        }
    }
}

/// Two are equal if they are the same function.
impl PartialEq for LogSink {
    fn eq(&self, other: &LogSink) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Eq for LogSink {}

impl fmt::Debug for LogSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "LogSink(a function)" } else { "LogSink(none)" })
    }
}
