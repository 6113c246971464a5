//! How is one shard, in a line?

use alloy_primitives::Address;
use kernel::Phase;
use observe::snapshot::Entry;
use serde::{Serialize, Serializer, ser::SerializeTuple};
use shard::{Shard, shard::Status};

/// No more characters of an error are shown: the whole of it is in the log, and at `shard_status`.
const ERROR_MAX: usize = 300;

/// A shard, and how it was when it was last looked at.
pub(super) struct Row {
    pub(super) shard: Shard,
    pub(super) seen: Seen,
    /// The tick in which it was found different.
    pub(super) changed: u64,
    /// How much it has done lately: half of it is forgotten whenever all shards are looked at.
    pub(super) recent: u64,
}

/// How a shard is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) state: State,
    pub(super) height: u64,
    pub(super) pooled: u64,
    /// In blocks, since the node has started.
    pub(super) transactions: u64,
    pub(super) failed: u64,
    pub(super) error: Option<String>,
}

/// What it is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Idle,
    Queued,
    Running,
    Quarantined,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Queued => "queued",
            State::Running => "running",
            State::Quarantined => "quarantined",
        }
    }
}

impl Seen {
    pub(super) fn now(shard: &Shard) -> Seen {
        Seen::from(shard.status())
    }

    /// Whether it may be different a moment later without a new block.
    pub(super) fn is_lively(&self) -> bool {
        matches!(self.state, State::Queued | State::Running)
    }
}

impl From<Status> for Seen {
    fn from(status: Status) -> Seen {
        let state = match status.phase {
            _ if status.quarantine.is_some() => State::Quarantined,
            Phase::Queued => State::Queued,
            Phase::Running => State::Running,
            Phase::Idle | Phase::Done => State::Idle,
        };
        let error = status.quarantine.or(status.backing_off.map(|waits| waits.why));
        Seen {
            state,
            height: status.height,
            pooled: status.pool_len as u64,
            transactions: status.included,
            failed: status.failed,
            error: error.map(shortened),
        }
    }
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(ERROR_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}

impl Row {
    pub(super) fn new(shard: Shard) -> Row {
        Row { shard, seen: Seen::default(), changed: 0, recent: 0 }
    }

    pub(super) fn address(&self) -> Address {
        self.shard.address()
    }

    /// The greater, the busier.
    pub(super) fn business(&self) -> (u64, u64, u64) {
        (self.recent, self.seen.pooled, self.seen.transactions)
    }

    pub(super) fn entry(&self) -> Entry {
        Entry {
            kind: "shard".to_owned(),
            name: self.address().to_string(),
            state: self.seen.state.name().to_owned(),
            done: self.seen.transactions,
            waiting: self.seen.pooled,
            error: self.seen.error.clone(),
        }
    }
}

/// `[address, state, height, pooled, transactions, error]`: there may be many, so they are short.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(6)?;
        tuple.serialize_element(&self.address())?;
        tuple.serialize_element(self.seen.state.name())?;
        tuple.serialize_element(&self.seen.height)?;
        tuple.serialize_element(&self.seen.pooled)?;
        tuple.serialize_element(&self.seen.transactions)?;
        tuple.serialize_element(&self.seen.error)?;
        tuple.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_is_cut_between_characters() {
        assert_eq!(shortened("no room".to_owned()), "no room");
        let long = shortened("ä".repeat(ERROR_MAX + 1));
        assert_eq!(long.chars().count(), ERROR_MAX + 1);
        assert!(long.ends_with("ä…"));
    }
}
