//! A store with one instance of the guest in it: how it is made, and how it is made as new again.
//!
//! To make one costs microseconds, and more the more functions a module has. To make one as new again
//! costs what the guest could change: its memory and its globals (see `Renewal`). So tasks that follow
//! each other take turns in the same instance, and no task sees what the one before it left behind.

use std::io;

use wasmi::{Extern, Global, Instance, Memory, MemoryType, Store, Table, Val};

use super::{Program, host::Host, imports, pool::Room, trap};
use crate::{
    engine::arena::Slot,
    module::{GLOBAL, PAGE},
    trap::{Trap, TrapKind},
};

/// A memory up to this size is cleared by writing zeroes, and keeps its pages; the pages of a larger
/// one are given back. To give pages back and to fault them in again costs microseconds for each page
/// that was touched; to write zeroes, one for each 64 KiB once they are there.
pub(super) const CLEARED_BY_HAND: usize = 2 * PAGE;

/// A larger one too, after a task that has used so many operations for each byte of it: to write the
/// zeroes takes about a hundredth of the time that the task took.
pub(super) const OPERATIONS_PER_BYTE: u64 = 4;

/// A store with an instance that is as new, or that a task uses.
pub(super) struct Live {
    /// Before the slot: a store does not outlive its memory (rule 4 of the arena).
    pub(super) store: Store<Host>,
    pub(super) instance: Instance,
    /// The exported table of functions.
    pub(super) table: Option<Table>,
    /// The globals that the guest can change, and what they were.
    globals: Box<[(Global, Val)]>,
    slot: Option<Slot>,
    /// Whether it was made as new before.
    renewed: bool,
    /// Whether the memory is a large one, and has kept its pages.
    warm: bool,
}

impl Live {
    /// Makes an instance. Whoever asks for it has asked for its memory and tables.
    pub(super) fn new(program: &Program) -> Result<Live, Trap> {
        // Before the store, so that it is dropped after it if this fails.
        let mut slot = None;
        let mut store = Store::new(&program.engine, Host::default());
        store.limiter(|host| host);

        let mut externs: Vec<Extern> = Vec::with_capacity(program.imports.len() + 1);
        for &call in &program.imports {
            externs.push(imports::function(&mut store, call).into());
        }
        if let Some(space) = &program.memory {
            let slot = slot.insert(space.arena.take().map_err(|error| no_space(&error))?);
            store.data_mut().granted = space.minimum;
            let ty = MemoryType::new(pages(space.minimum), Some(pages(space.maximum)));
            // SAFETY: the slice becomes a memory of the store, which is dropped before the slot. `drop`
            // tells the slot how much of it the memory came to have.
            let bytes = unsafe { slot.bytes(space.minimum) };
            // wasmi writes zeroes to all of it.
            slot.commit();
            let memory = Memory::new_static(&mut store, ty, bytes)
                .map_err(|error| trap::from_error(&error, MAKING))?;
            store.data_mut().memory = Some(memory);
            // Most of it will not be touched again.
            // SAFETY: the store holds no reference into the slot while no code of it runs.
            unsafe { slot.give_pages_back() };
            externs.push(memory.into());
        }

        let instance = Instance::new(&mut store, &program.module, &externs)
            .map_err(|error| trap::from_error(&error, MAKING))?;
        let table =
            program.table.as_ref().and_then(|table| instance.get_table(&store, &table.name));
        let globals = program.renewal.globals.iter().map(|index| {
            let global = instance
                .get_global(&store, &format!("{GLOBAL}{index}"))
                .expect("the module was written with an export for it");
            (global, global.get(&store))
        });
        let globals = globals.collect();
        let mut live = Live { store, instance, table, globals, slot, renewed: false, warm: false };
        if !program.renewal.keeps_data {
            live.write_data(program)?;
        }
        Ok(live)
    }

    /// Makes the instance as new, after a task that has used so many operations. Says whether that is
    /// possible: a memory that grew does not shrink.
    pub(super) fn renew(&mut self, program: &Program, used: u64, room: Room) -> bool {
        if !program.renewal.possible || self.memory_bytes() != program.memory_minimum() {
            return false;
        }
        for (global, value) in &self.globals {
            if global.set(&mut self.store, value.clone()).is_err() {
                return false;
            }
        }
        self.clear_memory(used, room);
        let memory = self.store.data().memory;
        *self.store.data_mut() =
            Host { memory, granted: program.memory_minimum(), ..Host::default() };
        self.write_data(program).is_ok()
    }

    fn clear_memory(&mut self, used: u64, room: Room) {
        let (Some(memory), Some(slot)) = (self.store.data().memory, &mut self.slot) else { return };
        let bytes = memory.data_size(&self.store);
        let small = bytes <= CLEARED_BY_HAND;
        let worth_it = used / OPERATIONS_PER_BYTE >= bytes as u64;
        let warm = !small && worth_it && bytes <= room.warm;
        if warm && !self.warm {
            // Once: what the task has not touched is written to from now on.
            slot.commit();
        }
        // The first time most pages of a small one have never been touched, and writing zeroes would touch
        // them all. An instance that comes here again is in use all the time.
        let by_hand = warm || (small && self.renewed);
        // SAFETY: the store holds no reference into the slot while no code of it runs.
        if by_hand || !unsafe { slot.give_pages_back() } {
            memory.data_mut(&mut self.store).fill(0);
        }
        self.warm = warm;
        self.renewed = true;
    }

    /// Bytes of a large memory that has kept its pages.
    pub(super) fn warm(&self) -> usize {
        if self.warm { self.memory_bytes() } else { 0 }
    }

    /// Writes what the module has as data.
    fn write_data(&mut self, program: &Program) -> Result<(), Trap> {
        let Some(memory) = self.store.data().memory else { return Ok(()) };
        for (at, data) in &program.renewal.data {
            memory
                .write(&mut self.store, *at, data)
                .map_err(|_| Trap { function: Some(MAKING.to_owned()), ..outside() })?;
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.store.data().memory.map_or(0, |memory| memory.data_size(&self.store))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let used = self.memory_bytes();
        if let Some(slot) = &mut self.slot {
            slot.set_used(used);
        }
    }
}

/// Where a task is that fails before its function begins.
const MAKING: &str = "the making of the instance";

#[cold]
fn no_space(error: &io::Error) -> Trap {
    let message = format!("no address space for the memory of another task: {error}");
    Trap::saying(TrapKind::Limit, message)
}

fn outside() -> Trap {
    Trap::new(TrapKind::MemoryOutOfBounds)
}

fn pages(bytes: usize) -> u32 {
    u32::try_from(bytes / PAGE).expect("a memory of 32 bits has at most 65,536 pages")
}
