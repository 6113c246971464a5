//! `shiftwork node`: shards that anyone reaches with ordinary Ethereum tools.

mod banner;
mod chosen;
mod command_line;
mod genesis;
mod log;
mod option;
mod options;
mod parse;
pub(crate) mod paths;
mod signals;
mod source;
mod words;

pub(crate) use command_line::{ABOUT, Options};

use std::{
    io::{self, Write},
    process::ExitCode,
};

use ::node::Node;
use clap::{Args, FromArgMatches};

use crate::timeline::Timeline;
use signals::Signals;

/// It ran, and ended in order.
const CLEAN: u8 = 0;
/// It did not start, or something was left undone at its end.
const FAILED: u8 = 1;
/// What was asked for can not be meant.
const USAGE: u8 = 2;

pub(crate) fn run(options: &Options) -> ExitCode {
    ExitCode::from(match execute(options) {
        Ok(code) => code,
        Err((code, why)) => {
            let why = format!("error: {why}\n");
            // Who closed standard error does not want to know.
            let _ = io::stderr().write_all(crate::text::visible(&why).as_bytes());
            code
        }
    })
}

fn execute(options: &Options) -> Result<u8, (u8, String)> {
    let usage = |why: String| (USAGE, why);
    let failed = |why: String| (FAILED, why);
    let resolved = source::resolve(&options.given, options.config.as_deref()).map_err(usage)?;
    if options.print_config {
        let written = io::stdout().write_all(source::print(&resolved).as_bytes());
        return written.map(|()| CLEAN).map_err(|why| failed(why.to_string()));
    }
    let source::Resolved { chosen, warnings, .. } = resolved;
    log::start(chosen.log_format, &chosen.log_level);
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let timeline = chosen.timeline.as_deref().map(Timeline::create).transpose();
    let timeline = timeline.map_err(|why| usage(format!("{why:#}")))?;
    let settings = chosen.into_settings().map_err(usage)?;
    for warning in banner::warnings(&settings) {
        tracing::warn!("{warning}");
    }
    let signals = Signals::listen().map_err(|why| failed(why.to_string()))?;
    let node = Node::start(settings.clone()).map_err(|why| failed(why.to_string()))?;
    // Before anybody learns that it runs.
    signals.has_started();
    let banner = banner::text(&node, &settings);
    // Without anybody to read it, it runs all the same.
    let _ = io::stdout().write_all(banner.as_bytes()).and_then(|()| io::stdout().flush());
    tracing::info!(address = %node.address(), "the node listens");

    let signal = signals.wait();
    tracing::info!(
        signal,
        "shutting down: requests under way are answered, shards finish their block, all is synced. \
         At most {} s; once more, and nobody waits",
        settings.shutdown_deadline.as_secs_f32()
    );
    let recorded = node.timeline();
    let ended = node.shutdown();
    if let Some(timeline) = timeline {
        write(timeline, &recorded);
    }
    if ended.clean() {
        tracing::info!("{ended}");
        Ok(CLEAN)
    } else {
        tracing::error!("{ended}");
        Ok(FAILED)
    }
}

/// Writes what was recorded. That it could not be written changes nothing about how the node ended.
fn write(timeline: Timeline, recorded: &::node::Timeline) {
    tracing::info!("writing the timeline");
    let recordings = recorded.recordings();
    let recordings = recordings.each_ref().map(|(name, recording)| (*name, recording));
    match timeline.write(&recordings) {
        Ok(told) => told.lines().for_each(|line| tracing::info!("{}", line.trim())),
        Err(why) => tracing::error!("{why:#}"),
    }
}

/// What a node would be started with, if these were on its command line.
pub(crate) fn settings_from(arguments: &[String]) -> Result<::node::Settings, String> {
    let command = Options::augment_args(clap::Command::new("node").no_binary_name(true));
    let matches = command.try_get_matches_from(arguments).map_err(|why| why.to_string())?;
    let options = Options::from_arg_matches(&matches).map_err(|why| why.to_string())?;
    source::resolve(&options.given, options.config.as_deref())?.chosen.into_settings()
}
