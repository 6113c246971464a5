//! How a process waits: for a message, for one of several, for anything.

use std::{
    future::Future,
    pin::Pin,
    task::{self, Poll, Waker},
};

use crate::{
    body,
    context::Context,
    core::{BEHIND, CANCELLED, CROWDED, FOREIGN, NEWS},
    event::Event,
    news::News,
    signal::Signal,
};

/// The next message. From [`Context::receive`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Receive<'a, M>(&'a mut Context<M>);

impl<'a, M: Send + 'static> Receive<'a, M> {
    #[inline]
    pub(crate) fn new(context: &'a mut Context<M>) -> Receive<'a, M> {
        Receive(context)
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<M> {
        own_turn(self.0);
        // SAFETY: this is a turn of the process.
        let message = unsafe { self.0.own.mail().take() };
        if self.0.core().has(CROWDED | BEHIND) {
            taken(self.0, message.is_some());
        }
        message
    }
}

/// Whether this turn should end.
#[inline]
fn own_turn<M: Send + 'static>(context: &Context<M>) -> bool {
    context.own.own_turn().expect("a process receives in its own turns, not elsewhere")
}

/// The next message was taken, if there is one, and somebody waits for that.
#[cold]
fn taken<M: Send + 'static>(context: &Context<M>, message: bool) {
    if message && context.core().has(BEHIND) {
        context.core().with_news(News::count_message);
    }
    make_room(context);
}

#[cold]
fn make_room<M: Send + 'static>(context: &Context<M>) {
    if !context.own.mail().is_full() {
        body::make_room(&context.own);
    }
}

/// Lets others run: comes back in another turn.
#[cold]
fn later<T>(task: &task::Context<'_>) -> Poll<T> {
    task.waker().wake_by_ref();
    Poll::Pending
}

/// Waits for the next turn. A waker that is not the strand's own must be woken with it.
#[inline]
fn pending<M: Send + 'static, T>(context: &Context<M>, waker: &Waker) -> Poll<T> {
    if !context.own.with_waker(|own| own.will_wake(waker)) {
        wait_with(context, waker);
    }
    Poll::Pending
}

#[cold]
fn wait_with<M: Send + 'static>(context: &Context<M>, waker: &Waker) {
    // Cloned before, and dropped after: a waker is anybody's code. One is enough: whoever receives
    // has the context to itself, so whoever did before has given up.
    let waker = waker.clone();
    let before = context.core().with_extras(|state| state.foreign.replace(waker));
    drop(before);
    context.core().set(FOREIGN, true);
}

impl<M: Send + 'static> Future for Receive<'_, M> {
    type Output = Option<M>;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Option<M>> {
        let context = &*self.0;
        let expired = own_turn(context);
        let flags = context.core().flags();
        if flags & CANCELLED != 0 {
            return Poll::Ready(None);
        }
        if expired && !context.own.mail().is_empty() {
            return later(task);
        }
        // SAFETY: this is a turn of the process.
        match unsafe { context.own.mail().take() } {
            Some(message) => {
                if flags & (CROWDED | BEHIND) != 0 {
                    taken(context, true);
                }
                Poll::Ready(Some(message))
            }
            None => pending(self.0, task.waker()),
        }
    }
}

/// The next message that is wanted. From [`Context::receive_if`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct ReceiveIf<'a, M, W> {
    context: &'a mut Context<M>,
    wanted: W,
}

impl<'a, M: Send + 'static, W: FnMut(&M) -> bool> ReceiveIf<'a, M, W> {
    pub(crate) fn new(context: &'a mut Context<M>, wanted: W) -> ReceiveIf<'a, M, W> {
        ReceiveIf { context, wanted }
    }
}

/// Nothing in it is pinned.
impl<M, W> Unpin for ReceiveIf<'_, M, W> {}

impl<M: Send + 'static, W: FnMut(&M) -> bool> Future for ReceiveIf<'_, M, W> {
    type Output = Option<M>;

    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Option<M>> {
        let ReceiveIf { context, wanted } = &mut *self;
        let expired = own_turn(context);
        if context.is_cancelled() {
            return Poll::Ready(None);
        }
        if expired && !context.own.mail().is_empty() {
            return later(task);
        }
        // SAFETY: this is a turn of the process.
        match unsafe { context.own.mail().take_if(wanted) } {
            Some(message) => {
                make_room(context);
                Poll::Ready(Some(message))
            }
            None => pending(context, task.waker()),
        }
    }
}

/// The next news, if it is not behind messages or `messages` are not wanted.
pub(crate) fn next_news<M: Send + 'static>(context: &Context<M>, messages: bool) -> Option<Signal> {
    if !context.core().has(NEWS) {
        return None;
    }
    let no_messages = !messages || context.own.mail().is_empty();
    context.core().with_news(|news| news.next(no_messages)).flatten()
}

/// Whatever comes next. From [`Context::event`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct EventFuture<'a, M>(&'a mut Context<M>);

impl<'a, M: Send + 'static> EventFuture<'a, M> {
    pub(crate) fn new(context: &'a mut Context<M>) -> EventFuture<'a, M> {
        EventFuture(context)
    }
}

impl<M: Send + 'static> Future for EventFuture<'_, M> {
    type Output = Event<M>;

    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Event<M>> {
        let context = &mut *self.0;
        if own_turn(context) && !context.own.mail().is_empty() {
            return later(task);
        }
        if let Some(news) = next_news(context, true) {
            return Poll::Ready(news.into());
        }
        match Receive::new(context).take() {
            Some(message) => Poll::Ready(Event::Message(message)),
            None => pending(context, task.waker()),
        }
    }
}
