//! The binary `shiftwork`: what can one do with it from a terminal?

mod demo;
mod http;
mod node;
mod policies;
mod run;
mod shards;
mod text;
mod timeline;
mod top;

use std::{io, process::ExitCode};

use clap::{Parser, Subcommand};

// Allocation dominates what a scheduler costs. The binary may choose an allocator; the library
// leaves that to its user.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One scheduler for everything that takes turns.
#[derive(Parser)]
#[command(name = "shiftwork", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a node: shards over Ethereum's JSON-RPC
    #[command(long_about = crate::node::ABOUT)]
    Node(crate::node::Options),
    /// Run a small mixed workload and show what each worker does
    Demo(demo::Options),
    /// Replay a workload under every policy and balancer, on virtual time, and compare them
    #[command(long_about = policies::ABOUT)]
    Policies(policies::Options),
    /// Run a WebAssembly program whose tasks are green threads
    #[command(long_about = run::ABOUT)]
    Run(run::Options),
    /// List, show and check the shards of a data directory or a running node
    Shard(shards::Options),
    /// Watch a running node or demo: workers, queues, and what takes turns
    #[command(long_about = top::ABOUT)]
    Top(top::Options),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Demo(options) => demo::run(&options),
        Command::Top(options) => top::run(&options),
        Command::Policies(options) => policies::run(&options),
        Command::Node(options) => return crate::node::run(&options),
        Command::Shard(options) => return shards::run(&options),
        // Its exit codes say more than whether it went well.
        Command::Run(options) => return run::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough (`shiftwork demo | head`).
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io_error = error.root_cause().downcast_ref::<io::Error>();
    io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
