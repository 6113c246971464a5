//! How far is a long command? A bar that changes on a terminal, a line now and then elsewhere.
//!
//! The command says how far it is as often as it likes; this decides what is worth writing. Time
//! is handed in, so that a simulated clock does as well as the machine's.
//!
//! ```
//! use progress::Progress;
//! use std::time::Duration;
//!
//! let mut text = Vec::new();
//! let mut progress = Progress::plain(&mut text, "replays").of(40);
//! for second in 0..30 {
//!     progress.show(Duration::from_secs(second), second, "fcfs");
//! }
//! progress.finish();
//! let lines = String::from_utf8(text).unwrap();
//! assert_eq!(lines, "2 of 40 replays, 2 s: fcfs\n12 of 40 replays, 12 s: fcfs\n22 of 40 replays, 22 s: fcfs\n");
//! ```

use std::{
    env,
    io::{self, IsTerminal, Stderr, Write},
    time::Duration,
};

/// Who is done before that needs no progress.
const PATIENCE: Duration = Duration::from_secs(2);
/// Without a terminal, a line so often.
const PERIOD: Duration = Duration::from_secs(10);
/// On one, a change so often.
const FRAME: Duration = Duration::from_millis(100);
/// A line that is written over must not be broken in two.
const COLUMNS: usize = 79;
const BAR: usize = 24;

/// What is shown of a long command.
#[derive(Debug)]
pub struct Progress<W: Write = Stderr> {
    out: W,
    what: &'static str,
    total: Option<u64>,
    live: bool,
    period: Duration,
    /// When the next change is worth showing.
    next: Duration,
    /// Whether there is a line to be written over.
    shown: bool,
}

impl Progress {
    /// On standard error: a bar if that is a terminal.
    ///
    /// `what` is counted, in the plural: `replays`.
    pub fn stderr(what: &'static str) -> Progress {
        let obeys = env::var_os("TERM").is_none_or(|term| term != "dumb");
        let live = io::stderr().is_terminal() && obeys;
        Progress { live, ..Progress::plain(io::stderr(), what) }
    }
}

impl<W: Write> Progress<W> {
    /// Plain lines.
    pub fn plain(out: W, what: &'static str) -> Progress<W> {
        let (period, next) = (PERIOD, PATIENCE);
        Progress { out, what, total: None, live: false, period, next, shown: false }
    }

    /// A line that is written over.
    pub fn live(out: W, what: &'static str) -> Progress<W> {
        Progress { live: true, ..Progress::plain(out, what) }
    }

    /// There are so many in all.
    #[must_use]
    pub fn of(self, total: u64) -> Progress<W> {
        Progress { total: Some(total), ..self }
    }

    /// Plain lines come so often, and not before.
    #[must_use]
    pub fn every(self, period: Duration) -> Progress<W> {
        let next = if self.live { self.next } else { period };
        Progress { period, next, ..self }
    }

    /// So many are done, so long after the beginning; and what is being done.
    pub fn show(&mut self, now: Duration, done: u64, doing: &str) {
        if now < self.next {
            return;
        }
        self.next = now + if self.live { FRAME } else { self.period };
        self.shown = true;
        // Whoever does not read it misses nothing.
        let _ = match self.live {
            true => {
                let line: String = self.bar(now, done, doing).chars().take(COLUMNS).collect();
                write!(self.out, "\r{line}\x1b[K").and_then(|()| self.out.flush())
            }
            false => writeln!(self.out, "{}", self.line(now, done, doing)),
        };
    }

    /// Writes a line that stays, above the one that changes.
    pub fn say(&mut self, line: &str) {
        self.clear();
        let _ = writeln!(self.out, "{}", visible(line));
    }

    /// Takes the line that changes away, for others to write.
    pub fn clear(&mut self) {
        if self.live && self.shown {
            let _ = write!(self.out, "\r\x1b[K").and_then(|()| self.out.flush());
            self.shown = false;
        }
    }

    /// The end.
    pub fn finish(mut self) {
        self.clear();
    }

    fn line(&self, now: Duration, done: u64, doing: &str) -> String {
        let counted = match self.total {
            Some(total) => format!("{done} of {total} {}", self.what),
            None => format!("{done} {}", self.what),
        };
        let colon = if doing.is_empty() { "" } else { ": " };
        format!("{counted}, {}{colon}{}", time(now), visible(doing))
    }

