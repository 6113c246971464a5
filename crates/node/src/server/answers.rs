//! How much do the answers hold that a WebSocket has asked for and not taken?
//!
//! ```text
//!             turn              answered                 sent
//!   a call ---------> it runs ------------> UNSENT ----------------> gone
//!                                           bytes    as the socket
//!                                                    takes them
//! ```
//!
//! 1. An answer counts from when it is made until the socket has taken as many bytes.
//! 2. A call has its turn only while no more than `unsent_max` bytes are unsent.
//! 3. At most [`TURNS`] calls have their turn at once. So no more than `unsent_max` and as many answers
//!    are ever held, whatever was asked for.
//!
//! What else is written (news of subscriptions, frames, pings) counts as taken, too, and was never added:
//! so the number may be lower than what is there, by no more than waits before it, and is never higher.
//! It can not get stuck.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// Calls of one connection whose answers may be large, and that run at once. A batch is one.
const TURNS: usize = 8;

/// The answers of one connection.
#[derive(Debug)]
pub(super) struct Answers {
    unsent: AtomicUsize,
    unsent_max: usize,
    turns: Semaphore,
    /// Told when there is room again.
    room: Notify,
}

/// A call has its turn until this is dropped. Its answer must be counted by then.
#[derive(Debug)]
#[must_use]
pub(super) struct Turn<'a> {
    _permit: SemaphorePermit<'a>,
}

impl Answers {
    pub(super) fn new(unsent_max: usize) -> Answers {
        Answers {
            unsent: AtomicUsize::new(0),
            unsent_max,
            turns: Semaphore::new(TURNS),
            room: Notify::new(),
        }
    }

    /// Waits for those who came before, and until enough of their answers were taken.
    pub(super) async fn turn(&self) -> Turn<'_> {
        let permit = self.turns.acquire().await.expect("it is never closed");
        loop {
            // It is told of all that happens from here on.
            let room = self.room.notified();
            if self.unsent.load(SeqCst) <= self.unsent_max {
                return Turn { _permit: permit };
            }
            room.await;
        }
    }

    /// An answer of so many bytes is about to be sent.
    pub(super) fn answered(&self, bytes: usize) {
        self.unsent.fetch_add(bytes, SeqCst);
    }

    /// The socket has taken so many bytes.
    pub(super) fn sent(&self, bytes: usize) {
        let left = |unsent: usize| unsent.saturating_sub(bytes);
        let before = self.unsent.fetch_update(SeqCst, SeqCst, |unsent| Some(left(unsent)));
        let before = before.expect("it is always changed");
        if before > self.unsent_max && left(before) <= self.unsent_max {
            self.room.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn turn(answers: &Answers) -> Option<Turn<'_>> {
        answers.turn().now_or_never()
    }

    #[test]
    fn so_many_have_their_turn_and_the_next_one_when_one_of_them_ends() {
        let answers = Answers::new(100);
        let mut turns: Vec<_> =
            (0..TURNS).map(|_| turn(&answers).expect("there is room")).collect();
        assert!(turn(&answers).is_none());
        turns.pop();
        assert!(turn(&answers).is_some());
    }

    #[test]
    fn who_waits_for_room_has_it_when_enough_was_sent() {
        let answers = Answers::new(100);
        answers.answered(100);
        assert!(turn(&answers).is_some(), "the limit itself is allowed");
        answers.answered(50);
        let mut waiting = Box::pin(answers.turn());
        assert!(waiting.as_mut().now_or_never().is_none());
        answers.sent(49);
        assert!(waiting.as_mut().now_or_never().is_none());
        answers.sent(1);
        assert!(waiting.as_mut().now_or_never().is_some());
    }

    #[test]
    fn what_was_never_counted_makes_no_room_for_later() {
        let answers = Answers::new(100);
        answers.sent(1_000);
        answers.answered(101);
        assert!(turn(&answers).is_none());
    }
}
