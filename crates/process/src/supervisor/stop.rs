//! How children are stopped: asked, waited for, killed, the last one first.

use std::time::Duration;

use crate::{
    monitor::MonitorId,
    pid::Pid,
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
        if !self.stop_process(pid, monitor, limit).await {
            self.children.set(key, State::Stopped);
        }
    }

    /// Stops what a start that failed has left behind, as its child would be.
    pub(super) async fn stop_leftovers(&mut self, key: Key, made: Vec<Pid>) {
        let limit = self.children.child(key).spec.stop_within;
        for pid in made.into_iter().rev() {
            let monitor = self.ctx.monitor(pid);
            self.leaving.insert(monitor);
            if !self.stop_process(pid, monitor, limit).await {
                self.leaving.remove(&monitor);
            }
        }
    }

    /// Asks a process to end, and kills it if it does not. False: it is stuck in its turn, and left
    /// behind.
    async fn stop_process(
        &mut self,
        pid: Pid,
        monitor: MonitorId,
        limit: Option<Duration>,
    ) -> bool {
        if limit != Some(Duration::ZERO) {
            self.runtime().cancel_process(pid);
            let until = limit.and_then(|limit| self.now().checked_add(limit));
            if self.has_ended(monitor, until).await {
                return true;
            }
        }
        self.runtime().kill_process(pid);
        let until = self.now() + GRACE;
        let ended = self.has_ended(monitor, Some(until)).await;
        if !ended {
            self.ctx.demonitor(pid, monitor);
        }
        ended
    }

    /// Waits until the end of a process has been noted. False: the time has come before.
    async fn has_ended(&mut self, monitor: MonitorId, until: Option<Duration>) -> bool {
        while self.children.awaits(monitor) || self.leaving.contains(&monitor) {
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
