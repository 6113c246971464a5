//! How did a node end, and what was cut off?

use std::fmt;

use shard::shards::Closed;

/// How a node ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it says whether something was cut off"]
pub struct Ended {
    /// Requests that got no answer.
    pub requests_cut: usize,
    /// Connections that were cut off.
    pub connections_cut: usize,
    /// How the shards ended.
    pub shards: Closed,
    /// Workers were still at something when the time was over.
    pub workers_left: bool,
}

impl Ended {
    /// Whether nothing was left undone.
    pub fn clean(&self) -> bool {
        self.requests_cut == 0
            && self.connections_cut == 0
            && self.shards.is_clean()
            && !self.workers_left
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Closed { waiting, unfinished, deadline_passed, failure } = &self.shards;
        if self.clean() {
            f.write_str("ended in order")?;
        } else {
            f.write_str("ended, but not in order")?;
        }
        if *waiting > 0 {
            write!(f, "; {waiting} transactions wait and go on at the next start")?;
        }
        if self.requests_cut > 0 {
            write!(f, "; {} requests got no answer", self.requests_cut)?;
        }
        if self.connections_cut > 0 {
            write!(f, "; {} connections were cut off", self.connections_cut)?;
        }
        if *unfinished > 0 {
            write!(f, "; {unfinished} shards had a block under way")?;
        }
        if *deadline_passed {
            f.write_str("; the shards were not done in time")?;
        }
        if let Some(why) = failure {
            write!(f, "; the store has failed: {why}")?;
        }
        if self.workers_left {
            f.write_str("; workers were still busy")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended() -> Ended {
        let shards = Closed { waiting: 0, unfinished: 0, deadline_passed: false, failure: None };
        Ended { requests_cut: 0, connections_cut: 0, shards, workers_left: false }
    }

    #[test]
    fn whatever_was_cut_off_is_told() {
        assert!(ended().clean());
        assert_eq!(ended().to_string(), "ended in order");
        let waiting = Ended { shards: Closed { waiting: 3, ..ended().shards }, ..ended() };
        assert!(waiting.clean(), "they are in the journal");
        assert!(waiting.to_string().contains("3 transactions"));
        for (cut, told) in [
            (Ended { requests_cut: 2, ..ended() }, "2 requests got no answer"),
            (Ended { connections_cut: 4, ..ended() }, "4 connections were cut off"),
            (Ended { workers_left: true, ..ended() }, "workers were still busy"),
        ] {
            assert!(!cut.clean());
            assert!(cut.to_string().contains(told), "{cut}");
        }
    }
}
