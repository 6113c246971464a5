//! What do SIGINT and SIGTERM do: the first ends the node in order, the second at once.

use std::{
    io, process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc::{self, Receiver},
    },
    thread,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator,
};

/// Signals that came.
pub(crate) struct Signals {
    came: Receiver<&'static str>,
    /// The node has started, and can be ended in order.
    awaited: Arc<AtomicBool>,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Signals> {
        let mut signals = iterator::Signals::new([SIGINT, SIGTERM])?;
        let (tell, came) = mpsc::channel();
        let awaited = Arc::new(AtomicBool::new(false));
        let has_started = awaited.clone();
        let wait = move || {
            let mut is_second = false;
            for signal in signals.forever() {
                let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
                // While it starts there is nothing to end in order: what is on disk stays whole
                // however the process ends.
                if is_second || !has_started.load(SeqCst) || tell.send(name).is_err() {
                    tracing::warn!(signal = name, "ended at once");
                    process::exit(i32::from(super::FAILED));
                }
                is_second = true;
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
        Ok(Signals { came, awaited })
    }

    /// From now on the first one is waited for.
    pub(crate) fn has_started(&self) {
        self.awaited.store(true, SeqCst);
    }

    /// Waits for the first one.
    pub(crate) fn wait(&self) -> &'static str {
        // The thread that tells never ends.
        self.came.recv().unwrap_or("SIGTERM")
    }
}
