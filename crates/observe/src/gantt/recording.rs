//! How does a recording of a runtime become a schedule?

use std::time::Duration;

use kernel::{Event, EventKind, Recording, StrandId};

use super::{Bar, Gantt, Kind, Row};

/// How a stretch of a turn ended: places in [`KINDS`].
const PAUSED: usize = 0;
const YIELDED: usize = 1;
const ENDED: usize = 2;
const NESTED: usize = 3;
const RUNNING: usize = 4;

const KINDS: [(&str, &str); 5] = [
    ("then paused", "#0072b2"),
    ("then yielded", "#c44e00"),
    ("then ended", "#00805c"),
    ("then another within its turn", "#b0518a"),
    ("not over", "#8a6700"),
];

impl Gantt {
    /// The turns of a recording: a row for each worker, and a colour for how a turn ended.
    ///
    /// `name` says what a strand is called; jobs are no strands, and have none. From the simulated
    /// runtime the picture is the same for the same seed.
    ///
    /// ```
    /// use kernel::Runtime;
    /// use observe::Gantt;
    /// use std::time::Duration;
    ///
    /// let mut simulation = Runtime::builder().workers(2).record(1_000).simulate(7)?;
    /// for _ in 0..4 {
    ///     simulation.submit(|turn| turn.simulate(Duration::from_micros(30)))?;
    /// }
    /// simulation.run();
    /// let name = |strand: Option<_>| strand.map_or("job".to_owned(), |id| format!("strand {id}"));
    /// let chart = Gantt::of_recording("Four jobs", &simulation.recording(), name);
    /// assert_eq!(chart.rows.iter().map(|row| row.bars.len()).sum::<usize>(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_recording(
        title: impl Into<String>,
        recording: &Recording,
        name: impl Fn(Option<StrandId>) -> String,
    ) -> Gantt {
        let workers = recording.events.iter().filter_map(|event| event.worker);
        let workers = workers.map(|worker| worker.get() + 1).max().unwrap_or(0);
        let mut lanes: Vec<Lane> = (0..workers).map(|_| Lane::default()).collect();
        for event in &recording.events {
            if let Some(worker) = event.worker {
                lanes[worker.get()].see(event, &name);
            }
        }
        let end = recording.events.last().map_or(Duration::ZERO, |event| event.at);
        let rows = lanes.into_iter().enumerate().map(|(number, lane)| Row {
            name: format!("worker {number}"),
            bars: lane.finish(end, &name),
        });
        let mut notes = Vec::new();
        if recording.dropped > 0 {
            notes.push(format!("{} earlier events no longer fitted.", recording.dropped));
        }
        let kinds = KINDS.map(|(name, colour)| Kind { name: name.to_owned(), colour });
        Gantt {
            title: title.into(),
            about: "A bar is a turn; its colour says how it ended.".to_owned(),
            rows: rows.collect(),
            links: Vec::new(),
            kinds: kinds.to_vec(),
            notes,
        }
    }
}

/// One worker, as its events come.
#[derive(Default)]
struct Lane {
    bars: Vec<Bar>,
    /// Turns that are not over: each within the one before it, which waits.
    open: Vec<Option<StrandId>>,
    /// Since when the innermost runs.
    since: Duration,
}

impl Lane {
    fn see(&mut self, event: &Event, name: impl Fn(Option<StrandId>) -> String) {
        let ended = match event.kind {
            EventKind::Run => {
                self.close(event.at, NESTED, &name);
                self.open.push(event.strand);
                self.since = event.at;
                return;
            }
            EventKind::Pause => PAUSED,
            EventKind::Yield => YIELDED,
            EventKind::End => ENDED,
            _ => return,
        };
        // The beginning of a turn may be older than what is recorded.
        self.close(event.at, ended, &name);
        self.open.pop();
        self.since = event.at;
    }

    fn close(&mut self, at: Duration, kind: usize, name: impl Fn(Option<StrandId>) -> String) {
        if let Some(strand) = self.open.last() {
            self.bars.push(Bar::new(self.since, at, name(*strand), kind));
        }
    }

    fn finish(mut self, end: Duration, name: impl Fn(Option<StrandId>) -> String) -> Vec<Bar> {
        self.close(end, RUNNING, &name);
        self.bars
    }
}
