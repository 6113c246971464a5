//! When did which worker run what? The recorders of both runtimes, and who wants them on.
//!
//! They are on while somebody holds a [`Recording`]: a viewer of the dashboard, whoever asked at
//! `/admin/timeline`, or the node itself from its start to its end. The rings are bounded; what they
//! no longer hold is counted, and said.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kernel::Handle;
use observe::timeline;

/// So many events per worker are kept of a node that records from its start.
pub(crate) const EVENTS_FROM_START: usize = 1 << 18;

/// The recorders of a node's runtimes. It outlives the node: what was recorded until its end can be
/// written after it.
#[derive(Clone, Debug)]
pub struct Timeline {
    runtimes: [(&'static str, Handle); 2],
    /// How many want them on.
    holders: Arc<Mutex<usize>>,
}

/// What a trace holds, and what it lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub events: u64,
    /// How many older ones were there no longer.
    pub dropped: u64,
}

/// The recorders are on while it is there.
#[derive(Debug)]
pub(crate) struct Recording(Timeline);

impl Timeline {
    pub(crate) fn new(shards: Handle, queries: Handle) -> Timeline {
        Timeline { runtimes: [("shards", shards), ("queries", queries)], holders: Arc::default() }
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
        }
    }

    /// Writes all that the recorders hold as a trace that Perfetto and Chrome show.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<Written> {
        self.write_since(Duration::ZERO, out)
    }

    /// The same from then on, by the clock of the queries.
    pub(crate) fn write_since(
        &self,
        since: Duration,
        out: &mut dyn io::Write,
    ) -> io::Result<Written> {
        let recordings = self.recordings(since);
        let mut written = Written::default();
        for (_, recording) in &recordings {
            written.events += recording.events.len() as u64;
            written.dropped += recording.dropped;
        }
        let named: Vec<_> = recordings.iter().map(|(name, recording)| (*name, recording)).collect();
        timeline::write(out, &named)?;
        Ok(written)
    }

    /// What was recorded, by the name of the runtime. The one of the shards starts before the one of
    /// the queries, so its clock is ahead: there may be a little more than was asked for.
    pub(crate) fn recordings(&self, since: Duration) -> [(&'static str, kernel::Recording); 2] {
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
        let timeline = Timeline::new(shards.handle().clone(), queries.handle().clone());
        let is_on = || [&shards, &queries].map(|runtime| runtime.is_recording());
        assert_eq!(is_on(), [false, false]);
        let first = timeline.record();
        let second = timeline.record();
        drop(first);
        assert_eq!(is_on(), [true, true]);
        drop(second);
        assert_eq!(is_on(), [false, false]);
    }
}
