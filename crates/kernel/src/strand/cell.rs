//! The cell between a body and whoever waits for its end: written once, taken once.
//!
//! The writer goes with the body, the reader with its owner. One word says how far they are:
//! COMPLETE, the value is there; BUSY, the reader looks at what it has noted; NOTED, a waker is
//! among that; LEFT, one of the two is gone; TAKEN, the reader had the value when it left.
//!
//! 1. The value is the writer's before COMPLETE and the reader's after; if the reader left before
//!    it took the value, it is the writer's again.
//! 2. The notes belong to whoever set BUSY, which nobody sets after COMPLETE. The writer sets
//!    COMPLETE, waits until nobody is BUSY, and has the notes to itself. So a reader that is BUSY
//!    and not COMPLETE may use the strand in its notes: the body that it waits for is still there.
//! 3. Who leaves second frees the cell. A reader leaves with the value.
//!
//! Usually nobody waits yet when the body ends, or nobody is left. Then the writer completes and
//! leaves in one step, and the reader, who finds both, needs none.

use std::{mem::MaybeUninit, ptr::NonNull, task::Waker};

use crate::{
    strand::StrandRef,
    sync::{
        UnsafeCell,
        atomic::{
            AtomicU32,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
        thread,
    },
};

const COMPLETE: u32 = 1;
const BUSY: u32 = 2;
const NOTED: u32 = 4;
const LEFT: u32 = 8;
const TAKEN: u32 = 16;

struct Cell<R> {
    word: AtomicU32,
    notes: UnsafeCell<Notes>,
    value: UnsafeCell<MaybeUninit<R>>,
}

/// What a reader leaves with the cell while it waits.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) waker: Option<Waker>,
    /// What is waited for; not kept alive by us.
    pub(crate) strand: Option<StrandRef>,
}

/// A cell, and its two sides.
pub(crate) fn pair<R>() -> (Writer<R>, Reader<R>) {
    let cell = Box::new(Cell {
        word: AtomicU32::new(0),
        notes: UnsafeCell::new(Notes::default()),
        value: UnsafeCell::new(MaybeUninit::uninit()),
    });
    let cell = NonNull::from(Box::leak(cell));
    (Writer(cell), Reader(Some(cell)))
}

/// Frees a cell, with its value if nobody took it.
///
/// # Safety
/// Both sides have left, and the caller was the second.
unsafe fn free<R>(cell: NonNull<Cell<R>>, taken: bool) {
    // SAFETY: `pair` leaked such a box, and by the caller's promise nobody else uses it.
    let cell = unsafe { Box::from_raw(cell.as_ptr()) };
    // Both are touched in any case, so that a model sees who might still use them.
    cell.notes.with_mut(|_| ());
    cell.value.with_mut(|value| {
        if !taken {
            // SAFETY: nobody leaves second before it was written, and nobody took it.
            unsafe { (*value).assume_init_drop() };
        }
    });
}

/// The body's side. It must not be dropped: its word is owed.
pub(crate) struct Writer<R>(NonNull<Cell<R>>);

// SAFETY: the value goes from one thread to another, and notes are `Send`.
unsafe impl<R: Send> Send for Writer<R> {}

impl<R> Writer<R> {
    /// Says how it ended, and wakes whoever waits.
    pub(crate) fn complete(self, value: R) {
        // SAFETY: the cell is not freed before we leave.
        let cell = unsafe { self.0.as_ref() };
        // SAFETY: before COMPLETE the value is ours (1).
        cell.value.with_mut(|to| unsafe { (*to).as_mut_ptr().write(value) });
        if cell.word.compare_exchange(0, COMPLETE | LEFT, Release, Relaxed).is_err() {
            self.complete_with_care();
        }
    }

