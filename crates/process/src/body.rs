//! A turn of a process: settle the mail, hear the signals, poll the future.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Poll, Waker},
};

use kernel::{Handle, JoinError, OpenBody, Step, StrandWith, Turn};

use crate::{
    context::Context,
    core::{CANCELLED, CROWDED, Core, FOREIGN, Front, TRAPS},
    ending,
    exit::{ExitReason, Outcome},
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
}

impl<M, F, Fut> OpenBody<Front<M>> for AsyncBody<F, Fut>
where
    M: Send + 'static,
    F: FnOnce(Context<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
    #[inline]
    fn turn(&mut self, own: &StrandWith<Front<M>>, turn: &mut Turn<'_>) -> Step<()> {
        let core = &own.core;
        let timed = core.count_step().then(|| turn.now());
        // SAFETY: this is the turn.
        unsafe { own.mail().settle() };
        if !core.signals.is_empty()
            && let Err(reason) = hear(core)
        {
            self.0 = Stage::Over;
            return over(own, reason);
        }
        if core.has(CROWDED | FOREIGN) {
            look_around(own);
        }
        if let Stage::Start(_) = self.0 {
            let Stage::Start(start) = std::mem::replace(&mut self.0, Stage::Over) else {
                unreachable!("it was looked at a moment ago")
            };
            self.0 = Stage::Run(start(Context::new(own.clone())));
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
                over(own, reason)
            }
            Poll::Pending => {
                // SAFETY: this is the turn.
                unsafe { own.mail().unsettle() };
                Step::Pause
            }
        };
        if let Some(started) = timed {
            core.note_time(turn.now().saturating_sub(started).as_nanos() as u64);
        }
        step
    }

    fn failed(&mut self, front: &Front<M>, runtime: &Handle, why: JoinError) {
        if front.mail().is_closed() {
            return; // It panicked while it exited: all is said.
        }
        let dropped = catch_unwind(AssertUnwindSafe(|| self.0 = Stage::Over));
        let reason = match dropped {
            Ok(()) => ending::reason_of(why),
            Err(_) => ExitReason::Panic("a panic while the process was dropped".into()),
        };
        // SAFETY: the kernel calls this in the strand's turn, once, and not after an `End`.
        unsafe { ending::exit(front, runtime, reason) };
    }
}

fn over<M: Send>(own: &StrandWith<Front<M>>, reason: ExitReason) -> Step<()> {
    // SAFETY: the caller is in the turn, and ends with it.
    unsafe { ending::exit(own, own.runtime(), reason) };
    Step::End(())
}

/// Takes in the signals. The reason, if one of them ends the process.
#[cold]
fn hear(core: &Core) -> Result<(), ExitReason> {
    let mut chain = core.signals.take();
    let mut ends = None;
    while let Some(signal) = chain.pop() {
        match signal {
            Signal::Exit { reason, .. } if !core.has(TRAPS) => {
                if !reason.is_normal() {
                    ends.get_or_insert(reason);
                }
                continue;
            }
            Signal::Cancel => core.set(CANCELLED, true),
            _ => {}
        }
        core.with_extras(|state| state.news.push_back(signal));
    }
    ends.map_or(Ok(()), Err)
}

/// Wakes those who wait for room, and those inside who wait with a waker of their own.
#[cold]
fn look_around<M: Send>(own: &StrandWith<Front<M>>) {
    if !own.mail().is_full() {
        make_room(own);
    }
    if own.core.has(FOREIGN) {
        own.core.set(FOREIGN, false);
        let foreign = own.core.if_extras(|state| std::mem::take(&mut state.foreign));
        foreign.into_iter().flatten().for_each(Waker::wake);
    }
}

/// Wakes those who wait for room.
#[cold]
pub(crate) fn make_room<M: Send>(own: &StrandWith<Front<M>>) {
    if own.core.has(CROWDED) {
        let senders = own.core.if_extras(|state| {
            // Under the lock, as whoever sets it.
            own.core.set(CROWDED, false);
            std::mem::take(&mut state.senders)
        });
        senders.into_iter().flatten().for_each(Waker::wake);
    }
}
