//! How is an amendment handed to a shard's strand?

use std::{collections::VecDeque, sync::Arc};

use super::{Inner, Mail, Shard, lock};
use crate::{
    amend::{AmendError, Amendment, Request},
    block::Block,
    shards::{Acknowledgement, SubmitError},
};

impl Shard {
    /// Changes the state without a transaction, for development: makes one block that holds the
    /// amendment. What it gives says when that block is durable and the pool knows it too, so
    /// that whatever is sent after it is checked against the new state.
    pub fn amend(&self, amendment: Amendment) -> Acknowledgement<Result<Arc<Block>, AmendError>> {
        let (request, acknowledgement) = Request::new(amendment);
        self.inner.amend(request);
        acknowledgement
    }
}

impl Inner {
    pub(crate) fn amend(&self, request: Request) {
        if let Err(error) = request.amendment.check() {
            return request.tell(Err(error));
        }
        if let Some(why) = self.quarantine() {
            return request.tell(Err(SubmitError::Quarantined(why).into()));
        }
        let mut mail = lock(&self.mail);
        // Looked at under the lock: who stops it empties the mail afterwards.
        let Some(strand) = self.strand.load_full() else { return };
        mail.push_back(Mail::Amend(request));
        drop(mail);
        if strand.wake().is_err() {
            self.refuse_amendments();
        }
    }

    /// There will be no more turns to make them in: whoever waits is told.
    pub(super) fn refuse_amendments(&self) {
        let mut mail = lock(&self.mail);
        let is_amendment = |mail: &Mail| matches!(mail, Mail::Amend(_));
        let (refused, others) = mail.drain(..).partition::<VecDeque<Mail>, _>(is_amendment);
        *mail = others;
        drop(mail);
        // Not under the lock: whoever is told may send something.
        drop(refused);
    }
}
