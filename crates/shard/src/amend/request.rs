//! Who is told what became of an amendment?

use std::sync::Arc;

use super::{AmendError, Amendment};
use crate::{
    block::Block,
    shards::{
        Acknowledgement, SubmitError,
        acknowledge::{Acknowledge, pair},
    },
};

/// What becomes of an amendment.
pub(crate) type Outcome = Result<Arc<Block>, AmendError>;

/// An amendment on its way. Whoever waits is told in any case: one that is dropped was stopped.
pub(crate) struct Request {
    pub(crate) amendment: Amendment,
    give: Option<Acknowledge<Outcome>>,
}

impl Request {
    pub(crate) fn new(amendment: Amendment) -> (Request, Acknowledgement<Outcome>) {
        let (give, acknowledgement) = pair();
        (Request { amendment, give: Some(give) }, acknowledgement)
    }

    pub(crate) fn tell(mut self, outcome: Outcome) {
        self.give(outcome);
    }

    fn give(&mut self, outcome: Outcome) {
        if let Some(give) = self.give.take() {
            give.give(outcome);
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.give(Err(SubmitError::Stopped.into()));
    }
}
