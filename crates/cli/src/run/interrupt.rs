//! What Ctrl-C does: the first asks all tasks to end, the second does not wait for them.

use std::{
    io::{self, Write},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use anyhow::{Context, Result};
use shiftwork::task::Program;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::{Handle, Signals},
};

use super::verdict::Verdict;

/// What is said when it comes.
const ASKED: &str =
    "interrupted: all tasks are asked to end; once more, and nobody waits for them\n";

/// A thread that waits for signals, for as long as this is there.
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
    signals: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Interrupt {
    pub(crate) fn listen(program: &Program) -> Result<Interrupt> {
        let what = "could not ask to be told of Ctrl-C";
        let mut signals = Signals::new([SIGINT, SIGTERM]).context(what)?;
        let handle = signals.handle();
        let came = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("signals".to_owned()).spawn({
            let (program, came) = (program.clone(), came.clone());
            move || {
                for _ in signals.forever() {
                    // Release: whoever sees that tasks were cancelled sees why.
                    if came.swap(true, Ordering::Release) {
                        process::exit(Verdict::Interrupted as i32);
                    }
                    // Who closed standard error does not want to know.
                    let _ = io::stderr().write_all(ASKED.as_bytes());
                    program.shutdown();
                }
            }
        });
        Ok(Interrupt { came, signals: handle, thread: Some(thread.context(what)?) })
    }

    /// Whether tasks were asked to end.
    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::Acquire)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.signals.close();
        // It owns the program too, which is to go.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
