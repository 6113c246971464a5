//! What got a hash back is not lost, however a node ends.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use alloy_primitives::Address;
use serde_json::{Value, json};

use crate::{Running, path, place, post, signer, transfer};

const SENDERS: u32 = 4;
/// So many are acknowledged before the node is killed, among those that are under way.
const BEFORE_THE_KILL: usize = 60;

/// Clients send to several shards, one transaction after the other, while the node is killed. Each
/// hash that came back must be known to the node that is started again.
#[test]
fn killed_under_load_it_knows_every_transaction_that_got_a_hash() {
    let data = place("killed");
    let data = data.to_str().unwrap();
    let acknowledged: Mutex<Vec<(Address, Value)>> = Mutex::default();
    let mut nonces = vec![0; SENDERS as usize];
    for _ in 0..3 {
        let mut node = Running::start(&["--data-dir", data]);
        let address = node.address;
        let count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for (index, nonce) in nonces.iter_mut().enumerate() {
                let (acknowledged, count) = (&acknowledged, &count);
                scope.spawn(move || {
                    let (signer, shard) = (signer(index as u32), Address::repeat_byte(index as u8));
                    loop {
                        let raw = transfer(&signer, shard, *nonce);
                        let request = json!({ "jsonrpc": "2.0", "id": 1,
                            "method": "eth_sendRawTransaction", "params": [raw] });
                        let Some(answer) = post(address, &path(shard), &request.to_string()) else {
                            // Killed. Whether this one was taken nobody knows; it is sent again.
                            return;
                        };
                        let Ok(mut answer) = serde_json::from_str::<Value>(&answer) else { return };
                        let known = answer["error"]["message"].as_str().is_some_and(|message| {
                            message.contains("already known") || message.contains("nonce too low")
                        });
                        assert!(known || answer.get("error").is_none(), "{answer}");
                        if !known {
                            let hash = answer["result"].take();
                            acknowledged.lock().unwrap().push((shard, hash));
                        }
                        *nonce += 1;
                        count.fetch_add(1, Relaxed);
                    }
                });
            }
            while count.load(Relaxed) < BEFORE_THE_KILL {
                std::thread::yield_now();
            }
            node.child.kill().unwrap();
        });
        drop(node);
    }

    let node = Running::start(&["--data-dir", data]);
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() >= BEFORE_THE_KILL);
    for (shard, hash) in &acknowledged {
        let status = node.result("/", "shard_getTransactionStatus", json!([shard, hash]));
        assert!(!status.is_null(), "{hash} of shard {shard} is lost");
    }
    // All can run, so all are included in the end. The newest nonce counts what waits too.
    for (index, nonce) in nonces.iter().enumerate() {
        let (sender, shard) = (signer(index as u32).address(), Address::repeat_byte(index as u8));
        let next = node.result(&path(shard), "eth_getTransactionCount", json!([sender, "pending"]));
        let next =
            u64::from_str_radix(next.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        // One whose answer was cut off may have been taken.
        assert!(next == *nonce || next == *nonce + 1, "{next} of {nonce} of {sender}");
    }
}
