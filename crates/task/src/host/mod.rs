//! The host's side of a task: what happens when its guest calls.
//!
//! A call that must wait puts the task into a line under the lock of what it waits for, leaves the
//! count of busy tasks, and answers [`Answer::Wait`]. What it needs to go on is [`Pending`]. When the
//! task is woken, [`Host::resume`] looks whether somebody has ended its wait, and finishes the call:
//! guest memory is touched only then, in the task's own turn.
//!
//! A task whose wait this one has ended is not woken at once, but at the next call or the end of the
//! step. If that call waits, the other runs next on this worker, and no queue is touched: two tasks
//! that talk to each other stay where they are.

mod channel;
mod held;
mod memory;
mod misc;
mod mutex;
mod pending;
mod price;
mod recent;
mod select;
mod spawn;

use std::{mem, sync::Arc};

use crate::{
    abi::{Call, Code, MAX_PARAMETERS},
    engine::{Answer, Calls},
    host::{held::Held, memory::Memory, pending::Pending, price::Sizes, recent::Recent},
    program::{shared::Shared, spawn::Input},
    task::{
        cell::{self, Noted, Task},
        waiter::{Due, Readies, Ready, Waiter},
    },
};

/// Whatever a task's guest can reach.
pub(crate) struct Host {
    shared: Arc<Shared>,
    own: Task,
    pending: Pending,
    input: Option<Box<Input>>,
    recent: Recent,
    held: Held,
    /// A task to be woken soon.
    ready: Option<Ready>,
    dice: Option<u64>,
    /// What was granted: bytes of memory, tables and stack, as they count; entries of tables.
    memory: usize,
    table: usize,
    /// Calls since the step began.
    calls: u64,
    /// The last call, if a limit did not allow it. To log a line does not count: a guest that gives up
    /// says so first.
    refused: Option<Call>,
}

/// What an entry of a table counts in the program's memory: as much as the engine needs that needs more.
const TABLE_ENTRY_BYTES: usize = 8;

/// What a call comes to: the answer, or a code in its place.
type Called = Result<Answer, Code>;

impl Host {
    pub(crate) fn new(shared: &Arc<Shared>, own: &Task, input: Option<Box<Input>>) -> Host {
        Host {
            shared: shared.clone(),
            own: own.clone(),
            pending: Pending::Nothing,
            input,
            recent: Recent::default(),
            held: Held::default(),
            ready: None,
            dice: None,
            memory: 0,
            table: 0,
            calls: 0,
            refused: None,
        }
    }

    /// The step is over. Returns the number of calls in it.
    #[inline]
    pub(crate) fn end_step(&mut self) -> u64 {
        if let Some(ready) = self.ready.take() {
            ready.wake();
        }
        mem::take(&mut self.calls)
    }

