//! Where the lines go that guests log: to standard error, with who wrote them.

use std::io::{self, Write};

use clap::ValueEnum;
use shiftwork::task::{LogLevel, LogSink};

use crate::text::visible;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    /// The least important lines that are printed.
    fn least(self) -> Option<LogLevel> {
        match self {
            Level::Off => None,
            Level::Error => Some(LogLevel::Error),
            Level::Warn => Some(LogLevel::Warn),
            Level::Info => Some(LogLevel::Info),
            Level::Debug => Some(LogLevel::Debug),
            Level::Trace => Some(LogLevel::Trace),
        }
    }
}

pub(crate) fn sink(level: Level) -> LogSink {
    let Some(least) = level.least() else { return LogSink::default() };
    LogSink::new(move |line| {
        if line.level <= least {
            // A guest writes one line, and can not move the cursor or pretend to be another.
            let text = visible(&line.text.replace('\n', "\\n")).into_owned();
            let text = format!("[{}] {}: {text}\n", line.task, line.level);
            // Who closed standard error does not want to know.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    })
}
