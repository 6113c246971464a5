//! How children are started: in order, one after the other, and what becomes of those that can not.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use crate::{
    ending::panic_text,
    exit::ExitReason,
    link,
    monitor::{self, Watcher},
    pid::Pid,
    supervisor::{
        children::{Key, State},
        spec::{Started, Starting},
        tree::{Heard, Tree},
    },
    system,
};

impl Tree {
    /// The first start of all children. If one can not be started, the supervisor ends.
    pub(super) async fn start_all(&mut self) -> Result<(), ExitReason> {
        for key in self.children.keys() {
            self.go_on()?;
            if let Err(reason) = self.start(key).await {
                self.go_on()?;
                let id = &self.children.child(key).spec.id;
                return Err(ExitReason::error(format_args!(
                    "child {id:?} could not be started: {reason}"
                )));
            }
        }
        Ok(())
    }

    /// Starts a child whose delay is over. If that fails, it counts as one more failure.
    pub(super) async fn start_again(&mut self, key: Key) -> Result<(), ExitReason> {
        self.children.child(key).restarts += 1;
        match self.start(key).await {
            Ok(_) => Ok(()),
            Err(reason) => {
                self.go_on()?;
                self.failed(key, reason).await
            }
        }
    }

    /// Starts a child. If that fails it is stopped, with the reason noted.
    pub(super) async fn start(&mut self, key: Key) -> Result<Pid, ExitReason> {
        match self.launch(key).await {
            Ok(process) => {
                let (own, pid) = (self.ctx.untyped(), process.pid());
                // It is, unless its factory made it otherwise.
                link::link(&own, &process);
                let monitor = monitor::watch(&process, Watcher::Process(own));
                let since = self.now();
                self.children.set(key, State::Running { pid, monitor, since });
                Ok(pid)
            }
            Err(why) => {
                if system::of(self.runtime()).is_stopping() || self.runtime().refuses() {
                    // Nobody is started any more, and soon nobody runs.
                    self.end.get_or_insert(ExitReason::Shutdown);
                }
                let reason = ExitReason::error(why);
                let child = self.children.child(key);
                child.ran = Duration::ZERO;
                child.last_exit = Some(reason.clone());
                self.children.set(key, State::Stopped);
                Err(reason)
            }
        }
    }

    /// Lets the factory of a child do its work.
    async fn launch(&mut self, key: Key) -> Started {
        let own = self.ctx.untyped();
        let now = self.now();
        let spec = &mut self.children.child(key).spec;
        let limit = spec.start_within;
        let start = spec.child_start(own);
        let made = start.made.clone();
        let factory = &mut spec.factory;
        let result = match catch_unwind(AssertUnwindSafe(|| factory(start))) {
            Ok(starting) => self.wait_for(starting, limit, now.checked_add(limit)).await,
            Err(panic) => Err(format!("its factory panicked: {}", panic_text(&*panic))),
        };
        if result.is_err() {
            let made = std::mem::take(&mut *made.lock());
            self.stop_leftovers(key, made).await;
        }
        result
    }

    async fn wait_for(
        &mut self,
        starting: Starting,
        limit: Duration,
        until: Option<Duration>,
    ) -> Started {
        let mut guarded = Guarded(Some(starting));
        loop {
            match self.hear_during(&mut guarded, until).await {
                Heard::Over(result) => return result,
                Heard::Late => return Err(format!("it did not start within {limit:?}")),
                Heard::Something if self.end.is_some() => {
                    return Err("its supervisor was asked to end".to_owned());
                }
                Heard::Something => {}
            }
        }
    }
}

/// A future of somebody else's, whose panics are errors.
struct Guarded(Option<Starting>);

impl Future for Guarded {
    type Output = Started;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        task: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        let Some(starting) = &mut self.0 else {
            unreachable!("a start is not polled after its end")
        };
        match catch_unwind(AssertUnwindSafe(|| starting.as_mut().poll(task))) {
            Ok(polled) => polled,
            Err(panic) => {
                let text = format!("its factory panicked: {}", panic_text(&*panic));
                std::task::Poll::Ready(Err(text))
            }
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let starting = self.0.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(starting)));
    }
}
