//! Which transaction does a lane take next, and who may commit?
//!
//! ```text
//!            next             speculated             next              advance
//!   READY ---------> TAKEN ---------------> OUTCOME ---------> COMMITTING ---------> committed
//!     ^                        |                       in order, by one lane
//!     +---- its successor <----+
//! ```
//!
//! 1. A transaction is speculated after the one before it of the same sender, and at most once.
//! 2. Transactions are committed in order, each once, by whoever holds the frontier. There is one.
//! 3. No end is missed: when an outcome arrives, either the frontier is free and the lane that
//!    brought the outcome takes it, or its holder finds the outcome when it advances.
//! 4. A lane leaves when there is nothing for it to do. Whoever makes more ready than it takes
//!    itself asks for another lane. The last that leaves is told so.
//!
//! Everything is under one mutex: it is held for some ten nanoseconds, twice per transaction.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Mutex, MutexGuard},
};

/// The end of a chain.
pub(super) const NONE: u32 = u32::MAX;

/// Hands out transactions, which are known by their places in the batch. `O` is what speculation
/// gives, `F` is what a lane must hold to commit.
#[derive(Debug)]
pub(super) struct Schedule<O, F>(Mutex<State<O, F>>);

#[derive(Debug)]
struct State<O, F> {
    /// Those that may be speculated now. The lowest first: the frontier waits for that one.
    ready: BinaryHeap<Reverse<u32>>,
    /// The next of the same sender, for each.
    successors: Vec<u32>,
    outcomes: Vec<Option<O>>,
    /// All below are committed.
    next: u32,
    /// `None` while a lane commits.
    frontier: Option<F>,
    lanes: usize,
    lanes_max: usize,
    /// Nothing more is speculated: somebody goes on alone.
    alone: bool,
}

/// What a lane has to do.
#[derive(Debug)]
#[must_use = "a task that is not done is never done"]
pub(super) enum Task<O, F> {
    /// Execute the transaction at this place, on what is known so far.
    Speculate(u32),
    /// Commit the transaction at this place, then [`Schedule::advance`].
    Commit(F, u32, O),
    /// There is nothing to do: [`Schedule::leave`].
    Leave,
}

/// What the lane has to do that has brought an outcome.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a lane that is not started leaves a worker idle"]
pub(super) enum Help {
    /// Start one more lane. It counts already.
    Wanted,
    NotNeeded,
}

impl<O, F> Schedule<O, F> {
    /// `chains` says for each transaction which is the next of the same sender, or [`NONE`].
    /// `lanes` count as running from now on.
    pub(super) fn new(chains: Vec<u32>, frontier: F, lanes: usize) -> Schedule<O, F> {
        let mut heads = vec![true; chains.len()];
        for next in &chains {
            if *next != NONE {
                heads[*next as usize] = false;
            }
        }
        let heads = (0u32..).zip(heads).filter(|(_, head)| *head).map(|(place, _)| Reverse(place));
        Schedule(Mutex::new(State {
            ready: heads.collect(),
            outcomes: chains.iter().map(|_| None).collect(),
            successors: chains,
            next: 0,
            frontier: Some(frontier),
            lanes,
            lanes_max: lanes,
            alone: false,
        }))
    }

    /// What to do now: first what others wait for.
    pub(super) fn next(&self) -> Task<O, F> {
        let mut state = self.lock();
        if state.frontier.is_some()
            && let Some(outcome) = state.due()
        {
            let frontier = state.frontier.take().expect("it was there");
            return Task::Commit(frontier, state.next, outcome);
        }
        match state.ready.pop() {
            Some(Reverse(place)) => Task::Speculate(place),
            None => Task::Leave,
        }
    }

    /// A transaction was speculated, and this came of it.
    pub(super) fn speculated(&self, place: u32, outcome: O) -> Help {
        let mut state = self.lock();
        if state.alone {
            return Help::NotNeeded;
        }
        state.outcomes[place as usize] = Some(outcome);
        let successor = state.successors[place as usize];
        if successor != NONE {
            state.ready.push(Reverse(successor));
        }
        // One of them is for the caller.
        if state.ready.len() > 1 && state.lanes < state.lanes_max {
            state.lanes += 1;
            return Help::Wanted;
        }
        Help::NotNeeded
    }

    /// The transaction at the frontier is committed. Gives the next, if it is there; otherwise the
    /// frontier is free again.
    #[must_use = "the caller still holds the frontier"]
    pub(super) fn advance(&self, frontier: F) -> Option<(F, u32, O)> {
        let mut state = self.lock();
        state.next += 1;
        match state.due() {
            Some(outcome) => Some((frontier, state.next, outcome)),
            None => {
                state.frontier = Some(frontier);
                None
            }
        }
    }

    /// From now on nothing is speculated: the holder of the frontier does the rest by itself, and
    /// ends with [`Schedule::finish`].
    pub(super) fn go_alone(&self) {
        let mut state = self.lock();
        state.alone = true;
        state.ready.clear();
        state.outcomes.clear();
    }

    /// All is committed.
    pub(super) fn finish(&self, frontier: F) {
        let mut state = self.lock();
        assert!(state.frontier.is_none(), "there are two frontiers");
        state.next = state.successors.len() as u32;
        state.frontier = Some(frontier);
    }

