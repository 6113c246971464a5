//! The bodies and outcomes of a batch: each of a type of its own, or all of one.

use std::{mem::MaybeUninit, ptr::NonNull, sync::Arc};

use crate::{
    context::Context,
    graph::{
        cell::{Cell, Fate, Outcome, Verdict},
        one::OneOrMany,
        typed::Typed,
        word::Word,
    },
};

pub(crate) enum Cells {
    Mixed(OneOrMany<Cell>),
    Typed(Box<dyn Typed>),
}

impl Cells {
    /// # Safety
    /// The job is the caller's, and has not ended.
    #[inline(always)]
    pub(super) unsafe fn turn(&self, index: u32, context: &mut Context<'_, '_>) -> Verdict {
        match self {
            Cells::Mixed(cells) => {
                let cell = &cells[index as usize];
                // SAFETY: the job is the caller's, so its room is, and holds the body.
                unsafe { (cell.how.turn)(cell.room.get(), context) }
            }
            // SAFETY: by the caller's promise.
            Cells::Typed(cells) => unsafe { cells.turn(index, context) },
        }
    }

    /// Leaves this outcome instead of running it.
    ///
    /// # Safety
    /// As for `turn`.
    pub(super) unsafe fn doom(&self, index: u32, fate: Fate) {
        match self {
            Cells::Mixed(cells) => {
                let cell = &cells[index as usize];
                // SAFETY: as in `turn`.
                unsafe { (cell.how.doom)(cell.room.get(), fate) }
            }
            // SAFETY: by the caller's promise.
            Cells::Typed(cells) => unsafe { cells.doom(index, fate) },
        }
    }

    /// What a failure says.
    ///
    /// # Safety
    /// The job has left its outcome, a failure, and nobody takes it meanwhile.
    pub(super) unsafe fn reason(&self, index: u32) -> Arc<str> {
        match self {
            Cells::Mixed(cells) => {
                let cell = &cells[index as usize];
                // SAFETY: by the caller's promise.
                unsafe { (cell.how.reason)(cell.room.get()) }
            }
            // SAFETY: by the caller's promise.
            Cells::Typed(cells) => unsafe { cells.reason(index) },
        }
    }

    /// Where the result lies, or if it did not complete, the error.
    ///
    /// # Safety
    /// The job has ended, and nobody takes the outcome while the pointer is used.
    pub(super) unsafe fn value(&self, index: u32, completed: bool) -> NonNull<()> {
        match self {
            Cells::Mixed(cells) => {
                let cell = &cells[index as usize];
                // SAFETY: by the caller's promise.
                unsafe { (cell.how.value)(cell.room.get()) }
            }
            // SAFETY: by the caller's promise.
            Cells::Typed(cells) => unsafe { cells.value(index, completed) },
        }
    }

    /// Moves the outcome out.
    ///
    /// # Safety
    /// The job has ended, its outcome is of these types, and nobody else reads or takes it.
    pub(super) unsafe fn take<R, E>(&self, index: u32, completed: bool) -> Outcome<R, E> {
        let mut outcome = MaybeUninit::<Outcome<R, E>>::uninit();
        let into = outcome.as_mut_ptr().cast();
        // SAFETY: by the caller's promise; the outcome is written, so it is there afterwards.
        unsafe {
            match self {
                Cells::Mixed(cells) => {
                    let cell = &cells[index as usize];
                    (cell.how.take)(cell.room.get(), into);
                }
                Cells::Typed(cells) => cells.take(index, completed, into),
            }
            outcome.assume_init()
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
                for (cell, word) in cells.iter_mut().zip(words) {
                    let room = cell.room.get();
                    match word.ended() {
                        _ if word.is_taken() && word.is_done() => {}
                        // SAFETY: its outcome lies there, and nobody else is left.
                        Some(_) => unsafe { (cell.how.drop_outcome)(room) },
                        // SAFETY: its body lies there, and nobody else is left.
                        None => unsafe { (cell.how.drop_body)(room) },
                    }
                }
            }
            // SAFETY: by the caller's promise.
            Cells::Typed(cells) => unsafe { cells.clear(words) },
        }
    }
}
