//! Contracts that get into each other's way, in few bytes.

use alloy_primitives::{Address, Bytes, U256};
use revm::bytecode::opcode::*;

/// Code under construction.
#[derive(Default)]
pub(super) struct Code(Vec<u8>);

impl Code {
    pub(super) fn op(mut self, ops: &[u8]) -> Code {
        self.0.extend_from_slice(ops);
        self
    }

    /// Two bytes, also for small numbers: so places are easy to count.
    pub(super) fn push(mut self, number: u16) -> Code {
        self.0.push(PUSH2);
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    fn here(self) -> Code {
        self.op(&[JUMPDEST])
    }

    /// A word of the input.
    fn word(self, number: u16) -> Code {
        self.push(32 * number).op(&[CALLDATALOAD])
    }

    pub(super) fn bytes(self) -> Bytes {
        self.0.into()
    }

    fn len(&self) -> u16 {
        self.0.len() as u16
    }
}

pub(super) fn code() -> Code {
    Code::default()
}

/// Counts all calls. Each of them conflicts with each other.
pub(super) fn counter() -> Bytes {
    code()
        .push(0)
        .op(&[SLOAD])
        .push(1)
        .op(&[ADD, DUP1])
        .push(0)
        .op(&[SSTORE])
        .push(0)
        .op(&[MSTORE])
        .push(32)
        .push(0)
        .op(&[RETURN])
        .bytes()
}

/// Flips the bits of its word that are in the input, and gives what it was before.
pub(super) fn flip() -> Bytes {
    code()
        .push(0)
        .op(&[SLOAD, DUP1])
        .push(0)
        .op(&[MSTORE])
        .word(0)
        .op(&[XOR])
        .push(0)
        .op(&[SSTORE])
        .push(32)
        .push(0)
        .op(&[RETURN])
        .bytes()
}

/// Writes to the slot after the one that the input names, if that one was written to, or is the first.
pub(super) fn chain() -> Bytes {
    let wanted = code().word(0).op(&[DUP1, ISZERO, DUP2, SLOAD, OR]);
    let to = wanted.len() + 5;
    let next = wanted.push(to).op(&[JUMPI, STOP]).here();
    next.push(1).op(&[SWAP1]).push(1).op(&[ADD, SSTORE, STOP]).bytes()
}

/// Counts the calls of each caller, and logs them.
pub(super) fn own_counter() -> Bytes {
    code()
        .op(&[CALLER, SLOAD])
        .push(1)
        .op(&[ADD, DUP1, CALLER, SSTORE])
        .push(0)
        .op(&[MSTORE, CALLER])
        .push(32)
        .push(0)
        .op(&[LOG1, STOP])
        .bytes()
}

/// Moves tokens: to whom, how many. Who does not have them is refused.
pub(super) fn token() -> Bytes {
    let code = code().word(1).op(&[CALLER, SLOAD, DUP2, DUP2, LT]);
    let refuse = code.len() + 4 + 4 + 12;
    code.push(refuse)
        .op(&[JUMPI])
        // what he has, less
        .op(&[DUP2, SWAP1, SUB, CALLER])
        .op(&[SSTORE])
        .push(0)
        .op(&[CALLDATALOAD, SLOAD, ADD])
        .push(0)
        .op(&[CALLDATALOAD, SSTORE])
        .op(&[STOP])
        .here()
        .push(0)
        .push(0)
        .op(&[REVERT])
        .bytes()
}

/// Exchanges in a pair: which one, how much. Reads and writes its two reserves.
pub(super) fn swap() -> Bytes {
    code()
        .word(0)
        .op(&[DUP1, SLOAD])
        .word(1)
        .op(&[ADD, DUP1, DUP3, SSTORE])
        // pair, reserve
        .op(&[DUP2, NOT, SLOAD, ADD])
        .push(2)
        .op(&[SWAP1, DIV, SWAP1, NOT, SSTORE, STOP])
        .bytes()
}

/// Writes, and takes it back.
pub(super) fn reverter() -> Bytes {
    code().push(7).op(&[CALLER, SSTORE]).push(32).push(0).op(&[REVERT]).bytes()
}

/// Runs until there is no gas.
pub(super) fn burner() -> Bytes {
    code().here().push(0).op(&[JUMP]).bytes()
}

/// Notes what somebody has.
pub(super) fn peek() -> Bytes {
    code().word(0).op(&[BALANCE, CALLER, SSTORE, STOP]).bytes()
}

/// Notes what the beneficiary has.
pub(super) fn peek_beneficiary() -> Bytes {
    code().op(&[COINBASE, BALANCE, CALLER, SSTORE, STOP]).bytes()
}

/// Notes the hash of the block so many before this one.
pub(super) fn hashes() -> Bytes {
    code().word(0).op(&[NUMBER, SUB, BLOCKHASH, CALLER, SSTORE, STOP]).bytes()
}

/// Calls somebody, with the value that it was given and the second word, and notes what came of
/// it and how much code there is.
pub(super) fn proxy() -> Bytes {
    code()
        .word(1)
        .push(0)
        .op(&[MSTORE])
        .push(0)
        .push(0)
        .push(32)
        .push(0)
        .op(&[CALLVALUE])
        .word(0)
        .op(&[GAS, CALL])
        .word(0)
        .op(&[EXTCODESIZE, ADD, CALLER, SSTORE, STOP])
        .bytes()
}

/// Counts if the input is 0, otherwise destroys itself in favour of whom the input names.
pub(super) fn mortal() -> Bytes {
    let code = code().word(0).op(&[DUP1]);
    let destroy = code.len() + 4 + 13;
    code.push(destroy)
        .op(&[JUMPI])
        .push(0)
        .op(&[SLOAD])
        .push(1)
        .op(&[ADD])
        .push(0)
        .op(&[SSTORE, STOP])
        .here()
        .op(&[SELFDESTRUCT])
        .bytes()
}

/// What makes a contract with this code, of at most 32 bytes, with 5 in slot 3.
pub(super) fn maker(made: &[u8]) -> Bytes {
    let mut word = [0; 32];
    word[..made.len()].copy_from_slice(made);
    let mut code = code().push(5).push(3).op(&[SSTORE, PUSH32]);
    code.0.extend_from_slice(&word);
    code.push(0).op(&[MSTORE]).push(made.len() as u16).push(0).op(&[RETURN]).bytes()
}

/// Makes what it was told, with a salt: salt, then what makes it. Always at the same place.
pub(super) fn factory() -> Bytes {
    code()
        .word(0)
        // all but the salt
        .push(32)
        .op(&[CALLDATASIZE, SUB])
        .op(&[DUP1])
        .push(32)
        .push(0)
        .op(&[CALLDATACOPY])
        .push(0)
        .op(&[CALLVALUE, CREATE2])
        .push(0)
        .op(&[MSTORE])
        .push(32)
        .push(0)
        .op(&[RETURN])
        .bytes()
}

/// Makes a contract that destroys itself in the same transaction, in favour of the caller.
pub(super) fn firefly() -> Bytes {
    let made = code().op(&[CALLER, SELFDESTRUCT]).bytes();
    let maker = maker(&made);
    let mut all = code();
    for (at, chunk) in maker.chunks(32).enumerate() {
        let mut word = [0; 32];
        word[..chunk.len()].copy_from_slice(chunk);
        all = all.op(&[PUSH32]).op(&word).push(32 * at as u16).op(&[MSTORE]);
    }
    all.push(maker.len() as u16)
        .push(0)
        .op(&[CALLVALUE, CREATE])
        // nothing out, nothing in, no value
        .op(&[DUP1])
        .push(0)
        .push(0)
        .push(0)
        .push(0)
        .push(0)
        .op(&[DUP6, GAS, CALL, POP, CALLER, SSTORE, STOP])
        .bytes()
}

/// Words of input.
pub(super) fn words(words: &[U256]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes::<32>()).collect()
}

pub(super) fn word(address: Address) -> U256 {
    U256::from_be_slice(address.as_slice())
}
