//! `eth_call`s per second, and how long each takes.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use super::{
    CONNECTIONS, Kind, Sending,
    http::{self, Connection},
    load::Load,
    server::{Server, Who},
};
use crate::{Args, Line, report::percentile};

/// How long it is measured. The scale is in milliseconds.
const MILLIS: u64 = 4_000;
/// Connections that write beside the calls.
const WRITERS: usize = 4;

pub(super) fn calls(args: &Args, who: Who, loaded: bool) -> Result<Vec<Line>, String> {
    let length = Duration::from_millis(args.items(MILLIS));
    let server = Server::start(who, args.workers)?;
    let sending = Sending { kind: Kind::Token, shards: 1, batches: false, recipients: 10_000 };
    let mut load = Load::new(who, &server, sending)?;
    // Enough that writers do not run out of it.
    let writes = if loaded { load.requests(length.as_millis() as u64 * 10)? } else { Vec::new() };
    let (stop, address) = (&AtomicBool::new(false), server.address);
    let load = &load;
    let (mut times, written) = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CONNECTIONS)
            .map(|index| {
                scope.spawn(move || {
                    let mut connection = Connection::open(address)?;
                    let request = load.balance_call(index);
                    let mut times = Vec::new();
                    while !stop.load(Relaxed) {
                        let start = Instant::now();
                        http::check(connection.ask(&request)?)?;
                        times.push(start.elapsed().as_secs_f64() * 1e3);
                    }
                    Ok::<Vec<f64>, String>(times)
                })
            })
            .collect();
        let writes = &writes;
        let writers: Vec<_> = (0..WRITERS * usize::from(loaded))
            .map(|index| {
                scope.spawn(move || {
                    let mut connection = Connection::open(address)?;
                    let mut written = 0u64;
                    for request in writes.iter().skip(index).step_by(WRITERS).flatten() {
                        if stop.load(Relaxed) {
                            break;
                        }
                        http::check(connection.ask(request)?)?;
                        written += 1;
                    }
                    Ok::<u64, String>(written)
                })
            })
            .collect();
        std::thread::sleep(length);
        stop.store(true, Relaxed);
        let mut times = Vec::new();
        for caller in callers {
            times.extend(caller.join().expect("a caller does not panic")?);
        }
        let mut written = 0;
        for writer in writers {
            written += writer.join().expect("a writer does not panic")?;
        }
        Ok::<_, String>((times, written))
    })?;
    let seconds = length.as_secs_f64();
    let line = |row: &str, unit, value| {
        let line = Line::new(&format!("{}{row}", args.workload), who.name(), unit, value);
        line.with("writes_per_second", written as f64 / seconds)
    };
    Ok(vec![
        line("", "calls/s", times.len() as f64 / seconds),
        line("_p99", "ms", percentile(&mut times, 99.0)),
    ])
}
