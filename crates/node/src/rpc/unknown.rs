//! What is said when there is no such method here?

use super::error::{METHOD_NOT_FOUND, RpcError};
use crate::context::Endpoint;

/// So much of a name is repeated to whoever sent it.
const NAME_MAX: usize = 64;

/// There is no method of that name at this endpoint. Geth's words, and where to look.
pub(crate) fn method(endpoint: Endpoint, name: &str) -> RpcError {
    let short: String = name.chars().take(NAME_MAX).collect();
    let more = if short.len() < name.len() { "…" } else { "" };
    let hint = match endpoint {
        Endpoint::Root => {
            ": a shard's methods are at /shard/<address>, and here in the namespace \
                           shard_ with the address first"
        }
        Endpoint::Shard(_) => "",
    };
    let why = format!("the method {short}{more} does not exist/is not available{hint}");
    RpcError::new(METHOD_NOT_FOUND, why)
}

/// It tells something later on, and there is nobody to tell it to.
pub(crate) fn subscription() -> RpcError {
    RpcError::new(METHOD_NOT_FOUND, "notifications not supported: subscribe over a WebSocket")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_as_long_as_a_book_is_not_repeated() {
        let error = method(Endpoint::Root, &"ä".repeat(1 << 20));
        assert!(error.message.len() < 400, "{}", error.message.len());
        assert!(error.message.contains("ä…"));
    }
}
