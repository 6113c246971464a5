//! Do guests that call anything with anything stay contained? See `fuzz::host_abi`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::host_abi(data));
