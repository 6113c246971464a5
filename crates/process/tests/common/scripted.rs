//! A process whose parts are given.

use std::sync::mpsc::Sender;

use process::{
    Addr, Event, InitContext, Payload, Process, ProcessError, Processes, StepOutput, UnknownMethod,
};

pub(crate) type Step =
    Box<dyn FnMut(&mut Vec<Event<Payload>>, &mut StepOutput) -> Result<(), ProcessError> + Send>;

/// A process whose parts are given, and which tells when it is closed.
pub(crate) struct Scripted {
    pub(crate) step: Step,
    pub(crate) closed: Option<Sender<&'static str>>,
}

impl Scripted {
    pub(crate) fn new(
        step: impl FnMut(&mut Vec<Event<Payload>>, &mut StepOutput) -> Result<(), ProcessError>
        + Send
        + 'static,
    ) -> Scripted {
        Scripted { step: Box::new(step), closed: None }
    }
}

impl Process for Scripted {
    fn init(&mut self, _: &InitContext, method: &str, _: Payload) -> Result<(), ProcessError> {
        match method {
            "main" => Ok(()),
            "panic" => panic!("in init"),
            other => Err(UnknownMethod(other.to_owned()).into()),
        }
    }

    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        (self.step)(events, out)
    }

    fn close(&mut self) {
        if let Some(tell) = self.closed.take() {
            tell.send("closed").unwrap();
        }
    }
}

pub(crate) fn start(runtime: &kernel::Runtime, scripted: Scripted) -> Addr<Payload> {
    runtime.process().start(scripted, "main", ()).unwrap()
}