    /// A lane leaves. The last gets the frontier, if somebody has given it back, and whether all
    /// was committed.
    pub(super) fn leave(&self) -> Option<Left<F>> {
        let mut state = self.lock();
        state.lanes -= 1;
        let whole = state.next as usize == state.successors.len();
        (state.lanes == 0).then(|| match state.frontier.take() {
            Some(frontier) if whole => Left::Whole(frontier),
            _ => Left::Broken,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State<O, F>> {
        self.0.lock().expect("nothing panics under the lock of a schedule")
    }
}

/// How the last lane leaves.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left<F> {
    /// All was committed.
    Whole(F),
    /// Some lane was stopped or has panicked.
    Broken,
}

impl<O, F> State<O, F> {
    /// The outcome at the frontier.
    fn due(&mut self) -> Option<O> {
        self.outcomes.get_mut(self.next as usize)?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Places = Schedule<u32, &'static str>;

    fn schedule(chains: &[u32], lanes: usize) -> Places {
        Schedule::new(chains.to_vec(), "frontier", lanes)
    }

    fn speculate(schedule: &Places) -> u32 {
        match schedule.next() {
            Task::Speculate(place) => place,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lowest_is_taken_first_and_of_a_sender_only_the_next() {
        // 0 and 1 are of one sender, 2 is alone.
        let schedule = schedule(&[1, NONE, NONE], 2);
        assert_eq!(speculate(&schedule), 0);
        assert_eq!(speculate(&schedule), 2);
        assert!(matches!(schedule.next(), Task::Leave));
        assert_eq!(schedule.speculated(2, 20), Help::NotNeeded);
        assert!(matches!(schedule.next(), Task::Leave), "0 is not there yet, and 1 waits for it");
        assert_eq!(schedule.speculated(0, 0), Help::NotNeeded);
        assert!(matches!(schedule.next(), Task::Commit("frontier", 0, 0)));
        assert_eq!(speculate(&schedule), 1);
    }

    #[test]
    fn commits_come_in_order_whatever_the_order_of_the_outcomes() {
        let schedule = schedule(&[NONE; 3], 1);
        for _ in 0..3 {
            let _ = speculate(&schedule);
        }
        for place in [2, 1, 0] {
            assert!(matches!(schedule.next(), Task::Leave));
            assert_eq!(schedule.speculated(place, place), Help::NotNeeded);
        }
        let Task::Commit(frontier, 0, 0) = schedule.next() else { panic!("0 is due") };
        let Some((frontier, 1, 1)) = schedule.advance(frontier) else { panic!("1 is due") };
        let Some((frontier, 2, 2)) = schedule.advance(frontier) else { panic!("2 is due") };
        assert_eq!(schedule.advance(frontier), None);
        assert_eq!(schedule.leave(), Some(Left::Whole("frontier")));
    }

    /// Invariant 3, both ways.
    #[test]
    fn outcome_that_comes_while_another_commits_is_found_by_that_one() {
        let schedule = schedule(&[NONE; 2], 2);
        let (first, second) = (speculate(&schedule), speculate(&schedule));
        assert_eq!(schedule.speculated(first, 0), Help::NotNeeded);
        let Task::Commit(frontier, 0, 0) = schedule.next() else { panic!("0 is due") };
        assert_eq!(schedule.speculated(second, 1), Help::NotNeeded);
        assert!(matches!(schedule.next(), Task::Leave), "the other one holds the frontier");
        assert_eq!(schedule.leave(), None);
        let Some((frontier, 1, 1)) = schedule.advance(frontier) else { panic!("1 is due") };
        assert_eq!(schedule.advance(frontier), None);
        assert_eq!(schedule.leave(), Some(Left::Whole("frontier")));
    }

    #[test]
    fn lane_that_left_is_asked_for_when_more_is_ready_than_one_can_take() {
        // Two chains: 0, 2 and 1, 3.
        let schedule = schedule(&[2, 3, NONE, NONE], 2);
        let (first, second) = (speculate(&schedule), speculate(&schedule));
        assert_eq!(schedule.speculated(second, 1), Help::NotNeeded);
        // The one that speculated 1 is gone; the other brings 0, and both successors are ready.
        assert_eq!(schedule.leave(), None);
        assert_eq!(schedule.speculated(first, 0), Help::Wanted);
        assert_eq!(schedule.speculated(first, 0), Help::NotNeeded, "there are two again");
    }

    #[test]
    fn who_goes_alone_is_given_nothing_more_and_ends_by_itself() {
        let schedule = schedule(&[NONE; 4], 2);
        let (first, second) = (speculate(&schedule), speculate(&schedule));
        assert_eq!(schedule.speculated(first, 0), Help::NotNeeded);
        let Task::Commit(frontier, 0, 0) = schedule.next() else { panic!("0 is due") };
        schedule.go_alone();
        assert_eq!(schedule.speculated(second, 1), Help::NotNeeded);
        assert!(matches!(schedule.next(), Task::Leave));
        assert_eq!(schedule.leave(), None);
        schedule.finish(frontier);
        assert_eq!(schedule.leave(), Some(Left::Whole("frontier")));
    }

    #[test]
    fn last_lane_learns_that_the_frontier_was_lost() {
        let schedule = schedule(&[NONE], 1);
        let place = speculate(&schedule);
        assert_eq!(schedule.speculated(place, 0), Help::NotNeeded);
        let Task::Commit(..) = schedule.next() else { panic!("0 is due") };
        assert_eq!(schedule.leave(), Some(Left::Broken));
    }
}
