//! What a supervisor does about a child that has ended, and about the others then.

use crate::{
    exit::ExitReason,
    supervisor::{
        Restart, Strategy,
        children::{Key, State},
        intensity::Restarts,
        tree::Tree,
    },
};

impl Tree {
    /// A child has ended by itself: is it started again?
    pub(super) async fn decide(&mut self, key: Key) -> Result<(), ExitReason> {
        let child = self.children.child(key);
        let reason = child.last_exit.clone().unwrap_or(ExitReason::Normal);
        match child.spec.restart {
            Restart::Permanent => self.failed(key, reason).await,
            Restart::Transient if !reason.is_orderly() => self.failed(key, reason).await,
            Restart::Transient => {
                self.children.set(key, State::Done);
                Ok(())
            }
            Restart::Temporary => {
                self.children.remove(key);
                Ok(())
            }
        }
    }

    /// A child is to be started again, with those that depend on it, unless that has happened too
    /// often.
    pub(super) async fn failed(&mut self, key: Key, reason: ExitReason) -> Result<(), ExitReason> {
        let now = self.now();
        let chance = self.runtime().random();
        let usual = self.backoff;
        let intensity = self.recent.intensity;
        let child = self.children.child(key);
        let backoff = child.spec.backoff.unwrap_or(usual);
        if child.ran >= backoff.well_after {
            child.failures = 0;
        }
        let at = now.saturating_add(backoff.delay(child.failures, chance));
        child.failures = child.failures.saturating_add(1);
        let recent = child.recent.get_or_insert_with(|| Restarts::new(intensity));
        let too_many = recent.count(child.lived);
        let id = child.spec.id.clone();
        if self.recent.count(now) || too_many {
            return Err(ExitReason::error(format_args!(
                "more than {} restarts within {:?}: child {id:?} exited last ({reason})",
                intensity.max, intensity.period
            )));
        }
        self.children.set(key, State::Waiting { at });
        let group = match self.strategy {
            Strategy::OneForOne => return Ok(()),
            Strategy::OneForAll => self.children.others(key, false),
            Strategy::RestForOne => self.children.others(key, true),
        };
        for other in group.into_iter().rev() {
            let before = self.children.state(other);
            self.stop(other).await;
            let Some(child) = self.children.get(other) else { continue };
            match before {
                _ if child.spec.restart == Restart::Temporary => self.children.remove(other),
                Some(State::Stopped) => {}
                Some(State::Waiting { at: later }) => {
                    self.children.set(other, State::Waiting { at: at.max(later) });
                }
                _ => self.children.set(other, State::Waiting { at }),
            }
        }
        Ok(())
    }
}
