//! What a call costs, in operations: about as long as it takes an interpreter to do so many.
//!
//! The price is known before the call, so a sender pays for both copies of a message, and an unlock
//! for the copy that comes with the next lock.

use crate::{
    abi::{Call, MAX_PARAMETERS},
    options::Limits,
};

/// Every call.
const BASE: u64 = 100;
/// A new task: its entry, its instance, its end.
const SPAWN: u64 = 500;
/// A line of the log.
const LOG: u64 = 1_000;
/// A channel of a select.
const CHANNEL: u64 = 50;
/// So many bytes are copied for one operation.
const BYTES: u64 = 16;
/// So many random bytes are made for one operation.
const RANDOM_BYTES: u64 = 4;

/// What the price of a call depends on besides its arguments, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sizes {
    /// The input of the task that calls.
    pub(crate) input: usize,
    /// What the module has as data, of which each new task gets a copy.
    pub(crate) data: usize,
}

/// What `call` costs. Few calls ask for the sizes.
#[inline]
pub(crate) fn of(
    call: Call,
    arguments: &[u64; MAX_PARAMETERS],
    sizes: impl FnOnce() -> Sizes,
    limits: &Limits,
) -> u64 {
    let &[_, b, c, _] = arguments;
    // A call with more than there may be is refused, and so is a length below 0.
    let most = |len: u64, limit: usize| u64::from(len as u32).min(limit as u64);
    let spawn = |sizes: Sizes| SPAWN + sizes.data as u64 / BYTES;
    let message = |len: u64| most(len, limits.message_bytes);
    BASE + match call {
        Call::Spawn => spawn(sizes()),
        Call::SpawnWith => spawn(sizes()) + message(c) / BYTES,
        Call::Input => most(b, sizes().input) / BYTES,
        Call::ChanSend | Call::Unlock => 2 * message(c) / BYTES,
        Call::MutexOpen => 2 * message(b) / BYTES,
        Call::Select => CHANNEL * most(b, limits.select),
        Call::Log => LOG + message(c) / BYTES,
        Call::Random => most(b, limits.task_memory) / RANDOM_BYTES,
        Call::AbiVersion
        | Call::Await
        | Call::YieldNow
        | Call::Self_
        | Call::Sleep
        | Call::ChanOpen
        | Call::ChanRecv
        | Call::ChanClose
        | Call::Lock
        | Call::MutexClose
        | Call::Now => 0,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::abi::IMPORTS;

    #[test]
    fn every_call_costs_something_and_none_more_than_it_can_do() {
        let limits = Limits::default();
        let sizes = Sizes { input: 1 << 20, data: 1 << 20 };
        for import in IMPORTS {
            let little = of(import.call, &[0; 4], Sizes::default, &limits);
            let much = of(import.call, &[u64::from(u32::MAX); 4], || sizes, &limits);
            assert!(little >= BASE, "{}", import.name);
            assert!(
                much <= BASE + SPAWN + limits.task_memory as u64 / RANDOM_BYTES,
                "{}",
                import.name
            );
        }
    }

    #[test]
    fn bytes_are_paid_for() {
        let limits = Limits::default();
        let send = |len| of(Call::ChanSend, &[1, 0, len, 0], Sizes::default, &limits);
        let sizes = Sizes { input: 160, data: 1_600 };
        assert_eq!(of(Call::Spawn, &[0; 4], || sizes, &limits), BASE + SPAWN + 100);
        assert_eq!(send(16_000) - send(0), 2_000);
        assert_eq!(of(Call::Input, &[0, 1 << 20, 0, 0], || sizes, &limits), BASE + 10);
    }
}
