//! When did which worker run what? The recorders of both runtimes, and who wants them on.
//!
//! They are on while somebody holds a [`Recording`]: a viewer of the dashboard, whoever asked at
//! `/admin/timeline`, or the node itself from its start to its end. The rings are bounded; what they
//! no longer hold is counted, and said. When the last one lets go, their memory is given back; only
//! what a node has recorded from its start can be read after that.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kernel::Handle;

/// So many events per worker are kept of a node that records from its start.
pub(crate) const EVENTS_FROM_START: usize = 1 << 18;

/// The recorders of a node's runtimes. It outlives the node: what was recorded until its end can be
/// written after it.
///
/// `observe::timeline::write` makes a trace of what it holds.
#[derive(Clone, Debug)]
pub struct Timeline {
    runtimes: [(&'static str, Handle); 2],
    /// How many want them on.
    holders: Arc<Mutex<usize>>,
    /// Whether what was recorded stays when nobody wants them on any more.
    stays: bool,
}

/// The recorders are on while it is there.
#[derive(Debug)]
pub(crate) struct Recording(Timeline);

impl Timeline {
    pub(crate) fn new(shards: Handle, queries: Handle, stays: bool) -> Timeline {
        let runtimes = [("shards", shards), ("queries", queries)];
        Timeline { runtimes, holders: Arc::default(), stays }
    }

    /// The same as [`record`](Timeline::record) for who must not wait: the memory for it may be not
    /// there yet. `None`: there is not enough.
    pub(crate) async fn record_aside(self) -> Option<Recording> {
        tokio::task::spawn_blocking(move || self.record()).await.ok()
    }

    /// Switches the recorders on, until the last one who wants them lets go.
    pub(crate) fn record(&self) -> Recording {
        self.count(|holders| *holders += 1);
        Recording(self.clone())
    }

    fn count(&self, change: impl FnOnce(&mut usize)) {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut holders);
        for (_, runtime) in &self.runtimes {
            runtime.record(*holders > 0);
            if *holders == 0 && !self.stays {
                runtime.forget_recording();
            }
        }
    }

    /// What the recorders hold, by the name of the runtime.
    pub fn recordings(&self) -> [(&'static str, kernel::Recording); 2] {
        self.recordings_since(Duration::ZERO)
    }

    /// The same from then on, by the clock of the queries. The runtime of the shards starts before
    /// theirs, so its clock is ahead: there may be a little more than was asked for.
    pub(crate) fn recordings_since(
        &self,
        since: Duration,
    ) -> [(&'static str, kernel::Recording); 2] {
        self.runtimes.each_ref().map(|(name, runtime)| (*name, runtime.recording_since(since)))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.0.count(|holders| *holders -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Runtime;

    #[test]
    fn the_recorders_are_on_while_somebody_wants_them() {
        let [shards, queries] = [0, 1].map(|_| Runtime::builder().workers(1).build().unwrap());
        let timeline = Timeline::new(shards.handle().clone(), queries.handle().clone(), false);
        let is_on = || [&shards, &queries].map(|runtime| runtime.is_recording());
        assert_eq!(is_on(), [false, false]);
        let first = timeline.record();
        let second = timeline.record();
        drop(first);
        assert_eq!(is_on(), [true, true]);
        drop(second);
        assert_eq!(is_on(), [false, false]);
    }

    #[test]
    fn what_was_recorded_stays_only_if_it_is_to_be_read_later() {
        for stays in [false, true] {
            let [shards, queries] = [0, 1].map(|_| Runtime::builder().workers(1).build().unwrap());
            let timeline = Timeline::new(shards.handle().clone(), queries.handle().clone(), stays);
            let recording = timeline.record();
            shards.compute(|_| ()).unwrap().join().unwrap();
            drop(recording);
            assert_eq!(!timeline.recordings()[0].1.events.is_empty(), stays);
        }
    }
}
