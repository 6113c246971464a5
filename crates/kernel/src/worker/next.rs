//! What a worker runs next.
//!
//! Under `Stealing`: its own newest entry, in the same window; else its inbox or the head of the
//! global queue, with a batch behind it; else it steals. Under the other disciplines the head of
//! its inbox or of the shared queue, each in a window of its own.
//!
//! What keeps that fair: once the window's quantum is spent, the worker's own entries join the
//! line and it serves the head of the line. And every so many turns, also within a quantum, it
//! looks at the global queue first, and half-way to the next look at its own oldest entry. That one
//! is seldom while nobody waits elsewhere: what lies at the far end is the root of most work, and
//! each that begins before those above it have ended keeps all it makes in memory.
//!
//! The line is the global queue and the worker's own back line, where those wait who have yielded
//! here. An entry of the back line knows who had arrived at the global queue before it, so the two
//! are served in one order of arrival. Each worker has as many turns to give as any other, so the
//! bound on waiting holds if no back line is much longer than another: every few batches a worker
//! compares its own with another's, and takes from that one as long as it is the longer by far.
//! With nothing else to do it takes from any. All this is for workers that come to what waits for
//! them; see [`kept`](super::kept) for the others.
//!
//! Who has used up a quantum waits in a line of its own, so that those who want a short turn now and
//! then do not wait for a whole quantum of each who never ends. It is served when nothing else
//! waits, every so many turns, and once others have been served before it for some quanta.

use std::{
    iter,
    ptr::{self, NonNull},
};

use crate::{
    attributes::Rank,
    entry::Entry,
    queue::{
        Queue,
        deque::{BATCH, Stealer},
        line::Line,
    },
    record::{EventKind, Note},
    sync::atomic::Ordering::Relaxed,
    worker::Worker,
    world::Nanos,
};

/// The worker looks at the global queue first every so many turns.
pub(super) const GLOBAL_EVERY: u32 = if cfg!(any(loom, shuttle)) { 5 } else { 61 };
/// And so many turns after that, sometimes, at its own oldest entry.
const OLDEST_AT: u32 = GLOBAL_EVERY / 2;
/// While nobody waits elsewhere, after one of so many looks.
const OLDEST_EVERY: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

/// Those who have used up a quantum wait while others are served for so many quanta.
pub(crate) const FAVOUR: Nanos = 16;

/// Fewer entries are left to an owner that is busy with them, for a moment.
const STEAL_MIN: usize = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

/// So many entries of a worker's own deque join the line when its quantum is spent.
const JOIN_MAX: usize = 64;

/// Every so many batches a worker compares its back line with another's, and helps with one that is
/// longer by a sixteenth and a batch.
const BALANCE_EVERY: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 4 };

impl Worker {
    /// Whether our own newest entry comes next, in the same window on purpose; or fairness asks
    /// for another.
    #[inline(always)]
    pub(super) fn may_take_newest(&self) -> bool {
        let countdown = self.countdown.get();
        if !self.keeps_near() || countdown == 0 {
            return false;
        }
        self.countdown.set(countdown - 1);
        true
    }

    /// Our newest entry, which stays where it is until its turn has begun.
    #[inline(always)]
    pub(super) fn take_newest(&self) -> Option<NonNull<Entry>> {
        self.near.set(self.near.get().saturating_sub(1));
        self.deque.take()
    }

    pub(super) fn pop_newest(&self) -> Option<Entry> {
        self.near.set(self.near.get().saturating_sub(1));
        self.deque.pop()
    }

    /// The next entry that this worker would run, without stealing.
    #[inline(never)]
    pub(crate) fn next(&self) -> Option<Entry> {
        if !self.stealing {
            return self.next_in_order();
        }
        if self.slot().expired.load(Relaxed) {
            return self.next_in_fairness();
        }
        let old = match self.countdown.get() {
            0 => self.one_of_the_old(),
            countdown => {
                self.countdown.set(countdown - 1);
                None
            }
        };
        old.or_else(|| self.pop_newest()).or_else(|| self.next_in_line())
    }

