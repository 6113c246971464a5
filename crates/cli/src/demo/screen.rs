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

    /// Draws over the picture before.
    pub(crate) fn redraw(&mut self, lines: &[String]) -> io::Result<()> {
        let mut text = String::from(HIDE_CURSOR);
        text.push_str(WRAP_OFF);
        if self.lines_drawn > 0 {
            text.push_str(&format!("\x1b[{}F", self.lines_drawn));
        }
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
