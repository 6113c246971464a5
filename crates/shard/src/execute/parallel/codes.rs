//! Whose code does a lane run? Its own copies.
//!
//! The virtual machine counts references to code, up and down several times for each account that a
//! transaction looks at. One count stands for all accounts with the same code, and for all without
//! any there is one in the whole process: lanes that work on nothing in common would still pass these
//! few words to and fro between their cores. So each lane counts on copies that no other lane has.
//!
//! They are of code from before the batch, which every lane finds by its hash. So what is passed on
//! between lanes need not bring that code along.

use alloy_primitives::{B256, map::HashMap};
use revm::{bytecode::Bytecode, primitives::KECCAK_EMPTY};

/// The copies of one lane.
pub(super) struct Codes {
    /// Of no code at all.
    none: Bytecode,
    some: HashMap<B256, Bytecode>,
}

impl Codes {
    pub(super) fn new() -> Codes {
        Codes { none: copy(&Bytecode::default()), some: HashMap::default() }
    }

    /// The code with this hash, which `before` gives as it was before the batch.
    pub(super) fn get<E>(
        &mut self,
        hash: B256,
        before: impl FnOnce() -> Result<Bytecode, E>,
    ) -> Result<Bytecode, E> {
        if hash == KECCAK_EMPTY {
            return Ok(self.none.clone());
        }
        if let Some(code) = self.some.get(&hash) {
            return Ok(code.clone());
        }
        let code = copy(&before()?);
        self.some.insert(hash, code.clone());
        Ok(code)
    }
}

/// The same code with a count of its own. The bytes are not copied.
fn copy(code: &Bytecode) -> Bytecode {
    match code.legacy_jump_table() {
        Some(jumps) => {
            // SAFETY: these are the parts of code that was analysed, unchanged and together.
            unsafe { Bytecode::new_analyzed(code.bytes(), code.len(), jumps.clone()) }
        }
        // A delegation, which is only looked at.
        None => code.clone(),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes};

    use super::*;

    fn analysed() -> Bytecode {
        // A jump, and a push whose bytes are missing.
        Bytecode::new_raw(Bytes::from_static(&[0x60, 0x03, 0x56, 0x5b, 0x7f, 0x01]))
    }

    #[test]
    fn copy_is_the_same_code_in_another_place() {
        for code in [Bytecode::default(), analysed()] {
            let copy = copy(&code);
            assert_eq!(copy, code);
            assert_eq!(copy.bytes_slice(), code.bytes_slice(), "with what was added to its end");
            assert_eq!(copy.legacy_jump_table(), code.legacy_jump_table());
            assert_eq!(copy.hash_slow(), code.hash_slow());
        }
        let delegation = Bytecode::new_eip7702(Address::repeat_byte(1));
        assert_eq!(copy(&delegation), delegation);
    }

    #[test]
    fn each_is_asked_for_once() {
        let (mut codes, code) = (Codes::new(), analysed());
        let hash = code.hash_slow();
        assert_eq!(codes.get(hash, || Err(())), Err(()));
        assert_eq!(codes.get(hash, || Ok::<_, ()>(code.clone())), Ok(code.clone()));
        assert_eq!(codes.get(hash, || Err(())), Ok(code));
        assert_eq!(codes.get(KECCAK_EMPTY, || Err(())), Ok(Bytecode::default()));
    }
}
