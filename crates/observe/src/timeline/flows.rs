//! Which wake, hand-off or steal led to which turn?
//!
//! Only what is certain becomes an arrow, and each has both of its ends. A turn says since when it
//! had waited, which is the time of its wake. A hand-off is followed by the turn on the same worker.
//! What was stolen runs next on the thief.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use kernel::{EventKind, Recording, StrandId};

/// Why a turn came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Wake,
    HandOff,
    Steal,
}

impl Cause {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Cause::Wake => "wake",
            Cause::HandOff => "hand-off",
            Cause::Steal => "steal",
        }
    }
}

/// An arrow, by its number, from one event to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) id: u64,
    pub(super) cause: Cause,
    /// The events. Of the same moment, that which it leads to may come first.
    pub(super) from: usize,
    pub(super) to: usize,
}

#[derive(Default)]
pub(super) struct Flows {
    /// By event that it starts from.
    pub(super) from: HashMap<usize, Flow>,
    /// By event that begins the turn.
    pub(super) to: HashMap<usize, Vec<Flow>>,
}

impl Flows {
    /// The arrows of a recording; `next_id` gives them numbers.
    pub(super) fn of(recording: &Recording, next_id: &mut u64) -> Flows {
        let mut flows = Flows::default();
        let mut join = |from: usize, to: usize, cause: Cause| {
            *next_id += 1;
            let flow = Flow { id: *next_id, cause, from, to };
            flows.from.insert(from, flow);
            flows.to.entry(to).or_default().push(flow);
        };
        let mut wakes = wakes(recording);
        // By worker: what is to run there next.
        let mut handed: Vec<Option<(usize, Option<StrandId>)>> = vec![None; recording.workers];
        let mut stolen: Vec<Option<usize>> = vec![None; recording.workers];
        for (index, event) in recording.events.iter().enumerate() {
            let Some(worker) = event.worker.map(|worker| worker.get()) else { continue };
            if worker >= recording.workers {
                continue;
            }
            match event.kind {
                EventKind::HandOff => handed[worker] = Some((index, event.strand)),
                EventKind::Steal if event.victim.is_some() => stolen[worker] = Some(index),
                EventKind::Run => {
                    let wake = event.since.and_then(|since| {
                        let same = wakes.get_mut(&(event.strand, since))?;
                        same.pop_front()
                    });
                    if let Some(wake) = wake {
                        join(wake, index, Cause::Wake);
                    }
                    if let Some((from, strand)) = handed[worker].take()
                        && strand == event.strand
                    {
                        join(from, index, Cause::HandOff);
                    }
                    if let Some(from) = stolen[worker].take() {
                        join(from, index, Cause::Steal);
                    }
                }
                _ => {}
            }
        }
        flows
    }
}

/// Wakes by whom they woke and when. In virtual time many jobs are queued at the same moment: these
/// are told apart by nothing, and taken in order.
fn wakes(recording: &Recording) -> HashMap<(Option<StrandId>, Duration), VecDeque<usize>> {
    let mut wakes: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (index, event) in recording.events.iter().enumerate() {
        if event.kind == EventKind::Wake {
            // A time of 0 would say that nothing is known.
            let at = event.at.max(Duration::from_nanos(1));
            wakes.entry((event.strand, at)).or_default().push_back(index);
        }
    }
    wakes
}
