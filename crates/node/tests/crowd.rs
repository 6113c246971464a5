//! Thousands who connect and say nothing: what do they cost?

mod common;

use std::fs;

use common::{client::Client, start};

/// Memory that this process really uses, in bytes.
fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").expect("Linux tells");
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

/// Alone in its program: memory is measured.
#[test]
fn thousands_of_idle_connections_cost_little_and_others_are_answered() {
    const IDLE: usize = 3_000;
    let node = start(|settings| settings.limits.connections = IDLE + 1);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion"}"#;
    let idle = |count: usize| -> Vec<Client> {
        let one = |_| {
            let mut client = Client::open(node.address());
            assert_eq!(client.request("POST /", &[], body).status, 200);
            client
        };
        (0..count).map(one).collect()
    };
    let warm = idle(100);
    let before = resident();
    let crowd = idle(IDLE - 100);
    let each = resident().saturating_sub(before) / crowd.len();
    // The client's side is in it as well.
    assert!(each < 64 << 10, "{each} bytes each");
    assert_eq!(Client::open(node.address()).request("POST /", &[], body).status, 200);
    drop((warm, crowd));
    assert!(node.shutdown().clean());
}
