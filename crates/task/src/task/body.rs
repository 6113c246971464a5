//! A turn of a task: one step of its instance, and what comes of it. One that is preempted while nobody
//! else wants to run takes its next turn at once.
//!
//! ```text
//!   Spawned ----------> Running ----------> Over
//!            first turn   |  ^     returned, trapped, out of fuel,
//!                         +--+     cancelled, deadlocked
//!                   preempted, waits
//! ```
//!
//! Until its first turn a task is no more than a function and its arguments. When it ends, whatever
//! it had is given back first (memory, places in lines, mutexes, which are poisoned). Then, in one step
//! under the lock of its entry: those who await it get its result, it is no longer counted, and the
//! result takes its place. Two promises hang on that order.
//!
//! 1. Whoever learns that a task has ended finds it no longer counted, and may spawn another in its
//!    place: the result can not be read before the lock is given back, and nobody is woken before.
//! 2. Whoever learns that no task is left gets every result that is kept, also from a
//!    [`TaskEnd`](crate::TaskEnd) that waits already: the last task is uncounted after all who await one
//!    have been told, and who asks the registry meanwhile waits for the lock.

use std::{any::Any, mem, sync::Arc};

use kernel::{Handle, JoinError, OpenBody, Step, Turn};

use crate::{
    abi::Code,
    demangle::readable,
    engine::{Calls, Fuel, Instance, Stepped},
    host::Host,
    program::{
        finished::wake,
        outcome::{Ended, TaskError},
        registry::Awaiter,
        shared::Shared,
        spawn::Birth,
        stats::TurnTally,
    },
    task::{
        cell::{Task, TaskCell},
        wait::Outcome,
        waiter::Readies,
    },
    trap::{Trap, TrapKind},
    value::Value,
};

/// Operations that a task has left when it is asked to end.
const MERCY: u64 = 1_000_000;

pub(crate) struct TaskBody {
    shared: Arc<Shared>,
    stage: Stage,
    /// Operations it may still use; `u64::MAX` for as many as it likes.
    fuel: u64,
    /// It has noticed that it is asked to end.
    asked: bool,
}

enum Stage {
    Spawned(Birth),
    Running {
        instance: Box<dyn Instance>,
        /// `None` while a step has it.
        calls: Option<Box<dyn Calls>>,
    },
    Over,
}

impl TaskBody {
    pub(crate) fn new(shared: Arc<Shared>, birth: Birth) -> TaskBody {
        let fuel = shared.options.fuel.unwrap_or(u64::MAX);
        TaskBody { shared, stage: Stage::Spawned(birth), fuel, asked: false }
    }

    /// Makes the instance. For the first turn.
    fn start(&mut self, own: &Task) -> Result<(), TaskError> {
        let Stage::Spawned(birth) = mem::replace(&mut self.stage, Stage::Over) else {
            unreachable!("a task starts once")
        };
        let host = Box::new(Host::new(&self.shared, own, birth.input));
        let shared = &self.shared;
        let (calls, made) = shared.with_entry(birth.function, |entry| {
            birth.arguments.with(|arguments| shared.engine.instantiate(entry, arguments, host))
        });
        let instance = made.map_err(|trap| TaskError::Trap(self.locate(own, trap)))?;
        self.stage = Stage::Running { instance, calls: Some(calls) };
        Ok(())
    }

    /// What speaks against another step.
    #[inline]
    fn objection(&mut self, own: &TaskCell) -> Option<TaskError> {
        if own.wait.is_cancelled() && !self.asked {
            self.asked = true;
            self.fuel = self.fuel.min(MERCY);
            if matches!(self.stage, Stage::Spawned(_)) {
                return Some(TaskError::Cancelled);
            }
        }
        if self.fuel > 0 {
            return None;
        }
        Some(self.used_up(own, Trap::new(TrapKind::OutOfFuel)))
    }

    /// What becomes of it when its fuel is used up.
    #[cold]
    fn used_up(&self, own: &TaskCell, trap: Trap) -> TaskError {
        if self.asked { TaskError::Cancelled } else { TaskError::Trap(self.locate(own, trap)) }
    }

    /// Says where a trap happened, if the engine did not: at least which function the task began with.
    fn locate(&self, own: &TaskCell, mut trap: Trap) -> Trap {
        trap.function.get_or_insert_with(|| readable(&self.shared.function_name(own.function)));
        trap
    }

