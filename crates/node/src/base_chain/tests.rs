//! A base chain that answers as the test wants it to.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

use alloy_primitives::{Address, B256};
use serde_json::{Value, json};
use shard::Environment;
use tokio::runtime;

use super::{
    BaseChainError,
    head::{Head, head, quote, result},
    listener::{Listener, Pace, Poller},
};
use crate::settings::BaseChain;

const NOW: u64 = 1_700_000_000;

/// What the chain does with a request.
enum Reply {
    /// Answers with this result, under the id that was asked.
    Result(Value),
    /// Sends this body.
    Body(String),
    /// Sends this instead of an answer.
    Raw(Vec<u8>),
}

/// A server that gives the replies it is told, one for each request, in order.
struct Fake {
    address: SocketAddr,
    replies: Sender<Reply>,
    /// The methods that were called.
    asked: Receiver<String>,
}

impl Fake {
    fn start() -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (replies, to_give) = mpsc::channel();
        let (told, asked) = mpsc::channel();
        thread::Builder::new()
            .spawn(move || {
                for socket in listener.incoming().map_while(Result::ok) {
                    serve(socket, &to_give, &told);
                }
            })
            .unwrap();
        Fake { address, replies, asked }
    }

    fn poller(&self) -> Poller {
        Poller::new(&BaseChain::new(format!("http://{}/key", self.address)), || NOW).unwrap()
    }

    fn will(&self, reply: Reply) {
        self.replies.send(reply).unwrap();
    }

    fn will_say(&self, result: Value) {
        self.will(Reply::Result(result));
    }

    fn asked(&self) -> Vec<String> {
        self.asked.try_iter().collect()
    }
}

/// One request of a connection, and then it is closed: each poll finds its way anew.
fn serve(mut socket: TcpStream, replies: &Receiver<Reply>, told: &Sender<String>) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let _ = told.send(request["method"].as_str().unwrap().to_owned());
    let Ok(reply) = replies.recv() else { return };
    let body = match reply {
        Reply::Result(result) => {
            json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()
        }
        Reply::Body(body) => body,
        Reply::Raw(bytes) => {
            let _ = socket.write_all(&bytes);
            return;
        }
    };
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body.as_bytes()));
}

fn hash(number: u64, branch: u8) -> B256 {
    let mut hash = B256::repeat_byte(branch);
    hash[24..].copy_from_slice(&number.to_be_bytes());
    hash
}

/// A block of a branch, whose time is its number.
fn block(number: u64, branch: u8) -> Value {
    json!({
        "number": format!("{number:#x}"),
        "hash": hash(number, branch),
        "parentHash": hash(number.wrapping_sub(1), branch),
        "timestamp": format!("{number:#x}"),
        "baseFeePerGas": "0x7",
        "mixHash": B256::repeat_byte(9),
        "miner": Address::repeat_byte(8),
        "excessBlobGas": "0x20000",
        "parentBeaconBlockRoot": B256::repeat_byte(7),
        "somethingNew": { "is": "ignored" },
    })
}

#[track_caller]
fn poll(poller: &mut Poller) -> Result<Option<Environment>, BaseChainError> {
    runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(poller.poll())
}

/// A poller that has seen this block.
fn at(fake: &Fake, number: u64) -> Poller {
    let mut poller = fake.poller();
    fake.will_say(json!("0x1"));
    fake.will_say(block(number, 1));
    poll(&mut poller).unwrap().unwrap();
    poller
}

