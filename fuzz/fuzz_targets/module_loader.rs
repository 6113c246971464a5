//! Does a module, whatever it is, get refused or run? See `fuzz::module_loader`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::module_loader(data));
