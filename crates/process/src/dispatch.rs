//! Who carries out the commands that processes yield.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use kernel::{Handle, StrandWith, Timer};

use crate::{
    blocking::Pool,
    core::{self, Core},
    ending, faults,
    payload::Payload,
    pid::Pid,
    signal::{Signal, YieldId},
    sync::Mutex,
};

/// The built-in command that is complete after a time: its input is a whole number of nanoseconds, and
/// its result empty. [`StepOutput::sleep`](crate::StepOutput::sleep) yields it.
pub const SLEEP: &str = "sleep";

/// A command on its way to its completion.
#[must_use = "a command that is dropped fails"]
pub struct Command {
    /// What it is called.
    pub name: Arc<str>,
    /// What it is about.
    pub input: Payload,
    completion: Completion,
}

impl Command {
    pub(crate) fn new(
        process: StrandWith<Core>,
        of: YieldId,
        name: &str,
        input: Payload,
    ) -> Command {
        let completion = Completion { process: Some(process), of };
        Command { name: name.into(), input, completion }
    }

    /// The process that yielded it.
    pub fn pid(&self) -> Pid {
        self.completion.process.as_ref().expect("it is not complete").pid()
    }

    /// The runtime it belongs to.
    pub fn runtime(&self) -> &Handle {
        self.completion.process.as_ref().expect("it is not complete").runtime()
    }

    /// Completes it: the process gets the result as an event with the command's tag. A command that
    /// is dropped without this is complete with an error.
    pub fn complete(self, result: Result<Payload, String>) {
        self.completion.complete(result);
    }

    /// What it is about, and the right to complete it later.
    pub fn split(self) -> (Payload, Completion) {
        (self.input, self.completion)
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command").field("name", &self.name).field("input", &self.input).finish()
    }
}

/// The right to complete a command, once.
#[derive(Debug)]
#[must_use = "a completion that is dropped fails its command"]
pub struct Completion {
    process: Option<StrandWith<Core>>,
    of: YieldId,
}

impl Completion {
    /// Completes the command, once: a second time does not compile. If the process has exited
    /// meanwhile, nobody hears of it.
    ///
    /// ```compile_fail,E0382
    /// fn finish(completion: process::Completion) {
    ///     completion.complete(Ok(1.into()));
    ///     completion.complete(Ok(2.into()));
    /// }
    /// ```
    pub fn complete(mut self, result: Result<Payload, String>) {
        self.finish(result);
    }

    fn finish(&mut self, result: Result<Payload, String>) {
        let Some(process) = self.process.take() else { return };
        let signal = Signal::Completed { of: self.of, result };
        faults::slowly(process.runtime().clone(), move || core::signal(&process, signal));
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.finish(Err("the handler gave no answer".to_owned()));
    }
}

type Handler = Arc<dyn Fn(Command) + Send + Sync>;

#[derive(Default)]
pub(crate) struct Dispatcher {
    handlers: Mutex<HashMap<Arc<str>, Handler>>,
    pool: Arc<Pool>,
}

impl Dispatcher {
    pub(crate) fn add(&self, name: &str, handler: impl Fn(Command) + Send + Sync + 'static) {
        let old = self.handlers.lock().insert(name.into(), Arc::new(handler));
        // What a handler holds is dropped when the lock is not held.
        drop(old);
    }

    pub(crate) fn add_blocking(
        &self,
        runtime: &Handle,
        name: &str,
        handler: impl Fn(Payload) -> Result<Payload, String> + Send + Sync + 'static,
    ) {
        let handler = Arc::new(handler);
        if runtime.is_simulated() {
            return self.add(name, move |command| {
                let handler = handler.clone();
                let runtime = command.runtime().clone();
                let job = move |_: &mut kernel::Turn<'_>| carry_out(&*handler, command);
                // Refused only by a runtime that has stopped; then the command is dropped.
                let _ = runtime.submit(job);
            });
        }
        let pool = self.pool.clone();
        self.add(name, move |command| {
            let handler = handler.clone();
            pool.run(Box::new(move || carry_out(&*handler, command)));
        });
    }

    /// Gives a command to its handler.
    ///
    /// # Errors
    /// If the handler panicked. The command may be complete, or on its way to be.
    pub(crate) fn dispatch(&self, command: Command) -> Result<(), String> {
        let handler = self.handlers.lock().get(&command.name).cloned();
        match handler {
            Some(handler) => ending::catch(|| handler(command)).map_err(panicked),
            None => {
                let text = format!("no handler is registered for the command {:?}", command.name);
                command.complete(Err(text));
                Ok(())
            }
        }
    }
}

/// What a process is told of a handler that panicked with this text.
fn panicked(text: String) -> String {
    format!("the handler panicked: {text}")
}

fn carry_out(handler: &dyn Fn(Payload) -> Result<Payload, String>, command: Command) {
    let (input, completion) = command.split();
    completion.complete(ending::catch(|| handler(input)).map_err(panicked).flatten());
}

/// The built-in timer: completes `tag` after a time, unless it is dropped.
pub(crate) fn timer(process: &StrandWith<Core>, of: YieldId, after: Duration) -> Option<Timer> {
    let told = process.clone();
    let ring = move || {
        core::signal(&told, Signal::Completed { of, result: Ok(Payload::Empty) });
    };
    process.runtime().call_after(after, ring).ok()
}
