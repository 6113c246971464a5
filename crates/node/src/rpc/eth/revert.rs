//! What does a contract say when it reverts?

use alloy_primitives::{Bytes, U256};

use crate::rpc::error::{REVERTED, RpcError};

/// The selector of `Error(string)`.
const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// The selector of `Panic(uint256)`.
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];

/// The error of a call that reverted: with its reason in words, if it gave one that is known, and
/// with what it returned.
pub(crate) fn error(output: Bytes) -> RpcError {
    let message = match reason(&output) {
        Some(reason) => format!("execution reverted: {reason}"),
        None => "execution reverted".to_owned(),
    };
    RpcError { code: REVERTED, message, data: Some(output) }
}

fn reason(output: &[u8]) -> Option<String> {
    let (selector, rest) = output.split_first_chunk::<4>()?;
    match *selector {
        ERROR => text(rest),
        PANIC => Some(panic(U256::from_be_slice(rest.get(..32)?))),
        _ => None,
    }
}

/// A string as the ABI has it: where it begins, how long it is, its bytes.
fn text(encoded: &[u8]) -> Option<String> {
    let number = |at: usize| {
        let word = encoded.get(at..at.checked_add(32)?)?;
        usize::try_from(U256::from_be_slice(word)).ok()
    };
    let begin = number(0)?;
    let length = number(begin)?;
    let begin = begin.checked_add(32)?;
    let bytes = encoded.get(begin..begin.checked_add(length)?)?;
    String::from_utf8(bytes.to_vec()).ok()
}

/// What Solidity means by the codes, in geth's words.
fn panic(code: U256) -> String {
    let words = match u8::try_from(code).unwrap_or(u8::MAX) {
        0x00 => "generic panic",
        0x01 => "assert(false)",
        0x11 => "arithmetic underflow or overflow",
        0x12 => "division or modulo by zero",
        0x21 => "enum overflow",
        0x22 => "invalid encoded storage byte array accessed",
        0x31 => "out-of-bounds array access; popping on an empty array",
        0x32 => "out-of-bounds access of an array or bytesN",
        0x41 => "out of memory",
        0x51 => "uninitialized function",
        _ => return format!("unknown panic code: {code:#x}"),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    fn words(output: &[u8]) -> String {
        error(output.to_vec().into()).message
    }

    #[test]
    fn a_reason_is_given_in_words() {
        let mut output = hex!(
            "08c379a0"
            "0000000000000000000000000000000000000000000000000000000000000020"
            "0000000000000000000000000000000000000000000000000000000000000003"
            "6e6f210000000000000000000000000000000000000000000000000000000000"
        );
        assert_eq!(words(&output), "execution reverted: no!");
        // Longer than what there is.
        output[4 + 63] = 0xff;
        assert_eq!(words(&output), "execution reverted");
        // From beyond the end of numbers.
        output[4..36].fill(0xff);
        assert_eq!(words(&output), "execution reverted");
    }

    #[test]
    fn a_panic_is_given_in_the_words_of_geth() {
        let mut output = [0; 36];
        output[..4].copy_from_slice(&PANIC);
        output[35] = 0x11;
        assert_eq!(words(&output), "execution reverted: arithmetic underflow or overflow");
        output[35] = 0x99;
        assert_eq!(words(&output), "execution reverted: unknown panic code: 0x99");
        output[4] = 1;
        assert!(words(&output).starts_with("execution reverted: unknown panic code: 0x1000"));
    }

    #[test]
    fn what_is_not_known_has_no_words() {
        assert_eq!(words(&[]), "execution reverted");
        assert_eq!(words(&[1, 2, 3, 4, 5]), "execution reverted");
        assert_eq!(words(&PANIC), "execution reverted");
    }
}
