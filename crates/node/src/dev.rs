//! What does a node remember for developers?

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use alloy_primitives::Address;

/// No more accounts are impersonated at once.
pub(crate) const IMPERSONATED_MAX: usize = 10_000;

/// For whom transactions are taken without a signature, and who sends just now.
#[derive(Debug, Default)]
pub(crate) struct Dev {
    impersonated: RwLock<BTreeSet<Address>>,
    everybody: AtomicBool,
    sending: Mutex<()>,
}

impl Dev {
    /// Held between the choice of a nonce and the acceptance, so that two sends get two nonces.
    pub(crate) fn sending(&self) -> MutexGuard<'_, ()> {
        // It guards nothing that a panic could leave broken.
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether transactions from this account need no signature.
    pub(crate) fn is_impersonated(&self, address: Address) -> bool {
        let impersonated = self.impersonated.read().unwrap_or_else(PoisonError::into_inner);
        self.everybody.load(Relaxed) || impersonated.contains(&address)
    }

    /// From now on they need none. `false`: there are too many already.
    #[must_use]
    pub(crate) fn impersonate(&self, address: Address) -> bool {
        let mut impersonated = self.impersonated.write().unwrap_or_else(PoisonError::into_inner);
        if impersonated.len() >= IMPERSONATED_MAX && !impersonated.contains(&address) {
            return false;
        }
        impersonated.insert(address);
        true
    }

    pub(crate) fn stop_impersonating(&self, address: Address) {
        self.impersonated.write().unwrap_or_else(PoisonError::into_inner).remove(&address);
    }

    /// The same for all accounts at once.
    pub(crate) fn impersonate_everybody(&self, on: bool) {
        self.everybody.store(on, Relaxed);
    }
}
