//! How ready jobs get into line: from inside a turn, from outside, or not at all any more.

use std::ptr::NonNull;

use kernel::{Attributes, Handle, Turn, WorkerId};

use crate::{
    about::nanos,
    graph::{
        Core,
        cell::contain,
        ready::{Ready, turns},
    },
    pool::shared::Shared,
};

/// From where jobs are put in line. To place an entry a runtime may ask an affinity, which is foreign
/// code: if that panics the jobs at hand end as stopped, and the others go on.
pub(super) trait Line {
    /// The worker that this thread is.
    fn worker(&self) -> Option<WorkerId>;
    fn now(&self) -> u64;
    fn handle(&self) -> Option<Handle>;
    fn submit(&mut self, ready: Ready);
    fn submit_with(&mut self, attributes: Attributes, ready: Ready);
    /// The turn, if there is one, in which a successor may run at once.
    fn turn(&mut self) -> bool;
}

impl Line for Turn<'_> {
    #[inline(always)]
    fn worker(&self) -> Option<WorkerId> {
        Some(Turn::worker(self))
    }

    #[cold]
    fn now(&self) -> u64 {
        nanos(Turn::now(self))
    }

    fn handle(&self) -> Option<Handle> {
        Some(Turn::handle(self))
    }

    #[inline(always)]
    fn submit(&mut self, ready: Ready) {
        ready.submit(self);
    }

    fn submit_with(&mut self, attributes: Attributes, ready: Ready) {
        // Refused: it is dropped, and ends as stopped.
        contain(|| {
            let _ = Turn::submit_with(self, attributes, move |turn| ready.run(turn));
        });
    }

    #[inline(always)]
    fn turn(&mut self) -> bool {
        true
    }
}

/// From a thread that submits a batch, at the moment when it does.
pub(crate) struct Submission<'a> {
    pub(crate) handle: &'a Handle,
    pub(crate) now: u64,
}

impl Line for Submission<'_> {
    fn worker(&self) -> Option<WorkerId> {
        None
    }

    /// The clock is read once for all of its jobs.
    #[inline]
    fn now(&self) -> u64 {
        self.now
    }

    fn handle(&self) -> Option<Handle> {
        Some(self.handle.clone())
    }

    #[inline]
    fn submit(&mut self, ready: Ready) {
        contain(|| {
            let _ = self.handle.submit(move |turn| ready.run(turn));
        });
    }

    #[inline]
    fn submit_with(&mut self, attributes: Attributes, ready: Ready) {
        contain(|| {
            let _ = self.handle.submit_with(attributes, move |turn| ready.run(turn));
        });
    }

    fn turn(&mut self) -> bool {
        false
    }
}

/// The pool has stopped: nothing is put in line any more.
pub(super) struct Closed;

impl Line for Closed {
    fn worker(&self) -> Option<WorkerId> {
        None
    }

    fn now(&self) -> u64 {
        0
    }

    fn handle(&self) -> Option<Handle> {
        None
    }

    fn submit(&mut self, ready: Ready) {
        drop(ready);
    }

    fn submit_with(&mut self, _: Attributes, ready: Ready) {
        drop(ready);
    }

    fn turn(&mut self) -> bool {
        false
    }
}

/// Jobs of a batch on their way into line: neighbours are put there together.
pub(super) struct Lane<'a, L: Line> {
    core: NonNull<Core>,
    shared: &'a Shared,
    line: &'a mut L,
    from: u32,
    to: u32,
}

impl<'a, L: Line> Lane<'a, L> {
    #[inline(always)]
    pub(super) fn new(core: NonNull<Core>, shared: &'a Shared, line: &'a mut L) -> Lane<'a, L> {
        Lane { core, shared, line, from: 0, to: 0 }
    }

    /// # Safety
    /// The job is ready and the caller's, and `core` is its batch. Afterwards it is not.
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, core: &Core, index: u32) {
        self.stamp(core, index);
        if !self.shared.settings.plain || core.is_resumable(index) {
            return self.add_with_care(core, index);
        }
        if self.to != index || self.from == self.to {
            self.flush();
            self.from = index;
        }
        self.to = index + 1;
    }

    /// Notes when a job was ready, if it is timed.
    #[inline(always)]
    pub(super) fn stamp(&self, core: &Core, index: u32) {
        if let Some(noted) = core.noted(index) {
            noted.ready(self.line.now());
        }
    }

    /// Puts what was added in line. Nothing of the batch is touched.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        if self.from != self.to {
            // SAFETY: they are ready, and were ours since they were added.
            let ready = unsafe { Ready::new(self.core, self.from, self.to) };
            self.from = self.to;
            self.line.submit(ready);
        }
    }

    /// A job whose place in line depends on what is said about it, or that needs a strand.
    #[inline(never)]
    fn add_with_care(&mut self, core: &Core, index: u32) {
        let attributes = self.shared.attributes(&core.kept(index).unwrap_or_default());
        let resumable = core.is_resumable(index);
        // SAFETY: it is ready, and ours. From here on nothing of the batch is touched.
        let ready = unsafe { Ready::new(self.core, index, index + 1) };
        if !resumable {
            return self.line.submit_with(attributes, ready);
        }
        if let Some(handle) = self.line.handle() {
            // Refused: the job is dropped with the body, and ends as stopped.
            contain(|| drop(handle.strand().attributes(attributes).start(turns(ready))));
        }
    }
}
