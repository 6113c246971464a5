//! `eth_call`s per second, and how long each takes.

use std::time::{Duration, Instant};

use super::{
    CONNECTIONS, Kind, Sending,
    clients::{self, Requests},
    load::Load,
    server::{Server, Who},
    throughput::own_cpu,
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
    let calls: Vec<_> = (0..CONNECTIONS).map(|index| load.balance_call(index)).collect();
    let (before, own_before, start) = (server.cpu(), own_cpu(), Instant::now());
    let in_time = |_: &&[u8]| start.elapsed() < length;
    let callers = calls
        .iter()
        .map(|call| -> Requests<'_> { Box::new(std::iter::repeat(&**call).take_while(in_time)) });
    let writers = (0..WRITERS * usize::from(loaded)).map(|index| -> Requests<'_> {
        let mine = writes.iter().skip(index).step_by(WRITERS).flatten();
        Box::new(mine.map(|request| &**request).take_while(in_time))
    });
    let mut times = clients::ask_all(server.address, callers.chain(writers).collect())?;
    let written = times.split_off(CONNECTIONS).iter().map(Vec::len).sum::<usize>();
    let mut times = times.concat();
    let seconds = length.as_secs_f64();
    let (server, own) = ((server.cpu() - before) / seconds, (own_cpu() - own_before) / seconds);
    let line = |row: &str, unit, value| {
        let line = Line::new(&format!("{}{row}", args.workload), who.name(), unit, value);
        line.with("writes_per_second", written as f64 / seconds)
            .with("generator_cores", own)
            .with("server_cores", server)
    };
    Ok(vec![
        line("", "calls/s", times.len() as f64 / seconds),
        line("_p99", "ms", percentile(&mut times, 99.0)),
    ])
}