    /// One step of the instance.
    #[inline]
    fn step(&mut self, own: &Task, turn: &mut Turn<'_>) -> Step<u32> {
        let Stage::Running { instance, calls } = &mut self.stage else {
            unreachable!("a task that gets a turn runs")
        };
        let lent = calls.take().expect("the last step gave it back");
        let left = self.fuel;
        let fuel = Fuel { slice: self.shared.options.threshold().min(left), left };
        let (mut back, step) = instance.step(fuel, lent);
        let preempted = matches!(step.end, Stepped::Preempted);
        let host = (&mut *back as &mut dyn Any).downcast_mut::<Host>().expect("a task has a host");
        let host_calls = host.end_step();
        let yields = host.yields();
        let refused = host.refused();
        *calls = Some(back);
        own.add_fuel(step.used);
        if left != u64::MAX {
            self.fuel = left.saturating_sub(step.used);
        }
        let tally = TurnTally { preempted, host_calls, fuel: step.used };
        self.shared.tally.turn(turn, tally);
        turn.spend(step.used);
        if preempted {
            turn.use_up();
        }
        match step.end {
            Stepped::Preempted => Step::Yield,
            Stepped::Waits if yields => Step::Yield,
            Stepped::Waits => Step::Pause,
            // Its last operation was a call that cost more than it had.
            Stepped::Returned(_) if step.used > left => {
                let error = self.used_up(own, Trap::new(TrapKind::OutOfFuel));
                self.over(own, Err(error))
            }
            Stepped::Returned(values) => self.over(own, Ok(values)),
            Stepped::Trapped(trap) if trap.kind == TrapKind::OutOfFuel => {
                let error = self.used_up(own, *trap);
                self.over(own, Err(error))
            }
            Stepped::Trapped(trap) => {
                let mut trap = self.locate(own, *trap);
                trap.refused = refused.filter(|_| trap.kind == TrapKind::Unreachable);
                self.over(own, Err(TaskError::Trap(trap)))
            }
        }
    }

    /// Its program is deadlocked.
    #[cold]
    fn doomed(&mut self, own: &TaskCell) -> Step<u32> {
        // SAFETY: this is a turn of the task.
        match unsafe { own.wait.take(|outcome, _| outcome) } {
            Some(Outcome::Deadlock(report)) => {
                self.over(own, Err(TaskError::Deadlock(own.reason(), report)))
            }
            Some(outcome) => unreachable!("a doomed task was delivered {outcome:?}"),
            // The report is on its way, and so is the wake.
            None => Step::Pause,
        }
    }

    fn over(&mut self, own: &TaskCell, outcome: Result<Vec<Value>, TaskError>) -> Step<u32> {
        self.end(own, outcome);
        Step::End(0)
    }

    fn end(&mut self, own: &TaskCell, outcome: Result<Vec<Value>, TaskError>) {
        // Whoever is told may rely on it that all it had is given back.
        self.stage = Stage::Over;
        let shared = &self.shared;
        shared.tally.ended(outcome.is_err());
        let counts = &shared.commons.counts;
        let (mut readies, mut wakers) = (Readies::default(), Vec::new());
        let ended = Ended::new(own.function, own.fuel(), outcome);
        let verdict = shared.registry.end(own.id, ended, |awaiters, ended| {
            for awaiter in awaiters.into_all() {
                match awaiter {
                    Awaiter::Rust(post) => wakers.extend(post.leave(ended.clone())),
                    Awaiter::Task(waiter) => {
                        let failed = Outcome::Code(Code::Failed);
                        let outcome = ended.for_guests().map_or(failed, Outcome::Value);
                        readies.add(waiter.answer(counts, outcome, &[]));
                    }
                }
            }
            counts.end()
        });
        // A waker is anybody's code, so it is woken without the lock.
        wakers.into_iter().for_each(wake);
        shared.act(verdict);
        if let Some(only) = readies.only() {
            only.run_next();
        }
    }
}

impl OpenBody<TaskCell> for TaskBody {
    #[inline]
    fn turn(&mut self, own: &Task, turn: &mut Turn<'_>) -> Step<u32> {
        loop {
            if own.wait.is_doomed() {
                return self.doomed(own);
            }
            if let Some(error) = self.objection(own) {
                return self.over(own, Err(error));
            }
            if let Stage::Spawned(_) = self.stage
                && let Err(error) = self.start(own)
            {
                return self.over(own, Err(error));
            }
            let step = self.step(own, turn);
            if !matches!(step, Step::Yield) || !turn.goes_on() {
                return step;
            }
        }
    }

    fn failed(&mut self, own: &TaskCell, _: &Handle, why: JoinError) {
        let error = match why {
            JoinError::Panicked(text) => TaskError::Panicked(text),
            JoinError::Cancelled => TaskError::Cancelled,
            _ => TaskError::Stopped,
        };
        self.end(own, Err(error));
    }
}
