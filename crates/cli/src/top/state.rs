//! What does a node or a demo say of itself?

use observe::Snapshot;
use serde::Deserialize;

/// The answer of `/dashboard/state`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct State {
    #[serde(flatten)]
    pub(crate) snapshot: Snapshot,
    /// A demo has none.
    #[serde(default)]
    pub(crate) node: Option<Node>,
}

/// What only a node has. An older one may not tell all of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Node {
    pub(crate) failed: u64,
    pub(crate) pooled: u64,
    pub(crate) shards: u64,
    pub(crate) quarantined: u64,
    pub(crate) connections: u64,
    pub(crate) base_chain: Option<BaseChain>,
}

/// The chain that a node follows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BaseChain {
    pub(crate) number: Option<u64>,
    pub(crate) trouble: Option<String>,
    pub(crate) fresh: bool,
}

impl State {
    /// Whether this is a later look at the same run of the same program. A clock that is set does
    /// not matter. An older program does not say which run it is; started again it begins at zero.
    pub(crate) fn follows(&self, before: &State) -> bool {
        let (now, before) = (&self.snapshot, &before.snapshot);
        now.run == before.run
            && now.uptime_seconds >= before.uptime_seconds
            && now.program == before.program
            && now.version == before.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_has_no_node_and_an_older_node_tells_less() {
        let snapshot = serde_json::to_string(&Snapshot::default()).unwrap();
        let demo: State = serde_json::from_str(&snapshot).unwrap();
        assert!(demo.node.is_none());
        let end = snapshot.len() - 1;
        let node = format!("{},\"node\":{{\"pooled\":3,\"new\":[]}}}}", &snapshot[..end]);
        let node: State = serde_json::from_str(&node).unwrap();
        assert_eq!(node.node.unwrap().pooled, 3);
    }

    fn at(run: &str, uptime_seconds: f64, time_ms: u64) -> State {
        let run = run.to_owned();
        let snapshot = Snapshot { run, uptime_seconds, time_ms, ..Snapshot::default() };
        State { snapshot, node: None }
    }

    #[test]
    fn another_name_is_another_run_however_long_it_is_up() {
        assert!(at("one", 2.0, 0).follows(&at("one", 1.0, 5_000)), "the time of day went back");
        assert!(!at("other", 2.0, 9_000).follows(&at("one", 1.0, 5_000)));
    }

    #[test]
    fn without_a_name_a_smaller_uptime_is_another_run() {
        assert!(at("", 2.0, 0).follows(&at("", 1.0, 5_000)));
        assert!(!at("", 1.0, 9_000).follows(&at("", 2.0, 5_000)));
    }
}
