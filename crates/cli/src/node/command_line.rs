//! The list of settings, as clap wants it.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, parser::ValueSource};

use super::{
    chosen::Chosen,
    option::{Setting, Shape},
    options::SETTINGS,
};

/// What it is for.
pub(crate) const ABOUT: &str = "\
Run a node: shards over Ethereum's JSON-RPC, for every Ethereum tool.

Each shard is a small chain of its own, named by an address, at http://…/shard/<address>. It comes
into being with its first transaction. Ten accounts with known keys are funded in each.";

const AFTER_HELP: &str = "\
Durations have a unit (100ms, 12s, 5m, 3h); sizes are bytes, or have K, M or G behind them.

Each option can also be given as an environment variable (SHIFTWORK_NODE_HTTP_PORT=8600) and in a
file in TOML (http.port = 8600; no-fee = true), which is shiftwork/node.toml in your configuration
folder or the one that --config or SHIFTWORK_NODE_CONFIG names. The command line counts before the
environment, that before the file, and that before the defaults. --print-config shows what holds.
What the environment or the file turns on, the command line turns off with =false (--no-fee=false).

The exit code says what came of it:
  0   it ran, and ended in order
  1   it could not start, or something was left undone at its end
  2   something is wrong with the options, the environment, the file or the genesis
SIGINT (Ctrl-C) and SIGTERM end it in order; a second one ends it at once.

Examples:
  shiftwork node
  shiftwork node --in-memory --http.port 8600
  shiftwork node --base-chain-url http://localhost:8545 --http.port 8600
  shiftwork node --print-config > node.toml";

/// What is on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The settings that were given, by name, as they were written.
    pub(crate) given: BTreeMap<&'static str, String>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) print_config: bool,
}

fn argument(setting: &'static Setting, order: usize) -> Arg {
    let argument =
        Arg::new(setting.name).long(setting.name).help_heading(setting.group).display_order(order);
    let default = (setting.show)(&Chosen::default());
    let help = match setting.shape {
        Shape::Flag => setting.help.to_owned(),
        _ if default.is_empty() => setting.help.to_owned(),
        _ => format!("{} [default: {default}]", setting.help),
    };
    let argument = argument.help(help);
    match setting.shape {
        // With `=`, or what follows would be taken for its value.
        Shape::Flag => argument
            .value_name("BOOL")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        Shape::Value(what) | Shape::Number(what) => {
            argument.value_name(what).allow_hyphen_values(true)
        }
        Shape::List(what) => argument.value_name(what).action(ArgAction::Append),
    }
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        let command = command
            .arg(
                Arg::new("config")
                    .long("config")
                    .value_name("FILE")
                    .help("The file to read [default: shiftwork/node.toml in your configuration folder]")
                    .value_parser(clap::value_parser!(PathBuf)),
            )
            .arg(
                Arg::new("print-config")
                    .long("print-config")
                    .action(ArgAction::SetTrue)
                    .help("Show what holds, in the format of the file, and who says so"),
            );
        let arguments = SETTINGS.iter().enumerate();
        command
            .args(arguments.map(|(order, setting)| argument(setting, order)))
            .after_help(AFTER_HELP)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Options::augment_args(command)
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Options, clap::Error> {
        let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let mut given = BTreeMap::new();
        for setting in SETTINGS.iter().filter(|setting| is_given(setting.name)) {
            let values = matches.get_many::<String>(setting.name).unwrap_or_default();
            let values: Vec<&str> = values.map(String::as_str).collect();
            given.insert(setting.name, values.join(","));
        }
        Ok(Options {
            given,
            config: matches.get_one("config").cloned(),
            print_config: matches.get_flag("print-config"),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Options::from_arg_matches(matches)?;
        Ok(())
    }
}
