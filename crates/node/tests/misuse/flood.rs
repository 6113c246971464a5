//! More transactions than a pool takes.

use serde_json::{Value, json};

use super::{
    ask,
    common::{MARKET, bare, path, sign, start, transfer, until_height},
    goes_on, metric,
};

#[test]
fn a_flood_of_transactions_is_refused_beyond_the_pools_limit_and_the_node_goes_on() {
    const ROOM: usize = 60;
    let node = start(|settings| settings.shards.pool.transactions_max = ROOM);
    let own = path(MARKET);
    let mut accepted = 0;
    let mut refused = Vec::new();
    for account in node.accounts() {
        // The first one is missing, so none of them can be executed.
        let batch = (1..=100).map(|nonce| {
            let raw = sign(account, transfer(&node, MARKET, nonce));
            bare(nonce as usize, "eth_sendRawTransaction", json!([raw]))
        });
        let answers = ask(&node, &own, Value::from_iter(batch).to_string()).1.unwrap();
        for answer in answers.as_array().unwrap() {
            match answer["error"]["message"].as_str() {
                None => accepted += 1,
                Some(why) => {
                    assert_eq!(answer["error"]["code"], -32000, "{answer}");
                    refused.push(why.to_owned());
                }
            }
        }
    }
    assert_eq!(accepted + refused.len(), 1_000);
    // Newer ones may push out older ones; at no time are there more.
    let counts = node.shards().get(MARKET).unwrap().pool_counts();
    assert!(counts.pending + counts.waiting <= ROOM, "{counts:?}");
    let waiting = metric(&node, r#"shiftwork_shard_pool_transactions{state="nonce_missing"}"#);
    assert_eq!(waiting, Some(counts.waiting as f64));
    assert!(!refused.is_empty());
    for why in &refused {
        assert_eq!(why, "txpool is full; try again later");
    }
    // One that closes a gap takes the place of the sender's last one, and is executed.
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 0));
    let answer = ask(&node, &own, bare(1, "eth_sendRawTransaction", json!([raw])).to_string());
    let answer = answer.1.unwrap();
    assert!(answer["result"].is_string(), "{answer}");
    until_height(&node, MARKET, 1);
    goes_on(&node);
}
