//! Who is told about new blocks and their logs?
//!
//! A shard publishes each block once it is committed. Whoever wants to know subscribes at the
//! [`Hub`] and says what concerns it: a shard, blocks with certain logs, or all.
//!
//! ```
//! use std::{num::NonZeroUsize, sync::Arc};
//!
//! use alloy_primitives::Address;
//! use shard::events::{BlockEvent, Ended, Hub, Interest};
//! # use shard::{Block, Environment};
//! # fn a_block() -> Arc<Block> {
//! #     Arc::new(Block {
//! #         header: Default::default(),
//! #         hash: Default::default(),
//! #         environment: Environment::own(0),
//! #         transactions: vec![],
//! #         receipts: vec![],
//! #         changes: Default::default(),
//! #     })
//! # }
//!
//! let hub = Hub::new();
//! let shard = Address::repeat_byte(1);
//! let interest = Interest { shard: Some(shard), logs: None };
//! let mut blocks = hub.subscribe(NonZeroUsize::MIN, interest);
//!
//! hub.publish(&BlockEvent { shard, block: a_block() });
//! hub.publish(&BlockEvent { shard: Address::repeat_byte(2), block: a_block() });
//! assert_eq!(blocks.try_next().unwrap().unwrap().shard, shard);
//! assert_eq!(blocks.try_next(), Ok(None));
//!
//! // There is room for one. A second one that finds no room ends the subscription.
//! hub.publish(&BlockEvent { shard, block: a_block() });
//! hub.publish(&BlockEvent { shard, block: a_block() });
//! assert!(blocks.try_next().unwrap().is_some());
//! assert_eq!(blocks.try_next(), Err(Ended::Lagged));
//! ```

mod filter;
mod hub;
mod subscription;

pub use filter::{FoundLog, LogFilter};
pub use hub::{Event, Hub};
pub use subscription::{Ended, Subscription};

use std::sync::Arc;

use alloy_primitives::Address;

use crate::{block::Block, transaction::SharedTransaction};

/// A block was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// Whose block it is.
    pub shard: Address,
    pub block: Arc<Block>,
}

/// A transaction was accepted, and that is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedEvent {
    /// In whose pool it is.
    pub shard: Address,
    pub transaction: SharedTransaction,
}

/// Which blocks a subscriber wants to see.
#[derive(Clone, Debug, Default)]
pub struct Interest {
    /// Those of this shard; `None`: of all.
    pub shard: Option<Address>,
    /// Those that have such logs; `None`: those without logs too.
    pub logs: Option<LogFilter>,
}

impl Event for BlockEvent {
    type Interest = Interest;

    fn concerns(&self, interest: &Interest) -> bool {
        interest.shard.is_none_or(|shard| shard == self.shard)
            && interest.logs.as_ref().is_none_or(|filter| filter.logs(&self.block).next().is_some())
    }
}

impl Event for AcceptedEvent {
    /// Of this shard; `None`: of all.
    type Interest = Option<Address>;

    fn concerns(&self, interest: &Option<Address>) -> bool {
        interest.is_none_or(|shard| shard == self.shard)
    }
}
