//! Is what a pool accepts what the virtual machine takes? See `fuzz::transaction_admission`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::transaction_admission(data));
