//! What does an answer of the base chain say?
//!
//! Nodes differ in what they add and leave out, so only what every chain has must be there. What
//! is there must make sense.

use alloy_primitives::{Address, B256};
use serde_json::Value;

use super::BaseChainError;

/// What is of interest about a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) number: u64,
    pub(super) hash: B256,
    pub(super) parent_hash: B256,
    pub(super) timestamp: u64,
    pub(super) base_fee: u64,
    pub(super) prevrandao: B256,
    pub(super) beneficiary: Address,
    pub(super) excess_blob_gas: u64,
    pub(super) parent_beacon_block_root: B256,
}

/// So much of what a stranger wrote is repeated in an error.
const QUOTE_MAX: usize = 120;

/// The result in a body, if it is the answer to the request with this id.
pub(super) fn result(body: &[u8], id: u64) -> Result<Value, BaseChainError> {
    let nonsense = |what: String| Err(BaseChainError::Nonsense(what));
    let mut answer: Value = match serde_json::from_slice(body) {
        Ok(answer) => answer,
        Err(why) => return nonsense(format!("it is not JSON ({why}): {}", quote_bytes(body))),
    };
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        let message = error.get("message").and_then(Value::as_str);
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        return Err(BaseChainError::Refused(quote(&message)));
    }
    let Some(answered) = answer.get("id").cloned() else {
        return nonsense(format!("it is no JSON-RPC answer: {}", quote(&answer.to_string())));
    };
    // Some answer with the id as text.
    if answered.as_u64() != Some(id) && answered.as_str() != Some(&id.to_string()) {
        let answered = quote(&answered.to_string());
        return nonsense(format!("it answers request {answered}, and {id} was asked"));
    }
    match answer.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => nonsense("it has neither a result nor an error".to_owned()),
    }
}

/// The block in a result.
pub(super) fn head(result: &Value) -> Result<Head, BaseChainError> {
    if !result.is_object() {
        let what = format!("the newest block is {}", quote(&result.to_string()));
        return Err(BaseChainError::Nonsense(what));
    }
    let block = Fields(result);
    Ok(Head {
        number: block.required("number", quantity)?,
        hash: block.required("hash", hash)?,
        parent_hash: block.required("parentHash", hash)?,
        timestamp: block.required("timestamp", quantity)?,
        // From here on: chains without the fork that has brought it leave it out.
        base_fee: block.optional("baseFeePerGas", quantity)?,
        prevrandao: block.optional("mixHash", hash)?,
        beneficiary: block.optional("miner", address)?,
        excess_blob_gas: block.optional("excessBlobGas", blob_gas)?,
        parent_beacon_block_root: block.optional("parentBeaconBlockRoot", hash)?,
    })
}

/// A number as Ethereum writes it; also with leading zeros, or as a plain number.
pub(super) fn quantity(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
            // `from_str_radix` takes a sign too.
            let digits =
                Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
            u64::from_str_radix(digits?, 16).ok()
        }
        _ => None,
    }
}

/// The blob fee grows by e with each few millions of it: above this it would not fit any number, and
/// the virtual machine would never have it computed. No chain is near.
const EXCESS_BLOB_GAS_MAX: u64 = 150_000_000;

fn blob_gas(value: &Value) -> Option<u64> {
    quantity(value).filter(|gas| *gas <= EXCESS_BLOB_GAS_MAX)
}

fn hash(value: &Value) -> Option<B256> {
    value.as_str()?.parse().ok()
}

fn address(value: &Value) -> Option<Address> {
    value.as_str()?.parse().ok()
}

struct Fields<'a>(&'a Value);

impl Fields<'_> {
    fn optional<T: Default>(
        &self,
        name: &str,
        read: fn(&Value) -> Option<T>,
    ) -> Result<T, BaseChainError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(T::default()),
            Some(_) => self.required(name, read),
        }
    }

    fn required<T>(&self, name: &str, read: fn(&Value) -> Option<T>) -> Result<T, BaseChainError> {
        let value = self.0.get(name).unwrap_or(&Value::Null);
        read(value).ok_or_else(|| {
            let value = quote(&value.to_string());
            BaseChainError::Nonsense(format!("`{name}` of the newest block is {value}"))
        })
    }
}

/// What a stranger wrote: short, and with nothing that a terminal would obey.
pub(super) fn quote(text: &str) -> String {
    let mut quoted: String = text.chars().take(QUOTE_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(QUOTE_MAX).is_some() {
        quoted.push('…');
    }
    quoted
}

fn quote_bytes(bytes: &[u8]) -> String {
    // Four bytes are one character at most.
    quote(&String::from_utf8_lossy(&bytes[..bytes.len().min(4 * (QUOTE_MAX + 1))]))
}
