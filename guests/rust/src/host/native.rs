//! No host: the same functions where there is none, so that programs can be checked and tested.

macro_rules! absent {
    (
        safe { $($safe:ident($($a:ty),*) $(-> $b:ty)?;)* }
        unsafe { $($unsafe:ident($($c:ty),*) $(-> $d:ty)?;)* }
    ) => {
        $(pub(crate) fn $safe($(_: $a),*) $(-> $b)? { absent(stringify!($safe)) })*
        $(pub(crate) unsafe fn $unsafe($(_: $c),*) $(-> $d)? { absent(stringify!($unsafe)) })*
    };
}

absent! {
    safe {
        abi_version() -> i32;
        spawn(i32, i64) -> i64;
        yield_now();
        myself() -> i64;
        sleep(i64);
        chan_open(i32) -> i64;
        chan_close(i64) -> i32;
        mutex_close(i64) -> i32;
        now() -> i64;
    }
    unsafe {
        spawn_with(i32, *const u8, i32) -> i64;
        input(*mut u8, i32) -> i32;
        wait(i64, *mut i64) -> i32;
        chan_send(i64, *const u8, i32) -> i32;
        chan_recv(i64, *mut u8, i32, *mut i32) -> i32;
        select(*const i64, i32, i64) -> i32;
        mutex_open(*const u8, i32) -> i64;
        lock(i64, *mut u8, i32, *mut i32) -> i32;
        unlock(i64, *const u8, i32) -> i32;
        log(i32, *const u8, i32);
        random(*mut u8, i32);
    }
}

#[cold]
fn absent(function: &str) -> ! {
    panic!(
        "there is no host to {function}: compile for wasm32-unknown-unknown and run it as a task"
    )
}
