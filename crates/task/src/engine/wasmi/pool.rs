//! Instances that tasks have left and that are as new, for the tasks that come.
//!
//! Several shelves, so that workers seldom meet at a lock: a thread puts to its own shelf and takes from
//! it first. What one worker leaves another can take, so that it does not matter where tasks end.
//!
//! 1. What is on a shelf was made as new before it was put there.
//! 2. A shelf has a bound: tasks that have ended cost at most [`SHELF_BYTES`] for each worker, and
//!    [`WARM_BYTES`] for larger memories whose pages stay.

use std::{
    cell::Cell,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::live::Live;

/// How many shelves there are. More workers than this share them.
const SHELVES: usize = 8;

/// Bytes of the instances on a shelf, about.
const SHELF_BYTES: usize = 8 << 20;

/// Bytes of the memories on a shelf that keep their pages though they are large.
pub(super) const WARM_BYTES: usize = if cfg!(test) { 512 << 10 } else { 8 << 20 };

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
struct Shelf(Mutex<Kept>);

/// What is on a shelf.
#[derive(Default)]
struct Kept {
    #[expect(clippy::vec_box, reason = "an instance is two kilobytes, and is moved at each turn")]
    instances: Vec<Box<Live>>,
    /// Bytes of their memories that are [`Live::warm`].
    warm: usize,
}

/// Whoever puts an instance to a shelf may leave this with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Bytes of a large memory that keeps its pages.
    pub(super) warm: usize,
}

impl Pool {
    /// For instances of about this many bytes.
    pub(super) fn new(instance_bytes: usize) -> Pool {
        let shelf = (SHELF_BYTES / instance_bytes).max(1);
        Pool { shelves: Default::default(), shelf, kept: AtomicUsize::new(0) }
    }

    /// The room that there is for an instance from the thread that asks, if there is any.
    pub(super) fn room(&self) -> Option<Room> {
        let kept = self.shelves[own_shelf()].lock();
        let free = kept.instances.len() < self.shelf;
        free.then(|| Room { warm: WARM_BYTES.saturating_sub(kept.warm) })
    }

    /// Takes an instance that is as new, if there is one.
    pub(super) fn take(&self) -> Option<Box<Live>> {
        if self.kept.load(Relaxed) == 0 {
            return None;
        }
        let own = own_shelf();
        let taken = (0..SHELVES).find_map(|next| {
            let mut kept = self.shelves[(own + next) % SHELVES].lock();
            let taken = kept.instances.pop()?;
            kept.warm -= taken.warm();
            Some(taken)
        })?;
        self.kept.fetch_sub(1, Relaxed);
        Some(taken)
    }

    /// Keeps an instance that is as new, if there is room.
    pub(super) fn put(&self, live: Box<Live>) {
        let mut kept = self.shelves[own_shelf()].lock();
        if kept.instances.len() < self.shelf {
            // Counted first: the count is never below what can be taken, and so never below 0.
            self.kept.fetch_add(1, Relaxed);
            kept.warm += live.warm();
            kept.instances.push(live);
        } else {
            drop(kept);
            drop(live);
        }
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