    /// Who comes before our newest entry every so many turns: the head of the line, and half-way to
    /// the next look our own oldest entry, if it is time for that one. That is now and then; and
    /// whenever somebody came from elsewhere, since he opened a window: if that goes on, no quantum is
    /// ever spent, and what lies below others never joins the line.
    fn one_of_the_old(&self) -> Option<Entry> {
        if self.owes_oldest.replace(false) {
            self.countdown.set(GLOBAL_EVERY - 1 - OLDEST_AT);
            return self.opened_window(self.oldest());
        }
        let head = self.head_of_spent().or_else(|| self.opened_window(self.head_of_line()));
        let looks = self.looks.get();
        self.looks.set(looks.wrapping_add(1));
        self.owes_oldest.set(head.is_some() || looks.is_multiple_of(OLDEST_EVERY));
        self.countdown.set(if self.owes_oldest.get() { OLDEST_AT } else { GLOBAL_EVERY });
        head
    }

    pub(super) fn next_in_order(&self) -> Option<Entry> {
        let entry = match self.inbox() {
            None => self.shared.queues.global.pop(),
            Some(inbox) => self.entry_of_one_who_is_kept().or_else(|| inbox.pop()),
        };
        self.opened_window(entry)
    }

    /// From the line that everyone shares: a batch of it, the oldest on top.
    pub(super) fn next_in_line(&self) -> Option<Entry> {
        if self.owes_spent()
            && let Some(entry) = self.head_of_spent()
        {
            return Some(entry);
        }
        let entry = self
            .batch_of_one_who_is_kept()
            .or_else(|| self.inbox()?.pop())
            .or_else(|| self.line_to_serve().and_then(|(line, most)| self.take_batch(line, most)))
            .or_else(|| self.take_from_the_lines_of_others());
        self.opened_window(entry).or_else(|| self.head_of_spent())
    }

    pub(super) fn take_batch(&self, line: &Line<Entry>, most: usize) -> Option<Entry> {
        let entry = line.take_batch(&self.deque, most)?;
        self.near.set(0);
        self.batch_arrived();
        Some(entry)
    }

    /// The line that the next batch comes from: as `oldest_line`, but for a back line that is
    /// longer than ours.
    fn line_to_serve(&self) -> Option<(&Line<Entry>, usize)> {
        let (backs, (own, most)) = (&self.shared.queues.backs, self.oldest_line()?);
        let Some(back) = backs.get(self.id).filter(|back| ptr::eq(&***back, own)) else {
            return Some((own, most));
        };
        let batches = self.batches.get();
        self.batches.set(batches.wrapping_add(1));
        if batches.is_multiple_of(BALANCE_EVERY) {
            let other = self.dice.borrow_mut().below(backs.len());
            let len = back.len();
            self.helps.set((backs[other].len() > len + len / 16 + BATCH).then_some(other));
        }
        Some((self.helps.get().map_or(own, |other| &backs[other]), most))
    }

    /// The line whose head came first, the global queue or our own back line, and how many of it
    /// may go before the other.
    fn oldest_line(&self) -> Option<(&Line<Entry>, usize)> {
        let queues = &self.shared.queues;
        let Queue::Fifo(global) = &*queues.global else { return None };
        let Some(back) = queues.backs.get(self.id).filter(|back| !back.is_empty()) else {
            return Some((global, BATCH));
        };
        if global.is_empty() {
            return Some((back, BATCH));
        }
        // SAFETY: every entry of a back line notes it.
        let since = back.peek(|entry| unsafe { entry.arrivals() });
        // Nobody waits there any more, or is just about to.
        let Some(since) = since else { return Some((global, BATCH)) };
        match global.waiting_before(since) {
            0 => Some((back, BATCH)),
            most => Some((global, most)),
        }
    }

