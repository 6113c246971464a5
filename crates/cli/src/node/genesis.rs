//! What does a genesis file say? Its format is geth's.
//!
//! Of it count `alloc` (with `balance`, `nonce`, `code` and `storage`) and `timestamp`. What
//! describes a chain of proof-of-work (`difficulty`, `config` and so on) means nothing here.

use std::{collections::BTreeMap, fs, path::Path};

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::{Map, Value};
use shard::config::{Genesis, GenesisAccount};

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Genesis, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|why| format!("{shown}: {why}"))?;
    parse(&text).map_err(|why| format!("{shown}: {why}"))
}

fn parse(text: &str) -> Result<Genesis, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|why| format!("it is not JSON: {why}"))?;
    let file = object(&value, "the file")?;
    let Some(alloc) = file.get("alloc") else {
        return Err(
            "there is no `alloc`: a genesis in geth's format lists its accounts there".into()
        );
    };
    let mut genesis = Genesis::default();
    if let Some(timestamp) = file.get("timestamp") {
        genesis.timestamp = small(timestamp, "timestamp")?;
    }
    for (key, value) in object(alloc, "alloc")? {
        // Geth writes addresses without 0x.
        let digits = key.strip_prefix("0x").unwrap_or(key);
        let address: Address = digits
            .parse()
            .map_err(|_| format!("alloc: `{key}` is no address of 20 bytes in hex"))?;
        let account = account(value, &format!("alloc.{key}"))?;
        if genesis.accounts.insert(address, account).is_some() {
            return Err(format!("alloc: {address} is there twice"));
        }
    }
    Ok(genesis)
}

fn account(value: &Value, place: &str) -> Result<GenesisAccount, String> {
    let mut account = GenesisAccount::default();
    for (key, value) in object(value, place)? {
        let place = format!("{place}.{key}");
        match key.as_str() {
            "balance" => account.balance = large(value, &place)?,
            "nonce" => account.nonce = small(value, &place)?,
            "code" => account.code = bytes(value, &place)?,
            "storage" => account.storage = storage(value, &place)?,
            // Some tools write the key beside the account.
            "secretKey" | "privateKey" | "comment" => {}
            _ => {
                return Err(format!(
                    "{place} is not known: an account has balance, nonce, code and storage"
                ));
            }
        }
    }
    Ok(account)
}

fn storage(value: &Value, place: &str) -> Result<BTreeMap<B256, B256>, String> {
    let word = |text: &str, place: &str| -> Result<B256, String> {
        let value = large(&Value::String(text.to_owned()), place)?;
        Ok(B256::from(value))
    };
    let mut slots = BTreeMap::new();
    for (slot, value) in object(value, place)? {
        let place = format!("{place}.{slot}");
        let value = value.as_str().ok_or_else(|| format!("{place} is no word in hex"))?;
        slots.insert(word(&prefixed(slot), &place)?, word(&prefixed(value), &place)?);
    }
    Ok(slots)
}

fn prefixed(text: &str) -> String {
    if text.starts_with("0x") { text.to_owned() } else { format!("0x{text}") }
}

fn bytes(value: &Value, place: &str) -> Result<Bytes, String> {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.ok_or_else(|| format!("{place} is no code in hex"))
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{place} is no object"))
}

/// A number in hex or decimal, as text or as it is.
fn large(value: &Value, place: &str) -> Result<U256, String> {
    let wrong = || format!("{place} is no number of 256 bits: {value}");
    match value {
        Value::Number(number) => number.as_u64().map(U256::from).ok_or_else(wrong),
        Value::String(text) => {
            let (digits, radix) = match text.strip_prefix("0x") {
                Some("") => ("0", 16),
                Some(digits) => (digits, 16),
                None => (text.as_str(), 10),
            };
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
            if !plain {
                return Err(wrong());
            }
            U256::from_str_radix(digits, radix).map_err(|_| wrong())
        }
        _ => Err(wrong()),
    }
}

fn small(value: &Value, place: &str) -> Result<u64, String> {
    large(value, place)?.try_into().map_err(|_| format!("{place} is too large: {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_have_balances_nonces_code_and_storage() {
        let text = r#"{
            "config": { "chainId": 1 }, "difficulty": "0x1", "timestamp": "0x64",
            "alloc": {
                "0101010101010101010101010101010101010101": { "balance": "1000" },
                "0x0202020202020202020202020202020202020202": {
                    "balance": "0xff", "nonce": "0x2", "code": "0x6001", "storage": { "0x1": "0x02" }
                },
                "0303030303030303030303030303030303030303": { "balance": 5, "nonce": 1 }
            }
        }"#;
        let genesis = parse(text).unwrap();
        assert_eq!(genesis.timestamp, 100);
        let account = |byte| &genesis.accounts[&Address::repeat_byte(byte)];
        assert_eq!(account(1).balance, U256::from(1000));
        assert_eq!((account(2).balance, account(2).nonce), (U256::from(255), 2));
        assert_eq!(account(2).code, Bytes::from([0x60, 1]));
        assert_eq!(account(2).storage[&B256::with_last_byte(1)], B256::with_last_byte(2));
        assert_eq!((account(3).balance, account(3).nonce), (U256::from(5), 1));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_place() {
        let alloc = |account: &str| {
            format!(r#"{{"alloc":{{"0101010101010101010101010101010101010101":{account}}}}}"#)
        };
        for (text, expect) in [
            ("", "not JSON"),
            ("[]", "the file is no object"),
            ("{}", "there is no `alloc`"),
            (r#"{"alloc":{"0x12":{}}}"#, "`0x12` is no address"),
            (r#"{"alloc":{},"timestamp":"soon"}"#, "timestamp is no number"),
            (&alloc("5"), "is no object"),
            (&alloc(r#"{"balance":"-1"}"#), "balance is no number"),
            (&alloc(r#"{"balance":"ff"}"#), "balance is no number"),
            (&alloc(r#"{"balance":1.5}"#), "balance is no number"),
            (&alloc(r#"{"nonce":"0x1ffffffffffffffff"}"#), "nonce is too large"),
            (&alloc(r#"{"code":"0x1"}"#), "code is no code"),
            (&alloc(r#"{"storage":{"zz":"0x1"}}"#), "is no number"),
            (&alloc(r#"{"ballance":"1"}"#), "ballance is not known"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.contains(expect), "{text}: {wrong}");
        }
    }
}
