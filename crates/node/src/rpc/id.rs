//! Which name does a filter or a subscription get?

use std::hash::{BuildHasher, Hasher, RandomState};

use jsonrpsee::{core::traits::IdProvider, types::SubscriptionId};

/// Names subscriptions as geth does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HexIds;

impl IdProvider for HexIds {
    fn next_id(&self) -> SubscriptionId<'static> {
        random().into()
    }
}

/// 16 random bytes in hex. Nobody can guess those of others.
pub(crate) fn random() -> String {
    // Keyed with what the system gives out as random.
    let half = || RandomState::new().build_hasher().finish();
    format!("{:#018x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sixteen_bytes_in_hex_and_differ() {
        let (one, other) = (random(), random());
        assert_eq!(one.len(), 34);
        assert!(one.starts_with("0x") && one[2..].bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, other);
    }
}
