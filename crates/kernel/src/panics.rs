//! What happens when something panics.
//!
//! A panic of user code is caught at the edge of its strand or job: the strand ends as failed,
//! its owner is told, the worker goes on. A panic of the kernel itself aborts the process,
//! since queues and states may be torn: [`AbortOnUnwind`] is the one guard for that.

use std::{any::Any, panic::AssertUnwindSafe};

/// The payload of a caught panic.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Runs user code. What it touched is dropped or ended by the caller if it panics, so nobody
/// sees it half changed.
#[inline]
pub(crate) fn catch<R>(user_code: impl FnOnce() -> R) -> Result<R, Payload> {
    std::panic::catch_unwind(AssertUnwindSafe(user_code))
}

/// The text of a panic, as the default panic hook would print it.
pub(crate) fn text(payload: &Payload) -> String {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a text".to_owned()
    }
}

/// Runs user code that nobody waits for: a waker, a drop.
pub(crate) fn contain(user_code: impl FnOnce()) {
    if let Err(payload) = catch(user_code) {
        discard(payload);
    }
}

/// Drops the payload of a panic, which may panic again: that one is nobody's any more.
pub(crate) fn discard(payload: Payload) {
    if let Err(again) = catch(|| drop(payload)) {
        std::mem::forget(again);
    }
}

/// Aborts the process if it is dropped by unwinding.
pub(crate) struct AbortOnUnwind(&'static str);

impl AbortOnUnwind {
    pub(crate) fn new(what: &'static str) -> AbortOnUnwind {
        AbortOnUnwind(what)
    }
}

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        if std::thread::panicking() {
            abort(self.0);
        }
    }
}

/// For a frame that others use: aborts the process if it is dropped, which only unwinding does.
pub(crate) struct MustNotUnwind;

impl Drop for MustNotUnwind {
    #[cold]
    fn drop(&mut self) {
        abort("a join");
    }
}

fn abort(what: &str) -> ! {
    eprintln!("shiftwork: {what} panicked, which is a bug of the kernel; aborting");
    std::process::abort();
}
