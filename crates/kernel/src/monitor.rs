//! The monitor: raises the flag of a worker whose quantum is over, and fires timers.
//!
//! It is one thread per runtime. While somebody is in a turn or something waits, it looks at least
//! twice per quantum which windows are still the same, and makes good for workers that were not
//! unparked (rule 5 of [`crate::idle`], and [`crate::damper`]). When nothing runs it naps until the
//! next timer, and it is not woken for each turn that nobody waits behind: it looks ten times a second
//! as long as there are turns at all, and is called for the first one after that (see
//! [`crate::vigil`]). So an idle runtime uses no CPU, a job now and then costs hardly more than its own
//! worker's, and a turn that hangs is reported also where nobody waits.
//!
//! Where all cores are taken, each look is taken from a worker. So while each worker is in a turn and has
//! looked at the time by itself within the last half of a quantum (see `worker/look.rs`), the monitor
//! rests: it sleeps for twice as long after every other look, up to four quanta. That ends at the first
//! look that finds a worker which has not, or one who has used up a quantum, and as soon as a worker
//! sleeps. Where quanta are short it never rests. A turn that never asks is thus told that its quantum is
//! over after one and a half at latest, or after some five if all had looked at the time shortly before it
//! began.

use std::{mem, sync::Arc, time::Duration};

use crate::{
    attributes::WorkerId,
    report::Report,
    shared::Shared,
    slot::Slot,
    sync::{atomic::Ordering::Relaxed, thread},
    worker::{look::OWN_QUANTUM_MIN, next::FAVOUR},
    world::{self, Nanos},
};

/// A turn is reported after so many quanta,
const OVERRUN: u64 = 100;
/// And not before so long, since a busy machine may keep a thread off its core.
const OVERRUN_MIN: Nanos = 100_000_000;

/// The longest nap while turns are taken now and then.
const DOZE: Nanos = 100_000_000;

/// The longest time between two looks while something waits: calls for help that were held back
/// (see [`crate::damper`]) wait no longer.
const LOOK_MAX: Nanos = 1_000_000;

/// While all look at the time by themselves the time between two looks is doubled after so many looks,
const CALM: u32 = 2;
/// And so many times.
const DOUBLED_MAX: u32 = 3;

/// One who has used up a quantum before, and runs because nobody else waited, is told to end when
/// somebody else does, if it has had so much of its next one.
pub(crate) const SLICE_MIN: Nanos = 50_000;

/// After timers have fired, the next ones may be this late.
const TIMERS_PAUSE: Nanos = 50_000;
/// Or by so much for each that has fired, up to a limit: to sleep and to come back takes some
/// microseconds, which is little beside so many.
const TIMERS_PAUSE_EACH: Nanos = 1_000;
const TIMERS_PAUSE_MAX: Nanos = 250_000;

/// What the monitor remembers of a worker.
#[derive(Clone, Default)]
struct Watched {
    window: u64,
    /// When it first saw this window.
    since: Nanos,
    reported: bool,
    /// The last window of one who has used up a quantum, and when it first saw that.
    spent_window: u64,
    favours_since: Nanos,
    /// What it said about its deque.
    sharing: u32,
}

fn timers_pause(fired: usize) -> Nanos {
    (fired as Nanos * TIMERS_PAUSE_EACH).clamp(TIMERS_PAUSE, TIMERS_PAUSE_MAX)
}

/// The usual time between two looks. A worker that has looked at the time by itself since is well.
pub(crate) fn look_every(quantum: Nanos) -> Nanos {
    (quantum / 2).clamp(1, LOOK_MAX)
}

/// The time between two looks after so many that have found all well.
fn rest(look: Nanos, calm: u32) -> Nanos {
    look << (calm / CALM).min(DOUBLED_MAX)
}

