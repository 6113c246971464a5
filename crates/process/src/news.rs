//! What a process has heard and not read yet, and what of it waits behind messages.
//!
//! Requests to end and completions come first, however much mail there is. News of an exit is read
//! behind the messages that lay in the mailbox when it was heard. Among them are all that the one
//! who exited had sent: it sent them before it exited, and signals are taken before the messages are
//! counted. So whoever reads of an exit has read all that came from there.
//!
//! A message that is taken out of its order is not counted: the news then comes a little later than
//! it might, but not later than the mailbox is empty.

use std::collections::VecDeque;

use crate::{pid::Pid, signal::Signal};

#[derive(Default)]
pub(crate) struct News {
    prompt: VecDeque<Signal>,
    /// With the number of messages that must have been read before.
    exits: VecDeque<(u64, Signal)>,
    /// Messages that were read while exits waited.
    read: u64,
}

impl News {
    /// Something was heard, while so many messages wait.
    pub(crate) fn hear(&mut self, signal: Signal, messages: u32) {
        match signal {
            Signal::Cancel | Signal::Completed { .. } => self.prompt.push_back(signal),
            Signal::Exit { .. } | Signal::Down { .. } => {
                self.exits.push_back((self.read + u64::from(messages), signal));
            }
        }
    }

    /// The next news that is not behind messages; if there are none to be read, the next of all.
    pub(crate) fn next(&mut self, no_messages: bool) -> Option<Signal> {
        if let Some(signal) = self.prompt.pop_front() {
            return Some(signal);
        }
        let due = self.exits.pop_front_if(|(after, _)| no_messages || *after <= self.read);
        due.map(|(_, signal)| signal)
    }

    /// A message was read, the next in order.
    pub(crate) fn count_message(&mut self) {
        self.read += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.prompt.is_empty() && self.exits.is_empty()
    }

    /// Whether some of it waits behind messages.
    pub(crate) fn is_behind(&self) -> bool {
        self.exits.iter().any(|(after, _)| *after > self.read)
    }

    /// Forgets that a link has exited.
    pub(crate) fn forget_exit(&mut self, of: Pid) {
        self.exits.retain(|(_, news)| !matches!(news, Signal::Exit { from, .. } if *from == of));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::exit::ExitReason;

    fn exit(number: u32) -> Signal {
        Signal::Exit { from: Pid::new(number, 1), reason: ExitReason::Normal }
    }

    fn from(signal: Option<Signal>) -> Option<u32> {
        match signal? {
            Signal::Exit { from, .. } => Some(from.index()),
            _ => None,
        }
    }

    #[test]
    fn exits_come_behind_the_messages_of_their_time_and_requests_before_all() {
        let mut news = News::default();
        news.hear(exit(1), 2);
        news.hear(exit(2), 3);
        news.hear(Signal::Cancel, 3);
        assert!(matches!(news.next(false), Some(Signal::Cancel)));
        assert!(news.next(false).is_none() && news.is_behind());
        news.count_message();
        assert!(news.next(false).is_none());
        news.count_message();
        news.hear(exit(3), 1);
        assert_eq!(from(news.next(false)), Some(1));
        assert!(news.next(false).is_none());
        news.count_message();
        assert!(!news.is_behind());
        assert_eq!(from(news.next(false)), Some(2));
        assert_eq!(from(news.next(false)), Some(3));
        assert!(news.is_empty());
    }

    #[test]
    fn exit_is_read_when_there_are_no_messages_whatever_was_counted() {
        let mut news = News::default();
        news.hear(exit(1), 5);
        news.hear(exit(2), 5);
        news.forget_exit(Pid::new(1, 1));
        assert_eq!(from(news.next(true)), Some(2));
    }
}
