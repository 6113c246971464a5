//! Hints to the processor: what will be needed soon. They change nothing but the time it takes.

use std::mem::MaybeUninit;

use crate::sync::CACHE_LINE;

/// This will be read soon: the line of its first byte. It need not be there at all.
#[inline(always)]
pub(crate) fn prefetch<T>(what: *const T) {
    hint(MaybeUninit::new(what.addr()), 0);
}

/// So many lines from this address on will be read soon, if it is one.
#[inline(always)]
pub(crate) fn prefetch_lines(address: MaybeUninit<usize>, lines: usize) {
    for line in 0..lines {
        hint(address, line * CACHE_LINE);
    }
}

#[inline(always)]
fn hint(address: MaybeUninit<usize>, offset: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint reads nothing and never faults, whatever the address, which may as well be
    // uninitialized: it only goes into a register.
    unsafe {
        std::arch::asm!(
            "prefetcht0 [{} + {}]",
            in(reg) address,
            in(reg) offset,
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (address, offset);
}
