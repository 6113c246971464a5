//! Which turns did each worker take since the last frame?
//!
//! What is shown is a window of time, and turns are cut where it begins and ends: of a turn that goes
//! on, each frame has its piece, and no two pieces overlap. Turns inside of turns are left out. Who has
//! not asked for long gets the last two seconds, and is told how many turns there were before.

use std::time::Duration;

use kernel::Recording;
use observe::timeline;
use serde::Serialize;

use crate::{context::Context, timeline::Timeline};

/// So many of a worker are in a frame: the longest ones.
const SLICES_MAX: usize = 400;
/// A window is not longer.
const WINDOW_MAX: Duration = Duration::from_secs(2);

/// What a viewer has been shown of the turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Until then, by the clock of the queries.
    until: Duration,
    /// So many turns there were by then.
    turns: u64,
}

impl Shown {
    /// All that was until now.
    pub(super) fn now(context: &Context) -> Shown {
        let turns = [&context.workers, &context.queries].map(|it| it.metrics().total().turns);
        Shown { until: context.queries.now(), turns: turns.iter().sum() }
    }
}

/// A window of time, and what workers did in it. Times are in microseconds since the node started.
#[derive(Debug, Serialize)]
pub(super) struct Turns {
    from_us: u64,
    to_us: u64,
    workers: Vec<Worker>,
    /// Turns that are not in it.
    dropped: u64,
}

#[derive(Debug, Serialize)]
struct Worker {
    name: String,
    /// How long it had a turn, also of those that are not among the slices.
    busy_us: u64,
    /// When it begins, how long it is, and whose turn it is.
    slices: Vec<(u64, u64, String)>,
}

impl Turns {
    /// What was recorded from then until now, by the clock of the queries.
    pub(super) fn between(timeline: &Timeline, before: Shown, now: Shown) -> Turns {
        let to = now.until;
        let from = before.until.max(to.saturating_sub(WINDOW_MAX));
        let recordings = timeline.recordings_since(from);
        let zero = recordings[1].1.origin;
        let mut turns =
            Turns { from_us: micros(from), to_us: micros(to), workers: Vec::new(), dropped: 0 };
        for (name, recording) in &recordings {
            // How much earlier than the other clock this one was started.
            let ahead = match (zero, recording.origin) {
                (Some(zero), Some(origin)) => zero.saturating_duration_since(origin),
                _ => Duration::ZERO,
            };
            turns.add(name, recording, (from + ahead, to + ahead), ahead);
        }
        if from > before.until {
            let shown: usize = turns.workers.iter().map(|worker| worker.slices.len()).sum();
            turns.dropped =
                turns.dropped.max(now.turns.saturating_sub(before.turns + shown as u64));
        }
        turns
    }

    fn add(
        &mut self,
        runtime: &str,
        recording: &Recording,
        (from, to): (Duration, Duration),
        ahead: Duration,
    ) {
        self.dropped += recording.dropped;
        for (number, track) in timeline::tracks(recording).iter().enumerate() {
            let mut shown: Vec<_> = track
                .iter()
                .filter(|turn| turn.depth == 0)
                .map(|turn| (turn.start.max(from), turn.end.min(to), turn.strand))
                .filter(|(start, end, _)| start < end)
                .collect();
            let busy: Duration = shown.iter().map(|(start, end, _)| *end - *start).sum();
            if shown.len() > SLICES_MAX {
                self.dropped += (shown.len() - SLICES_MAX) as u64;
                shown.sort_by_key(|(start, end, _)| std::cmp::Reverse(*end - *start));
                shown.truncate(SLICES_MAX);
                shown.sort_by_key(|(start, ..)| *start);
            }
            let slices = shown.into_iter().map(|(start, end, strand)| {
                let (start, end) = (micros(start - ahead), micros(end - ahead));
                // One that is shorter than can be said is there all the same.
                (start, (end - start).max(1), recording.name_of(strand))
            });
            let name = format!("{runtime} {number}");
            let slices = slices.collect();
            self.workers.push(Worker { name, busy_us: micros(busy), slices });
        }
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Runtime;

    fn turns_of(jobs: usize, from: u64, to: u64) -> Turns {
        let mut simulation = Runtime::builder().workers(1).record(10_000).simulate(1).unwrap();
        for job in 0..jobs {
            // Every job is longer than the one before it.
            simulation.submit(move |turn| turn.spend(1_000 * (job as u64 + 1))).unwrap();
        }
        simulation.run();
        let recording = simulation.recording();
        let mut turns = Turns { from_us: from, to_us: to, workers: Vec::new(), dropped: 0 };
        let window = (Duration::from_micros(from), Duration::from_micros(to));
        turns.add("shards", &recording, window, Duration::ZERO);
        turns
    }

    #[test]
    fn a_turn_that_goes_on_has_a_piece_in_each_window() {
        // From 0 to 1, 1 to 3 and 3 to 6.
        let slices = |from, to| {
            let turns = turns_of(3, from, to);
            assert_eq!((turns.workers[0].name.as_str(), turns.dropped), ("shards 0", 0));
            let slices = turns.workers[0].slices.iter();
            slices.map(|(start, length, _)| (*start, *length)).collect::<Vec<_>>()
        };
        assert_eq!(slices(0, 2), [(0, 1), (1, 1)]);
        assert_eq!(slices(2, 5), [(2, 1), (3, 2)]);
        assert_eq!(slices(5, 9), [(5, 1)]);
    }

    #[test]
    fn who_comes_late_sees_the_last_seconds_and_how_many_turns_were_before() {
        let [shards, queries] = [0, 1].map(|_| Runtime::builder().workers(1).build().unwrap());
        let timeline = Timeline::new(shards.handle().clone(), queries.handle().clone(), false);
        let at = |seconds, turns| Shown { until: Duration::from_secs(seconds), turns };
        let turns = Turns::between(&timeline, at(8, 3), at(10, 7));
        assert_eq!((turns.from_us, turns.to_us, turns.dropped), (8_000_000, 10_000_000, 0));
        let turns = Turns::between(&timeline, at(7, 3), at(10, 7));
        assert_eq!((turns.from_us, turns.to_us, turns.dropped), (8_000_000, 10_000_000, 4));
    }

    #[test]
    fn the_longest_turns_are_shown_in_their_order_and_the_others_counted() {
        let turns = turns_of(SLICES_MAX + 10, 0, 1_000_000);
        let slices = &turns.workers[0].slices;
        assert_eq!((slices.len(), turns.dropped), (SLICES_MAX, 10));
        assert_eq!(slices[0].1, 11, "the ten shortest are left out");
        assert!(slices.is_sorted_by_key(|(start, ..)| *start));
        let all: u64 = (1..=SLICES_MAX as u64 + 10).sum();
        assert_eq!(turns.workers[0].busy_us, all, "also while it had one of those");
    }
}
