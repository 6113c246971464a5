//! The nodes that are measured: how they are started, and what they use.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    SENDERS,
    http::{self, Connection},
};
use crate::{Args, Line, report::median};

/// No node takes as long to start.
const START_MAX: Duration = Duration::from_secs(30);

/// Whose node it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Ours, durable.
    Shiftwork,
    /// Anvil, in memory. It mines each transaction by itself, or what has come every second.
    Anvil { automine: bool },
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Shiftwork => "shiftwork",
            Who::Anvil { automine: true } => "anvil-automine",
            Who::Anvil { automine: false } => "anvil",
        }
    }

    /// The program, as the one who measures has found it.
    fn program(self) -> Result<PathBuf, String> {
        let variable = match self {
            Who::Shiftwork => "SHIFTWORK_BENCH_NODE",
            Who::Anvil { .. } => "SHIFTWORK_BENCH_ANVIL",
        };
        let path = std::env::var_os(variable).ok_or(format!("{variable} names no program"))?;
        Ok(path.into())
    }

    /// The path of requests about a shard. A peer has one chain.
    pub(super) fn path(self, shard: alloy_primitives::Address) -> String {
        match self {
            Who::Shiftwork => format!("/shard/{shard:#x}"),
            Who::Anvil { .. } => "/".to_owned(),
        }
    }
}

/// A node that runs. Dropped, it ends.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
    directory: Option<PathBuf>,
}

impl Server {
    /// Starts one, with accounts for all senders, and waits until it answers.
    pub(super) fn start(who: Who, workers: usize) -> Result<Server, String> {
        let io = |why: std::io::Error| format!("{} does not start: {why}", who.name());
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_err(io)?.port();
        let mut command = Command::new(who.program()?);
        let mut directory = None;
        match who {
            Who::Shiftwork => {
                let data =
                    std::env::temp_dir().join(format!("bench-node-{}-{port}", std::process::id()));
                command.args(["node", "--http.port", &port.to_string()]);
                command.args(["--accounts", &SENDERS.to_string()]);
                command.args(["--workers", &workers.to_string()]);
                command.args(["--pool.transactions", "1000000", "--pool.sender", "100000"]);
                command.args(["--pool.nonce-ahead", "100000", "--pool.bytes", "1GiB"]);
                command.arg("--data-dir").arg(&data);
                directory = Some(data);
            }
            Who::Anvil { automine } => {
                command.args(["--port", &port.to_string(), "--accounts", &SENDERS.to_string()]);
                command.args(["--threads", &workers.to_string()]);
                command.args(["--gas-limit", "30000000000", "--order", "fifo"]);
                command.args(["--no-request-size-limit", "--silent"]);
                if !automine {
                    command.args(["--block-time", "1"]);
                }
            }
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(io)?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut server = Server { child, address, directory };
        server.wait_until_it_answers(who)?;
        Ok(server)
    }

    fn wait_until_it_answers(&mut self, who: Who) -> Result<(), String> {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion","params":[]}"#;
        let request = http::prepare("/", body);
        let start = Instant::now();
        loop {
            if let Ok(mut connection) = Connection::open(self.address)
                && connection.ask(&request).is_ok_and(|answer| http::check(&answer).is_ok())
            {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("{} ended with {status}", who.name()));
            }
            if start.elapsed() > START_MAX {
                return Err(format!("{} did not answer within {START_MAX:?}", who.name()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Seconds on a CPU so far.
    pub(super) fn cpu(&self) -> f64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let nanos: u64 = tasks
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
            .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
            .sum();
        nanos as f64 / 1e9
    }

    /// Resident memory in MB.
    pub(super) fn resident_mb(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let text = text.unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or(0.0) * 1_024.0 / 1e6
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(directory) = &self.directory {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// From the start of the program to its first answer.
pub(super) fn startup(args: &Args, who: Who) -> Result<Vec<Line>, String> {
    let mut samples = Vec::new();
    for _ in 0..args.repeats.max(5) {
        let start = Instant::now();
        let server = Server::start(who, args.workers)?;
        samples.push(start.elapsed().as_secs_f64() * 1e3);
        drop(server);
    }
    Ok(vec![Line::new(&args.workload, who.name(), "ms", median(&mut samples))])
}
