//! How is the terminal taken, and given back as it was?
//!
//! However this program ends, but for a SIGKILL: in order, by a signal, or by a panic in any
//! thread.

use std::{io, panic, process, sync::Once};

use crossterm::{
    cursor::Show,
    execute,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use ratatui::{Terminal, backend::CrosstermBackend};

use super::{model::Model, view};

/// The exit code of a program that panicked.
const PANICKED: i32 = 101;

/// The terminal, which is ours until this is dropped.
pub(crate) struct Screen(Terminal<CrosstermBackend<io::Stdout>>);

impl Screen {
    pub(crate) fn enter() -> io::Result<Screen> {
        leave_before_panics();
        enable_raw_mode()?;
        let entered = execute!(io::stdout(), EnterAlternateScreen);
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        // Drop is not called for what was not made.
        terminal.map(Screen).inspect_err(|_| leave())
    }

    /// Only what has changed is sent.
    pub(crate) fn draw(&mut self, model: &Model) -> io::Result<()> {
        self.0.draw(|frame| view::draw(frame, model))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Nothing is left to do for a terminal that has gone away.
fn leave() {
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// What a panic says is to stay on the screen that the shell has. A viewer that has lost a thread
/// has nothing more to show.
fn leave_before_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            leave();
            tell(info);
            process::exit(PANICKED);
        }));
    });
}

#[cfg(test)]
#[path = "../../tests/top/pty.rs"]
#[expect(dead_code, reason = "the tests beside it need more of it")]
mod pty;

#[cfg(test)]
mod tests {
    use std::{env, process::Command, thread};

    use super::{pty::Pty, *};

    /// In which thread the program below panics.
    const PANICS: &str = "SHIFTWORK_TEST_PANICS";

    /// This program runs itself again, in a terminal, and there it panics.
    #[test]
    fn a_panic_in_any_thread_is_read_on_the_screen_that_was_there_before() {
        if let Some(thread) = env::var_os(PANICS) {
            let _screen = Screen::enter().unwrap();
            if thread == "main" {
                panic!("by intention");
            }
            thread::scope(|scope| drop(scope.spawn(|| panic!("by intention"))));
        }
        for thread in ["main", "another"] {
            let mut again = Command::new(env::current_exe().unwrap());
            again.args(["a_panic_in_any_thread", "--nocapture"]);
            again.env(PANICS, thread).env("RUST_BACKTRACE", "0");
            let (status, text) = Pty::start(again, 80, 24).end();
            assert!(text.contains("by intention"), "{thread}: {text}");
            assert_eq!(status.code(), Some(PANICKED), "{thread}: {text}");
        }
    }
}
