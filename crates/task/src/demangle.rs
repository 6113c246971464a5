//! What is a function called in its own language?
//!
//! Compilers of Rust and C++ write names such as `_ZN5guest4main17h0123456789abcdefE` into a module.
//! Traps, backtraces and results show `guest::main`.

use std::fmt::{self, Write};

/// Characters of a function's name that are kept. A guest chooses its names, and a mangled name can
/// stand for one of any length.
pub(crate) const NAME_MAX: usize = 200;

/// A mangled name longer than this is shown as it is.
const MANGLED_MAX: usize = 4_096;

/// The name as people write it, of [`NAME_MAX`] characters at most. One that is not mangled, or not in
/// a way that we know, stays as it is.
pub(crate) fn readable(name: &str) -> String {
    let mut short = Short(String::new());
    // What does not fit is cut off by an error, which is what we want.
    if name.len() <= MANGLED_MAX {
        if let Ok(rust) = rustc_demangle::try_demangle(name) {
            let _ = write!(short, "{rust:#}");
        } else if let Ok(cpp) = cpp_demangle::Symbol::new(name) {
            let _ = cpp.structured_demangle(&mut short, &cpp_demangle::DemangleOptions::new());
        }
    }
    if short.0.is_empty() {
        let _ = short.write_str(name);
    }
    short.0
}

/// Takes so many characters and no more.
struct Short(String);

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = NAME_MAX - self.0.chars().count();
        match text.char_indices().nth(room) {
            None => {
                self.0.push_str(text);
                Ok(())
            }
            Some((end, _)) => {
                self.0.push_str(&text[..end]);
                Err(fmt::Error)
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_and_cpp_become_readable() {
        assert_eq!(readable("_ZN5guest4main17h0123456789abcdefE"), "guest::main");
        assert_eq!(readable("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        assert_eq!(readable("_RINvNtC3std3mem8align_ofdE"), "std::mem::align_of::<f64>");
        assert_eq!(readable("_Z3addii"), "add(int, int)");
        assert_eq!(readable("main"), "main");
        assert_eq!(readable("assembly/index/main"), "assembly/index/main");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let name = "ä".repeat(10 * NAME_MAX);
        assert_eq!(readable(&name), "ä".repeat(NAME_MAX));
    }

    /// `Pair<int, int>`, then a pair of two of those, and so on: each doubles the name's length.
    #[test]
    fn a_mangled_name_that_explodes_is_cut() {
        let mut name = String::from("_Z1f4PairIiiE");
        for last in "0123456789ABCDEFGHIJKLMNOPQRS".chars() {
            name.push_str(&format!("S_IS{last}_S{last}_E"));
        }
        let shown = readable(&name);
        assert!(shown.starts_with("f(Pair<int, int>, Pair<Pair<int, int>, Pair<int, int> >"));
        assert_eq!(shown.chars().count(), NAME_MAX);
    }
}
