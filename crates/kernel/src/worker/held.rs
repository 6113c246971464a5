//! How a turn claims the next one at once, with something left for it.
//!
//! A hand-off by [`Turn::hand_off`](crate::Turn::hand_off) names a strand, and the worker claims
//! it when the turn has ended. One that leaves a message claims at once: then the strand's open
//! part is the sender's to write to, and the end of the turn needs no further step to run it. The
//! worker holds at most one such strand; its state is RUNNING meanwhile.
//!
//! What would be no hand-off at the end of a turn is none here either: when the quantum is spent,
//! the worker is asked to pause or stop, or the discipline has an order that others rely on, a
//! held strand goes to the back of the line.

use std::mem::ManuallyDrop;

use crate::{
    record::EventKind,
    strand::{Strand, StrandRef, state::Hold},
    sync::atomic::Ordering::Relaxed,
    worker::Worker,
};

/// A strand whose turn was taken, for as long as something is left for it. Then it is held: not
/// before, since one that is held goes into line as soon as another is, and nobody else may keep
/// it alive. Also if whoever leaves something panics.
pub(crate) struct Taken<'a> {
    worker: &'a Worker,
    strand: StrandRef,
}

impl Taken<'_> {
    /// Something was left: it is held. As dropping it, but where it is called.
    #[inline(always)]
    pub(crate) fn keep(self) {
        let taken = ManuallyDrop::new(self);
        taken.worker.keep(taken.strand);
    }
}

impl Drop for Taken<'_> {
    #[cold]
    fn drop(&mut self) {
        self.worker.keep(self.strand);
    }
}

impl Worker {
    /// Takes the turn of `strand`, and gives back so many handles of the caller's. `settled` says
    /// whether somebody else who fills the strand is done. None: nothing was done.
    #[inline]
    pub(crate) fn hold(
        &self,
        strand: StrandRef,
        handles: u64,
        settled: impl FnOnce() -> bool,
    ) -> Option<Taken<'_>> {
        match strand.state().hold(handles) {
            Hold::Held => {}
            Hold::Filled if settled() => {
                for _ in 0..handles {
                    let last = strand.state().release();
                    debug_assert!(!last, "its turn is ours");
                }
            }
            Hold::Filled => {
                self.rest(strand, strand.state().give_back());
                return None;
            }
            Hold::Refused => return None,
        }
        Some(Taken { worker: self, strand })
    }

    /// Holds a strand until the current turn has ended. One that was held before goes into line.
    #[inline(always)]
    fn keep(&self, strand: StrandRef) {
        self.slot().counters.hand_offs.add(1);
        if self.shared.recorder.is_on() {
            self.record(EventKind::HandOff, Some(strand.header().id));
        }
        if let Some(earlier) = self.held.replace(Some(strand)) {
            self.let_go(earlier);
        }
    }

    /// Whether this turn has claimed the strand, and no time has passed in it that a simulation would
    /// have to reckon with.
    #[inline]
    pub(crate) fn holds(&self, strand: StrandRef) -> bool {
        self.held.get() == Some(strand) && self.turn_nanos() == 0
    }

    /// Whether a strand may be claimed in this turn: it is one of a strand, within its quantum, and
    /// the order of turns is ours to change.
    #[inline]
    pub(crate) fn may_hold(&self) -> bool {
        let slot = self.slot();
        self.keeps_near()
            && slot.asked() == 0
            && slot.strand.load(Relaxed) != 0
            && self.turn_nanos() == 0
    }

    /// The end of the turn: the held strand runs next, unless the quantum is spent.
    #[inline]
    pub(super) fn keep_held(&self, held: StrandRef, named: Option<Strand>) -> Option<StrandRef> {
        if let Some(named) = named {
            named.0.wake();
        }
        if self.keeps_near() {
            return Some(held);
        }
        self.let_go(held);
        None
    }

    /// Puts a held strand into line.
    #[cold]
    fn let_go(&self, held: StrandRef) {
        self.rest(held, held.state().requeue());
    }
}
