//! What a constant expression comes to: where a segment goes, and which function an element is.
//!
//! A guest imports no globals, so its constants are numbers and the arithmetic of extended constants.

use wasmparser::{ConstExpr, Operator};

/// The offset of a segment. `None` if it is no such constant.
pub(super) fn offset(expression: &ConstExpr<'_>) -> Option<u32> {
    let mut stack: Vec<i32> = Vec::new();
    let mut operators = expression.get_operators_reader();
    loop {
        let value = match operators.read().ok()? {
            Operator::I32Const { value } => value,
            Operator::End => break,
            operator => {
                let right = stack.pop()?;
                let left = stack.pop()?;
                match operator {
                    Operator::I32Add => left.wrapping_add(right),
                    Operator::I32Sub => left.wrapping_sub(right),
                    Operator::I32Mul => left.wrapping_mul(right),
                    _ => return None,
                }
            }
        };
        stack.push(value);
    }
    stack.pop().map(|offset| offset as u32)
}

/// The function that an element is. `None` for a null reference, and for whatever else.
pub(super) fn function(expression: &ConstExpr<'_>) -> Option<u32> {
    match expression.get_operators_reader().read().ok()? {
        Operator::RefFunc { function_index } => Some(function_index),
        _ => None,
    }
}
