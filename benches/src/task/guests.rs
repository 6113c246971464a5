//! The guests, as text that needs no other toolchain.

/// One task spawns many that end at once: `main(count)`, and `trivial` is what they do.
pub const SPAWN: &str = include_str!("guests/spawn.wat");
/// One task spawns many that wait: `main(count)`.
pub const LIVE: &str = include_str!("guests/live.wat");
/// The same, and each has a memory.
pub const LIVE_PAGE: &str = include_str!("guests/live_page.wat");
/// `main(members, hops)` tells the nanoseconds that the hops took.
pub const RING: &str = include_str!("guests/ring.wat");
/// `main(channel)` receives and sends for ever, whatever the host makes of that.
pub const SWITCH: &str = include_str!("guests/switch.wat");
/// `main(leaves)` tells the sum.
pub const SKYNET: &str = include_str!("guests/skynet.wat");
/// `fib(n)`, `walk(steps)`, `sieve(limit)`.
pub const COMPUTE: &str = include_str!("guests/compute.wat");
/// `ticked(first due, ticks)` and `hog()`.
pub const TICKS: &str = include_str!("guests/ticks.wat");

/// A guest's text as a module.
pub fn module(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("our own guests are right")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guest_is_a_module() {
        for text in [SPAWN, LIVE, LIVE_PAGE, RING, SWITCH, SKYNET, COMPUTE, TICKS] {
            assert!(module(text).starts_with(b"\0asm"));
        }
    }
}
