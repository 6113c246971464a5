//! Where a job's body lies, and later its outcome.
//!
//! Both share one room of five words: what is larger is boxed. What lies there is known by type
//! only to the functions in [`How`], of which there is one table per type of body. Before its end
//! the room holds the body, afterwards the outcome; the word of the job says which, and who may
//! touch it.

use std::{
    cell::UnsafeCell,
    fmt,
    mem::{self, MaybeUninit},
    panic::{self, AssertUnwindSafe},
    ptr::NonNull,
    sync::Arc,
};

use crate::{
    body::{Body, Turned},
    context::Context,
    error::JobError,
    graph::word::Word,
    id::JobId,
};

const WORDS: usize = 5;

/// Five words, for a body or an outcome.
type Room = MaybeUninit<[usize; WORDS]>;

/// What is left behind by a body.
pub(crate) type Outcome<R, E> = Result<R, JobError<E>>;
type OutcomeOf<B> = Outcome<<B as Body>::Output, <B as Body>::Error>;

/// Why a job ends without having run.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    Predecessor { job: JobId, reason: Arc<str> },
    Cancelled,
    Stopped,
}

impl Fate {
    pub(super) fn into_error<E>(self) -> JobError<E> {
        match self {
            Fate::Predecessor { job, reason } => JobError::Predecessor { job, reason },
            Fate::Cancelled => JobError::Cancelled,
            Fate::Stopped => JobError::Stopped,
        }
    }

    /// What those who depend on `job` hear, to whom this happened: where it began.
    pub(crate) fn as_predecessor(&self, job: JobId) -> Fate {
        match self {
            Fate::Cancelled => Fate::Predecessor { job, reason: self.to_string().into() },
            other => other.clone(),
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Predecessor { job, reason } => write!(f, "{job}: {reason}"),
            Fate::Cancelled => f.write_str("it was cancelled"),
            Fate::Stopped => f.write_str("the pool stopped"),
        }
    }
}

/// What a turn led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Continue,
    Completed,
    Failed,
}

/// What can be done with a room whose body is of some type.
pub(crate) struct How {
    /// Takes a turn; unless it continues, the room then holds the outcome.
    pub(crate) turn: unsafe fn(*mut Room, &mut Context<'_, '_>) -> Verdict,
    /// Drops the body, and leaves this outcome.
    pub(crate) doom: unsafe fn(*mut Room, Fate),
    /// What the outcome, a failure, says.
    pub(crate) reason: unsafe fn(*const Room) -> Arc<str>,
    /// Where the result lies, or the error.
    pub(crate) value: unsafe fn(*const Room) -> NonNull<()>,
    /// Moves the outcome out, to where there is room for it.
    pub(crate) take: unsafe fn(*mut Room, *mut ()),
    pub(crate) drop_body: unsafe fn(*mut Room),
    pub(crate) drop_outcome: unsafe fn(*mut Room),
    pub(crate) resumable: bool,
}

/// The table for bodies of a type.
pub(crate) trait Tabled: Body {
    const HOW: How = How {
        turn: turn::<Self>,
        doom: doom::<Self>,
        reason: reason::<Self>,
        value: value::<Self>,
        take: take::<Self>,
        drop_body: drop_in::<Self>,
        drop_outcome: drop_in::<OutcomeOf<Self>>,
        resumable: Self::RESUMABLE,
    };
}

impl<B: Body> Tabled for B {}

/// A body or an outcome, and what can be done with it.
pub(crate) struct Cell {
    pub(super) how: &'static How,
    pub(super) room: UnsafeCell<Room>,
}

impl Cell {
    #[inline]
    pub(crate) fn new<B: Body>(body: B) -> Cell {
        let mut room = Room::uninit();
        // SAFETY: it is ours, and empty.
        unsafe { write(&mut room, body) };
        Cell { how: const { &B::HOW }, room: UnsafeCell::new(room) }
    }

    /// Drops what is left.
    ///
    /// # Safety
    /// Nobody else is left, this is the word of its job, and the cell is not used afterwards.
    #[inline]
    pub(super) unsafe fn clear(&self, word: &Word) {
        let room = self.room.get();
        match word.ended() {
            _ if word.is_taken() && word.is_done() => {}
            // SAFETY: its outcome lies there, and nobody else is left.
            Some(_) => unsafe { (self.how.drop_outcome)(room) },
            // SAFETY: its body lies there, and nobody else is left.
            None => unsafe { (self.how.drop_body)(room) },
        }
    }

    /// Takes the body back.
    ///
    /// # Safety
    /// It is of this type, and has not run.
    pub(crate) unsafe fn into_body<B>(self) -> B {
        // SAFETY: by the caller's promise.
        unsafe { read(self.room.get()) }
    }
}

/// The bodies of jobs that are not submitted yet.
#[derive(Default)]
pub(crate) struct Bodies(pub(crate) Vec<Cell>);

impl Bodies {
    pub(crate) fn into_cells(mut self) -> Box<[Cell]> {
        mem::take(&mut self.0).into_boxed_slice()
    }

    /// The body of the last one.
    ///
    /// # Safety
    /// It is of this type.
    pub(crate) unsafe fn pop<B>(&mut self) -> Option<B> {
        // SAFETY: the type is the caller's promise, and it has not run.
        self.0.pop().map(|cell| unsafe { cell.into_body() })
    }
}

