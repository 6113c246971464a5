//! How often was each method called, how did it end, and how long did it take?

use std::{collections::HashMap, time::Duration};

use super::{Counter, histogram::Histogram};
use crate::rpc::{
    method::Method,
    register::{Entry, Table},
};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Error,
    Panic,
}

impl Outcome {
    pub(crate) const ALL: [Outcome; 3] = [Outcome::Ok, Outcome::Error, Outcome::Panic];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Error => "error",
            Outcome::Panic => "panic",
        }
    }
}

/// One method's calls.
#[derive(Debug, Default)]
pub(crate) struct MethodCalls {
    /// What is called; `None`: an error that says where it is, or nothing.
    pub(crate) method: Option<&'static Method>,
    ended: [Counter; Outcome::ALL.len()],
    pub(crate) took: Histogram,
}

impl MethodCalls {
    pub(crate) fn ended(&self, outcome: Outcome) -> u64 {
        self.ended[outcome as usize].get()
    }
}

/// The calls of all methods. A stranger can not add to their number: whatever has no name here is
/// counted as one.
#[derive(Debug)]
pub(crate) struct CallMetrics {
    methods: HashMap<&'static str, MethodCalls>,
    unknown: MethodCalls,
}

/// The name of all methods that do not exist.
const UNKNOWN: &str = "unknown";

impl CallMetrics {
    pub(crate) fn new(tables: &[Table; 2]) -> CallMetrics {
        let all = tables.iter().flatten().map(|(name, entry)| {
            let method = match entry {
                Entry::Method(method) => Some(*method),
                Entry::Signpost(_) => None,
            };
            (*name, method)
        });
        let mut methods: HashMap<_, MethodCalls> = HashMap::new();
        for (name, method) in all {
            // A signpost stands for what is at the other endpoint.
            let calls = methods.entry(name).or_default();
            calls.method = calls.method.or(method);
        }
        CallMetrics { methods, unknown: MethodCalls::default() }
    }

    pub(crate) fn of(&self, name: &str) -> Option<&MethodCalls> {
        self.methods.get(name)
    }

    /// Counts a call. The method's name, from our own list.
    pub(crate) fn note(&self, name: &str, outcome: Outcome, took: Duration) -> &'static str {
        let (name, method) = match self.methods.get_key_value(name) {
            Some((name, method)) => (*name, method),
            None => (UNKNOWN, &self.unknown),
        };
        method.ended[outcome as usize].add(1);
        method.took.note(took);
        name
    }

    /// Those that were called, by name.
    pub(crate) fn called(&self) -> Vec<(&'static str, &MethodCalls)> {
        let all = self.methods.iter().map(|(name, method)| (*name, method));
        let all = all.chain([(UNKNOWN, &self.unknown)]);
        let used = |method: &MethodCalls| Outcome::ALL.iter().any(|end| method.ended(*end) > 0);
        let mut called: Vec<_> = all.filter(|(_, method)| used(method)).collect();
        called.sort_unstable_by_key(|(name, _)| *name);
        called
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::register;

    #[test]
    fn names_that_strangers_invent_are_counted_as_one() {
        let metrics = CallMetrics::new(&[register::root(), register::own()]);
        let known = "eth_chainId";
        assert_eq!(metrics.note(known, Outcome::Ok, Duration::ZERO), known);
        for number in 0..1_000 {
            let name = format!("eth_{number}");
            assert_eq!(metrics.note(&name, Outcome::Error, Duration::ZERO), UNKNOWN);
        }
        let called: Vec<_> = metrics.called();
        assert_eq!(called.len(), 2);
        assert_eq!((called[0].0, called[0].1.ended(Outcome::Ok)), (known, 1));
        assert_eq!((called[1].0, called[1].1.ended(Outcome::Error)), (UNKNOWN, 1_000));
        assert_eq!(called[1].1.took.count(), 1_000);
    }
}
