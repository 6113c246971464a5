//! The bodies and outcomes of a batch: each of a type of its own, or all of one.

use std::{mem::MaybeUninit, ptr::NonNull, sync::Arc};

use crate::{
    context::Context,
    graph::{
        cell::{Cell, Fate, Outcome, Verdict},
        typed::Typed,
        word::Word,
    },
};

pub(crate) enum Cells {
    Mixed(Box<[Cell]>),
    Typed(Box<dyn Typed>),
}

impl Cells {
    #[inline(always)]
    pub(super) fn at(&self, index: u32) -> At<'_> {
        match self {
            Cells::Mixed(cells) => At::Cell(&cells[index as usize]),
            Cells::Typed(cells) => At::Typed(&**cells, index),
        }
    }

    #[inline(always)]
    pub(super) fn is_resumable(&self, index: u32) -> bool {
        match self {
            Cells::Mixed(cells) => cells[index as usize].how.resumable,
            Cells::Typed(_) => false,
        }
    }

    /// Drops all that is left.
    ///
    /// # Safety
    /// Nobody else is left, these are the words of the jobs, and the cells are not used afterwards.
    pub(super) unsafe fn clear(&mut self, words: &[Word]) {
        match self {
            Cells::Mixed(cells) => {
                for (cell, word) in cells.iter().zip(words) {
                    // SAFETY: by the caller's promise.
                    unsafe { cell.clear(word) };
                }
            }
            // SAFETY: by the caller's promise.
            Cells::Typed(cells) => unsafe { cells.clear(words) },
        }
    }
}

/// Where the body or the outcome of a job lies.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    Cell(&'a Cell),
    Typed(&'a dyn Typed, u32),
}

impl At<'_> {
    /// # Safety
    /// The job is the caller's, and has not ended.
    #[inline(always)]
    pub(super) unsafe fn turn(self, context: &mut Context<'_, '_>) -> Verdict {
        match self {
            // SAFETY: the job is the caller's, so its room is, and holds the body.
            At::Cell(cell) => unsafe { (cell.how.turn)(cell.room.get(), context) },
            // SAFETY: by the caller's promise.
            At::Typed(cells, index) => unsafe { cells.turn(index, context) },
        }
    }

    /// Leaves this outcome instead of running it.
    ///
    /// # Safety
    /// As for `turn`.
    pub(super) unsafe fn doom(self, fate: Fate) {
        match self {
            // SAFETY: as in `turn`.
            At::Cell(cell) => unsafe { (cell.how.doom)(cell.room.get(), fate) },
            // SAFETY: by the caller's promise.
            At::Typed(cells, index) => unsafe { cells.doom(index, fate) },
        }
    }

    /// What a failure says.
    ///
    /// # Safety
    /// The job has left its outcome, a failure, and nobody takes it meanwhile.
    pub(super) unsafe fn reason(self) -> Arc<str> {
        match self {
            // SAFETY: by the caller's promise.
            At::Cell(cell) => unsafe { (cell.how.reason)(cell.room.get()) },
            // SAFETY: by the caller's promise.
            At::Typed(cells, index) => unsafe { cells.reason(index) },
        }
    }

    /// Where the result lies, or if it did not complete, the error.
    ///
    /// # Safety
    /// The job has ended, and nobody takes the outcome while the pointer is used.
    pub(super) unsafe fn value(self, completed: bool) -> NonNull<()> {
        match self {
            // SAFETY: by the caller's promise.
            At::Cell(cell) => unsafe { (cell.how.value)(cell.room.get()) },
            // SAFETY: by the caller's promise.
            At::Typed(cells, index) => unsafe { cells.value(index, completed) },
        }
    }

    /// Moves the outcome out.
    ///
    /// # Safety
    /// The job has ended, its outcome is of these types, and nobody else reads or takes it.
    pub(super) unsafe fn take<R, E>(self, completed: bool) -> Outcome<R, E> {
        let mut outcome = MaybeUninit::<Outcome<R, E>>::uninit();
        let into = outcome.as_mut_ptr().cast();
        // SAFETY: by the caller's promise; the outcome is written, so it is there afterwards.
        unsafe {
            match self {
                At::Cell(cell) => (cell.how.take)(cell.room.get(), into),
                At::Typed(cells, index) => cells.take(index, completed, into),
            }
            outcome.assume_init()
        }
    }
}
