//! Cells that are all of one type: dense arrays of payloads and results, and one executor.
//!
//! A job that fails is rare, so errors lie in a table beside. With a small payload and a small
//! result a job takes a few bytes, and neighbours share cache lines: what a graph of very small
//! jobs needs.

use std::{
    cell::UnsafeCell,
    collections::HashMap,
    fmt,
    mem::{self, MaybeUninit},
    panic::{self, AssertUnwindSafe},
    ptr::NonNull,
    sync::Arc,
};

use crate::{
    context::Context,
    error::JobError,
    graph::{
        cell::{Fate, Outcome, Verdict, contain, text_of},
        word::{Ended, Word},
    },
    sync::Mutex,
};

/// What can be done with them, whatever their type. The promises are those of
/// [`Cells`](super::cells::Cells).
pub(crate) trait Typed: Send + Sync {
    /// # Safety
    /// The job is the caller's, and has not ended.
    unsafe fn turn(&self, index: u32, context: &mut Context<'_, '_>) -> Verdict;

    /// # Safety
    /// As for `turn`.
    unsafe fn doom(&self, index: u32, fate: Fate);

    /// # Safety
    /// The job has left its outcome, a failure, and nobody takes it meanwhile.
    unsafe fn reason(&self, index: u32) -> Arc<str>;

    /// # Safety
    /// The job has ended like this, and nobody takes the outcome while the pointer is used.
    unsafe fn value(&self, index: u32, completed: bool) -> NonNull<()>;

    /// # Safety
    /// The job has ended like this, nobody else reads or takes its outcome, and there is room for
    /// it at `into`.
    unsafe fn take(&self, index: u32, completed: bool, into: *mut ());

    /// Drops the payloads of jobs that have not run, and the results that nobody took.
    ///
    /// # Safety
    /// Nobody else is left, and these are the words of the jobs.
    unsafe fn clear(&mut self, words: &[Word]);

    /// Drops all payloads: none of the jobs was submitted.
    fn drop_payloads(&mut self);
}

pub(crate) struct TypedCells<T, R, E, F> {
    execute: F,
    payloads: Box<[Slot<T>]>,
    results: Box<[Slot<R>]>,
    /// Boxed, so that they stay where they are.
    errors: Mutex<HashMap<u32, Box<JobError<E>>>>,
}

/// The payloads of jobs that are not submitted yet.
pub(crate) struct Payloads {
    cells: Option<Box<dyn Typed>>,
}

impl Payloads {
    pub(crate) fn new(cells: Box<dyn Typed>) -> Payloads {
        Payloads { cells: Some(cells) }
    }

    pub(crate) fn into_cells(mut self) -> Box<dyn Typed> {
        self.cells.take().expect("they are there until now")
    }
}

impl Drop for Payloads {
    fn drop(&mut self) {
        if let Some(cells) = &mut self.cells {
            cells.drop_payloads();
        }
    }
}

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

// SAFETY: each slot is touched by whoever has the job to itself, and a result afterwards only read,
// or taken by its one owner. Payloads are `Send`, results `Send` and `Sync`.
unsafe impl<T: Send, R: Send + Sync, E: Send + Sync, F: Sync + Send> Sync
    for TypedCells<T, R, E, F>
{
}

impl<T, R, E, F> TypedCells<T, R, E, F>
where
    T: Send + 'static,
    F: Fn(T, &mut Context<'_, '_>) -> Result<R, E> + Send + Sync + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    pub(crate) fn new(execute: F, payloads: Vec<T>) -> TypedCells<T, R, E, F> {
        let results = payloads.iter().map(|_| Slot::new(MaybeUninit::uninit())).collect();
        let payloads = payloads.into_iter().map(|it| Slot::new(MaybeUninit::new(it))).collect();
        TypedCells { execute, payloads, results, errors: Mutex::new(HashMap::new()) }
    }

    /// SAFETY: the job is the caller's, and has not ended.
    unsafe fn payload(&self, index: u32) -> T {
        // SAFETY: its payload lies there until it runs, which it does once.
        unsafe { (*self.payloads[index as usize].get()).assume_init_read() }
    }

    #[cold]
    fn fail(&self, index: u32, error: JobError<E>) {
        self.errors.lock().insert(index, Box::new(error));
    }
}

impl<T, R, E, F> Typed for TypedCells<T, R, E, F>
where
    T: Send + 'static,
    F: Fn(T, &mut Context<'_, '_>) -> Result<R, E> + Send + Sync + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    #[inline]
    unsafe fn turn(&self, index: u32, context: &mut Context<'_, '_>) -> Verdict {
        // SAFETY: by the caller's promise.
        let payload = unsafe { self.payload(index) };
        let run = AssertUnwindSafe(|| (self.execute)(payload, context));
        match panic::catch_unwind(run) {
            Ok(Ok(result)) => {
                // SAFETY: the job is the caller's, so its slot is.
                unsafe { (*self.results[index as usize].get()).write(result) };
                return Verdict::Completed;
            }
            Ok(Err(error)) => self.fail(index, JobError::Failed(error)),
            Err(payload) => self.fail(index, JobError::Panicked(text_of(payload))),
        }
        Verdict::Failed
    }

    unsafe fn doom(&self, index: u32, fate: Fate) {
        // SAFETY: by the caller's promise.
        let payload = unsafe { self.payload(index) };
        contain(|| drop(payload));
        self.fail(index, fate.into_error());
    }

    unsafe fn reason(&self, index: u32) -> Arc<str> {
        // SAFETY: by the caller's promise, it failed.
        let error = unsafe { self.value(index, false).cast::<JobError<E>>().as_ref() };
        error.reason()
    }

    unsafe fn value(&self, index: u32, completed: bool) -> NonNull<()> {
        if completed {
            // SAFETY: by the caller's promise nobody changes it.
            let result: &MaybeUninit<R> = unsafe { &*self.results[index as usize].get() };
            return NonNull::from(result).cast();
        }
        let errors = self.errors.lock();
        NonNull::from(&**errors.get(&index).expect("it failed, and nobody took it")).cast()
    }

    unsafe fn take(&self, index: u32, completed: bool, into: *mut ()) {
        let outcome: Outcome<R, E> = if completed {
            // SAFETY: by the caller's promise.
            Ok(unsafe { (*self.results[index as usize].get()).assume_init_read() })
        } else {
            Err(*self.errors.lock().remove(&index).expect("it failed, and nobody took it"))
        };
        // SAFETY: by the caller's promise.
        unsafe { into.cast::<Outcome<R, E>>().write(outcome) };
    }

    unsafe fn clear(&mut self, words: &[Word]) {
        if !mem::needs_drop::<T>() && !mem::needs_drop::<R>() {
            return;
        }
        for (index, word) in words.iter().enumerate() {
            match word.ended() {
                // SAFETY: it has not run, so its payload lies there.
                None => contain(|| unsafe { self.payloads[index].get_mut().assume_init_drop() }),
                Some(Ended::Completed) if !word.is_taken() => {
                    // SAFETY: it completed, and nobody took the result.
                    contain(|| unsafe { self.results[index].get_mut().assume_init_drop() });
                }
                Some(_) => {}
            }
        }
    }

    fn drop_payloads(&mut self) {
        for payload in &mut self.payloads {
            // SAFETY: it has not run, so its payload lies there.
            contain(|| unsafe { payload.get_mut().assume_init_drop() });
        }
    }
}
