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
//! 3. No end is missed: no lane leaves while an outcome is due and the frontier is free, and who holds
//!    the frontier looks for the next outcome before it gives it back.
//! 4. A lane leaves when there is nothing for it to do. Whoever makes more ready than it takes
//!    itself asks for another lane. The last that leaves is told so.
//!
//! What one core has written another has to fetch. So the transactions of a sender stay with a lane,
//! unless that falls behind, and a lane that could speculate commits only when several are due: then
//! it keeps the frontier for all of them. The next time that is the same lane, unless it lets many
//! become due.
//!
//! Everything is under one mutex: it is held for some ten nanoseconds, twice per transaction.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Mutex, MutexGuard},
};

/// The end of a chain.
pub(super) const NONE: u32 = u32::MAX;

/// So many are committed at once, where there is something else to do meanwhile.
const STRIDE: u32 = if cfg!(test) { 2 } else { 8 };
/// So many are due before another lane commits than the one that did so last.
const STRIDE_OF_OTHERS: u32 = 4 * STRIDE;
/// So far a lane goes ahead of what another one has left lying: the frontier waits for that.
const AHEAD_MAX: u32 = if cfg!(test) { 4 } else { 64 };

/// Hands out transactions, which are known by their places in the batch. `O` is what speculation
/// gives, `F` is what a lane must hold to commit.
#[derive(Debug)]
pub(super) struct Schedule<O, F>(Mutex<State<O, F>>);

#[derive(Debug)]
struct State<O, F> {
    /// Those that may be speculated now, for each lane. The lowest first: the frontier waits for
    /// that one.
    ready: Vec<BinaryHeap<Reverse<u32>>>,
    /// The next of the same sender, for each.
    successors: Vec<u32>,
    outcomes: Vec<Option<O>>,
    /// All below are committed.
    next: u32,
    /// `None` while a lane commits.
    frontier: Option<F>,
    /// The lane that committed last: what it has written there is in the cache of its core.
    home: usize,
    /// Lanes that have left, or were never there.
    away: Vec<usize>,
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
    /// Start this lane. It counts already.
    Wanted(usize),
    NotNeeded,
}

impl<O, F> Schedule<O, F> {
    /// `chains` says for each transaction which is the next of the same sender, or [`NONE`].
    /// Lanes from 0 to below `lanes` count as running from now on.
    pub(super) fn new(chains: Vec<u32>, frontier: F, lanes: usize) -> Schedule<O, F> {
        let mut heads = vec![true; chains.len()];
        for next in &chains {
            if *next != NONE {
                heads[*next as usize] = false;
            }
        }
        let heads = (0u32..).zip(heads).filter(|(_, head)| *head).map(|(place, _)| Reverse(place));
        let mut ready: Vec<BinaryHeap<_>> = (0..lanes).map(|_| BinaryHeap::new()).collect();
        heads.enumerate().for_each(|(n, head)| ready[n % lanes].push(head));
        Schedule(Mutex::new(State {
            ready,
            outcomes: chains.iter().map(|_| None).collect(),
            successors: chains,
            next: 0,
            frontier: Some(frontier),
            home: 0,
            away: Vec::new(),
            alone: false,
        }))
    }

    /// What this lane is to do now: first what others wait for.
    pub(super) fn next(&self, lane: usize) -> Task<O, F> {
        let mut state = self.lock();
        if state.frontier.is_some()
            && (state.is_stride_due(lane) || state.is_nothing_ready())
            && let Some(outcome) = state.due()
        {
            state.home = lane;
            let frontier = state.frontier.take().expect("it was there");
            return Task::Commit(frontier, state.next, outcome);
        }
        match state.take_ready(lane) {
            Some(place) => Task::Speculate(place),
            None => Task::Leave,
        }
    }