    #[cold]
    fn complete_with_care(self) {
        // SAFETY: as in `complete`.
        let cell = unsafe { self.0.as_ref() };
        cell.word.fetch_or(COMPLETE, Release);
        while cell.word.load(Acquire) & BUSY != 0 {
            thread::yield_now();
        }
        // SAFETY: complete, and nobody is busy: the notes are ours (2).
        let waker = cell.notes.with_mut(|notes| unsafe { (*notes).waker.take() });
        let before = cell.word.fetch_or(LEFT, AcqRel);
        if before & LEFT != 0 {
            // SAFETY: the reader left before us.
            unsafe { free(self.0, before & TAKEN != 0) };
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The owner's side: the cell, until the value is taken.
pub(crate) struct Reader<R>(Option<NonNull<Cell<R>>>);

// SAFETY: as for the writer.
unsafe impl<R: Send> Send for Reader<R> {}
// SAFETY: with a shared reference only the word and, one at a time, the notes are touched.
unsafe impl<R: Send> Sync for Reader<R> {}

/// What a reader finds.
pub(crate) enum Found<R> {
    Nothing,
    Value(R),
    /// It was taken before.
    Taken,
}

impl<R> Reader<R> {
    fn cell(&self) -> Option<&Cell<R>> {
        // SAFETY: the cell is not freed before we leave.
        self.0.as_ref().map(|cell| unsafe { cell.as_ref() })
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.cell().is_none_or(|cell| cell.word.load(Acquire) & COMPLETE != 0)
    }

    /// Takes the value, if it is there.
    pub(crate) fn take(&mut self) -> Found<R> {
        let Some(cell) = self.cell() else {
            return Found::Taken;
        };
        if !self.is_complete() {
            return Found::Nothing;
        }
        // SAFETY: complete, and not taken before (1).
        let value = cell.value.with_mut(|value| unsafe { (*value).assume_init_read() });
        self.leave(TAKEN);
        Found::Value(value)
    }

    /// Leaves the cell, if that has not happened before.
    fn leave(&mut self, taken: u32) {
        let Some(cell) = self.0.take() else {
            return;
        };
        // SAFETY: the cell is not freed before we leave.
        let word = unsafe { &cell.as_ref().word };
        // If the writer has left, nobody sees whether we leave.
        let writer_left =
            word.load(Acquire) & LEFT != 0 || word.fetch_or(LEFT | taken, AcqRel) & LEFT != 0;
        if writer_left {
            // SAFETY: the writer left before us.
            unsafe { free(cell, taken != 0) };
        }
    }

    /// Looks at the notes while nothing is complete yet: meanwhile it does not become so. No
    /// foreign code may run in `user`.
    pub(crate) fn while_waiting<T>(&self, user: impl FnOnce(&mut Notes) -> T) -> Option<T> {
        let cell = self.cell()?;
        let word = &cell.word;
        loop {
            let now = word.load(Relaxed);
            if now & COMPLETE != 0 {
                return None;
            }
            if now & BUSY != 0 {
                thread::yield_now();
            } else if word.compare_exchange(now, now | BUSY, Acquire, Relaxed).is_ok() {
                break;
            }
        }
        // SAFETY: we are the one who is busy (2).
        let (result, noted) = cell.notes.with_mut(|notes| unsafe {
            let result = user(&mut *notes);
            (result, (*notes).waker.is_some())
        });
        if noted {
            word.fetch_or(NOTED, Relaxed);
        }
        word.fetch_and(!BUSY, Release);
        Some(result)
    }
}

impl<R> Drop for Reader<R> {
    fn drop(&mut self) {
        let value = self.take();
        // The value may come between our look and our leave; then it goes with the cell.
        self.leave(0);
        // Foreign code, so it comes last.
        drop(value);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    struct Flag(crate::sync::atomic::AtomicU32);

    impl std::task::Wake for Flag {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(1, Relaxed);
        }
    }

    /// The value is seen whole, by a reader that polls once with a waker, or the waker is called.
    #[test]
    fn value_is_seen_or_the_waker_is_called() {
        loom::model(|| {
            let (writer, mut reader) = pair::<Box<u32>>();
            let body = loom::thread::spawn(move || writer.complete(Box::new(7)));
            let flag = std::sync::Arc::new(Flag(crate::sync::atomic::AtomicU32::new(0)));
            let waker = Waker::from(flag.clone());
            let waits = reader.while_waiting(|notes| notes.waker = Some(waker)).is_some();
            body.join().unwrap();
            assert!(!waits || flag.0.load(Relaxed) == 1, "waits, and was not called");
            assert!(matches!(reader.take(), Found::Value(value) if *value == 7));
            assert!(matches!(reader.take(), Found::Taken));
        });
    }

    /// Either side leaves first, at any moment: the value is dropped once, the cell freed once.
    #[test]
    fn whoever_leaves_second_frees() {
        loom::model(|| {
            let (writer, reader) = pair::<Arc<u32>>();
            let value = Arc::new(7);
            let body = loom::thread::spawn({
                let value = value.clone();
                move || writer.complete(value)
            });
            drop(reader);
            body.join().unwrap();
            assert_eq!(Arc::strong_count(&value), 1);
        });
    }

    /// Two who share a handle look at its notes one after the other.
    #[test]
    fn notes_are_touched_by_one_at_a_time() {
        loom::model(|| {
            let (writer, reader) = pair::<u32>();
            let reader = Arc::new(reader);
            let other = loom::thread::spawn({
                let reader = reader.clone();
                move || reader.while_waiting(|notes| notes.waker = None).is_some()
            });
            let ours = reader.while_waiting(|notes| notes.waker = None).is_some();
            assert!(ours && other.join().unwrap());
            writer.complete(7);
        });
    }

    /// A reader that has left a waker behind.
    #[test]
    fn reader_that_gives_up_waiting_leaves_nothing_behind() {
        loom::model(|| {
            let (writer, mut reader) = pair::<Arc<u32>>();
            let value = Arc::new(7);
            let body = loom::thread::spawn({
                let value = value.clone();
                move || writer.complete(value)
            });
            reader.while_waiting(|notes| notes.waker = Some(Waker::noop().clone()));
            let taken = reader.take();
            drop(reader);
            body.join().unwrap();
            drop(taken);
            assert_eq!(Arc::strong_count(&value), 1);
        });
    }
}
