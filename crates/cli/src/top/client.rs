//! How is a running program asked how it is, and told to pause a worker?

use std::time::Duration;

use serde_json::{Value, json};

use super::{model::Order, state::State};
use crate::http::{Answer, Endpoint, Limits, NoAnswer};

/// Ten thousand shards are not listed: the answer is far smaller.
const LIMITS: Limits = Limits { patience: Duration::from_secs(5), bytes_max: 8 << 20 };
/// The code of JSON-RPC for a method that there is not.
const METHOD_NOT_FOUND: i64 = -32_601;

/// A program that answers, or did.
pub(crate) struct Client {
    /// As it was given.
    url: String,
    root: Endpoint,
}

impl Client {
    /// `127.0.0.1:8545` is meant as a URL too.
    pub(crate) fn new(url: &str) -> Result<Client, String> {
        let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let root = Endpoint::new(&url)?;
        Ok(Client { root, url: url.trim_end_matches('/').to_owned() })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// How it is now.
    pub(crate) fn look(&self) -> Result<State, String> {
        let url = &self.url;
        let answer = self.root.below("dashboard/state").get(LIMITS).map_err(|why| match why {
            NoAnswer::Unreachable(why) => format!(
                "nothing answers at {url}: is the node running? start one with `shiftwork node` \
                 ({why})"
            ),
            why => format!("{url}: {why}"),
        })?;
        match answer.status {
            200 => {}
            404 => {
                return Err(format!(
                    "{url} has no dashboard/state: is it a node of Shiftwork, started without \
                     --no-dashboard?"
                ));
            }
            _ => return Err(format!("{url} refuses: {}", words(&answer))),
        }
        let state = serde_json::from_slice(&answer.body);
        state.map_err(|why| format!("{url} says what makes no sense here: {why}"))
    }

    /// Pauses a worker, or resumes it.
    pub(crate) fn order(&self, order: &Order) -> Result<(), String> {
        let method = if order.pause { "admin_pauseWorker" } else { "admin_resumeWorker" };
        let params = json!([order.runtime, order.worker]);
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.root.post_json(&body.to_string(), LIMITS);
        let answer = answer.map_err(|why| why.to_string())?;
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        let error = &said["error"];
        if error["code"].as_i64() == Some(METHOD_NOT_FOUND) {
            return Err("start the node with --admin-api to allow it".to_owned());
        }
        match (&said["result"], error["message"].as_str()) {
            (Value::Bool(true), _) => Ok(()),
            (_, Some(why)) => Err(why.to_owned()),
            _ => Err(words(&answer)),
        }
    }
}

/// What an answer says that is not what was asked for.
fn words(answer: &Answer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    let first = body.lines().next().unwrap_or_default();
    format!("status {} {first}", answer.status).trim_end().to_owned()
}