    /// Nobody waits in a line of ours: a batch from another worker's.
    fn take_from_the_lines_of_others(&self) -> Option<Entry> {
        let backs = &self.shared.queues.backs;
        if backs.len() < 2 {
            return None;
        }
        let first = self.dice.borrow_mut().below(backs.len());
        (0..backs.len())
            .map(|i| &backs[(first + i) % backs.len()])
            .filter(|back| !back.is_empty())
            .find_map(|back| self.take_batch(back, BATCH))
    }

    /// From the line of those who have used up a quantum.
    fn head_of_spent(&self) -> Option<Entry> {
        let entry = self.shared.queues.spent.as_ref()?.pop();
        self.favoured.set(0);
        self.opened_window_of(entry, true)
    }

    /// Whether those who have used up a quantum come first now. The monitor says so, or in a
    /// simulation the virtual time that others have used.
    fn owes_spent(&self) -> bool {
        self.slot().owes_spent.load(Relaxed)
            || self.favoured.get() >= self.shared.config.quantum.saturating_mul(FAVOUR)
    }

    /// The quantum is spent: the head of the line.
    #[cold]
    pub(super) fn next_in_fairness(&self) -> Option<Entry> {
        self.ring_timers();
        self.join_the_line();
        let others = || {
            self.opened_window(
                self.entry_of_one_who_is_kept()
                    .or_else(|| self.head_of_batch())
                    .or_else(|| self.head_of_line())
                    .or_else(|| self.oldest())
                    .or_else(|| self.take_from_the_lines_of_others()),
            )
        };
        let spent = || self.head_of_spent();
        // Its own oldest has joined the line: nothing comes half-way to the next look.
        if self.owes_oldest.replace(false) {
            self.countdown.set(self.countdown.get() + GLOBAL_EVERY - OLDEST_AT);
        }
        // Turns count here too: shares may be much smaller than a quantum.
        let countdown = self.countdown.get();
        self.countdown.set(countdown.checked_sub(1).unwrap_or(GLOBAL_EVERY));
        let owes = countdown == 0 || self.owes_spent();
        if owes { spent().or_else(others) } else { others().or_else(spent) }
    }

    /// The quantum is spent: what waits on our own deque goes to the back of the line, in the
    /// order it came. So there is one line for all, and nobody waits behind what comes later.
    ///
    /// Only the oldest so many go at once: then a strand that spawns without end pays little, and
    /// still whoever is below them gets into line at the rate of many per quantum. And what is left
    /// of a batch stays, if nothing else is there: it was the head of the line.
    #[cold]
    pub(super) fn join_the_line(&self) {
        let near = self.near.get();
        // Inside of a turn that waits, some of it is that turn's own.
        if near == 0 || self.inside.get() > 0 {
            return;
        }
        let line = self.inbox().unwrap_or(&self.shared.queues.global);
        // What came as a batch lies at the bottom, its oldest on top.
        let mut batch = Vec::new();
        for _ in 0..self.deque.len().saturating_sub(near) {
            batch.extend(self.oldest());
        }
        let others: Vec<Entry> = iter::from_fn(|| self.oldest()).take(JOIN_MAX).collect();
        self.near.set(near.saturating_sub(JOIN_MAX));
        // For a moment it was in nobody's queue.
        let mut moved = !batch.is_empty();
        if self.near.get() == 0 {
            // Nothing lies on top of it any more: it keeps its place before the line.
            batch.drain(..).for_each(|entry| self.deque.push(entry));
        }
        for entry in batch.into_iter().rev().chain(others) {
            let rank = entry.peek().map_or_else(Rank::default, |strand| strand.header().rank());
            line.push(entry, &rank);
            moved = true;
        }
        if moved {
            self.shared.placed();
        }
    }

