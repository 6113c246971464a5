//! Which share does a lane take next, and who leads?
//!
//! ```text
//!          begin             next             came
//!   lead ---------> WAITING -------> TAKEN ---------> CAME
//!     ^                                                 |
//!     +--------------------- next, when all have come --+
//! ```
//!
//! 1. A share is executed once for each time it is begun with.
//! 2. One lane at a time leads: the first, and then whoever asks for more when all shares have come.
//!    It begins with more shares, or ends the batch.
//! 3. No end is missed: a lane that has brought a share asks again, so somebody does after the last.
//! 4. A lane leaves when there is nothing for it to do. Who begins with shares starts as many of
//!    those that have left as there are shares for. The last that leaves is told so.
//!
//! Everything is under one mutex: it is held for some ten nanoseconds, twice per share.

use std::{
    mem,
    sync::{Mutex, MutexGuard},
};

/// Hands out shares. `S` is a share, `O` is what comes of it, `F` is what a lane must hold to lead.
#[derive(Debug)]
pub(super) struct Schedule<S, O, F>(Mutex<State<S, O, F>>);

#[derive(Debug)]
struct State<S, O, F> {
    /// The next one is the last.
    waiting: Vec<S>,
    /// Shares that are waiting or taken.
    due: usize,
    came: Vec<O>,
    /// `None` while a lane leads.
    frontier: Option<F>,
    lanes: usize,
    /// Lanes that have left, or were never there.
    away: Vec<usize>,
    over: bool,
}

/// What a lane has to do.
#[derive(Debug)]
#[must_use = "a task that is not done is never done"]
pub(super) enum Task<S, O, F> {
    /// Execute this share, then [`Schedule::came`].
    Execute(S),
    /// This came of all shares, in any order: [`Schedule::begin`] with others, or
    /// [`Schedule::finish`].
    Lead(F, Vec<O>),
    /// There is nothing to do: [`Schedule::leave`].
    Leave,
}

/// How the last lane leaves.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left<F> {
    /// The batch is done.
    Whole(F),
    /// Some lane was stopped or has panicked.
    Broken,
}

impl<S, O, F> Schedule<S, O, F> {
    /// Of so many lanes only that with number 0 counts as running: it leads first.
    pub(super) fn new(frontier: F, lanes: usize) -> Schedule<S, O, F> {
        Schedule(Mutex::new(State {
            waiting: Vec::new(),
            due: 0,
            came: Vec::new(),
            frontier: Some(frontier),
            lanes,
            away: (1..lanes).rev().collect(),
            over: false,
        }))
    }

    /// What the lane that asks is to do now.
    pub(super) fn next(&self) -> Task<S, O, F> {
        let mut state = self.lock();
        if let Some(share) = state.waiting.pop() {
            return Task::Execute(share);
        }
        if state.due == 0
            && !state.over
            && let Some(frontier) = state.frontier.take()
        {
            return Task::Lead(frontier, mem::take(&mut state.came));
        }
        Task::Leave
    }

    /// A lane has executed a share, and this came of it.
    pub(super) fn came(&self, came: O) {
        let mut state = self.lock();
        state.came.push(came);
        state.due -= 1;
    }

    /// These are to be executed now, the first ones first. Gives lanes to be started, which count as
    /// running: the caller takes one share itself.
    #[must_use = "a lane that is not started leaves a worker idle"]
    pub(super) fn begin(&self, frontier: F, mut shares: Vec<S>) -> Vec<usize> {
        shares.reverse();
        let mut state = self.lock();
        state.due = shares.len();
        let stay = state.away.len() - state.away.len().min(shares.len().saturating_sub(1));
        state.waiting = shares;
        state.frontier = Some(frontier);
        state.away.split_off(stay)
    }

    /// All is done.
    pub(super) fn finish(&self, frontier: F) {
        let mut state = self.lock();
        state.frontier = Some(frontier);
        state.over = true;
    }

    /// A lane leaves. The last gets the frontier, if the batch is done.
    pub(super) fn leave(&self, lane: usize) -> Option<Left<F>> {
        let mut state = self.lock();
        assert!(!state.away.contains(&lane), "a lane that has left leaves again");
        state.away.push(lane);
        let over = state.over;
        (state.away.len() == state.lanes).then(|| match state.frontier.take() {
            Some(frontier) if over => Left::Whole(frontier),
            _ => Left::Broken,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State<S, O, F>> {
        self.0.lock().expect("nothing panics under the lock of a schedule")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Letters = Schedule<char, char, &'static str>;

    fn lead(schedule: &Letters) -> (&'static str, Vec<char>) {
        match schedule.next() {
            Task::Lead(frontier, came) => (frontier, came),
            other => panic!("{other:?}"),
        }
    }

    fn execute(schedule: &Letters) -> char {
        match schedule.next() {
            Task::Execute(share) => share,
            other => panic!("{other:?}"),
        }
    }

    /// Invariants 2 and 3.
    #[test]
    fn who_asks_after_the_last_share_has_come_leads() {
        let schedule = Letters::new("frontier", 2);
        let (frontier, came) = lead(&schedule);
        assert!(came.is_empty() && matches!(schedule.next(), Task::Leave), "somebody leads");
        assert_eq!(schedule.begin(frontier, vec!['a', 'b']), [1]);
        assert_eq!([execute(&schedule), execute(&schedule)], ['a', 'b']);
        schedule.came('b');
        assert!(matches!(schedule.next(), Task::Leave), "one is not there yet");
        schedule.came('a');
        let (frontier, came) = lead(&schedule);
        assert_eq!(came, ['b', 'a']);
        schedule.finish(frontier);
        assert!(matches!(schedule.next(), Task::Leave));
        assert_eq!(schedule.leave(1), None);
        assert_eq!(schedule.leave(0), Some(Left::Whole("frontier")));
    }

    #[test]
    fn lanes_that_left_are_started_when_there_are_shares_for_them() {
        let schedule = Letters::new("frontier", 4);
        let (frontier, _) = lead(&schedule);
        assert!(schedule.begin(frontier, vec!['a']).is_empty(), "that is for the caller");
        schedule.came(execute(&schedule));
        let (frontier, _) = lead(&schedule);
        assert_eq!(schedule.begin(frontier, vec!['b', 'c', 'd']), [2, 1]);
        (0..3).for_each(|_| schedule.came(execute(&schedule)));
        assert_eq!(schedule.leave(2), None);
        let (frontier, _) = lead(&schedule);
        assert_eq!(schedule.begin(frontier, vec!['e', 'f']), [2], "1 is still there");
    }

    #[test]
    fn last_lane_learns_that_a_share_was_lost() {
        let schedule = Letters::new("frontier", 2);
        let (frontier, _) = lead(&schedule);
        assert_eq!(schedule.begin(frontier, vec!['a', 'b']), [1]);
        schedule.came(execute(&schedule));
        let _ = execute(&schedule);
        assert_eq!(schedule.leave(1), None);
        assert!(matches!(schedule.next(), Task::Leave));
        assert_eq!(schedule.leave(0), Some(Left::Broken));
    }

    #[test]
    fn last_lane_learns_that_the_frontier_was_lost() {
        let schedule = Letters::new("frontier", 1);
        let _ = lead(&schedule);
        assert_eq!(schedule.leave(0), Some(Left::Broken));
    }
}
