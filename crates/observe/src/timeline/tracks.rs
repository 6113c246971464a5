//! Which turns did each worker take, from when to when?
//!
//! A turn is a [`EventKind::Run`] and the end that follows on the same worker. While it waits for a
//! branch a worker takes turns inside of a turn, so they nest. Where events are missing a turn is
//! closed all the same: one whose beginning no longer fitted begins with the first event that is
//! left of its worker, and one that has not ended ends when the recording was read.

use std::time::Duration;

use kernel::{Event, EventKind, Recording, StrandId};

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The strand waits for a wake.
    Pause,
    /// The strand went to the back of the line.
    Yield,
    /// The strand or job has ended.
    End,
    /// Not yet, when the recording was read.
    Open,
}

impl Ending {
    /// One word.
    pub fn as_str(self) -> &'static str {
        match self {
            Ending::Pause => "pause",
            Ending::Yield => "yield",
            Ending::End => "end",
            Ending::Open => "still running",
        }
    }

    fn of(kind: EventKind) -> Ending {
        match kind {
            EventKind::Pause => Ending::Pause,
            EventKind::Yield => Ending::Yield,
            _ => Ending::End,
        }
    }
}

/// A turn on a worker's track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Since the runtime started.
    pub start: Duration,
    /// Not before its start.
    pub end: Duration,
    /// Whose turn; `None` for a job.
    pub strand: Option<StrandId>,
    /// How it ended.
    pub ending: Ending,
    /// Its beginning was no longer in the recording.
    pub cut: bool,
    /// How long it had waited for this turn, if that was seen.
    pub waited: Option<Duration>,
    /// Turns that it lies inside of.
    pub depth: u32,
}

/// The turns of each worker, in order of their start; of those with the same, the outer first.
///
/// ```
/// let mut simulation = kernel::Runtime::builder().workers(2).record(100).simulate(1)?;
/// simulation.submit(|turn| turn.spend(500))?;
/// simulation.run();
/// let tracks = observe::timeline::tracks(&simulation.recording());
/// let turns: Vec<_> = tracks.iter().flatten().collect();
/// assert_eq!((tracks.len(), turns.len()), (2, 1));
/// assert_eq!((turns[0].end - turns[0].start).as_nanos(), 500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tracks(recording: &Recording) -> Vec<Vec<Slice>> {
    let tracks = Turns::of(recording).tracks;
    tracks.into_iter().map(|track| track.slices).collect()
}

/// The turns of a recording, and which event began which.
pub(super) struct Turns {
    pub(super) tracks: Vec<Track>,
    /// By event: the slice, on the track of the event's worker, that it began.
    pub(super) begun: Vec<Option<usize>>,
}

#[derive(Default)]
pub(super) struct Track {
    pub(super) slices: Vec<Slice>,
    /// So many of them have no event that began them; they come first.
    pub(super) cut: usize,
}

impl Turns {
    pub(super) fn of(recording: &Recording) -> Turns {
        let events = &recording.events;
        let mut tracks: Vec<Track> = Vec::new();
        tracks.resize_with(recording.workers, Track::default);
        let mut begun = vec![None; events.len()];
        let cut = cut_turns(recording);
        // Per track: which of its slices are open, the innermost last.
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); recording.workers];
        for ((track, open), cut) in tracks.iter_mut().zip(&mut open).zip(cut) {
            track.cut = cut.len();
            track.slices = cut;
            // The outermost is first, and ends last.
            open.extend(0..track.cut);
        }
        for (index, event) in events.iter().enumerate() {
            let Some(worker) = event.worker.map(|worker| worker.get()) else { continue };
            let (Some(track), Some(open)) = (tracks.get_mut(worker), open.get_mut(worker)) else {
                continue;
            };
            if event.kind == EventKind::Run {
                begun[index] = Some(track.slices.len());
                open.push(track.slices.len());
                track.slices.push(begin(event, open.len() as u32 - 1, recording.until));
            } else if event.kind.ends_a_turn()
                && let Some(slice) = open.pop()
            {
                let slice = &mut track.slices[slice];
                (slice.end, slice.ending) = (event.at, Ending::of(event.kind));
            }
        }
        Turns { tracks, begun }
    }
}

fn begin(event: &Event, depth: u32, until: Duration) -> Slice {
    Slice {
        start: event.at,
        end: until.max(event.at),
        strand: event.strand,
        ending: Ending::Open,
        cut: false,
        waited: event.since.map(|since| event.at.saturating_sub(since)),
        depth,
    }
}

/// By worker: the turns that ended and whose beginning is not there, the outermost first. Their
/// ends are set when they are met.
fn cut_turns(recording: &Recording) -> Vec<Vec<Slice>> {
    let mut first: Vec<Option<Duration>> = vec![None; recording.workers];
    let mut open = vec![0u32; recording.workers];
    let mut cut: Vec<Vec<Slice>> = vec![Vec::new(); recording.workers];
    for event in &recording.events {
        let Some(worker) = event.worker.map(|worker| worker.get()) else { continue };
        let Some(first) = first.get_mut(worker) else { continue };
        let start = *first.get_or_insert(event.at);
        if event.kind == EventKind::Run {
            open[worker] += 1;
        } else if event.kind.ends_a_turn() {
            if open[worker] > 0 {
                open[worker] -= 1;
                continue;
            }
            let slice = begin(event, 0, event.at);
            cut[worker].push(Slice { start, cut: true, waited: None, ..slice });
        }
    }
    for slices in &mut cut {
        // They were met from the inside out.
        slices.reverse();
        for (depth, slice) in slices.iter_mut().enumerate() {
            slice.depth = depth as u32;
        }
    }
    cut
}
