//! `shiftwork top`: what does a running node or demo do just now?
//!
//! `client` looks, `picture` says what happened between two looks, `model` keeps what has been
//! chosen, `view` draws it; `live` and `once` bring them together.

mod client;
mod keys;
mod live;
mod model;
mod once;
mod picture;
mod screen;
mod sort;
mod state;
mod view;
mod waiting;
mod words;

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use anyhow::{Result, anyhow, bail};
use clap::Args;

use client::Client;
use model::Model;
use sort::{Column, Sort};
use state::State;

pub(crate) const ABOUT: &str = "\
Watch a running node or demo: workers, queues, and what takes turns

Shows what each worker does and how busy it is, how much waits and how long, and the busiest of the
shards, processes and tasks. Press ? for the keys. Workers can be paused if the node was started
with --admin-api.";

#[derive(Args)]
pub(crate) struct Options {
    /// Where the program is
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8545")]
    url: String,
    /// How long from one look to the next, in seconds
    #[arg(long, value_name = "S", default_value = "1", value_parser = parse_interval,
        allow_negative_numbers = true)]
    interval: Duration,
    /// Print one frame as plain text, and end
    #[arg(long)]
    once: bool,
    /// The column to sort by
    #[arg(long, value_name = "COLUMN", value_enum, default_value_t = Column::Rate)]
    sort: Column,
    /// Sort the other way round
    #[arg(long)]
    reverse: bool,
    /// Show only what has this text in its kind, name, state or error
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(0.05..=3_600.0).contains(&seconds) {
        return Err("give from 0.05 to 3600 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let client = Client::new(&options.url).map_err(|why| anyhow!(words::clean(&why)))?;
    let mut model = Model::new(client.url());
    model.sort = Sort { by: options.sort, reversed: options.reverse };
    model.filter = words::clean(&options.filter);
    if options.once {
        return once::run(&client, model, options.interval);
    }
    if !io::stdout().is_terminal() {
        bail!("standard output is no terminal: use --once");
    }
    live::run(client, model, options.interval)
}

/// A look of which a failure is the end, told on a terminal that obeys.
fn look(client: &Client) -> Result<State> {
    client.look().map_err(|why| anyhow!(words::clean(&why)))
}
