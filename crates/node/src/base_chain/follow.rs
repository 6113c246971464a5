//! Does a block go on from the last one, and which hashes are known?

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::B256;
use shard::Environment;

use super::head::Head;

/// BLOCKHASH looks so many blocks back.
const HASHES: u64 = 256;

/// The base chain, as far as it was seen.
#[derive(Debug, Default)]
pub(super) struct Chain {
    head: Option<Head>,
    hashes: BTreeMap<u64, B256>,
}

/// What a block is to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The very same.
    Same,
    /// Later, and nothing speaks against its being of the same chain.
    On,
    /// Not its descendant.
    Back,
}

impl Chain {
    pub(super) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// What this block would be.
    pub(super) fn step(&self, head: &Head) -> Step {
        let Some(last) = &self.head else { return Step::On };
        let parent = head.number.checked_sub(1).and_then(|number| self.hashes.get(&number));
        if head.hash == last.hash {
            Step::Same
        } else if head.number > last.number && parent.is_none_or(|hash| *hash == head.parent_hash) {
            Step::On
        } else {
            Step::Back
        }
    }

    /// The last block, if there are others between it and this one: then nothing here tells whether
    /// it is still of the chain.
    pub(super) fn before_a_gap(&self, head: &Head) -> Option<&Head> {
        self.head.as_ref().filter(|last| head.number > last.number.saturating_add(1))
    }

    /// From now on this is the newest block, a step of this kind from the last one.
    pub(super) fn take(&mut self, head: Head, step: Step) -> Environment {
        if step == Step::Back {
            // How far the two have a past in common is not known.
            self.hashes.clear();
        }
        if let Some(parent) = head.number.checked_sub(1) {
            self.hashes.insert(parent, head.parent_hash);
        }
        self.hashes.insert(head.number, head.hash);
        self.hashes = self.hashes.split_off(&head.number.saturating_sub(HASHES));
        let environment = Environment {
            number: Some(head.number),
            timestamp: head.timestamp,
            base_fee: head.base_fee,
            excess_blob_gas: head.excess_blob_gas,
            prevrandao: head.prevrandao,
            beneficiary: head.beneficiary,
            parent_beacon_block_root: head.parent_beacon_block_root,
            hashes: Arc::new(self.hashes.iter().map(|(number, hash)| (*number, *hash)).collect()),
        };
        self.head = Some(head);
        environment
    }
}
