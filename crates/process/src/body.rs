//! A turn of a process: settle the mail, hear the signals, poll the future.

use std::{
    future::Future,
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    ptr,
    task::Poll,
};

use kernel::{Handle, JoinError, OpenBody, Step, StrandWith, Turn};

use crate::{
    cancelled,
    context::Context,
    core::{CANCELLED, CROWDED, Core, FOREIGN, Front, TRAPS},
    ending,
    exit::{ExitReason, Outcome},
    link,
    signal::Signal,
};

/// The body of a process that is written as a future.
pub(crate) struct AsyncBody<F, Fut>(Stage<F, Fut>);

/// The future is never moved once it is there: a body stays where its strand was made.
enum Stage<F, Fut> {
    Start(F),
    Run(Fut),
    Over,
}

impl<F, Fut> AsyncBody<F, Fut> {
    pub(crate) fn new(start: F) -> AsyncBody<F, Fut> {
        AsyncBody(Stage::Start(start))
    }

    /// Drops what there is. True: it had not started.
    #[cold]
    fn drop_future(&mut self) -> bool {
        let unstarted = matches!(self.0, Stage::Start(_));
        self.0 = Stage::Over;
        unstarted
    }
}

impl<M, F, Fut> OpenBody<Front<M>> for AsyncBody<F, Fut>
where
    M: Send + 'static,
    F: FnOnce(Context<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
    #[inline]
    fn turn(&mut self, own: &StrandWith<Front<M>>, turn: &mut Turn<'_>) -> Step<u32> {
        let core = &own.core;
        let timed = core.count_step().then(|| turn.worker_now());
        let arrived = core.has(FOREIGN) && (own.mail().has_arrivals() || !core.signals.is_empty());
        // SAFETY: this is the turn.
        unsafe { own.mail().settle() };
        if !core.signals.is_empty()
            && let Err(reason) = hear(core)
        {
            let unstarted = self.drop_future();
            return over(own, &reason, unstarted);
        }
        if core.has(CROWDED | FOREIGN) {
            look_around(own, arrived);
        }
        if let Stage::Start(start) = &self.0 {
            // Only what starts it is moved, and what needs no drop is written over: a stage has room
            // for the whole future.
            // SAFETY: it is moved out once.
            let start = unsafe { ptr::read(start) };
            // SAFETY: nothing is left there to drop.
            unsafe { ptr::write(&raw mut self.0, Stage::Over) };
            // SAFETY: one of the handles that the strand was made with is the context's.
            let context = Context::new(unsafe { StrandWith::from_raw(own.as_raw()) });
            let future = start(context);
            // SAFETY: as above.
            unsafe { ptr::write(&raw mut self.0, Stage::Run(future)) };
        }
        let Stage::Run(future) = &mut self.0 else {
            unreachable!("a process that is over gets no turn")
        };
        // SAFETY: see `Stage`. It is dropped in place.
        let future = unsafe { Pin::new_unchecked(future) };
        let polled =
            own.with_waker(|waker| future.poll(&mut std::task::Context::from_waker(waker)));
        let step = match polled {
            Poll::Ready(outcome) => {
                // Whoever is told may rely on it that what the process owned is gone.
                self.0 = Stage::Over;
                let reason = match outcome.into_reason() {
                    ExitReason::Normal if core.has(CANCELLED) => ExitReason::Shutdown,
                    reason => reason,
                };
                over(own, &reason, false)
            }
            Poll::Pending => {
                // SAFETY: this is the turn.
                unsafe { own.mail().unsettle() };
                Step::Pause
            }
        };
        if let Some(started) = timed {
            own.note_time(turn.worker_now().saturating_sub(started).as_nanos() as u64);
        }
        step
    }

    fn failed(&mut self, front: &Front<M>, runtime: &Handle, why: JoinError) {
        if front.mail().is_closed() {
            return; // It panicked while it exited: all is said.
        }
        let unstarted = matches!(self.0, Stage::Start(_));
        let dropped = catch_unwind(AssertUnwindSafe(|| self.drop_future()));
        let reason = match dropped {
            Ok(_) => ending::reason_of(why),
            Err(_) => ExitReason::Panic("a panic while the process was dropped".into()),
        };
        // SAFETY: the kernel calls this in the strand's turn, once, and not after an `End`.
        let own = unsafe { ending::exit(front, runtime, &reason) };
        let left = u32::from(unstarted) + front.core.handles_left();
        if left > 0 {
            // SAFETY: they are left to us, besides the table's.
            unsafe { own.release_many(left) };
        }
        drop(ManuallyDrop::into_inner(own));
    }
}

/// Ends the process. The handles of the table, of a context that was dropped in a turn or never made, and
/// those that are spare go with its end. They are counted again after it has exited: what is dropped then
/// may be anybody's, and ask for an address. The reason is lent: to copy as a whole what was just written
/// in parts would wait for them.
fn over<M: Send>(own: &StrandWith<Front<M>>, reason: &ExitReason, unstarted: bool) -> Step<u32> {
    let handles = || 1 + u32::from(unstarted) + own.core.handles_left();
    // SAFETY: the caller is in the turn, and ends with it. The handles are the table's, the context's and
    // the spare ones.
    unsafe { ending::exit_in_turn(own, reason, handles()) };
    Step::End(handles())
}

/// Takes in the signals. The reason, if one of them ends the process.
#[cold]
fn hear(core: &Core) -> Result<(), ExitReason> {
    let mut chain = core.signals.take();
    // Counted after the signals are taken: see `news`.
    let messages = core.mail().len;
    let mut ends = None;
    while let Some(signal) = chain.pop() {
        match signal {
            Signal::Exit { from, .. } if !link::hear(core, from) => continue,
            Signal::Exit { reason, .. } if !core.has(TRAPS) => {
                if !reason.is_normal() {
                    ends.get_or_insert(reason);
                }
                continue;
            }
            Signal::Cancel if core.has(CANCELLED) => continue,
            Signal::Cancel => cancelled::hear(core),
            _ => {}
        }
        core.with_news(|news| news.hear(signal, messages));
    }
    ends.map_or(Ok(()), Err)
}

/// Wakes those who wait for room, and those inside who wait with a waker of their own.
#[cold]
fn look_around<M: Send>(own: &StrandWith<Front<M>>, arrived: bool) {
    if !own.mail().is_full() {
        make_room(own);
    }
    if arrived {
        own.core.set(FOREIGN, false);
        let foreign = own.core.if_extras(|state| state.foreign.take());
        foreign.flatten().into_iter().for_each(ending::wake);
    }
}

/// Wakes those who wait for room.
#[cold]
pub(crate) fn make_room<M: Send>(own: &StrandWith<Front<M>>) {
    if own.core.has(CROWDED) {
        let senders = own.core.if_extras(|state| {
            // Under the lock, as whoever sets it.
            own.core.set(CROWDED, false);
            state.senders.call_all()
        });
        senders.into_iter().flatten().for_each(ending::wake);
    }
}
