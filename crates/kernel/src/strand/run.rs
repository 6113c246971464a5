//! How a turn meets the body: what it returns, how it fails, and who is told.

use std::sync::Arc;

use crate::{
    panics,
    shared::Shared,
    strand::{
        StrandRef,
        body::{Body, Step},
        join::{Completer, Failure},
    },
    turn::Turn,
};

/// What a body wants after its turn, without the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Pause,
    Yield,
    End,
}

/// A body as the scheduler runs it, of a strand with an open part `P`; it passes its result on by
/// itself.
pub(crate) trait Run<P = ()>: Send + 'static {
    fn run(&mut self, turn: &mut Turn<'_>) -> After;

    /// It ends otherwise than by its own word. What it owns is dropped where it is, since a
    /// future must not be moved.
    fn fail(&mut self, open: &P, shared: &Arc<Shared>, why: Failure);
}

/// The functions of a strand that know the type of its body.
pub(crate) struct VTable {
    pub(crate) take_turn: unsafe fn(StrandRef, &mut Turn<'_>) -> After,
    pub(crate) end_unrun: unsafe fn(StrandRef),
    pub(crate) free: unsafe fn(StrandRef),
}

/// One turn of `body`, with a panic caught here. After `End` the body is gone.
pub(crate) fn guarded<P, B: Run<P>>(
    body: &mut Option<B>,
    open: &P,
    aborted: bool,
    turn: &mut Turn<'_>,
) -> After {
    if aborted {
        fail(body, open, turn.shared(), Failure::Cancelled);
        return After::End;
    }
    let running = body.as_mut().expect("a strand that runs has a body");
    match panics::catch(|| running.run(turn)) {
        Ok(After::End) => {
            if let Err(payload) = panics::catch(|| *body = None) {
                turn.note_panic(&payload);
                panics::discard(payload);
            }
            After::End
        }
        Ok(after) => after,
        Err(payload) => {
            turn.note_panic(&payload);
            fail(body, open, turn.shared(), Failure::Panicked(payload));
            After::End
        }
    }
}

/// Tells the owner, drops the body, and contains a panic in its drop.
pub(crate) fn fail<P, B: Run<P>>(
    body: &mut Option<B>,
    open: &P,
    shared: &Arc<Shared>,
    why: Failure,
) {
    let told = panics::catch(|| {
        if let Some(body) = body {
            body.fail(open, shared, why);
        }
    });
    let dropped = panics::catch(|| *body = None);
    for payload in [told, dropped].into_iter().filter_map(Result::err) {
        panics::discard(payload);
    }
}

/// A body whose result somebody may wait for.
pub(crate) struct Joined<B: Body> {
    body: Option<B>,
    completer: Completer<B::Output>,
}

impl<B: Body> Joined<B> {
    pub(crate) fn new(body: B, completer: Completer<B::Output>) -> Joined<B> {
        Joined { body: Some(body), completer }
    }
}

impl<B: Body> Run for Joined<B> {
    #[inline]
    fn run(&mut self, turn: &mut Turn<'_>) -> After {
        let body = self.body.as_mut().expect("a strand that runs has a body");
        match body.turn(turn) {
            Step::Pause => After::Pause,
            Step::Yield => After::Yield,
            Step::End(result) => {
                // Whoever waits may rely on it that the body and all it owned is gone.
                self.body = None;
                self.completer.complete(Ok(result));
                After::End
            }
        }
    }

    fn fail(&mut self, (): &(), _: &Arc<Shared>, why: Failure) {
        let dropped = panics::catch(|| self.body = None);
        self.completer.complete(Err(match dropped {
            Ok(()) => why,
            Err(payload) => Failure::Panicked(payload),
        }));
    }
}
