//! A program that says what a test wants, in place of a node.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};

/// What it says, and has been told.
pub(crate) struct Script {
    /// Each look is a second later, and finds that much more done.
    pub(crate) seconds: u64,
    pub(crate) paused: bool,
    pub(crate) admin: bool,
    /// It hangs up without a word.
    pub(crate) gone: bool,
    /// Said in place of the state.
    pub(crate) instead: Option<Vec<u8>>,
}

/// It answers until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) script: Arc<Mutex<Script>>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script =
            Script { seconds: 100, paused: false, admin: true, gone: false, instead: None };
        let script = Arc::new(Mutex::new(script));
        let end = Arc::new(AtomicBool::new(false));
        let (said, ended) = (script.clone(), end.clone());
        let serve = move || {
            for socket in listener.incoming() {
                if ended.load(SeqCst) {
                    return;
                }
                // Who asks may have ended in the middle of it.
                let _ = answer(socket.unwrap(), &said);
            }
        };
        let thread = Some(thread::Builder::new().spawn(serve).unwrap());
        Server { address, script, end, thread }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn now(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().unwrap());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.store(true, SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn answer(mut socket: TcpStream, script: &Mutex<Script>) -> std::io::Result<()> {
    let mut from = BufReader::new(socket.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let at = head.len();
        if from.read_line(&mut head)? == 0 {
            return Ok(());
        }
        if let Some(n) = head[at..].strip_prefix("content-length: ") {
            length = n.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    let mut script = script.lock().unwrap();
    if script.gone {
        return Ok(());
    }
    let (status, said) = if head.starts_with("GET /dashboard/state HTTP/1.0\r\n") {
        script.seconds += 1;
        let state = || state(&script).to_string().into_bytes();
        ("200 OK", script.instead.clone().unwrap_or_else(state))
    } else if head.starts_with("POST / HTTP/1.0\r\n") {
        ("200 OK", obey(&mut script, &body).to_string().into_bytes())
    } else {
        ("404 Not Found", b"nothing here".to_vec())
    };
    write!(socket, "HTTP/1.0 {status}\r\ncontent-length: {}\r\n\r\n", said.len())?;
    socket.write_all(&said)
}

fn obey(script: &mut Script, body: &[u8]) -> Value {
    let question: Value = serde_json::from_slice(body).unwrap();
    if !script.admin {
        return json!({ "id": 1, "error": { "code": -32_601, "message": "not available" } });
    }
    match (question["method"].as_str(), &question["params"]) {
        (Some("admin_pauseWorker"), params) if *params == json!(["shards", 1]) => {
            script.paused = true;
        }
        (Some("admin_resumeWorker"), params) if *params == json!(["shards", 1]) => {
            script.paused = false;
        }
        _ => return json!({ "id": 1, "error": { "code": -32_602, "message": "no \x1bworker" } }),
    }
    json!({ "id": 1, "result": true })
}

/// What a node says of itself, with names that are meant badly.
fn state(script: &Script) -> Value {
    let seconds = script.seconds;
    let worker = |state: &str, turns: u64, runs: Value| {
        json!({
            "state": state, "runs": runs, "turns": seconds * turns, "wakes": 0, "steals": 0,
            "parks": 0, "hand_offs": 0, "panics": 0, "overruns": 0,
            "cpu_seconds": seconds as f64 / 2.0,
        })
    };
    let entry = |kind: &str, name: &str, rate: u64, waiting: u64, error: Value| {
        json!({
            "kind": kind, "name": name, "state": "idle", "done": seconds * rate,
            "waiting": waiting, "error": error,
        })
    };
    let second = if script.paused { "paused" } else { "idle" };
    json!({
        "program": "node", "version": "0.1.0", "time_ms": 0, "uptime_seconds": seconds as f64,
        "runtimes": [{
            "name": "shards",
            "workers": [
                worker("running", 1_000, json!("evil\u{1b}]0;title\u{7}")),
                worker(second, 200, Value::Null),
            ],
            "queued": 12, "timers": 3, "waiting": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, seconds],
            "running": [],
        }],
        "entries": [
            entry("shard", "alpha", 30, 1, Value::Null),
            entry("process", "beta 漢字", 20, 3, Value::Null),
            entry("task", "\u{1b}[2Jgamma\r\n", 10, 2, json!("trap\u{1b}[31m")),
        ],
        "entries_total": 3,
        "done": [{ "what": "transactions", "count": seconds * 50 }],
        "node": { "shards": 1, "pooled": 4 },
    })
}
