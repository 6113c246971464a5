//! What does a request say, and whom is the answer for?
//!
//! A client gets back the id that it has written, character by character, whatever number or text
//! that was. What has no id at all wants no answer.

use std::borrow::Cow;

use jsonrpsee::types::{ErrorCode, ErrorObject, TwoPointZero};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

/// A request's id: a number, a text or null, as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id<'a>(&'a str);

/// What a request is.
#[derive(Debug)]
pub(super) enum Asked<'a> {
    Call(Call<'a>),
    Notification,
    /// None that could be carried out.
    Wrong(Id<'a>, ErrorCode),
}

#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) id: Id<'a>,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(rename = "jsonrpc")]
    _version: TwoPointZero,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// What is left of one that is wrong.
#[derive(Deserialize)]
struct OnlyId<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
}

/// An id of null is an id.
fn present<'de, D: Deserializer<'de>>(field: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(field).map(Some)
}

impl<'a> Id<'a> {
    pub(super) const NULL: Id<'static> = Id("null");

    fn of(value: &'a RawValue) -> Option<Id<'a>> {
        let text = value.get();
        let fits = match text.as_bytes() {
            [b'"' | b'n', ..] => true,
            [b'-' | b'0'..=b'9', ..] => can_be_read(text),
            _ => false,
        };
        fits.then_some(Id(text))
    }

    pub(super) fn as_str(self) -> &'a str {
        self.0
    }

    /// The answer with this error.
    pub(super) fn failed<'e>(self, error: impl Into<ErrorObject<'e>>) -> String {
        let error = serde_json::to_string(&error.into()).expect("an error is JSON");
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, self.0)
    }
}

/// Whether a number is one for clients, who read it as one of 64 bits or give up.
fn can_be_read(number: &str) -> bool {
    let short = number.len() < 20 && !number.contains(['e', 'E']);
    short || number.parse().is_ok_and(f64::is_finite)
}

impl<'a> Asked<'a> {
    /// Reads a request, or an item of a batch.
    pub(super) fn read(text: &'a [u8]) -> Asked<'a> {
        if !text.starts_with(b"{") {
            return Asked::Wrong(Id::NULL, ErrorCode::InvalidRequest);
        }
        let Ok(fields) = serde_json::from_slice::<Fields<'_>>(text) else {
            return Asked::wrong(text);
        };
        let Some(id) = fields.id else { return Asked::Notification };
        match Id::of(id) {
            Some(id) => Asked::Call(Call { id, method: fields.method, params: fields.params }),
            None => Asked::Wrong(Id::NULL, ErrorCode::InvalidRequest),
        }
    }

    #[cold]
    fn wrong(text: &'a [u8]) -> Asked<'a> {
        let id = serde_json::from_slice::<OnlyId<'_>>(text).ok().and_then(|only| only.id);
        let is_json = id.is_some() || serde_json::from_slice::<IgnoredAny>(text).is_ok();
        let code = if is_json { ErrorCode::InvalidRequest } else { ErrorCode::ParseError };
        Asked::Wrong(id.and_then(Id::of).unwrap_or(Id::NULL), code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> (&str, ErrorCode) {
        match Asked::read(text.as_bytes()) {
            Asked::Wrong(id, code) => (id.as_str(), code),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn id_comes_back_as_it_was_written() {
        for id in ["1", "-1", "1.5", "1e3", "null", r#""a\u0000b""#, "18446744073709551616"] {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"m","id": {id} }}"#);
            let Asked::Call(call) = Asked::read(text.as_bytes()) else { panic!("{text}") };
            assert_eq!((call.id.as_str(), &*call.method), (id, "m"));
            let answer = call.id.failed(ErrorCode::MethodNotFound);
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"#);
            assert!(answer.starts_with(&start), "{answer}");
        }
    }

    #[test]
    fn without_an_id_it_is_a_notification() {
        let asked = Asked::read(br#"{"jsonrpc":"2.0","method":"m","params":[1]}"#);
        assert!(matches!(asked, Asked::Notification), "{asked:?}");
    }

    #[test]
    fn json_that_is_no_request_is_told_from_what_is_no_json() {
        let invalid = ErrorCode::InvalidRequest;
        assert_eq!(wrong("{}"), ("null", invalid));
        assert_eq!(wrong(r#"{"jsonrpc":"1.0","id":-7,"method":"m"}"#), ("-7", invalid));
        assert_eq!(wrong(r#"{"jsonrpc":"2.0","id":"x"}"#), (r#""x""#, invalid));
        assert_eq!(wrong(r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#), ("null", invalid));
        assert_eq!(wrong(r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#), ("null", invalid));
        assert_eq!(wrong(r#"{"jsonrpc":"2.0","id":1e999,"method":"m"}"#), ("null", invalid));
        assert_eq!(wrong(r#"["2.0",1,"m",null]"#), ("null", invalid));
        assert_eq!(wrong(r#"{"jsonrpc":"2.0","id":1"#), ("null", ErrorCode::ParseError));
        assert_eq!(wrong("{'id':1}"), ("null", ErrorCode::ParseError));
    }
}
