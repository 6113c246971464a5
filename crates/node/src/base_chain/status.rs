//! How is the base chain, for whoever runs the node?

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use alloy_primitives::B256;
use tokio::time::Instant;

use super::{BaseChainError, client::TIMEOUT, head::Head};

/// How the base chain is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseChainStatus {
    /// The endpoint, without its path, which may hold a key.
    pub endpoint: String,
    /// Its chain id.
    pub chain_id: Option<u64>,
    /// The block that is the environment now.
    pub head: Option<BaseHead>,
    /// How long ago it last answered with sense.
    pub silent_for: Duration,
    /// Questions that were answered, since the start.
    pub answered: u64,
    /// Questions that failed, since the start.
    pub failed: u64,
    /// How often it was not the last block's descendant.
    pub went_back: u64,
    /// What is wrong, if the last question failed.
    pub trouble: Option<BaseChainError>,
    /// It is fresh while it was silent for less.
    pub patience: Duration,
}

/// A block of the base chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseHead {
    pub number: u64,
    pub hash: B256,
    pub timestamp: u64,
}

impl BaseChainStatus {
    /// Whether the environment is as new as can be expected: three questions in a row may fail.
    pub fn is_fresh(&self) -> bool {
        self.silent_for <= self.patience
    }
}

/// What the listener tells, and others ask for.
#[derive(Debug)]
pub(crate) struct SharedStatus(Mutex<Told>);

#[derive(Debug)]
struct Told {
    status: BaseChainStatus,
    /// When it last answered with sense, or was first asked.
    heard: Instant,
}

impl SharedStatus {
    pub(super) fn new(endpoint: String, poll_interval: Duration) -> SharedStatus {
        let status = BaseChainStatus {
            endpoint,
            chain_id: None,
            head: None,
            silent_for: Duration::ZERO,
            answered: 0,
            failed: 0,
            went_back: 0,
            trouble: None,
            patience: poll_interval.saturating_add(TIMEOUT).saturating_mul(3),
        };
        SharedStatus(Mutex::new(Told { status, heard: Instant::now() }))
    }

    pub(crate) fn get(&self) -> BaseChainStatus {
        let told = self.lock();
        BaseChainStatus { silent_for: told.heard.elapsed(), ..told.status.clone() }
    }

    pub(super) fn answered(&self, chain_id: Option<u64>, head: &Head, went_back: bool) {
        let mut told = self.lock();
        let Head { number, hash, timestamp, .. } = *head;
        told.heard = Instant::now();
        told.status.chain_id = chain_id;
        told.status.head = Some(BaseHead { number, hash, timestamp });
        told.status.answered += 1;
        told.status.went_back += u64::from(went_back);
        told.status.trouble = None;
    }

    pub(super) fn failed(&self, trouble: BaseChainError) {
        let mut told = self.lock();
        told.status.failed += 1;
        told.status.trouble = Some(trouble);
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
