//! Calls about tasks: spawn one, read its input, await one, sleep.

use std::time::Duration;

use crate::{
    abi::Code,
    engine::Answer,
    host::{Called, Host, memory::Memory, pending::Pending},
    id::TaskId,
    program::{
        registry::{Awaiter, Known},
        spawn::{self, Arguments, Birth, Input},
    },
    task::cell::Noted,
    value::ValueType,
};

impl Host {
    pub(super) fn spawn(&mut self, index: u64, argument: u64) -> Called {
        self.spawn_task(index, argument as i64, None)
    }

    pub(super) fn spawn_with(&mut self, index: u64, bytes: &[u8]) -> Called {
        self.must_be_short(bytes)?;
        let input = Input::new(&self.shared, bytes).ok_or(Code::Limit)?;
        self.spawn_task(index, bytes.len() as i64, Some(Box::new(input)))
    }

    fn spawn_task(&mut self, index: u64, argument: i64, input: Option<Box<Input>>) -> Called {
        self.must_not_be_cancelled()?;
        let index = index as u32;
        if !self.can_be_spawned(index) {
            return Err(Code::BadArgument);
        }
        let function = self.shared.of_table(index);
        let birth = Birth { function, arguments: Arguments::One(argument), input };
        match spawn::spawn(&self.shared, birth) {
            Ok(id) => Ok(Answer::Return(id.get())),
            Err(refused) => Err(refused.code()),
        }
    }

    /// Whether the table has a function there that takes an `i64` and returns one, or nothing.
    fn can_be_spawned(&self, index: u32) -> bool {
        let table = self.shared.module.table.as_ref();
        let function = table.and_then(|table| table.functions.get(index as usize)?.as_deref());
        function.is_some_and(|(_, signature)| {
            signature.parameters == [ValueType::I64]
                && matches!(*signature.results, [] | [ValueType::I64])
        })
    }

    /// Copies the input if it fits, and tells its length in any case.
    pub(super) fn copy_input(&mut self, to: &mut [u8]) -> Called {
        let input = self.input.as_ref().map_or(&[][..], |input| input.bytes());
        if let Some(to) = to.get_mut(..input.len()) {
            to.copy_from_slice(input);
        }
        Ok(Answer::Return(input.len() as u64))
    }

    pub(super) fn await_task(&mut self, task: u64, out: u64, memory: &mut Memory<'_>) -> Called {
        memory.write(out, 8)?;
        self.must_not_be_cancelled()?;
        let (task, out) = (TaskId::new(task), out as u32);
        if task == self.own.id {
            return Err(Code::BadArgument);
        }
        let own = &self.own;
        let known = self.shared.registry.await_task(
            task,
            || Host::waiter(own, Noted::task(task)).map(Awaiter::Task),
            |ended| ended.for_guests(),
        );
        match known {
            Known::Live(Some(place)) => Ok(self.block(Pending::Await { task, place, out })),
            Known::Live(None) => Err(Code::Cancelled),
            Known::Ended(Some(value)) => {
                memory.put(out, value.to_le_bytes());
                Err(Code::Ok)
            }
            Known::Ended(None) => Err(Code::Failed),
            Known::Nothing => Err(Code::NoSuch),
        }
    }

    pub(super) fn sleep(&mut self, nanos: u64) -> Called {
        let nanos = nanos as i64;
        if nanos <= 0 {
            self.pending = Pending::Yield;
            return Ok(Answer::Wait);
        }
        self.own.note(Noted::TIMER);
        // If it is cancelled it does not sleep; there is no code to say so.
        if self.own.wait.begin(true).is_none() {
            return Ok(Answer::Return(0));
        }
        // It stays counted: its timer wakes it.
        self.pending = Pending::Sleep(self.alarm(Duration::from_nanos(nanos as u64)));
        Ok(Answer::Wait)
    }
}
