//! Instances that tasks have left and that are as new, for the tasks that come.
//!
//! Several shelves, so that workers seldom meet at a lock: a thread puts to its own shelf and takes from
//! it first. What one worker leaves another can take, so that it does not matter where tasks end.
//!
//! 1. What is on a shelf was made as new before it was put there.
//! 2. A shelf has a bound: tasks that have ended cost at most [`SHELF_BYTES`] for each worker.

use std::{
    cell::Cell,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::live::Live;

/// How many shelves there are. More workers than this share them.
const SHELVES: usize = 8;

/// Bytes of the instances on a shelf, about.
const SHELF_BYTES: usize = 8 << 20;

/// Instances that are as new.
pub(super) struct Pool {
    shelves: [Shelf; SHELVES],
    /// How many instances a shelf holds.
    shelf: usize,
    /// About how many there are on all shelves. Only a hint: whoever reads 0 makes an instance.
    kept: AtomicUsize,
}

/// Aligned so that the locks of two shelves do not share a cache line.
#[derive(Default)]
#[repr(align(128))]
struct Shelf(
    #[expect(clippy::vec_box, reason = "an instance is two kilobytes, and is moved at each turn")]
    Mutex<Vec<Box<Live>>>,
);

impl Pool {
    /// For instances of about this many bytes.
    pub(super) fn new(instance_bytes: usize) -> Pool {
        let shelf = (SHELF_BYTES / instance_bytes).max(1);
        Pool { shelves: Default::default(), shelf, kept: AtomicUsize::new(0) }
    }

    /// Whether the thread that asks could [`Pool::put`] one.
    pub(super) fn has_room(&self) -> bool {
        let shelf = &self.shelves[own_shelf()];
        shelf.0.lock().unwrap_or_else(PoisonError::into_inner).len() < self.shelf
    }

    /// Takes an instance that is as new, if there is one.
    pub(super) fn take(&self) -> Option<Box<Live>> {
        if self.kept.load(Relaxed) == 0 {
            return None;
        }
        let own = own_shelf();
        let taken = (0..SHELVES).find_map(|next| {
            let shelf = &self.shelves[(own + next) % SHELVES];
            shelf.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
        })?;
        self.kept.fetch_sub(1, Relaxed);
        Some(taken)
    }

    /// Keeps an instance that is as new, if there is room.
    pub(super) fn put(&self, live: Box<Live>) {
        let shelf = &self.shelves[own_shelf()];
        let mut shelf = shelf.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shelf.len() < self.shelf {
            // Counted first: the count is never below what can be taken, and so never below 0.
            self.kept.fetch_add(1, Relaxed);
            shelf.push(live);
        } else {
            drop(shelf);
            drop(live);
        }
    }
}

/// The shelf of the thread that asks.
fn own_shelf() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<usize> = Cell::new(NEXT.fetch_add(1, Relaxed) % SHELVES);
    }
    // A thread that is going down has no number any more; any shelf will do.
    OWN.try_with(Cell::get).unwrap_or(0)
}
