//! Transactions that were accepted and are in blocks, per second.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    time::Instant,
};

use alloy_consensus::crypto::secp256k1::{recover_signer, sign_message};
use alloy_primitives::B256;

use super::{
    CONNECTIONS, Kind, Sending,
    clients::{self, Requests},
    http::{self, Connection, Prepared},
    load::Load,
    server::{Server, Who},
};
use crate::{Args, Line, report::median};

/// Sends everything, each connection the transactions of its senders, and returns when all is
/// acknowledged.
pub(super) fn send_all(
    address: std::net::SocketAddr,
    lists: &[Vec<Prepared>],
) -> Result<(), String> {
    let client = |index| -> Requests<'_> {
        let mine: Vec<&Vec<Prepared>> = lists.iter().skip(index).step_by(CONNECTIONS).collect();
        let longest = mine.iter().map(|list| list.len()).max().unwrap_or(0);
        Box::new((0..longest).flat_map(move |at| {
            let all: Vec<&[u8]> = mine.iter().filter_map(|list| Some(&**list.get(at)?)).collect();
            all
        }))
    };
    clients::ask_all(address, (0..CONNECTIONS).map(client).collect()).map(drop)
}

/// Accepted and committed transactions per second.
pub(super) fn send(args: &Args, who: Who, sending: Sending) -> Result<Vec<Line>, String> {
    let automine = matches!(who, Who::Anvil { automine: true });
    let count = if automine { args.items(40_000).min(4_000) } else { args.items(40_000) };
    let server = Server::start(who, args.workers)?;
    let mut load = Load::new(who, &server, sending)?;
    let mut connection = Connection::open(server.address)?;
    // To warm up, and so that all recipients exist who can.
    let warm = load.requests(count / 4)?;
    send_all(server.address, &warm)?;
    load.wait(&mut connection)?;

    let lists = load.requests(count)?;
    let (before, own_before) = (server.cpu(), own_cpu());
    let start = Instant::now();
    send_all(server.address, &lists)?;
    load.wait(&mut connection)?;
    let seconds = start.elapsed().as_secs_f64();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get()) as f64;
    let own = (own_cpu() - own_before) / seconds;
    let line = Line::new(&args.workload, who.name(), "tx/s", count as f64 / seconds)
        .with("generator_cores", own)
        .with("server_cores", (server.cpu() - before) / seconds);
    if who != Who::Shiftwork {
        return Ok(vec![line]);
    }
    // What recovery alone would allow on what the generator leaves.
    let allowed = recoveries_per_second() * (cores - own).max(0.1);
    let share = count as f64 / seconds / allowed;
    Ok(vec![line.with("recovery_share", share).with("sync_us", sync_micros()?)])
}

/// Resident memory after many transfers.
pub(super) fn memory(args: &Args, who: Who) -> Result<Vec<Line>, String> {
    let count = args.items(1_000_000);
    let sending = Sending { kind: Kind::Transfer, shards: 1, batches: true, recipients: 10_000 };
    let server = Server::start(who, args.workers)?;
    let mut load = Load::new(who, &server, sending)?;
    let mut connection = Connection::open(server.address)?;
    let mut sent = 0;
    while sent < count {
        let part = (count - sent).min(50_000);
        let lists = load.requests(part)?;
        send_all(server.address, &lists)?;
        load.wait(&mut connection)?;
        sent += part;
    }
    let line = Line::new(&args.workload, who.name(), "MB", server.resident_mb());
    Ok(vec![line.with("transactions", count as f64)])
}

/// What the generator reaches with a server that only answers.
pub(super) fn ceiling(args: &Args, who: Who) -> Result<Vec<Line>, String> {
    let io = |why: std::io::Error| why.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").map_err(io)?;
    let address = listener.local_addr().map_err(io)?;
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            std::thread::spawn(move || answer_all(socket));
        }
    });
    let request = http::prepare("/", &format!(r#"{{"params":["{}"]}}"#, "0".repeat(230)));
    let count = args.items(100_000);
    let lists: Vec<Vec<Prepared>> =
        (0..CONNECTIONS).map(|_| vec![request.clone(); count as usize / CONNECTIONS]).collect();
    let mut rates = Vec::new();
    for _ in 0..args.repeats {
        let start = Instant::now();
        send_all(address, &lists)?;
        rates.push(count as f64 / start.elapsed().as_secs_f64());
    }
    Ok(vec![Line::new(&args.workload, who.name(), "requests/s", median(&mut rates))])
}

fn answer_all(mut socket: std::net::TcpStream) {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{\"result\":1";
    let mut buffer = [0; 4_096];
    while matches!(socket.read(&mut buffer), Ok(read) if read > 0) {
        if socket.write_all(ANSWER).is_err() {
            return;
        }
    }
}

/// Seconds on a CPU of this process so far.
pub(super) fn own_cpu() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = |at: usize| fields.split(' ').nth(at).and_then(|field| field.parse::<f64>().ok());
    // User and system time, in hundredths of a second.
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

/// On one core, one by one, with the library that nodes use for one.
fn recoveries_per_second() -> f64 {
    let hash = B256::repeat_byte(7);
    let signature = sign_message(B256::with_last_byte(1), hash).expect("a key and a hash");
    let (count, start) = (5_000, Instant::now());
    for _ in 0..count {
        let signer = recover_signer(&signature, hash);
        std::hint::black_box(signer.expect("it was signed a line above"));
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

/// How long the disk takes for a small synced write, in the median.
fn sync_micros() -> Result<f64, String> {
    let path = std::env::temp_dir().join(format!("bench-node-sync-{}", std::process::id()));
    let mut file = fs::File::create(&path).map_err(|why| why.to_string())?;
    let mut samples = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        file.write_all(&[0; 4_096])
            .and_then(|()| file.sync_data())
            .map_err(|why| why.to_string())?;
        samples.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let _ = fs::remove_file(&path);
    Ok(median(&mut samples))
}