    /// `[=====>    ] 9 of 20 replays, 12 s, 15 s left: fcfs`
    fn bar(&self, now: Duration, done: u64, doing: &str) -> String {
        let Some(total) = self.total.filter(|total| *total > 0) else {
            return self.line(now, done, doing);
        };
        let share = (done as f64 / total as f64).min(1.0);
        let full = (share * BAR as f64) as usize;
        let head = if full < BAR { ">" } else { "" };
        let rest = " ".repeat(BAR.saturating_sub(full + 1));
        let left = match share {
            0.0 | 1.0 => String::new(),
            _ => format!(", {} left", time(now.mul_f64((1.0 - share) / share))),
        };
        let colon = if doing.is_empty() { "" } else { ": " };
        format!(
            "[{}{head}{rest}] {done} of {total} {}, {}{left}{colon}{}",
            "=".repeat(full),
            self.what,
            time(now),
            visible(doing)
        )
    }
}

/// `59 s`, `1 min 5 s`, `2 h 3 min`.
fn time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// One line, with nothing in it that a terminal would obey.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    /// What is written when a command says how far it is at these seconds.
    fn written(live: bool, at: &[(u64, u64, &str)]) -> String {
        let mut text = Vec::new();
        let plain = Progress::plain(&mut text, "worlds").of(10);
        let mut progress = Progress { live, ..plain };
        for (now, done, doing) in at {
            progress.show(seconds(*now), *done, doing);
        }
        progress.finish();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_is_soon_over_says_nothing() {
        assert_eq!(written(false, &[(0, 1, ""), (1, 9, "")]), "");
        assert_eq!(written(true, &[(0, 1, ""), (1, 9, "")]), "");
    }

    #[test]
    fn without_a_terminal_lines_are_whole_and_seldom() {
        let said = written(false, &[(3, 1, "a"), (4, 2, "b"), (12, 3, "c"), (13, 4, "d")]);
        assert_eq!(said, "1 of 10 worlds, 3 s: a\n4 of 10 worlds, 13 s: d\n");
        assert!(!said.contains(['\r', '\x1b']));
    }

    #[test]
    fn on_a_terminal_one_line_is_written_over_and_goes_away() {
        let said = written(true, &[(60, 5, "fifo"), (61, 10, "")]);
        let expected = "\r[============>           ] 5 of 10 worlds, 1 min 0 s, 1 min 0 s left: fifo\
                        \x1b[K\r[========================] 10 of 10 worlds, 1 min 1 s\x1b[K\r\x1b[K";
        assert_eq!(said, expected);
    }

    #[test]
    fn a_line_is_not_longer_than_a_terminal_is_wide() {
        let said = written(true, &[(5, 5, &"long ".repeat(50))]);
        let line = said.split('\r').nth(1).unwrap().trim_end_matches("\x1b[K");
        assert_eq!(line.chars().count(), COLUMNS);
    }

    #[test]
    fn names_can_not_command_the_terminal() {
        let said = written(false, &[(5, 5, "\x1b[2Jgone\nnext")]);
        assert_eq!(said, "5 of 10 worlds, 5 s: \u{fffd}[2Jgone\u{fffd}next\n");
    }

    #[test]
    fn without_a_total_there_is_no_bar() {
        let mut text = Vec::new();
        let mut progress = Progress::live(&mut text, "steps done");
        progress.show(seconds(3), 7, "clippy");
        assert_eq!(String::from_utf8(text).unwrap(), "\r7 steps done, 3 s: clippy\x1b[K");
    }

    #[test]
    fn a_period_of_its_own_counts_from_the_beginning() {
        let mut text = Vec::new();
        let mut progress = Progress::plain(&mut text, "steps").every(seconds(20));
        (1..60).for_each(|now| progress.show(seconds(now), now, ""));
        assert_eq!(String::from_utf8(text).unwrap(), "20 steps, 20 s\n40 steps, 40 s\n");
    }

    #[test]
    fn a_line_that_stays_stands_above_the_one_that_changes() {
        let mut text = Vec::new();
        let mut progress = Progress::live(&mut text, "rounds");
        progress.show(seconds(3), 1, "");
        progress.say("left out");
        progress.show(seconds(4), 2, "");
        progress.finish();
        let said = String::from_utf8(text).unwrap();
        assert_eq!(said, "\r1 rounds, 3 s\x1b[K\r\x1b[Kleft out\n\r2 rounds, 4 s\x1b[K\r\x1b[K");
    }
}
