//! How is the reason of a drop kept?

use alloy_primitives::B256;

use crate::execute::DropReason;

impl DropReason {
    /// Appends its bytes: a kind, then what belongs to it.
    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        match self {
            DropReason::NonceTooLow { nonce, account } => {
                into.push(1);
                into.extend_from_slice(&nonce.to_be_bytes());
                into.extend_from_slice(&account.to_be_bytes());
            }
            DropReason::InsufficientFunds => into.push(2),
            DropReason::Expired => into.push(3),
            DropReason::Replaced { by } => {
                into.push(4);
                into.extend_from_slice(by.as_slice());
            }
            DropReason::Evicted => into.push(5),
            DropReason::Invalid(why) => {
                into.push(6);
                into.extend_from_slice(why.as_bytes());
            }
            DropReason::Panicked(why) => {
                into.push(7);
                into.extend_from_slice(why.as_bytes());
            }
        }
    }

    /// Reads what `encode` wrote; `None` for anything else.
    pub(crate) fn decode(bytes: &[u8]) -> Option<DropReason> {
        let (kind, rest) = bytes.split_first()?;
        let text = || String::from_utf8(rest.to_vec()).ok();
        let number = |at: usize| Some(u64::from_be_bytes(rest.get(at..at + 8)?.try_into().ok()?));
        let (reason, length) = match kind {
            1 => (DropReason::NonceTooLow { nonce: number(0)?, account: number(8)? }, 16),
            2 => (DropReason::InsufficientFunds, 0),
            3 => (DropReason::Expired, 0),
            4 => (DropReason::Replaced { by: B256::try_from(rest).ok()? }, 32),
            5 => (DropReason::Evicted, 0),
            6 => (DropReason::Invalid(text()?), rest.len()),
            7 => (DropReason::Panicked(text()?), rest.len()),
            _ => return None,
        };
        (rest.len() == length).then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_comes_back_and_cut_bytes_do_not() {
        for reason in [
            DropReason::NonceTooLow { nonce: 3, account: 7 },
            DropReason::InsufficientFunds,
            DropReason::Expired,
            DropReason::Replaced { by: B256::repeat_byte(5) },
            DropReason::Evicted,
            DropReason::Invalid("create code too long".into()),
            DropReason::Panicked(String::new()),
        ] {
            let mut bytes = Vec::new();
            reason.encode(&mut bytes);
            assert_eq!(DropReason::decode(&bytes), Some(reason.clone()));
            if matches!(reason, DropReason::NonceTooLow { .. } | DropReason::Replaced { .. }) {
                bytes.pop();
                assert_eq!(DropReason::decode(&bytes), None);
            }
        }
        assert_eq!(DropReason::decode(&[]), None);
        assert_eq!(DropReason::decode(&[99]), None);
        assert_eq!(DropReason::decode(&[2, 0]), None, "bytes behind the end");
    }
}
