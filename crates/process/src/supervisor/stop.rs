//! How children are stopped: asked, waited for, killed, the last one first.

use std::time::Duration;

use crate::{
    processes::Processes,
    supervisor::{
        children::{Key, State},
        tree::Tree,
    },
};

/// How long one that is killed may take to end its turn. It is left behind then.
const GRACE: Duration = Duration::from_secs(1);

impl Tree {
    /// Stops a child, if it runs, and waits for its end.
    pub(super) async fn stop(&mut self, key: Key) {
        let Some(State::Running { pid, monitor, .. }) = self.children.state(key) else { return };
        let limit = self.children.child(key).spec.stop_within;
        if limit != Some(Duration::ZERO) {
            self.runtime().cancel_process(pid);
            let until = limit.and_then(|limit| self.now().checked_add(limit));
            if self.has_ended(key, until).await {
                return;
            }
        }
        self.runtime().kill_process(pid);
        let until = self.now() + GRACE;
        if !self.has_ended(key, Some(until)).await {
            self.ctx.demonitor(pid, monitor);
            self.children.set(key, State::Stopped);
        }
    }

    /// Waits until a child does not run any more. False: the time has come before.
    async fn has_ended(&mut self, key: Key, until: Option<Duration>) -> bool {
        while let Some(State::Running { .. }) = self.children.state(key) {
            if !self.hear(until).await {
                return false;
            }
        }
        true
    }

    /// Stops all children, the last one first.
    pub(super) async fn stop_all(&mut self) {
        for key in self.children.keys().into_iter().rev() {
            self.stop(key).await;
        }
    }
}