#[test]
fn a_block_becomes_the_environment() {
    let fake = Fake::start();
    let mut poller = fake.poller();
    fake.will_say(json!("0x1"));
    fake.will_say(block(300, 1));
    let environment = poll(&mut poller).unwrap().unwrap();
    let hashes = [(299, hash(299, 1)), (300, hash(300, 1))];
    assert_eq!(
        environment,
        Environment {
            number: Some(300),
            timestamp: 300,
            base_fee: 7,
            excess_blob_gas: 0x20000,
            prevrandao: B256::repeat_byte(9),
            beneficiary: Address::repeat_byte(8),
            parent_beacon_block_root: B256::repeat_byte(7),
            hashes: std::sync::Arc::new(hashes.into_iter().collect()),
        }
    );
    assert_eq!(fake.asked(), ["eth_chainId", "eth_getBlockByNumber"]);
    let status = poller.status().get();
    assert_eq!((status.chain_id, status.answered, status.failed), (Some(1), 1, 0));
    assert_eq!(status.head.unwrap().number, 300);
    assert!(status.is_fresh());
    assert!(!status.endpoint.contains("key"), "{}", status.endpoint);
}

#[test]
fn the_same_block_again_changes_nothing_and_a_later_one_adds_its_hashes() {
    let fake = Fake::start();
    let mut poller = at(&fake, 10);
    fake.will_say(block(10, 1));
    assert_eq!(poll(&mut poller), Ok(None));
    fake.will_say(block(11, 1));
    assert_eq!(poll(&mut poller).unwrap().unwrap().hashes.len(), 3);
    // Those between were not seen: is 11 still of this chain?
    fake.will_say(block(20, 1));
    fake.will_say(block(11, 1));
    let environment = poll(&mut poller).unwrap().unwrap();
    let mut known: Vec<u64> = environment.hashes.keys().copied().collect();
    known.sort_unstable();
    assert_eq!(known, [9, 10, 11, 19, 20]);
    // No more than can be asked for.
    fake.will_say(block(267, 1));
    fake.will_say(block(20, 1));
    let environment = poll(&mut poller).unwrap().unwrap();
    let mut known: Vec<u64> = environment.hashes.keys().copied().collect();
    known.sort_unstable();
    assert_eq!(known, [11, 19, 20, 266, 267]);
    assert_eq!(poller.status().get().went_back, 0);
}

#[test]
fn a_chain_that_goes_back_is_followed_and_its_old_hashes_are_forgotten() {
    // A restart; another block at the same height; a longer branch with another past.
    for (number, branch) in [(0, 1), (9, 1), (10, 2), (11, 2)] {
        let fake = Fake::start();
        let mut poller = at(&fake, 10);
        let _ = fake.asked();
        fake.will_say(block(number, branch));
        fake.will_say(json!("0x1"));
        let environment = poll(&mut poller).unwrap().unwrap();
        assert_eq!(environment.number, Some(number));
        let parent = number.checked_sub(1).map(|parent| (parent, hash(parent, branch)));
        let known = parent.into_iter().chain([(number, hash(number, branch))]).collect();
        assert_eq!(*environment.hashes, known, "block {number} of branch {branch}");
        assert_eq!(fake.asked(), ["eth_getBlockByNumber", "eth_chainId"]);
        assert_eq!(poller.status().get().went_back, 1);
    }
}

#[test]
fn a_chain_that_was_reorganised_between_two_looks_is_noticed() {
    for there_now in [block(10, 2), Value::Null] {
        let fake = Fake::start();
        let mut poller = at(&fake, 10);
        fake.will_say(block(15, 2));
        fake.will_say(there_now);
        fake.will_say(json!("0x1"));
        let environment = poll(&mut poller).unwrap().unwrap();
        let known = [(14, hash(14, 2)), (15, hash(15, 2))].into_iter().collect();
        assert_eq!(*environment.hashes, known, "hashes of the old branch are still shown");
        assert_eq!(poller.status().get().went_back, 1);
    }
}

#[test]
fn another_chain_is_not_followed_until_it_is_the_old_one_again() {
    let fake = Fake::start();
    let mut poller = at(&fake, 10);
    fake.will_say(block(3, 2));
    fake.will_say(json!("0x2"));
    let other = BaseChainError::OtherChain { was: 1, now: 2 };
    assert_eq!(poll(&mut poller), Err(other.clone()));
    assert_eq!(poller.status().get().trouble, Some(other.clone()));
    assert_eq!(poller.status().get().head.unwrap().number, 10);
    // It is asked again who it is.
    fake.will_say(json!("0x2"));
    assert_eq!(poll(&mut poller), Err(other));
    fake.will_say(json!("0x1"));
    fake.will_say(block(11, 1));
    assert_eq!(poll(&mut poller).unwrap().unwrap().number, Some(11));
    assert_eq!(poller.status().get().trouble, None);
}

