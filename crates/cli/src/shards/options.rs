//! What can be asked of `shiftwork shard`.

use std::path::PathBuf;

use ::node::Settings;
use alloy_primitives::Address;
use clap::{Args, Subcommand};

use crate::node;

const AFTER_HELP: &str = "\
Without --url the data directory of `shiftwork node` is looked at. Its chain id, accounts and
genesis are part of the data: they come from the same environment variables and file as those of
the node, and what the node is given on its command line is given here too, behind --node:

  shiftwork shard list --data-dir DIR --node=--chain-id=5 --node=--accounts=0";

#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Subcommand)]
pub(crate) enum Action {
    /// List all shards, in order of their creation
    List(Where),
    /// Show how one shard is
    Show {
        /// The shard's address
        address: Address,
        #[command(flatten)]
        place: Where,
    },
    /// Read everything in a data directory, and say whether it is in order
    Check {
        #[command(flatten)]
        place: Where,
        /// Where a log is damaged, give up all that is behind the damage: make a copy before
        #[arg(long, conflicts_with = "url")]
        cut: bool,
    },
}

/// Where the shards are.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Where {
    /// A node that runs, such as http://127.0.0.1:8545
    #[arg(long, value_name = "URL", conflicts_with_all = ["data_dir", "node"])]
    url: Option<String>,
    /// A data directory that no node has open [default: as for `shiftwork node`]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// An option that the node is given on its command line
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    node: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is looked at.
pub(crate) enum Place {
    Node(String),
    Directory(Box<Settings>),
}

impl Options {
    fn place_options(&self) -> &Where {
        match &self.action {
            Action::List(place) | Action::Check { place, .. } | Action::Show { place, .. } => place,
        }
    }

    pub(crate) fn json(&self) -> bool {
        self.place_options().json
    }

    pub(crate) fn place(&self) -> Result<Place, String> {
        let place = self.place_options();
        if let Some(url) = &place.url {
            return Ok(Place::Node(url.clone()));
        }
        let mut arguments = place.node.clone();
        if let Some(directory) = &place.data_dir {
            arguments.push(format!("--data-dir={}", directory.display()));
        }
        node::settings_from(&arguments).map(|settings| Place::Directory(Box::new(settings)))
    }
}