pub(crate) fn run(shared: &Arc<Shared>) {
    let _guard = crate::panics::AbortOnUnwind::new("the monitor");
    world::system::be_punctual();
    shared.idle.watch(thread::current());
    shared.timers.watch(thread::current());
    shared.vigil.watch(thread::current());
    let mut watched = vec![Watched::default(); shared.slots.len()];
    let look = look_every(shared.config.quantum);
    let anything_waits = || shared.somebody_offers() || !shared.queues.all_but_deques_empty();
    let busy = || shared.is_busy();
    let may_rest = shared.config.quantum >= OWN_QUANTUM_MIN;
    let mut awake = false;
    let mut calm = 0_u32;
    let mut turns = 0;
    while !shared.idle.is_closed() {
        let now = shared.clock.now();
        let timer = shared.timers.fire(now, timers_pause);
        // Ringing takes its time when many are due.
        let now = shared.clock.now();
        let to_timer = timer.map(|at| at.saturating_sub(now));
        if awake || busy() {
            inspect(shared, &mut watched, now);
            // Said before it is looked: a worker that sleeps meanwhile is seen, or ends the rest.
            if may_rest && calm.saturating_add(1) >= CALM {
                shared.vigil.rest();
            }
            let well = may_rest && all_is_well(shared, now, look);
            calm = if well { calm.saturating_add(1) } else { 0 };
            if calm < CALM {
                shared.vigil.rise();
            }
            let look = if keeps_waiting(shared) { look.min(SLICE_MIN) } else { rest(look, calm) };
            let patience = to_timer.unwrap_or(look).min(look);
            thread::park_timeout(Duration::from_nanos(patience));
            shared.vigil.rise();
            shared.idle.make_good(anything_waits);
            awake = false;
        } else {
            calm = 0;
            let before = mem::replace(&mut turns, turns_of(shared));
            let patience = if before == turns {
                shared.vigil.go_away();
                to_timer
            } else {
                Some(to_timer.unwrap_or(DOZE).min(DOZE))
            };
            // Whoever ended the nap has seen something wait: watch for at least one look.
            awake = shared.idle.nap(busy, patience.map(Duration::from_nanos));
            shared.vigil.come_back();
        }
    }
    shared.timers.close();
}

/// How many turns there were.
fn turns_of(shared: &Shared) -> u64 {
    shared.slots.iter().map(|slot| slot.counters.turns.get()).sum()
}

/// Whether nobody needs the monitor: all work, and end their quanta themselves, and none of those who
/// have used one up runs or waits.
fn all_is_well(shared: &Shared, now: Nanos, look: Nanos) -> bool {
    let is_well = |slot: &Slot| {
        slot.is_in_turn()
            && !slot.is_in_spent_turn()
            && now.saturating_sub(slot.looked_at.load(Relaxed)) <= look
    };
    shared.slots.iter().all(|slot| is_well(slot))
        && shared.queues.spent.as_ref().is_none_or(|spent| spent.is_empty())
        && shared.idle.parked().is_none()
}

/// Whether somebody waits behind one who has used up a quantum before.
fn keeps_waiting(shared: &Shared) -> bool {
    let slots = shared.slots.iter().enumerate();
    slots
        .into_iter()
        .any(|(worker, slot)| slot.is_in_spent_turn() && shared.queues.somebody_waits_for(worker))
}

/// Raises the flags of those whose window is older than a quantum.
fn inspect(shared: &Shared, watched: &mut [Watched], now: Nanos) {
    let quantum = shared.config.quantum;
    for (worker, (slot, seen)) in shared.slots.iter().zip(watched).enumerate() {
        see_to_the_spent(shared, slot, seen, now);
        slot.sharing.look(&mut seen.sharing);
        let window = slot.window.load(Relaxed);
        if seen.window != window {
            (seen.window, seen.since, seen.reported) = (window, now, false);
            continue;
        }
        let age = now.saturating_sub(seen.since);
        let short = slot.is_in_spent_turn() && shared.queues.somebody_waits_for(worker);
        let slice = if short { quantum.min(SLICE_MIN) } else { quantum };
        if age < slice || !slot.is_in_turn() {
            continue;
        }
        slot.expired.store(true, Relaxed);
        if age >= quantum.saturating_mul(OVERRUN).max(OVERRUN_MIN) && !seen.reported {
            seen.reported = true;
            slot.counters.overruns.add_shared(1);
            shared.report(Report::Overrun {
                name: shared.name_of(slot.strand.load(Relaxed)),
                worker: WorkerId(worker),
                age: Duration::from_nanos(age),
            });
        }
    }
}

