//! When has a child that is an `async` function started? When it has run up to its first wait.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::{Poll, Waker},
};

use crate::{
    addr::Addr, context::Context, error::SpawnError, exit::Outcome, spawn::ProcessBuilder,
    supervisor::spec::Started, sync::Mutex,
};

#[derive(Default)]
struct Cell {
    over: bool,
    waker: Option<Waker>,
}

/// Tells, when it is dropped, that the first turn is over, or will never be.
struct Tell(Arc<Mutex<Cell>>);

impl Drop for Tell {
    fn drop(&mut self) {
        let waker = {
            let mut cell = self.0.lock();
            cell.over = true;
            cell.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Spawns a process, and waits until its first turn is over.
pub(super) fn spawn<M, F, Fut>(
    builder: ProcessBuilder<'_>,
    start: F,
) -> impl Future<Output = Started> + Send + use<M, F, Fut>
where
    M: Send + 'static,
    F: FnOnce(Context<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
    let cell = Arc::new(Mutex::new(Cell::default()));
    let tell = Tell(cell.clone());
    let spawned: Result<Addr<M>, SpawnError> = builder.spawn(move |ctx| async move {
        let mut tell = Some(tell);
        let mut future = pin!(start(ctx));
        poll_fn(|task| {
            let polled = future.as_mut().poll(task);
            drop(tell.take());
            polled
        })
        .await
    });
    async move {
        let addr = spawned.map_err(|error| error.to_string())?;
        poll_fn(|task| {
            // Cloned before, and dropped after: a waker is anybody's code.
            let waker = task.waker().clone();
            let (old, over) = {
                let mut cell = cell.lock();
                (cell.waker.replace(waker), cell.over)
            };
            drop(old);
            if over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        Ok(addr.untyped())
    }
}
