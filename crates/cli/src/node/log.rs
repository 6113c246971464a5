//! Where does the log go, and what does it look like?

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// An object in each line.
    Json,
}

impl LogFormat {
    pub(crate) fn parse(text: &str) -> Result<LogFormat, String> {
        match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(format!("`{text}` is neither text nor json")),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        }
    }
}

/// `off`, `error`, `warn`, `info`, `debug`, `trace`, or a list such as `info,node=debug`.
pub(crate) fn level(text: &str) -> Result<String, String> {
    let filter = EnvFilter::builder().parse(text);
    // A word that is no level would be taken for the name of a target, and show everything of it.
    let is_known = |part: &str| {
        let level = part.rsplit('=').next().unwrap_or(part).to_ascii_lowercase();
        ["off", "error", "warn", "info", "debug", "trace"].contains(&level.as_str())
    };
    if filter.is_err() || !text.split(',').all(is_known) {
        return Err(format!(
            "`{text}` is no level: give off, error, warn, info, debug or trace, or a list such as \
             info,node=debug"
        ));
    }
    Ok(text.to_owned())
}

/// From now on the log goes to standard error.
pub(crate) fn start(format: LogFormat, level: &str) {
    let filter = EnvFilter::builder().parse_lossy(level);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // Twice in a process is once too often, and the first counts.
    let _ = match format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => {
            let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            builder.with_ansi(colour && io::stderr().is_terminal()).try_init()
        }
    };
}
