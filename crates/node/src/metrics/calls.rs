//! How often was each method called, how did it end, and how long did it take?

use std::{collections::HashMap, time::Duration};

use jsonrpsee::core::server::{MethodCallback, Methods};

use super::{Counter, histogram::Histogram};

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
    /// It tells something later on, over a WebSocket.
    pub(crate) is_subscription: bool,
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
    pub(crate) fn new(methods: [&Methods; 2]) -> CallMetrics {
        let all = methods.into_iter().flat_map(|methods| {
            methods.method_names().map(|name| {
                let callback = methods.method(name);
                let is_subscription = matches!(
                    callback,
                    Some(MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_))
                );
                (name, MethodCalls { is_subscription, ..MethodCalls::default() })
            })
        });
        CallMetrics { methods: all.collect(), unknown: MethodCalls::default() }
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
    use jsonrpsee::RpcModule;

    use super::*;

    #[test]
    fn names_that_strangers_invent_are_counted_as_one() {
        let mut module = RpcModule::new(());
        module.register_method("eth_known", |_, _, _| 0).unwrap();
        let methods: Methods = module.into();
        let metrics = CallMetrics::new([&methods, &Methods::new()]);
        assert_eq!(metrics.note("eth_known", Outcome::Ok, Duration::ZERO), "eth_known");
        for number in 0..1_000 {
            let name = format!("eth_{number}");
            assert_eq!(metrics.note(&name, Outcome::Error, Duration::ZERO), UNKNOWN);
        }
        let called: Vec<_> = metrics.called();
        assert_eq!(called.len(), 2);
        assert_eq!((called[0].0, called[0].1.ended(Outcome::Ok)), ("eth_known", 1));
        assert_eq!((called[1].0, called[1].1.ended(Outcome::Error)), (UNKNOWN, 1_000));
        assert_eq!(called[1].1.took.count(), 1_000);
    }
}