#[test]
fn nonsense_is_refused_and_the_last_block_stays() {
    let wrong = |name: &str, value: Value| {
        let mut block = block(11, 1);
        block[name] = value;
        Reply::Result(block)
    };
    let http = |rest: &str| Reply::Raw(format!("HTTP/1.1 {rest}").into_bytes());
    let replies = [
        (Reply::Result(Value::Null), "the newest block is null"),
        (Reply::Result(json!([1, 2])), "the newest block is [1,2]"),
        (wrong("number", Value::Null), "`number` of the newest block is null"),
        (wrong("number", json!("0x1ffffffffffffffff")), "`number`"),
        (wrong("number", json!("0x+1")), "`number`"),
        (wrong("hash", json!("0x12")), "`hash`"),
        (wrong("parentHash", json!(12)), "`parentHash`"),
        (wrong("timestamp", json!("soon")), "`timestamp` of the newest block is \\\"soon\\\""),
        (wrong("timestamp", json!(NOW + 3_601)), "and it is 1700000000 here"),
        (wrong("timestamp", json!(u64::MAX)), "and it is 1700000000 here"),
        (wrong("baseFeePerGas", json!({})), "`baseFeePerGas`"),
        (wrong("miner", json!("0xnobody")), "`miner`"),
        (wrong("excessBlobGas", json!("0xffffffffffffffff")), "`excessBlobGas`"),
        (Reply::Body("<html>".to_owned()), "it is not JSON"),
        (Reply::Body(String::new()), "it is not JSON"),
        (Reply::Body("[]".to_owned()), "it is no JSON-RPC answer"),
        (Reply::Body(r#"{"id":2}"#.to_owned()), "answers request 2"),
        (Reply::Body(r#"{"id":null,"result":{}}"#.to_owned()), "answers request null"),
        (Reply::Body(r#"{"error":{"message":"no\u001b[2J"}}"#.to_owned()), "no\\u{1b}[2J"),
        (Reply::Body(format!("\"{}\"", "x".repeat(5 << 20))), "longer than 4194304 bytes"),
        (http("503 Busy\r\ncontent-length: 0\r\n\r\n"), "HTTP status 503"),
        (http("301 Moved\r\nlocation: /\r\ncontent-length: 0\r\n\r\n"), "HTTP status 301"),
        (http("200 OK\r\ncontent-length: 100\r\n\r\n{"), "does not answer"),
        (Reply::Raw(Vec::new()), "does not answer"),
        (Reply::Raw(b"SSH-2.0-nonsense\r\n".to_vec()), "does not answer"),
    ];
    let fake = Fake::start();
    let mut poller = at(&fake, 10);
    for (at, (reply, expect)) in replies.into_iter().enumerate() {
        if at > 0 {
            fake.will_say(json!("0x1"));
        }
        fake.will(reply);
        let trouble = poll(&mut poller).unwrap_err().to_string();
        assert!(trouble.contains(expect), "expected {expect:?}: {trouble}");
        assert!(trouble.len() < 700, "{trouble}");
        assert_eq!(poller.status().get().failed, at as u64 + 1);
    }
    assert_eq!(poller.status().get().head.unwrap().number, 10);
    fake.will_say(json!("0x1"));
    fake.will_say(block(11, 1));
    assert_eq!(poll(&mut poller).unwrap().unwrap().number, Some(11));
}

#[test]
fn a_block_with_little_in_it_will_do() {
    let least = json!({
        "number": 5, "hash": hash(5, 1), "parentHash": hash(4, 1), "timestamp": "0x00ff",
        "baseFeePerGas": null,
    });
    let read = head(&least).unwrap();
    let expect = Head {
        number: 5,
        hash: hash(5, 1),
        parent_hash: hash(4, 1),
        timestamp: 255,
        base_fee: 0,
        prevrandao: B256::ZERO,
        beneficiary: Address::ZERO,
        excess_blob_gas: 0,
        parent_beacon_block_root: B256::ZERO,
    };
    assert_eq!(read, expect);
}

#[test]
fn answers_of_others_are_refused_and_ids_as_text_are_taken() {
    assert_eq!(result(br#"{"id":"7","result":1}"#, 7), Ok(json!(1)));
    assert!(result(br#"{"id":8,"result":1}"#, 7).is_err());
    assert!(result(br#"{"id":7}"#, 7).is_err());
    assert_eq!(quote(&"é".repeat(200)).chars().count(), 121);
}

#[test]
fn urls_that_can_not_be_used_are_refused_with_the_reason() {
    for (url, expect) in [
        ("", "empty"),
        ("localhost:8545", "must begin with http"),
        ("/just/a/path", "no host"),
        ("ws://localhost:8545", "WebSocket"),
        ("ftp://localhost", "must begin with http"),
        ("http://me:secret@localhost", "name and password"),
    ] {
        let refused = Poller::new(&BaseChain::new(url), || NOW).err();
        let refused = refused.unwrap_or_else(|| panic!("{url:?} was taken")).to_string();
        assert!(refused.contains(expect), "{url:?}: {refused}");
    }
    assert!(Poller::new(&BaseChain::new("https://localhost/v3/key"), || NOW).is_ok());
}

#[test]
fn attempts_come_ever_later_but_never_later_than_the_poll_interval() {
    let seconds = |pauses: [u64; 5]| pauses.map(Duration::from_secs);
    let mut pace = Pace::new(Duration::from_secs(12));
    let pauses = std::array::from_fn(|_| pace.after_failure());
    assert_eq!(pauses, seconds([1, 2, 4, 8, 12]));
    assert_eq!(pace.after_success(), Duration::from_secs(12));
    assert_eq!(pace.after_failure(), Duration::from_secs(1));
    let mut quick = Pace::new(Duration::from_millis(50));
    assert_eq!(quick.after_failure(), Duration::from_millis(50));
    assert_eq!(quick.after_failure(), Duration::from_millis(50));
}

#[test]
fn a_start_without_a_base_chain_says_why_when_its_patience_is_over() {
    // Nobody listens where somebody just did.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut settings = BaseChain::new(format!("http://{gone}"));
    settings.wait = Duration::ZERO;
    let refused = Listener::connect(&settings, || NOW).err().unwrap();
    assert!(matches!(refused, BaseChainError::Unreachable(_)), "{refused}");
    assert!(refused.to_string().contains("refused"), "{refused}");
}

#[test]
fn a_listener_sets_environments_until_it_is_dropped() {
    let fake = Fake::start();
    let mut settings = BaseChain::new(format!("http://{}", fake.address));
    settings.poll_interval = Duration::from_millis(1);
    fake.will_say(json!("0x1"));
    fake.will_say(block(1, 1));
    let (listener, first) = Listener::connect(&settings, || NOW).unwrap();
    assert_eq!(first.number, Some(1));
    let (give, given) = mpsc::channel();
    let listening = listener.start(move |environment| give.send(environment).unwrap()).unwrap();
    fake.will_say(block(2, 1));
    assert_eq!(given.recv().unwrap().number, Some(2));
    // A failure, and it goes on.
    fake.will(Reply::Raw(Vec::new()));
    fake.will_say(json!("0x1"));
    fake.will_say(block(3, 1));
    assert_eq!(given.recv().unwrap().number, Some(3));
    // It now waits for an answer that never comes, and ends all the same.
    drop(listening);
    assert!(given.recv().is_err());
}
