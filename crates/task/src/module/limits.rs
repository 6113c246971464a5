//! How many of each thing a module may have.
//!
//! An engine makes most of them anew for each task, and some of them for each call, and charges no
//! fuel for it. So a stranger's module with a million functions would cost megabytes per task, and one
//! with fifty thousand locals in a function as many zeroes per call. What compilers emit is far below.

use crate::error::LoadError;

/// Functions, imported ones included. A task costs some 70 bytes for each.
pub(super) const FUNCTIONS: usize = 10_000;

/// Imports. The same function may be imported several times.
pub(super) const IMPORTS: usize = 256;

/// Types of functions.
pub(super) const TYPES: usize = 10_000;

/// Exports.
pub(super) const EXPORTS: usize = 10_000;

/// Globals.
pub(super) const GLOBALS: usize = 1_000;

/// Tables.
pub(super) const TABLES: usize = 16;

/// Segments of elements, and of data.
pub(super) const SEGMENTS: usize = 1_000;

/// Locals of one function, its parameters included: each call clears them, and pays for none.
pub(super) const LOCALS: usize = 5_000;

/// An error if there are more than so many of something.
pub(super) fn at_most(limit: usize, count: usize, what: &str) -> Result<(), LoadError> {
    if count <= limit {
        return Ok(());
    }
    Err(LoadError::Limit(format!("it has {count} {what}, and {limit} are allowed")))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use wasmparser::WasmFeatures;

    use super::*;
    use crate::{module::read::FEATURES, page::table};

    #[test]
    fn the_page_has_every_limit_of_modules() {
        let limits = [
            ("functions", FUNCTIONS),
            ("imports", IMPORTS),
            ("types", TYPES),
            ("exports", EXPORTS),
            ("globals", GLOBALS),
            ("tables", TABLES),
            ("element segments", SEGMENTS),
            ("data segments", SEGMENTS),
            ("locals in a function", LOCALS),
        ];
        let page = table("| in a module |");
        let number = |text: &str| text.replace(',', "").parse().expect("a number");
        let shown: Vec<(&str, usize)> = page.iter().map(|row| (row[0], number(row[1]))).collect();
        assert_eq!(shown, limits);
    }

    /// Whatever is in WebAssembly 3.0 is on the page.
    #[test]
    fn the_page_has_every_feature_that_may_be_used_and_those_that_may_not() {
        let (mut may, mut may_not) = (WasmFeatures::FLOATS, WasmFeatures::empty());
        for row in table("| feature |") {
            let name = row[0].replace('-', "_").to_uppercase();
            let feature = WasmFeatures::from_name(&name).expect("the validator knows it");
            match row[1] {
                "yes" => may |= feature,
                "no" => may_not |= feature,
                other => panic!("{other}: yes or no?"),
            }
        }
        assert_eq!(may, FEATURES);
        assert!(!may.intersects(may_not));
        let all = may | may_not | WasmFeatures::MVP;
        assert!(all.contains(WasmFeatures::WASM3), "{all:?}");
    }
}