/// Tells a worker that has served others for long enough that those who have used up a quantum wait.
fn see_to_the_spent(shared: &Shared, slot: &Slot, seen: &mut Watched, now: Nanos) {
    let last = slot.spent_window.load(Relaxed);
    let nobody_waits = shared.queues.spent.as_ref().is_none_or(|spent| spent.is_empty());
    if nobody_waits || seen.spent_window != last {
        (seen.spent_window, seen.favours_since) = (last, now);
    } else if now.saturating_sub(seen.favours_since) >= shared.config.quantum.saturating_mul(FAVOUR)
    {
        slot.owes_spent.store(true, Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use crate::{Placement, Report, Runtime, Step, Turn, WorkerState, shared::Shared};

    #[test]
    fn timers_that_fire_in_crowds_are_left_alone_for_longer_but_not_too_long() {
        let pauses = [1, 50, 51, 100, 250, 251, 1_000_000].map(super::timers_pause);
        let micros = [50, 50, 51, 100, 250, 250, 250];
        assert_eq!(pauses, micros.map(|micros| micros * 1_000));
    }

    #[test]
    fn rest_is_longer_the_longer_all_have_been_well_but_not_without_bound() {
        let rests = [0, 1, 2, 3, 4, 6, 7, 100, u32::MAX].map(|calm| super::rest(500, calm));
        assert_eq!(rests, [500, 500, 1_000, 1_000, 2_000, 4_000, 4_000, 4_000, 4_000]);
    }

    /// Asks whether it should end, and goes on in another turn.
    fn asks_for_ever(turn: &mut Turn<'_>) {
        while !turn.expired() {
            std::hint::spin_loop();
        }
        turn.submit(asks_for_ever);
    }

    /// The turn that hangs was begun while the monitor rested.
    #[test]
    fn turn_that_hangs_is_reported_though_all_had_looked_at_the_time_before() {
        let (tell, reports) = mpsc::channel();
        let runtime = Runtime::builder()
            .workers(1)
            .on_report(move |report| tell.send(report.clone()).unwrap())
            .build()
            .unwrap();
        runtime.submit(asks_for_ever).unwrap();
        while !runtime.shared.vigil.is_resting() {
            thread::yield_now();
        }
        hangs_until_it_is_reported(&runtime, &reports);
    }

    fn until_it_naps(shared: &Shared) {
        while !shared.idle.is_napping() {
            thread::yield_now();
        }
    }

    /// The monitor naps beside a queue that nobody may serve. Whoever is resumed wakes it: if it did not,
    /// each round would take as long as a nap.
    #[test]
    fn turn_is_told_to_end_though_the_monitor_napped_when_its_worker_was_resumed() {
        let builder = Runtime::builder().workers(1).quantum(Duration::from_micros(100));
        let runtime = builder.build().unwrap();
        let shared = &runtime.shared;
        for _ in 0..1_000 {
            runtime.pause();
            while runtime.workers()[0] != WorkerState::Paused {
                thread::yield_now();
            }
            let body = |turn: &mut Turn<'_>| {
                while !turn.expired() {
                    thread::yield_now();
                }
                Step::End(())
            };
            let (_, mut hog) = runtime.strand().start(body).unwrap();
            let mut behind = runtime.compute(|_| ()).unwrap();
            until_it_naps(shared);
            runtime.resume();
            assert_eq!((hog.join(), behind.join()), (Ok(()), Ok(())));
        }
    }

    /// A job that hangs is let go by the report of it, and nothing else happens meanwhile.
    #[track_caller]
    fn hangs_until_it_is_reported(runtime: &Runtime, reports: &mpsc::Receiver<Report>) {
        let (let_go, gate) = mpsc::channel::<()>();
        let mut hanging = runtime.compute(move |_| gate.recv()).unwrap();
        let report = reports.recv_timeout(Duration::from_secs(60)).expect("nobody reports it");
        assert!(matches!(report, Report::Overrun { .. }), "{report:?}");
        let_go.send(()).unwrap();
        assert_eq!(hanging.join(), Ok(Ok(())));
    }

    /// While the monitor is away, and while it only naps.
    #[test]
    fn lone_turn_that_hangs_is_reported() {
        for placement in [Placement::Any, Placement::RoundRobin] {
            let (tell, reports) = mpsc::channel();
            let runtime = Runtime::builder()
                .workers(1)
                .placement(placement)
                .on_report(move |report| tell.send(report.clone()).unwrap())
                .build()
                .unwrap();
            let shared = &runtime.shared;
            while !(shared.vigil.is_away() && shared.idle.is_napping()) {
                thread::yield_now();
            }
            hangs_until_it_is_reported(&runtime, &reports);
            until_it_naps(shared);
            hangs_until_it_is_reported(&runtime, &reports);
        }
    }
}
