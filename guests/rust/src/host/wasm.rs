//! The functions of the host, as they are: the table of `docs/abi.md`.
//!
//! The host checks every pointer and length against this task's memory, so a call with a wrong one
//! is answered with a code. What it writes, it writes within the bounds that it was given.

#[link(wasm_import_module = "shiftwork")]
unsafe extern "C" {
    pub(crate) safe fn abi_version() -> i32;
    pub(crate) safe fn spawn(function: i32, argument: i64) -> i64;
    pub(crate) fn spawn_with(function: i32, bytes: *const u8, length: i32) -> i64;
    pub(crate) fn input(buffer: *mut u8, capacity: i32) -> i32;
    #[link_name = "await"]
    pub(crate) fn wait(task: i64, result: *mut i64) -> i32;
    pub(crate) safe fn yield_now();
    #[link_name = "self"]
    pub(crate) safe fn myself() -> i64;
    pub(crate) safe fn sleep(nanoseconds: i64);
    pub(crate) safe fn chan_open(capacity: i32) -> i64;
    pub(crate) fn chan_send(channel: i64, bytes: *const u8, length: i32) -> i32;
    pub(crate) fn chan_recv(channel: i64, buffer: *mut u8, capacity: i32, length: *mut i32) -> i32;
    pub(crate) safe fn chan_close(channel: i64) -> i32;
    pub(crate) fn select(channels: *const i64, count: i32, timeout: i64) -> i32;
    pub(crate) fn mutex_open(bytes: *const u8, length: i32) -> i64;
    pub(crate) fn lock(mutex: i64, buffer: *mut u8, capacity: i32, length: *mut i32) -> i32;
    pub(crate) fn unlock(mutex: i64, bytes: *const u8, length: i32) -> i32;
    pub(crate) safe fn mutex_close(mutex: i64) -> i32;
    pub(crate) fn log(level: i32, text: *const u8, length: i32);
    pub(crate) safe fn now() -> i64;
    pub(crate) fn random(buffer: *mut u8, length: i32);
}