    /// The function that has just refused the guest something, since a limit did not allow it.
    pub(crate) fn refused(&self) -> Option<&'static str> {
        self.refused.map(|call| call.import().name)
    }

    /// Whether the task waits for nothing but its next turn.
    #[inline]
    pub(crate) fn yields(&self) -> bool {
        matches!(self.pending, Pending::Yield)
    }

    fn dispatch(&mut self, call: Call, [a, b, c, d]: [u64; 4], memory: &mut Memory<'_>) -> Called {
        match call {
            Call::AbiVersion => Ok(Answer::Return(crate::abi::VERSION as u32 as u64)),
            Call::Spawn => self.spawn(a, b),
            Call::SpawnWith => self.spawn_with(a, memory.read(b, c)?),
            Call::Input => self.copy_input(memory.write(a, b)?),
            Call::Await => self.await_task(a, b, memory),
            Call::YieldNow => {
                self.pending = Pending::Yield;
                Ok(Answer::Wait)
            }
            Call::Self_ => Ok(Answer::Return(self.own.id.get())),
            Call::Sleep => self.sleep(a),
            Call::ChanOpen => self.open_channel(a),
            Call::ChanSend => self.send(a, memory.read(b, c)?),
            Call::ChanRecv => self.receive(a, memory, [b, c, d]),
            Call::ChanClose => self.close_channel(a),
            Call::Select => self.select(a, b, c, memory),
            Call::MutexOpen => self.open_mutex(memory.read(a, b)?),
            Call::Lock => self.lock(a, memory, [b, c, d]),
            Call::Unlock => self.unlock(a, memory.read(b, c)?),
            Call::MutexClose => self.close_mutex(a),
            Call::Log => self.log(a, memory.read(b, c)?),
            Call::Now => Ok(Answer::Return(self.now())),
            Call::Random => self.random(memory.write(a, b)?),
        }
    }

    /// Takes so much of the program's memory, until the task ends. False: there is not so much left.
    fn take_memory(&mut self, bytes: usize) -> bool {
        let granted = self.shared.memory.take(bytes);
        if granted {
            self.memory += bytes;
        }
        granted
    }

    /// A code, as `call` gives it: a call without a result says nothing.
    #[inline]
    fn code(call: Call, code: Code) -> Answer {
        Answer::Return(match call {
            Call::Spawn | Call::SpawnWith | Call::ChanOpen | Call::MutexOpen => code.negative(),
            Call::Select | Call::Input => code.negative(),
            _ => code.plain(),
        })
    }

    /// Refuses what could wait, if the task is asked to end.
    #[inline]
    fn must_not_be_cancelled(&self) -> Result<(), Code> {
        if self.own.wait.is_cancelled() { Err(Code::Cancelled) } else { Ok(()) }
    }

    /// Begins to wait without a timer. `None`: the task is cancelled.
    #[inline]
    fn waiter(own: &Task, reason: Noted) -> Option<Waiter> {
        own.note(reason);
        let epoch = own.wait.begin(false)?;
        // SAFETY: a guest calls in turns of its task only.
        let spare = unsafe { cell::spare_handle(own) };
        Some(Waiter { task: spare.unwrap_or_else(|| own.clone()), epoch })
    }

    /// The task is in line, and waits from now on. No lock is held.
    #[inline]
    fn block(&mut self, pending: Pending) -> Answer {
        self.pending = pending;
        self.shared.act(self.shared.commons.counts.leave());
        Answer::Wait
    }

    /// These are to be woken.
    #[inline]
    fn wake(&mut self, readies: Readies) {
        if let Some(ready) = readies.only()
            && let Some(before) = self.ready.replace(ready)
        {
            before.wake();
        }
    }
}

impl Calls for Host {
    fn cost(&self, call: Call, arguments: &[u64; MAX_PARAMETERS]) -> u64 {
        let sizes = || Sizes {
            input: self.input.as_ref().map_or(0, |input| input.bytes().len()),
            data: self.shared.module.data_bytes,
        };
        price::of(call, arguments, sizes, &self.shared.options.limits)
    }

    #[inline]
    fn call(&mut self, call: Call, arguments: [u64; MAX_PARAMETERS], memory: &mut [u8]) -> Answer {
        debug_assert!(matches!(self.pending, Pending::Nothing), "a guest that waits has called");
        self.calls += 1;
        // Whoever logs calls anybody's code, which may panic.
        let before = Due::new(self.ready.take());
        let called = self.dispatch(call, arguments, &mut Memory(memory));
        if call != Call::Log {
            self.refused = (called == Err(Code::Limit)).then_some(call);
        }
        let answer = called.unwrap_or_else(|code| Host::code(call, code));
        if answer == Answer::Wait && !self.yields() {
            before.run_next();
        }
        answer
    }

    fn resume(&mut self, memory: &mut [u8]) -> Answer {
        self.resume_pending(&mut Memory(memory))
    }

    fn grow_memory(&mut self, current: usize, desired: usize) -> bool {
        let limits = &self.shared.options.limits;
        let more = desired.saturating_sub(current);
        desired <= limits.task_memory && self.take_memory(more)
    }

    fn grow_table(&mut self, current: usize, desired: usize) -> bool {
        let more = desired.saturating_sub(current);
        let allowed = self.table.saturating_add(more) <= self.shared.options.limits.table_entries;
        let granted = allowed && self.take_memory(more * TABLE_ENTRY_BYTES);
        if granted {
            self.table += more;
        }
        granted
    }

    fn begin_stack(&mut self, bytes: usize) -> bool {
        self.take_memory(bytes)
    }
}

impl Drop for Host {
    /// The task ends, however it does. From here on it waits for nothing, and whoever waits for what
    /// it had is told.
    fn drop(&mut self) {
        self.give_up();
        // SAFETY: a host is dropped in the last turn of its task, or when there will be no more.
        drop(unsafe { cell::spare_handle(&self.own) });
        let mut readies = Readies::default();
        for mutex in mem::take(&mut self.held).into_all() {
            mutex.abandon(&self.shared.commons, self.own.id, &mut readies);
        }
        self.wake(readies);
        self.shared.memory.give_back(self.memory);
        if let Some(ready) = self.ready.take() {
            ready.run_next();
        }
    }
}
