//! What does a running node say of its shards?

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use alloy_primitives::{Address, B256};
use serde_json::{Value, json};

use super::report::{Listed, Shown};

/// So long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// An answer is not longer.
const ANSWER_MAX: u64 = 32 << 20;

/// A running node.
pub(crate) struct Remote {
    /// Host and port.
    host: String,
    path: String,
}

impl Remote {
    pub(crate) fn new(url: &str) -> Result<Remote, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err(format!("`{url}`: give a URL that begins with http://"));
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic());
        if host.is_empty() || !is_plain(host) || !is_plain(path) {
            return Err(format!("`{url}` is no URL of a node"));
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { host.to_owned() } else { format!("{host}:80") };
        Ok(Remote { host, path: format!("/{path}") })
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
        let answer = self.post(&body.to_string());
        let answer =
            answer.map_err(|why| format!("the node at {} does not answer: {why}", self.host))?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let mut answer: Value = serde_json::from_str(body).map_err(|_| nonsense())?;
        if let Some(message) = answer["error"]["message"].as_str() {
            return Err(message.to_owned());
        }
        Ok(answer["result"].take())
    }

    /// HTTP/1.0: the answer ends with the connection, and comes in one piece.
    fn post(&self, body: &str) -> std::io::Result<String> {
        let mut socket = TcpStream::connect(&self.host)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let (host, path, length) = (&self.host, &self.path, body.len());
        write!(
            socket,
            "POST {path} HTTP/1.0\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        socket.take(ANSWER_MAX).read_to_string(&mut answer)?;
        Ok(answer)
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
