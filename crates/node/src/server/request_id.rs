//! Which request is it? A name for the log and the answer.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use tracing::Span;

pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// What a proxy or a client calls a request is taken if it is no longer than this.
const LENGTH_MAX: usize = 64;

/// A request's name, kept with a WebSocket: all that is called over it was asked for by that request.
#[derive(Clone, Debug)]
pub(super) struct RequestId(pub(super) HeaderValue);

impl RequestId {
    pub(super) fn span(&self) -> Span {
        span(&self.0)
    }
}

/// What is logged inside of it says which request it belongs to.
pub(super) fn span(id: &HeaderValue) -> Span {
    // Only letters, digits and a few marks.
    tracing::debug_span!("request", id = id.to_str().unwrap_or_default())
}

/// Gives each request a name.
#[derive(Debug)]
pub(super) struct RequestIds {
    /// Other than that of the node's last run, so that names in a log do not come again.
    run: u32,
    next: AtomicU64,
}

impl RequestIds {
    pub(super) fn new() -> RequestIds {
        RequestIds { run: RandomState::new().hash_one(0) as u32, next: AtomicU64::new(1) }
    }

    /// The name that the request came with, if there is nothing odd in it; else a new one.
    pub(super) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        match headers.get(HEADER) {
            Some(given) if is_sane(given.as_bytes()) => given.clone(),
            _ => self.fresh(),
        }
    }

    fn fresh(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Relaxed);
        let name = format!("{:08x}-{number:x}", self.run);
        HeaderValue::try_from(name).expect("hexadecimal digits are fine in a header")
    }
}

fn is_sane(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    !name.is_empty() && name.len() <= LENGTH_MAX && name.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[u8]) -> HeaderValue {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_bytes(given).unwrap());
        RequestIds::new().of(&headers)
    }

    #[test]
    fn a_plain_name_is_kept() {
        for name in ["a", "0af7651916cd43dd8448eb211c80319c", "Web-1_2.3"] {
            assert_eq!(of(name.as_bytes()), name);
        }
    }

    #[test]
    fn a_name_that_could_forge_a_line_of_the_log_is_replaced() {
        let long = [b'a'; LENGTH_MAX + 1];
        for name in [
            &b""[..],
            b"a b",
            b"a\"b",
            b"a=b",
            b"\x1b[2J".get(1..).unwrap(),
            &long,
            "\u{e9}".as_bytes(),
        ] {
            assert!(is_sane(of(name).as_bytes()));
            assert_ne!(of(name).as_bytes(), name);
        }
    }

    #[test]
    fn no_two_requests_get_the_same_name() {
        let ids = RequestIds::new();
        assert_ne!(ids.of(&HeaderMap::new()), ids.of(&HeaderMap::new()));
    }
}
