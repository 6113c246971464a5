//! Code for wasmi in which no `select` follows a comparison with zero.
//!
//! wasmi 2.0 folds a comparison with zero into the `select` whose condition it is, and then takes
//! the condition from its register, although the compared value may be in a local: of
//!
//! ```text
//!   (i32.add (i32.clz (local.get 1)) (select (i32.const 9) (i32.const 5) (i32.eqz (local.get 0))))
//! ```
//!
//! it asks whether the result of `i32.clz` is zero. An `i32.popcnt` in between keeps the two apart,
//! and does not change what is zero and what is not. It is put before every `select` whose condition
//! could be such a comparison. The tests of the engine fail without it; they are how we shall know
//! that a later wasmi does not need it.

use wasm_encoder::CodeSection;
use wasmparser::{BinaryReader, CodeSectionReader, Operator};

use super::parts::Parts;

/// `i32.popcnt`.
const POPCNT: u8 = 0x69;

/// Whether a `select` that follows this operator could be folded wrongly. Most operators leave
/// something else than a comparison behind; those that wasmi may leave out altogether do not.
pub(super) fn is_risky_before_select(operator: &Operator<'_>) -> bool {
    use Operator::*;
    !matches!(
        operator,
        LocalGet { .. }
            | GlobalGet { .. }
            | Call { .. }
            | I32LtS
            | I32LtU
            | I32GtS
            | I32GtU
            | I32LeS
            | I32LeU
            | I32GeS
            | I32GeU
            | I64Eq
            | I64Ne
            | I64LtS
            | I64LtU
            | I64GtS
            | I64GtU
            | I64LeS
            | I64LeU
            | I64GeS
            | I64GeU
    )
}

/// The code section, with the operator before each of `parts.code.selects`. `None`: it stays as it is.
pub(super) fn kept_apart(parts: &Parts<'_>) -> Option<CodeSection> {
    let mut selects = parts.code.selects.iter().copied().peekable();
    selects.peek()?;
    let (_, range) =
        parts.sections.iter().find(|(id, _)| *id == wasm_encoder::SectionId::Code as u8)?;
    let reader = BinaryReader::new(&parts.bytes[range.clone()], range.start as u64);
    let mut section = CodeSection::new();
    for body in CodeSectionReader::new(reader).ok()? {
        let range = body.ok()?.range();
        let (mut from, end) = (range.start as usize, range.end as usize);
        let mut code = Vec::with_capacity(end - from);
        while let Some(select) = selects.next_if(|select| *select < end) {
            code.extend_from_slice(&parts.bytes[from..select]);
            code.push(POPCNT);
            from = select;
        }
        code.extend_from_slice(&parts.bytes[from..end]);
        section.raw(&code);
    }
    Some(section)
}
