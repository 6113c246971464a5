//! What does a running node say of its shards?

use std::time::Duration;

use alloy_primitives::{Address, B256};
use serde_json::{Value, json};

use super::report::{Listed, Shown};
use crate::http::{Endpoint, Limits};

const LIMITS: Limits = Limits { patience: Duration::from_secs(30), bytes_max: 32 << 20 };

/// A running node.
pub(crate) struct Remote(Endpoint);

impl Remote {
    pub(crate) fn new(url: &str) -> Result<Remote, String> {
        Endpoint::new(url).map(Remote)
    }

    pub(crate) fn list(&self) -> Result<Vec<Listed>, String> {
        let mut shards = Vec::new();
        let mut from = Value::Null;
        loop {
            let page = self.call("shard_listShards", json!([from]))?;
            for shard in page["shards"].as_array().ok_or_else(nonsense)? {
                shards.push(Listed {
                    address: read(&shard["address"])?,
                    chain_id: quantity(&shard["chainId"])?,
                    height: quantity(&shard["height"])?,
                });
            }
            from = page["next"].clone();
            if from.is_null() {
                return Ok(shards);
            }
        }
    }

    pub(crate) fn status(&self, address: Address) -> Result<Shown, String> {
        let status = self.call("shard_status", json!([address]))?;
        let tip = self.call("shard_getBlockByNumber", json!([address, "latest", false]))?;
        let pool = &status["pool"];
        let waiting = ["pending", "queued", "executing"].map(|kind| quantity(&pool[kind]));
        let waiting = waiting.into_iter().sum::<Result<u64, String>>()?;
        Ok(Shown {
            address,
            chain_id: quantity(&status["chainId"])?,
            height: quantity(&status["height"])?,
            tip: read::<B256>(&tip["hash"])?,
            timestamp: quantity(&tip["timestamp"])?,
            waiting,
            state: status["state"].as_str().map(str::to_owned),
            quarantine: status["quarantine"].as_str().map(str::to_owned),
        })
    }

    fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.0.post_json(&body.to_string(), LIMITS);
        let answer = answer
            .map_err(|why| format!("the node at {} does not answer: {why}", self.0.host()))?;
        let mut answer: Value = serde_json::from_slice(&answer.body).map_err(|_| nonsense())?;
        if let Some(message) = answer["error"]["message"].as_str() {
            return Err(message.to_owned());
        }
        Ok(answer["result"].take())
    }
}

fn nonsense() -> String {
    "the answer makes no sense: is it a node of Shiftwork?".to_owned()
}

fn read<T: std::str::FromStr>(value: &Value) -> Result<T, String> {
    value.as_str().and_then(|text| text.parse().ok()).ok_or_else(nonsense)
}

fn quantity(value: &Value) -> Result<u64, String> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(nonsense)
}
