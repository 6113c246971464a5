//! A strand without a worker, for the models of what is built upon strands.
//!
//! The state word is the real one; the queue is a count behind a lock. What a model calls, and in
//! which order, is what [`StrandWith`](crate::StrandWith) and a worker do.

use crate::{
    strand::state::{Hold, Pop, Rest, State, Wake},
    sync::Mutex,
};

/// A strand with an open part `P`, for models.
pub struct ModelStrand<P> {
    state: State,
    queue: Mutex<usize>,
    open: P,
}

impl<P> ModelStrand<P> {
    /// A strand that waits for its first wake.
    pub fn idle(open: P) -> ModelStrand<P> {
        ModelStrand { state: State::idle(1), queue: Mutex::new(0), open }
    }

    /// Its open part.
    pub fn open(&self) -> &P {
        &self.open
    }

    fn push(&self) {
        *self.queue.lock() += 1;
    }

    /// As [`Strand::wake`](crate::Strand::wake).
    pub fn wake(&self) {
        if self.state.wake() == Wake::Push {
            self.push();
        }
    }

    /// As [`StrandWith::wake_with`](crate::StrandWith::wake_with).
    ///
    /// # Errors
    /// `what`, if the strand is not idle.
    pub fn wake_with<T>(&self, what: T, leave: impl FnOnce(&P, T)) -> Result<(), T> {
        if !self.state.fill() {
            return Err(what);
        }
        leave(&self.open, what);
        self.push();
        Ok(())
    }

    /// As [`StrandWith::hand_off_with`](crate::StrandWith::hand_off_with), and the turn follows.
    ///
    /// # Errors
    /// `what`, if the strand can not be claimed.
    pub fn hand_off_with<T>(
        &self,
        what: T,
        settled: impl FnOnce(&P) -> bool,
        leave: impl FnOnce(&P, T),
        turn: impl FnOnce(&P),
    ) -> Result<(), T> {
        match self.state.hold(0) {
            Hold::Held => {}
            Hold::Filled if settled(&self.open) => {}
            Hold::Filled => {
                self.rest(self.state.give_back());
                return Err(what);
            }
            Hold::Refused => return Err(what),
        }
        leave(&self.open, what);
        turn(&self.open);
        self.rest(self.state.pause());
        Ok(())
    }

    /// Takes one turn, if it is queued. False: it is not.
    pub fn run(&self, turn: impl FnOnce(&P)) -> bool {
        {
            let mut queue = self.queue.lock();
            if *queue == 0 {
                return false;
            }
            *queue -= 1;
        }
        match self.state.pop() {
            Pop::Run => {
                turn(&self.open);
                self.rest(self.state.pause());
            }
            Pop::Requeue => self.push(),
            Pop::Stale => {}
            Pop::Free => unreachable!("a model keeps a handle"),
        }
        true
    }

    fn rest(&self, rest: Rest) {
        match rest {
            Rest::Push => self.push(),
            Rest::Nothing => {}
            Rest::Free => unreachable!("a model keeps a handle"),
        }
    }
}
