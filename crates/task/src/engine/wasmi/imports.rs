//! The host's functions as wasmi wants them: one closure per call, of the call's own type.

use wasmi::{Caller, Error, Func, Store};

use super::host::{self, Host};
use crate::abi::{
    Call, MAX_PARAMETERS,
    Type::{I32, I64},
};

/// The function that a guest gets for an import.
pub(super) fn function(store: &mut Store<Host>, call: Call) -> Func {
    // The closure for one type.
    macro_rules! of_type {
        (($($parameter:ident: $ty:ty),*) -> $result:ty) => {
            Func::wrap(
                store,
                move |caller: Caller<'_, Host>, $($parameter: $ty),*| -> Result<$result, Error> {
                    let arguments = padded([$(u64::from($parameter)),*]);
                    host::call(caller, call, arguments).map(<$result>::of)
                },
            )
        };
    }
    let import = call.import();
    match (import.parameters, import.result) {
        ([], None) => of_type!(() -> ()),
        ([], Some(I32)) => of_type!(() -> u32),
        ([], Some(I64)) => of_type!(() -> u64),
        ([I32], Some(I64)) => of_type!((a: u32) -> u64),
        ([I64], None) => of_type!((a: u64) -> ()),
        ([I64], Some(I32)) => of_type!((a: u64) -> u32),
        ([I32, I32], None) => of_type!((a: u32, b: u32) -> ()),
        ([I32, I32], Some(I32)) => of_type!((a: u32, b: u32) -> u32),
        ([I32, I32], Some(I64)) => of_type!((a: u32, b: u32) -> u64),
        ([I32, I64], Some(I64)) => of_type!((a: u32, b: u64) -> u64),
        ([I64, I32], Some(I32)) => of_type!((a: u64, b: u32) -> u32),
        ([I32, I32, I32], None) => of_type!((a: u32, b: u32, c: u32) -> ()),
        ([I32, I32, I32], Some(I64)) => of_type!((a: u32, b: u32, c: u32) -> u64),
        ([I32, I32, I64], Some(I32)) => of_type!((a: u32, b: u32, c: u64) -> u32),
        ([I64, I32, I32], Some(I32)) => of_type!((a: u64, b: u32, c: u32) -> u32),
        ([I64, I32, I32, I32], Some(I32)) => {
            of_type!((a: u64, b: u32, c: u32, d: u32) -> u32)
        }
        (parameters, result) => {
            unreachable!("no closure for {parameters:?} -> {result:?}: {}", import.name)
        }
    }
}

/// The arguments of a call, and 0 for those that it does not have.
fn padded<const N: usize>(given: [u64; N]) -> [u64; MAX_PARAMETERS] {
    let mut arguments = [0; MAX_PARAMETERS];
    arguments[..N].copy_from_slice(&given);
    arguments
}

/// The result of a call, from the word that answers it.
trait Of {
    fn of(answer: u64) -> Self;
}

impl Of for () {
    fn of(_: u64) {}
}

impl Of for u32 {
    fn of(answer: u64) -> u32 {
        answer as u32
    }
}

impl Of for u64 {
    fn of(answer: u64) -> u64 {
        answer
    }
}