    /// This lane has speculated a transaction, and this came of it.
    pub(super) fn speculated(&self, lane: usize, place: u32, outcome: O) -> Help {
        let mut state = self.lock();
        if state.alone {
            return Help::NotNeeded;
        }
        state.outcomes[place as usize] = Some(outcome);
        let successor = state.successors[place as usize];
        if successor != NONE {
            state.ready[lane].push(Reverse(successor));
        }
        // One of them is for the caller.
        let ready: usize = state.ready.iter().map(BinaryHeap::len).sum();
        if ready > 1
            && let Some(away) = state.away.pop()
        {
            return Help::Wanted(away);
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
        state.ready.iter_mut().for_each(BinaryHeap::clear);
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
    pub(super) fn leave(&self, lane: usize) -> Option<Left<F>> {
        let mut state = self.lock();
        assert!(!state.away.contains(&lane), "a lane that has left leaves again");
        state.away.push(lane);
        let whole = state.next as usize == state.successors.len();
        (state.away.len() == state.ready.len()).then(|| match state.frontier.take() {
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

    /// Whether it pays to commit. Of those up to there some may be missing: then it is less.
    fn is_stride_due(&self, lane: usize) -> bool {
        let stride = if lane == self.home { STRIDE } else { STRIDE_OF_OTHERS };
        let last = (self.next + stride - 1) as usize;
        self.outcomes.get(last).is_none_or(Option::is_some)
    }

    fn is_nothing_ready(&self) -> bool {
        self.ready.iter().all(BinaryHeap::is_empty)
    }

    /// What this lane speculates next: its own, unless there is none or the lowest is far below it.
    fn take_ready(&mut self, lane: usize) -> Option<u32> {
        let lowest = |heap: &BinaryHeap<Reverse<u32>>| heap.peek().map(|Reverse(place)| *place);
        let each = self.ready.iter().enumerate();
        let (first, other) = each.filter_map(|(n, heap)| Some((lowest(heap)?, n))).min()?;
        let from = match lowest(&self.ready[lane]) {
            Some(own) if own - first <= AHEAD_MAX => lane,
            _ => other,
        };
        self.ready[from].pop().map(|Reverse(place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Places = Schedule<u32, &'static str>;

    fn schedule(chains: &[u32], lanes: usize) -> Places {
        Schedule::new(chains.to_vec(), "frontier", lanes)
    }

    fn speculate(schedule: &Places, lane: usize) -> u32 {
        match schedule.next(lane) {
            Task::Speculate(place) => place,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn of_a_sender_only_the_next_is_taken() {
        // 0 and 1 are of one sender, 2 is alone.
        let schedule = schedule(&[1, NONE, NONE], 2);
        assert_eq!(speculate(&schedule, 0), 0);
        assert_eq!(speculate(&schedule, 1), 2);
        assert!(matches!(schedule.next(0), Task::Leave));
        assert_eq!(schedule.speculated(1, 2, 20), Help::NotNeeded);
        assert!(matches!(schedule.next(1), Task::Leave), "0 is not there yet, and 1 waits for it");
        assert_eq!(schedule.speculated(0, 0, 0), Help::NotNeeded);
        assert_eq!(speculate(&schedule, 0), 1);
        assert!(matches!(schedule.next(1), Task::Commit("frontier", 0, 0)));
    }

    #[test]
    fn lane_goes_on_with_its_own_senders_and_takes_the_lowest_of_others_at_last() {
        // Four chains: 0, 4 and so on.
        let schedule = schedule(&[4, 5, 6, 7, NONE, NONE, NONE, NONE], 2);
        assert_eq!([0, 1].map(|lane| speculate(&schedule, lane)), [0, 1]);
        assert_eq!(schedule.speculated(0, 0, 0), Help::NotNeeded);
        assert_eq!([speculate(&schedule, 0), speculate(&schedule, 0)], [2, 4]);
        assert_eq!(speculate(&schedule, 0), 3, "the other one is not there yet");
        assert_eq!(schedule.speculated(0, 3, 0), Help::NotNeeded);
        assert_eq!(speculate(&schedule, 0), 7, "the sender is now its own");
    }

    #[test]
    fn lane_takes_what_another_leaves_lying_before_it_is_far_ahead() {
        let schedule = schedule(&[6, NONE, NONE, NONE, NONE, NONE, NONE], 2);
        assert_eq!([(); 3].map(|()| speculate(&schedule, 0)), [0, 2, 4]);
        assert_eq!(schedule.speculated(0, 0, 0), Help::NotNeeded);
        assert_eq!([(); 3].map(|()| speculate(&schedule, 0)), [1, 6, 3]);
    }

    #[test]
    fn commits_come_in_order_whatever_the_order_of_the_outcomes() {
        let schedule = schedule(&[NONE; 3], 1);
        for _ in 0..3 {
            let _ = speculate(&schedule, 0);
        }
        for place in [2, 1, 0] {
            assert!(matches!(schedule.next(0), Task::Leave));
            assert_eq!(schedule.speculated(0, place, place), Help::NotNeeded);
        }
        let Task::Commit(frontier, 0, 0) = schedule.next(0) else { panic!("0 is due") };
        let Some((frontier, 1, 1)) = schedule.advance(frontier) else { panic!("1 is due") };
        let Some((frontier, 2, 2)) = schedule.advance(frontier) else { panic!("2 is due") };
        assert_eq!(schedule.advance(frontier), None);
        assert_eq!(schedule.leave(0), Some(Left::Whole("frontier")));
    }

    #[test]
    fn one_alone_is_committed_when_there_is_nothing_else_to_do() {
        let schedule = schedule(&[NONE; 4], 1);
        for place in 0..2 {
            assert_eq!(speculate(&schedule, 0), place, "one is no stride");
            assert_eq!(schedule.speculated(0, place, place), Help::NotNeeded);
        }
        let Task::Commit(frontier, 0, 0) = schedule.next(0) else { panic!("two are due") };
        let Some((frontier, 1, 1)) = schedule.advance(frontier) else { panic!("1 is due") };
        assert_eq!(schedule.advance(frontier), None);
        assert_eq!([speculate(&schedule, 0), speculate(&schedule, 0)], [2, 3]);
        assert_eq!(schedule.speculated(0, 2, 2), Help::NotNeeded);
        assert!(matches!(schedule.next(0), Task::Commit("frontier", 2, 2)));
    }

    #[test]
    fn lane_that_committed_last_goes_on_with_it_until_it_lets_many_become_due() {
        let schedule = schedule(&[NONE; 12], 2);
        for lane in 0..2 {
            let place = speculate(&schedule, lane);
            assert_eq!(schedule.speculated(lane, place, place), Help::NotNeeded);
        }
        for expected in [3, 5, 2, 7, 4, 9] {
            let place = speculate(&schedule, 1);
            assert_eq!(place, expected, "a few are due, which the other one is to commit");
            assert_eq!(schedule.speculated(1, place, place), Help::NotNeeded);
            if expected == 3 {
                let Task::Commit(frontier, 0, 0) = schedule.next(0) else { panic!("two are due") };
                let Some((frontier, 1, 1)) = schedule.advance(frontier) else { panic!("1 is due") };
                assert_eq!(schedule.advance(frontier), None);
            }
        }
        assert!(matches!(schedule.next(1), Task::Commit("frontier", 2, 2)), "now there are many");
    }

    /// Invariant 3, both ways.
    #[test]
    fn outcome_that_comes_while_another_commits_is_found_by_that_one() {
        let schedule = schedule(&[NONE; 2], 2);
        let (first, second) = (speculate(&schedule, 0), speculate(&schedule, 1));
        assert_eq!(schedule.speculated(0, first, 0), Help::NotNeeded);
        let Task::Commit(frontier, 0, 0) = schedule.next(0) else { panic!("0 is due") };
        assert_eq!(schedule.speculated(1, second, 1), Help::NotNeeded);
        assert!(matches!(schedule.next(1), Task::Leave), "the other one holds the frontier");
        assert_eq!(schedule.leave(1), None);
        let Some((frontier, 1, 1)) = schedule.advance(frontier) else { panic!("1 is due") };
        assert_eq!(schedule.advance(frontier), None);
        assert_eq!(schedule.leave(0), Some(Left::Whole("frontier")));
    }

    #[test]
    fn lane_that_left_is_asked_for_when_more_is_ready_than_one_can_take() {
        // Two chains: 0, 2 and 1, 3.
        let schedule = schedule(&[2, 3, NONE, NONE], 2);
        let (first, second) = (speculate(&schedule, 0), speculate(&schedule, 1));
        assert_eq!(schedule.speculated(1, second, 1), Help::NotNeeded);
        // The one that speculated 1 is gone; the other brings 0, and both successors are ready.
        assert_eq!(schedule.leave(1), None);
        assert_eq!(schedule.speculated(0, first, 0), Help::Wanted(1));
        assert_eq!(schedule.speculated(0, first, 0), Help::NotNeeded, "there are two again");
    }

    #[test]
    fn who_goes_alone_is_given_nothing_more_and_ends_by_itself() {
        let schedule = schedule(&[NONE; 4], 2);
        let (first, second) = (speculate(&schedule, 0), speculate(&schedule, 1));
        let third = speculate(&schedule, 0);
        assert_eq!(schedule.speculated(0, first, 0), Help::NotNeeded);
        assert_eq!(schedule.speculated(1, second, 1), Help::NotNeeded);
        let Task::Commit(frontier, 0, 0) = schedule.next(0) else { panic!("0 is due") };
        schedule.go_alone();
        assert_eq!(schedule.speculated(1, third, 2), Help::NotNeeded);
        assert!(matches!(schedule.next(1), Task::Leave));
        assert_eq!(schedule.leave(1), None);
        schedule.finish(frontier);
        assert_eq!(schedule.leave(0), Some(Left::Whole("frontier")));
    }

    #[test]
    fn last_lane_learns_that_the_frontier_was_lost() {
        let schedule = schedule(&[NONE], 1);
        let place = speculate(&schedule, 0);
        assert_eq!(schedule.speculated(0, place, 0), Help::NotNeeded);
        let Task::Commit(..) = schedule.next(0) else { panic!("0 is due") };
        assert_eq!(schedule.leave(0), Some(Left::Broken));
    }
}