    /// What is left of a batch, if nothing lies on top of it: it was the head of the line.
    fn head_of_batch(&self) -> Option<Entry> {
        if self.near.get() == 0 { self.deque.pop() } else { None }
    }

    pub(super) fn head_of_line(&self) -> Option<Entry> {
        self.inbox().and_then(Queue::pop).or_else(|| self.oldest_line()?.0.pop())
    }

    pub(super) fn oldest(&self) -> Option<Entry> {
        self.shared.queues.stealers.get(self.id)?.steal()
    }

    pub(super) fn inbox(&self) -> Option<&Queue> {
        self.shared.queues.inboxes.get(self.id).map(|inbox| &**inbox)
    }

    /// Takes from another worker: half of its deque, or of its inbox the first while it can not
    /// serve it.
    ///
    /// A `patient` thief leaves a few entries alone once if their owner is just pushing or taking
    /// some: what was made a moment ago is still in the owner's cache and hands, and comes cheaper
    /// as part of more. Not what its owner [offers](crate::Share::Eager). What it keeps nobody takes.
    pub(crate) fn steal(&self, patient: bool) -> Option<Entry> {
        self.opened_window(self.rob(patient))
    }

    /// As `steal`, for a turn that is nested in another and shares its quantum.
    pub(super) fn rob(&self, patient: bool) -> Option<Entry> {
        let queues = &self.shared.queues;
        let workers = self.shared.slots.len();
        let first = self.dice.borrow_mut().below(workers);
        let (victim, entry) = (0..workers)
            .map(|i| (first + i) % workers)
            .filter(|v| *v != self.id)
            .find_map(|victim| {
                if let Some(deque) = queues.stealers.get(victim)
                    && !self.shared.slots[victim].sharing.is_kept()
                    && !(patient && self.leaves_alone(victim, deque))
                    && let Some(entry) = self.take_half(deque)
                {
                    return Some((victim, entry));
                }
                let inbox = queues.inboxes.get(victim)?;
                let entry =
                    if self.shared.slots[victim].is_occupied() { inbox.pop() } else { None };
                entry.map(|entry| (victim, entry))
            })?;
        self.note_steal(victim, &entry);
        Some(entry)
    }

    pub(super) fn take_half(&self, deque: &Stealer<Entry>) -> Option<Entry> {
        let entry = deque.steal_half(&self.deque, Entry::is_branch)?;
        self.near.set(0);
        self.batch_arrived();
        Some(entry)
    }

    pub(super) fn note_steal(&self, victim: usize, entry: &Entry) {
        self.slot().counters.steals.add(1);
        if self.shared.recorder.is_on() {
            let id = entry.peek().map(|strand| strand.header().id);
            self.write(Note::new(self.now(), EventKind::Steal, id).from(victim));
        }
    }

    /// Whether there is little on the deque, and it has moved since we last looked, and its owner would
    /// rather have it left there.
    fn leaves_alone(&self, victim: usize, deque: &Stealer<Entry>) -> bool {
        let pace = deque.pace();
        deque.len() < STEAL_MIN
            && self.pace.replace(pace) != pace
            && !self.shared.slots[victim].sharing.is_eager()
    }

    /// A batch was in nobody's queue for a moment; whoever looked then must be told.
    pub(super) fn batch_arrived(&self) {
        if !self.deque.is_empty() {
            self.shared.placed();
        }
    }

    #[inline]
    pub(super) fn opened_window(&self, entry: Option<Entry>) -> Option<Entry> {
        self.opened_window_of(entry, false)
    }

    #[inline]
    fn opened_window_of(&self, entry: Option<Entry>, spent: bool) -> Option<Entry> {
        if entry.is_some() {
            self.open_window(spent);
        }
        entry
    }

    #[inline]
    pub(super) fn open_window(&self, spent: bool) {
        self.slot().new_window(spent);
        self.fresh.set(true);
        self.spent.set(0);
        self.window_nanos.set(0);
    }
}