impl Drop for Bodies {
    fn drop(&mut self) {
        for cell in self.0.drain(..) {
            // SAFETY: it has not run, so its body lies there.
            unsafe { (cell.how.drop_body)(cell.room.get()) };
        }
    }
}

const fn fits<T>() -> bool {
    mem::size_of::<T>() <= mem::size_of::<Room>() && mem::align_of::<T>() <= mem::align_of::<Room>()
}

/// # Safety
/// The room is the caller's, and empty.
#[inline(always)]
unsafe fn write<T>(room: *mut Room, value: T) {
    // SAFETY: by the caller's promise; it fits, or a box does.
    unsafe {
        if const { fits::<T>() } {
            room.cast::<T>().write(value);
        } else {
            room.cast::<Box<T>>().write(Box::new(value));
        }
    }
}

/// # Safety
/// The room is the caller's and holds a `T`. It is empty afterwards.
#[inline(always)]
pub(crate) unsafe fn read<T>(room: *mut Room) -> T {
    // SAFETY: by the caller's promise, `write` put it there.
    unsafe {
        if const { fits::<T>() } { room.cast::<T>().read() } else { *room.cast::<Box<T>>().read() }
    }
}

/// # Safety
/// The room holds a `T`, and nobody changes it while the reference lives.
pub(crate) unsafe fn get<'a, T>(room: *const Room) -> &'a T {
    // SAFETY: by the caller's promise, `write` put it there.
    unsafe { if const { fits::<T>() } { &*room.cast::<T>() } else { &*room.cast::<Box<T>>() } }
}

/// SAFETY: the room is the caller's and holds a `B`.
unsafe fn turn<B: Body>(room: *mut Room, context: &mut Context<'_, '_>) -> Verdict {
    // SAFETY: by the caller's promise.
    let body = unsafe { read::<B>(room) };
    // What the body touched is dropped with it if it panics, or is the user's business.
    let outcome: OutcomeOf<B> = match panic::catch_unwind(AssertUnwindSafe(|| body.turn(context))) {
        Ok(Turned::Done(Ok(output))) => Ok(output),
        Ok(Turned::Done(Err(error))) => Err(JobError::Failed(error)),
        Ok(Turned::Continue(body)) => {
            // SAFETY: the room is ours, and empty since we read it.
            unsafe { write(room, body) };
            return Verdict::Continue;
        }
        Err(payload) => Err(JobError::Panicked(text_of(payload))),
    };
    let verdict = if outcome.is_ok() { Verdict::Completed } else { Verdict::Failed };
    // SAFETY: as above.
    unsafe { write(room, outcome) };
    verdict
}

/// SAFETY: the room is the caller's and holds a `B`.
unsafe fn doom<B: Body>(room: *mut Room, fate: Fate) {
    // SAFETY: by the caller's promise.
    let body = unsafe { read::<B>(room) };
    contain(|| drop(body));
    let outcome: OutcomeOf<B> = Err(fate.into_error());
    // SAFETY: the room is empty since we read it.
    unsafe { write(room, outcome) };
}

/// SAFETY: the room holds the outcome of a `B`, which nobody changes meanwhile.
unsafe fn reason<B: Body>(room: *const Room) -> Arc<str> {
    // SAFETY: by the caller's promise.
    match unsafe { get::<OutcomeOf<B>>(room) } {
        Ok(_) => Arc::from("it completed"),
        Err(error) => error.reason(),
    }
}

impl<E: fmt::Display> JobError<E> {
    /// What those who depend on the job are told.
    pub(super) fn reason(&self) -> Arc<str> {
        // Others who depend on it learn where it began, not through whom they heard.
        if let JobError::Predecessor { reason, .. } = self {
            return reason.clone();
        }
        let text = panic::catch_unwind(AssertUnwindSafe(|| self.to_string()));
        Arc::from(text.unwrap_or_else(text_of))
    }
}

/// SAFETY: the room holds the outcome of a `B`, which nobody changes while the pointer is used.
unsafe fn value<B: Body>(room: *const Room) -> NonNull<()> {
    // SAFETY: by the caller's promise.
    match unsafe { get::<OutcomeOf<B>>(room) } {
        Ok(result) => NonNull::from(result).cast(),
        Err(error) => NonNull::from(error).cast(),
    }
}

/// SAFETY: the room is the caller's and holds the outcome of a `B`; it is empty afterwards. There
/// is room for the outcome at `into`.
unsafe fn take<B: Body>(room: *mut Room, into: *mut ()) {
    // SAFETY: by the caller's promise.
    unsafe { into.cast::<OutcomeOf<B>>().write(read(room)) };
}

/// SAFETY: the room is the caller's and holds a `T`. It is empty afterwards.
unsafe fn drop_in<T>(room: *mut Room) {
    // SAFETY: by the caller's promise.
    let value = unsafe { read::<T>(room) };
    contain(|| drop(value));
}

/// Runs foreign code that nobody waits for: a drop, a waker.
pub(crate) fn contain(foreign: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(foreign)) {
        discard(payload);
    }
}

/// The text of a panic.
pub(super) fn text_of(payload: Box<dyn std::any::Any + Send>) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a text".to_owned(),
    };
    discard(payload);
    text
}

/// Drops the payload of a panic, which may panic again: that one is nobody's any more.
fn discard(payload: Box<dyn std::any::Any + Send>) {
    if let Err(again) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(again);
    }
}
