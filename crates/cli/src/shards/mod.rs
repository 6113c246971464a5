//! `shiftwork shard`: which shards are there, how are they, and are their data in order?

mod directory;
mod options;
mod remote;
mod report;

pub(crate) use options::Options;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use options::{Action, Place};

/// The exit code when what was asked for can not be meant; otherwise a failure is 1.
const USAGE: u8 = 2;

pub(crate) fn run(options: &Options) -> ExitCode {
    match execute(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, why)) => {
            let why = format!("error: {why}\n");
            let _ = io::stderr().write_all(crate::text::visible(&why).as_bytes());
            ExitCode::from(code)
        }
    }
}

fn execute(options: &Options) -> Result<(), (u8, String)> {
    let failed = |why: String| (1, why);
    let place = options.place().map_err(|why| (USAGE, why))?;
    let text = match (&options.action, place) {
        (Action::List(_), Place::Node(url)) => {
            let shards = remote::Remote::new(&url).and_then(|node| node.list()).map_err(failed)?;
            report::list(&shards, options.json())
        }
        (Action::Show { address, .. }, Place::Node(url)) => {
            let node = remote::Remote::new(&url).map_err(failed)?;
            report::show(&node.status(*address).map_err(failed)?, options.json())
        }
        (Action::Check { .. }, Place::Node(_)) => {
            let why = "a running node keeps its data in order itself: check a data directory \
                       (--data-dir) when no node has it open, and see /ready of a node that runs";
            return Err((USAGE, why.to_owned()));
        }
        (Action::List(_), Place::Directory(settings)) => {
            let shards = directory::Opened::open(&settings).map_err(failed)?.list();
            report::list(&shards, options.json())
        }
        (Action::Show { address, .. }, Place::Directory(settings)) => {
            let opened = directory::Opened::open(&settings).map_err(failed)?;
            report::show(&opened.status(*address).map_err(failed)?, options.json())
        }
        (Action::Check { cut, .. }, Place::Directory(settings)) => {
            report::check(&directory::check(&settings, *cut).map_err(failed)?, options.json())
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever read our output has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error.to_string())),
        _ => Ok(()),
    }
}
