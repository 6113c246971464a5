//! The terminal: how is a picture drawn over the one before it, and left tidy at the end?

use std::io::{self, Write};

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// A line that is too long for a narrow terminal is cut, so that one line stays one line.
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";
const CLEAR_TO_END_OF_LINE: &str = "\x1b[K";

/// Standard output. When dropped, the cursor is where and as the shell expects it.
pub(crate) struct Screen {
    live: bool,
    lines_drawn: usize,
}

impl Screen {
    pub(crate) fn new(live: bool) -> Screen {
        Screen { live, lines_drawn: 0 }
    }

    /// How many lines a picture may have, where the terminal tells: the last one is the cursor's.
    pub(crate) fn lines_max(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        usize::from(size.ws_row).checked_sub(1).filter(|lines| *lines > 0)
    }

    /// Draws over the picture before. What is too tall for the terminal is cut, since there is no
    /// way back to a line that has left it.
    pub(crate) fn redraw(&mut self, lines: &[String]) -> io::Result<()> {
        let mut text = String::from(HIDE_CURSOR);
        text.push_str(WRAP_OFF);
        if self.lines_drawn > 0 {
            text.push_str(&format!("\x1b[{}F", self.lines_drawn));
        }
        let lines = &lines[..lines.len().min(self.lines_max().unwrap_or(usize::MAX))];
        for line in lines {
            text.push_str(line);
            text.push_str(CLEAR_TO_END_OF_LINE);
            text.push('\n');
        }
        self.lines_drawn = lines.len();
        self.put(&text)
    }

    /// Adds lines below.
    pub(crate) fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        self.put(&format!("{}\n", lines.join("\n")))
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.live && self.lines_drawn > 0 {
            // Nothing is left to do for a terminal that has gone away.
            let _ = self.put(&format!("{WRAP_ON}{SHOW_CURSOR}"));
        }
    }
}
