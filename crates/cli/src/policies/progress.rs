//! How far the replays are: a line that changes on a terminal, a line now and then elsewhere.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use shiftwork::{
    Handle,
    job::{BatchHandle, Event, Events},
};

/// Who is done before that needs no progress.
const PATIENCE: Duration = Duration::from_secs(2);
/// Without a terminal, a line so often.
const PERIOD: Duration = Duration::from_secs(10);
/// On one, a change so often.
const FRAME: Duration = Duration::from_millis(100);

/// Tells on standard error how many replays are done.
pub(crate) struct Progress {
    total: usize,
    live: bool,
    shown: bool,
    /// By the pool's clock.
    next: Duration,
    clock: Handle,
}

impl Progress {
    pub(crate) fn new(total: usize, clock: &Handle) -> Progress {
        let (live, next) = (io::stderr().is_terminal(), clock.now() + PATIENCE);
        Progress { total, live, shown: false, next, clock: clock.clone() }
    }

    /// Waits until all are done.
    pub(crate) fn follow(mut self, batch: &BatchHandle, mut events: Events) {
        let mut done = 0;
        while !batch.is_done() && done < self.total {
            match events.next() {
                Some(Event::JobCompleted { .. } | Event::JobFailed { .. }) => done += 1,
                Some(_) => {}
                None => break,
            }
            self.show(done);
        }
        if self.live && self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn show(&mut self, done: usize) {
        let now = self.clock.now();
        if now < self.next {
            return;
        }
        self.next = now + if self.live { FRAME } else { PERIOD };
        self.shown = true;
        let text = format!("{done} of {} replays", self.total);
        // Whoever does not read it misses nothing.
        let _ = match self.live {
            true => write!(io::stderr(), "\r{text}\x1b[K"),
            false => writeln!(io::stderr(), "{text}"),
        };
    }
}
