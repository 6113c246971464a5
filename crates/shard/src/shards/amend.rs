//! How does an amendment get into a shard that may not be there yet?

use std::sync::Arc;

use alloy_primitives::Address;

use super::{Acknowledgement, Shards, SubmitError};
use crate::{
    amend::{AmendError, Amendment, Request, resolve},
    block::{Block, ChangeSet},
    shard::Inner,
};

impl Shards {
    /// Changes the state of a shard without a transaction, as [`Shard::amend`](crate::Shard::amend).
    /// A shard that is not there is made, as for a transaction: not in strict mode, and not for an
    /// amendment that would be refused.
    pub fn amend(
        &self,
        shard: Address,
        amendment: Amendment,
    ) -> Acknowledgement<Result<Arc<Block>, AmendError>> {
        let (request, acknowledgement) = Request::new(amendment);
        let inner = match self.registry.get(shard) {
            Some(inner) => Ok(inner),
            None => self.create_for_amendment(shard, &request.amendment),
        };
        match inner {
            Ok(inner) => inner.amend(request),
            Err(error) => request.tell(Err(error)),
        }
        acknowledgement
    }

    fn create_for_amendment(
        &self,
        shard: Address,
        amendment: &Amendment,
    ) -> Result<Arc<Inner>, AmendError> {
        if self.core.config.strict {
            return Err(SubmitError::NoSuchShard(shard).into());
        }
        amendment.check()?;
        if let Some(number) = amendment.back_to().filter(|&number| number > 0) {
            return Err(AmendError::NoSuchBlock { number, newest: 0 });
        }
        resolve(amendment, None, &ChangeSet::default(), &*self.core.genesis)?;
        Ok(self.create_unless_there(shard)?)
    }
}
