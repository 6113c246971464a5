//! The load that nodes are given over JSON-RPC: the same requests from the same generator, for ours
//! and for theirs.
//!
//! A generator of 32 connections plays the clients. Everything is signed and written down before
//! the clock starts; while it runs the generator only sends bytes and looks for `"result"` in the
//! answers. The clock stops when every sender's nonce says that its last transaction is in a block.

mod calls;
mod clients;
mod dashboard;
mod http;
mod load;
mod server;
mod throughput;

pub use server::Who;

use crate::{Args, Line};

/// Connections of the generator.
pub const CONNECTIONS: usize = 32;
/// Who sends.
pub const SENDERS: usize = 100;
/// Requests in a batch.
pub const BATCH: usize = 100;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Transfer,
    Token,
}

/// How transactions are sent.
#[derive(Debug, Clone, Copy)]
pub struct Sending {
    pub kind: Kind,
    /// Ours has so many. A peer has one chain, which gets everything.
    pub shards: usize,
    /// A hundred to a request, or one.
    pub batches: bool,
    /// How many accounts receive.
    pub recipients: u64,
}

/// What a workload asks for.
#[derive(Debug, Clone, Copy)]
pub enum Workload {
    Send(Sending),
    /// `eth_call`s, beside nothing or beside writes.
    Call {
        loaded: bool,
    },
    Startup,
    /// Resident memory after so many transfers.
    Memory,
    /// From committed to seen in an open dashboard.
    DashboardDelay,
    /// What the generator can send at most, to somebody who does nothing.
    Ceiling,
}

impl Workload {
    /// By its name. `_auto` is the peer's usual way: each transaction mined by itself.
    pub fn find(name: &str) -> Option<Workload> {
        let send = |kind, shards, batches, recipients| {
            Some(Workload::Send(Sending { kind, shards, batches, recipients }))
        };
        match name {
            "transfer_1_auto" | "transfer_1_single" => send(Kind::Transfer, 1, false, 10_000),
            "token_1_auto" | "token_1_single" => send(Kind::Token, 1, false, 10_000),
            "transfer_1_batch" => send(Kind::Transfer, 1, true, 10_000),
            "token_1_batch" => send(Kind::Token, 1, true, 10_000),
            "transfer_64_single" => send(Kind::Transfer, 64, false, 10_000),
            "token_64_single" => send(Kind::Token, 64, false, 10_000),
            "transfer_64_batch" => send(Kind::Transfer, 64, true, 10_000),
            "token_64_batch" => send(Kind::Token, 64, true, 10_000),
            "accounts_100" => send(Kind::Transfer, 1, true, 100),
            "accounts_4000" => send(Kind::Transfer, 1, true, 4_000),
            "accounts_100000" => send(Kind::Transfer, 1, true, 100_000),
            "call_idle" => Some(Workload::Call { loaded: false }),
            "call_loaded" => Some(Workload::Call { loaded: true }),
            "startup" => Some(Workload::Startup),
            "memory" => Some(Workload::Memory),
            "dashboard_delay" => Some(Workload::DashboardDelay),
            "ceiling" => Some(Workload::Ceiling),
            _ => None,
        }
    }
}

/// Measures a workload, or says why that was not possible.
pub fn measure(args: &Args, who: Who) -> Result<Vec<Line>, String> {
    let workload = Workload::find(&args.workload);
    match workload.ok_or(format!("no workload {:?}", args.workload))? {
        Workload::Send(sending) => throughput::send(args, who, sending),
        Workload::Call { loaded } => calls::calls(args, who, loaded),
        Workload::Startup => server::startup(args, who),
        Workload::Memory => throughput::memory(args, who),
        Workload::DashboardDelay => dashboard::delay(args, who),
        Workload::Ceiling => throughput::ceiling(args, who),
    }
}
