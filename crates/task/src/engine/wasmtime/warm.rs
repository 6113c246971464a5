//! Instances that stay with their pages after a task that ran long, for the tasks that come.
//!
//! When a place is given back, the pool gives the pages of its memory back to the system, and the next
//! task faults them in again: a microsecond for each that it touches. After a task that ran long its
//! instance is kept in its place instead, and made as new by hand: zeroes are written to its memory, then
//! the module's data, and its globals are set back (see `Renewal`).
//!
//! 1. What is kept was made as new before. No task sees what the one before it left behind.
//! 2. A new task takes what is kept before it takes a place from the pool. So an instance that is kept
//!    takes no place away from anybody.
//! 3. What is kept has a bound, [`WARM_BYTES`] for each program. The store of an instance keeps the stack
//!    that its guest ran on, and the engine has no way to give that back alone. How much of it was
//!    touched nobody says, so all of it counts. No guest can read what is left there: wasm reaches its
//!    stack only by locals and parameters, which are written first.

use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use ::wasmtime::{Global, Instance as Linked, ModuleExport, Store};

use super::{fibre, host::Guest, pool::Sizes};
use crate::{
    module::{GLOBAL, Module, PAGE},
    value::Value,
};

/// Bytes of the memories and stacks that keep their pages.
pub(super) const WARM_BYTES: usize = if cfg!(test) { 4 << 20 } else { 16 << 20 };

/// A task has run long if it has used so many operations for each byte of its memory: to write the
/// zeroes takes about a fiftieth of the time that the task took.
pub(super) const OPERATIONS_PER_BYTE: u64 = 8;

/// An instance in its store.
pub(super) struct Live {
    pub(super) store: Store<Guest>,
    pub(super) linked: Linked,
}

/// Instances that are as new.
pub(super) struct Warm {
    /// Bytes of a new task's memory. 0: nothing is kept.
    bytes: usize,
    /// Bytes that an instance keeps at most, with its stack.
    kept_bytes: usize,
    /// What the memory holds at first, by its place; zero elsewhere.
    data: Vec<(usize, Box<[u8]>)>,
    /// The globals that a guest can change.
    globals: Vec<ModuleExport>,
    /// What they were, known from the first instance on.
    at_first: OnceLock<Vec<Value>>,
    kept: Mutex<Vec<Live>>,
    /// How many there are. Only a hint: whoever reads 0 makes an instance.
    count: AtomicUsize,
}

impl Warm {
    /// For instances of a module, and of the code that was made from it.
    pub(super) fn new(module: &Module, code: &::wasmtime::Module, sizes: &Sizes) -> Warm {
        let renewal = &module.code.renewal;
        let globals: Option<Vec<_>> = renewal
            .globals
            .iter()
            .map(|index| code.get_export_index(&format!("{GLOBAL}{index}")))
            .collect();
        let possible = renewal.possible && globals.is_some();
        let minimum = module.memory.map_or(0, |memory| memory.minimum as usize * PAGE);
        Warm {
            bytes: if possible { minimum } else { 0 },
            kept_bytes: minimum.saturating_add(sizes.stack_at_most()),
            data: renewal.data.clone(),
            globals: globals.unwrap_or_default(),
            at_first: OnceLock::new(),
            kept: Mutex::default(),
            count: AtomicUsize::new(0),
        }
    }

    /// Bytes of the memory of an instance that was taken.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Looks at a new instance, before anything of it has run.
    pub(super) fn note(&self, live: &mut Live) {
        if self.bytes > 0 {
            self.at_first.get_or_init(|| {
                let values = self.globals.iter().map_while(|export| {
                    let value = global(live, export)?.get(&mut live.store);
                    fibre::value(&value).ok()
                });
                values.collect()
            });
        }
    }

    /// An instance that is as new, if there is one.
    pub(super) fn take(&self) -> Option<Live> {
        if self.count.load(Relaxed) == 0 {
            return None;
        }
        let taken = self.lock().pop()?;
        self.count.fetch_sub(1, Relaxed);
        Some(taken)
    }

    /// A task has returned after so many operations. Keeps its instance, if that is worth it.
    pub(super) fn put(&self, mut live: Live, used: u64) {
        let worth_it = self.bytes > 0 && used / OPERATIONS_PER_BYTE >= self.bytes as u64;
        if worth_it && self.has_room(self.count.load(Relaxed)) && self.renew(&mut live) {
            self.put_back(live);
        }
    }

    /// Keeps an instance that is as new, if there is room.
    pub(super) fn put_back(&self, live: Live) {
        let mut kept = self.lock();
        if self.has_room(kept.len()) {
            // Counted first: the count is never below what can be taken, and so never below 0.
            self.count.fetch_add(1, Relaxed);
            kept.push(live);
        } else {
            drop(kept);
            drop(live);
        }
    }

    /// Whether there is room for one beside so many.
    fn has_room(&self, kept: usize) -> bool {
        kept < WARM_BYTES / self.kept_bytes
    }

    /// Makes an instance as new. Says whether that is possible: a memory that grew does not shrink.
    fn renew(&self, live: &mut Live) -> bool {
        let Some(memory) = live.store.data().memory else { return false };
        let bytes = memory.data_mut(&mut live.store);
        if bytes.len() != self.bytes {
            return false;
        }
        bytes.fill(0);
        for (at, data) in &self.data {
            // It was there when the instance was made, so it fits.
            bytes[*at..*at + data.len()].copy_from_slice(data);
        }
        let at_first = self.at_first.get().map_or(&[][..], Vec::as_slice);
        let set = self.globals.iter().zip(at_first).map_while(|(export, value)| {
            global(live, export)?.set(&mut live.store, fibre::val(value)).ok()
        });
        set.count() == self.globals.len()
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Live>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn global(live: &mut Live, export: &ModuleExport) -> Option<Global> {
    live.linked.get_module_export(&mut live.store, export)?.into_global()
}
