//! Is what a module imports ours, and of the type that it has here?

use std::fmt::Display;

use wasmparser::{FuncType, TypeRef, ValType};

use crate::{
    abi::{self, Call, Import, Type},
    error::LoadError,
};

/// The call that an import names, and the index of its type.
///
/// # Errors
/// If it is not a function of ours, or of another type.
pub(super) fn check(
    import: &wasmparser::Import<'_>,
    types: &[FuncType],
) -> Result<(Call, u32), LoadError> {
    let ours = if import.module == abi::MODULE { Call::by_name(import.name) } else { None };
    let Some(call) = ours else {
        let (module, name) = (import.module.to_owned(), import.name.to_owned());
        return Err(LoadError::UnknownImport { module, name });
    };
    let expected = call.import();
    let found = match import.ty {
        TypeRef::Func(index) => {
            let ty = &types[index as usize];
            if is_type_of(expected, ty) {
                return Ok((call, index));
            }
            signature(ty.params(), ty.results())
        }
        TypeRef::Table(_) => "a table".to_owned(),
        TypeRef::Memory(_) => "a memory".to_owned(),
        TypeRef::Global(_) => "a global".to_owned(),
        TypeRef::Tag(_) | TypeRef::FuncExact(_) => "something else".to_owned(),
    };
    let expected = signature(expected.parameters, expected.result.as_slice());
    Err(LoadError::WrongImportType { name: import.name.to_owned(), expected, found })
}

fn is_type_of(import: &Import, ty: &FuncType) -> bool {
    fn same(ours: &[Type], theirs: &[ValType]) -> bool {
        let same = |(ours, theirs)| {
            matches!((ours, theirs), (&Type::I32, &ValType::I32) | (&Type::I64, &ValType::I64))
        };
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(same)
    }
    same(import.parameters, ty.params()) && same(import.result.as_slice(), ty.results())
}

/// `(i32, i64) -> i64`, as people read it.
fn signature<T: Display>(parameters: &[T], results: &[T]) -> String {
    let list = |types: &[T]| {
        let shown: Vec<String> = types.iter().map(T::to_string).collect();
        shown.join(", ")
    };
    match results {
        [] => format!("({})", list(parameters)),
        [one] => format!("({}) -> {one}", list(parameters)),
        several => format!("({}) -> ({})", list(parameters), list(several)),
    }
}
