//! The processes at one moment: how many there are, what they do, who has the most to do.

use std::collections::HashMap;

use shiftwork::{
    Handle,
    process::{Pid, ProcessInfo, ProcessState, Processes},
};

use crate::text::{precise, thousands};

#[derive(Default)]
pub(crate) struct Census(Vec<ProcessInfo>);

/// One of those who take many turns.
pub(crate) struct Busy {
    pub(crate) name: String,
    pub(crate) state: &'static str,
    /// Turns since the census before.
    pub(crate) steps: u64,
    pub(crate) mailbox: String,
    /// Who spawned it, if a process did.
    pub(crate) parent: String,
    /// How many processes it is linked to.
    pub(crate) links: usize,
    pub(crate) age: String,
    /// How much time its turns took; `?` before one was timed.
    pub(crate) cpu_time: String,
}

impl Census {
    pub(crate) fn take(runtime: &Handle) -> Census {
        Census(runtime.processes())
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn messages_waiting(&self) -> u64 {
        self.0.iter().map(|process| process.mailbox_len as u64).sum()
    }

    /// `2 running, 1 ready, 10 blocked, 1,117 idle`.
    pub(crate) fn states(&self) -> String {
        use ProcessState::{Blocked, Idle, Ready, Running};
        let in_state = |state| {
            let count = self.0.iter().filter(|process| process.state == state).count();
            format!("{} {}", thousands(count as u64), word(state))
        };
        [Running, Ready, Blocked, Idle].map(in_state).join(", ")
    }

    /// Those who took turns since `before`, the one with the most first.
    pub(crate) fn busiest(&self, before: &Census) -> Vec<Busy> {
        let steps_before: HashMap<Pid, u64> =
            before.0.iter().map(|process| (process.pid, process.steps)).collect();
        let since = |process: &ProcessInfo| {
            process.steps - steps_before.get(&process.pid).copied().unwrap_or(0).min(process.steps)
        };
        let mut busy: Vec<&ProcessInfo> = self.0.iter().filter(|one| since(one) > 0).collect();
        busy.sort_by_key(|process| (std::cmp::Reverse(since(process)), process.pid));
        busy.into_iter()
            .map(|process| Busy {
                name: name(process),
                state: word(process.state),
                steps: since(process),
                mailbox: mailbox(process),
                parent: process.parent.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
                links: process.links.len(),
                age: precise(process.age),
                cpu_time: process.cpu_time.map_or_else(|| "?".to_owned(), precise),
            })
            .collect()
    }

    /// The process with the most messages that wait, if any do.
    pub(crate) fn fullest_mailbox(&self) -> Option<(String, String)> {
        let fullest = self.0.iter().max_by_key(|process| process.mailbox_len)?;
        (fullest.mailbox_len > 0).then(|| (name(fullest), mailbox(fullest)))
    }
}

pub(crate) fn name(process: &ProcessInfo) -> String {
    process.name.clone().unwrap_or_else(|| process.pid.to_string())
}

fn mailbox(process: &ProcessInfo) -> String {
    let len = thousands(process.mailbox_len as u64);
    match process.mailbox_bound {
        Some(bound) => format!("{len} of {}", thousands(bound as u64)),
        None => len,
    }
}

pub(crate) fn word(state: ProcessState) -> &'static str {
    match state {
        ProcessState::Ready => "ready",
        ProcessState::Running => "running",
        ProcessState::Blocked => "blocked",
        ProcessState::Idle => "idle",
        ProcessState::Complete => "complete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shiftwork::{Runtime, process::Context};
    use std::time::Duration;

    /// A census of a simulated world, in which nothing happens unless it is run.
    #[test]
    fn a_census_tells_states_mailboxes_and_who_is_busy() {
        let mut simulation = Runtime::builder().workers(1).simulate(1).unwrap();
        let listener = |mut ctx: Context<u8>| async move { while ctx.receive().await.is_some() {} };
        let busy = simulation.process().name("busy").spawn(listener).unwrap();
        let lazy = simulation.spawn_process(listener).unwrap();
        simulation.run();
        for _ in 0..14 {
            busy.send(1).unwrap();
            simulation.run();
        }
        let before = Census(simulation.processes());
        assert_eq!(before.states(), "0 running, 0 ready, 0 blocked, 2 idle");
        assert!(before.fullest_mailbox().is_none());

        busy.send(1).unwrap();
        simulation.run();
        lazy.send(1).unwrap();
        let now = Census(simulation.processes());
        assert_eq!(now.count(), 2);
        assert_eq!(now.messages_waiting(), 1);
        assert_eq!(now.fullest_mailbox(), Some((lazy.pid().to_string(), "1 of 1,024".to_owned())));
        let busiest = now.busiest(&before);
        assert_eq!(busiest.len(), 1);
        assert_eq!((busiest[0].name.as_str(), busiest[0].steps), ("busy", 1));
        assert_eq!((busiest[0].parent.as_str(), busiest[0].links), ("-", 0));
        assert_eq!(busiest[0].age, "0 ns", "less than a millisecond");
        assert_ne!(busiest[0].cpu_time, "?", "its sixteenth turn was timed");
    }

    #[test]
    fn a_census_tells_parents_links_and_ages() {
        let mut simulation = Runtime::builder().workers(1).simulate(1).unwrap();
        let parent = simulation.spawn_process(|mut ctx: Context<u8>| async move {
            let child =
                |mut ctx: Context<u8>| async move { while ctx.receive().await.is_some() {} };
            let child = ctx.process().name("child").spawn(child);
            while ctx.receive().await.is_some() {}
            drop(child);
        });
        let parent = parent.unwrap();
        simulation.run();
        simulation.run_for(Duration::from_millis(1500));
        let busiest = Census(simulation.processes()).busiest(&Census::default());
        let child = busiest.iter().find(|busy| busy.name == "child").unwrap();
        assert_eq!((child.parent.as_str(), child.links), (&*parent.pid().to_string(), 1));
        assert_eq!((child.age.as_str(), child.cpu_time.as_str()), ("1.50 s", "?"));
    }
}
