//! How does the shared environment become that of one block of one shard?

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;

use crate::{block::Block, environment::Environment, execute::BlockContext};

impl BlockContext {
    /// That of the block after `parent`. The time never goes back, whatever the environment says.
    ///
    /// ```
    /// use alloy_consensus::Header;
    /// use alloy_primitives::B256;
    /// use shard::{Environment, execute::BlockContext};
    ///
    /// let parent = Header { number: 7, timestamp: 1_000, ..Header::default() };
    /// let context = BlockContext::after(&parent, B256::ZERO, &Environment::own(999));
    /// assert_eq!((context.height, context.number, context.timestamp), (8, 8, 1_000));
    /// ```
    pub fn after(parent: &Header, parent_hash: B256, environment: &Environment) -> BlockContext {
        let height = parent.number + 1;
        BlockContext {
            height,
            number: environment.number.unwrap_or(height),
            parent_hash,
            timestamp: environment.timestamp.max(parent.timestamp),
            base_fee: environment.base_fee,
            excess_blob_gas: environment.excess_blob_gas,
            prevrandao: environment.prevrandao,
            beneficiary: environment.beneficiary,
            parent_beacon_block_root: environment.parent_beacon_block_root,
            base_hashes: environment.number.map(|_| Arc::clone(&environment.hashes)),
        }
    }

    /// That under which a block was executed, for executing it again.
    pub fn of(block: &Block) -> BlockContext {
        BlockContext::of_parts(&block.header, &block.environment)
    }

    /// The same, of a block of which only the header and the environment are at hand.
    pub fn of_parts(header: &Header, environment: &Environment) -> BlockContext {
        BlockContext {
            height: header.number,
            number: environment.number.unwrap_or(header.number),
            parent_hash: header.parent_hash,
            timestamp: header.timestamp,
            base_fee: environment.base_fee,
            excess_blob_gas: environment.excess_blob_gas,
            prevrandao: environment.prevrandao,
            beneficiary: environment.beneficiary,
            parent_beacon_block_root: environment.parent_beacon_block_root,
            base_hashes: environment.number.map(|_| Arc::clone(&environment.hashes)),
        }
    }

    /// The environment to keep with a block: of the hashes, those that it has read.
    pub(crate) fn environment(&self, hashes_read: &[(u64, B256)]) -> Environment {
        let based = self.base_hashes.is_some();
        Environment {
            number: based.then_some(self.number),
            timestamp: self.timestamp,
            base_fee: self.base_fee,
            excess_blob_gas: self.excess_blob_gas,
            prevrandao: self.prevrandao,
            beneficiary: self.beneficiary,
            parent_beacon_block_root: self.parent_beacon_block_root,
            // The shard's own hashes are those of its blocks: they need not be kept twice.
            hashes: Arc::new(if based {
                hashes_read.iter().copied().collect()
            } else {
                Default::default()
            }),
        }
    }
}
