//! State machines whose commands are complete while they run, and just as they go idle.

use process::{
    Addr, Command, Context, Event, Payload, Process, ProcessError, Processes, StepOutput,
};
use shuttle::sync::mpsc::{Sender, channel};

use crate::{check, runtime};

/// Yields two commands, and tells what it has heard once that is both completions and a message.
struct Asks {
    heard: Vec<String>,
    tell: Sender<Vec<String>>,
}

impl Process for Asks {
    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        if events.is_empty() {
            out.command(1, "later", 10);
            out.command(2, "later", 20);
        }
        for event in events.drain(..) {
            self.heard.push(match event {
                Event::Completed { tag, result } => format!("{tag}: {result:?}"),
                Event::Message(text) => format!("{text:?}"),
                other => panic!("{other:?}"),
            });
        }
        if self.heard.len() == 3 {
            self.heard.sort();
            self.tell.send(self.heard.clone())?;
            out.done();
        }
        Ok(())
    }
}

#[test]
fn completed_while_it_runs_or_goes_idle_hears_of_all() {
    check(|| {
        let runtime = runtime();
        let completer: Addr<Command> = runtime
            .spawn_process(|mut ctx: Context<Command>| async move {
                while let Some(command) = ctx.receive().await {
                    let (input, completion) = command.split();
                    completion.complete(Ok(input));
                }
            })
            .unwrap();
        runtime.handle_command("later", move |command| completer.send(command).unwrap());
        let (tell, told) = channel();
        let asks = Asks { heard: Vec::new(), tell };
        let asks = runtime.process().start(asks, "", ()).unwrap();
        let sender = runtime.spawn_process(move |_: Context<()>| async move {
            asks.send("hello".into()).unwrap();
        });
        sender.unwrap();
        let all = ["\"hello\"", "1: Ok(10)", "2: Ok(20)"];
        assert_eq!(told.recv().unwrap(), all);
        runtime.shutdown();
    });
}
