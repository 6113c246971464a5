//! What do shards see of another chain: its newest block, asked for again and again.
//!
//! ```text
//!   eth_getBlockByNumber("latest", false)
//!        │
//!     client ── HTTP or HTTPS, a time-out, a limit on the answer
//!        │
//!      head ─── what an answer says, read leniently; nonsense is refused
//!        │
//!     follow ── does it go on from the last one? hashes that were seen
//!        │
//!    listener ─ Shards::set_environment
//! ```
//!
//! 1. The environment is swapped whole, and only for a block that was understood whole.
//! 2. On any trouble the last good one stays. The next attempt comes after a second, then after
//!    two, and so on, at most the poll interval.
//! 3. A chain that goes back (reorganised, restarted) is followed, and what was known of hashes is
//!    forgotten: an unknown hash reads as zero, a wrong one would be believed. The time does not go
//!    back for a shard: its blocks see to that.
//! 4. Another chain id is another chain: it is not followed.

mod client;
mod follow;
mod head;
mod listener;
mod status;
#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use listener::{Listener, Listening};
pub(crate) use status::SharedStatus;
pub use status::{BaseChainStatus, BaseHead};

/// Why the base chain's newest block is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseChainError {
    /// The address of the endpoint can not be used.
    Url(String),
    /// There is no connection, or no whole answer in time.
    Unreachable(String),
    /// It answered with an error of its own.
    Refused(String),
    /// Its answer makes no sense.
    Nonsense(String),
    /// It is another chain than before.
    OtherChain { was: u64, now: u64 },
}

impl fmt::Display for BaseChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BaseChainError::Url(why) => write!(f, "the base chain's URL can not be used: {why}"),
            BaseChainError::Unreachable(why) => write!(f, "the base chain does not answer: {why}"),
            BaseChainError::Refused(why) => write!(f, "the base chain refuses: {why}"),
            BaseChainError::Nonsense(why) => {
                write!(f, "the base chain's answer makes no sense: {why}")
            }
            BaseChainError::OtherChain { was, now } => write!(
                f,
                "the base chain's endpoint has the chain id {now} now, and had {was} before: it is \
                 not followed. If that is meant, start the node again"
            ),
        }
    }
}

impl std::error::Error for BaseChainError {}
