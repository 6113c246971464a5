//! What does one record of the log say?
//!
//! ```text
//!   kind: 1 byte | shard's index: 4 | the rest, by kind
//!   CREATED        address: 20 | chain id: 8
//!   ACCEPTED       transaction
//!   DROPPED        hash: 32 | reason
//!   BLOCK          number: 8 | body length: 4 | body | change set length: 4 | change set
//!                  | trie nodes: count 4, then each: key length 2, key, value length 4, value
//!   TRACES         number: 8 | call trees
//! ```
//!
//! Numbers are big-endian, as in the tables' keys. A record says what happened; what becomes of it
//! in the tables is the fold's business, so that the log knows no tables.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::{Address, B256, Bytes};

use crate::{
    block::{Block, ChangeSet},
    execute::DropReason,
    store::StoreError,
    transaction::{SharedTransaction, Transaction},
};

const CREATED: u8 = 1;
const ACCEPTED: u8 = 2;
const DROPPED: u8 = 3;
const BLOCK: u8 = 4;
const TRACES: u8 = 5;

/// Which shard, in keys and records: they are numbered in the order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShardIndex(pub(crate) u32);

impl ShardIndex {
    /// Of a shard that does not exist. No shard ever has it, so no table knows it.
    pub(crate) const NONE: ShardIndex = ShardIndex(u32::MAX);
}

/// Something that happened to a shard and must not be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) shard: ShardIndex,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The shard came to be.
    Created { address: Address, chain_id: u64 },
    /// A transaction is in its pool.
    Accepted(SharedTransaction),
    /// A transaction that was in its pool never gets into a block.
    Dropped { hash: B256, reason: DropReason },
    /// It has one block more.
    Block(Arc<NewBlock>),
    /// The call trees of a block before are kept.
    Traces { number: u64, bytes: Bytes },
}

/// A block on its way to the disk, and then until it is in the tables.
#[derive(Debug)]
pub(crate) struct NewBlock {
    pub(crate) block: Arc<Block>,
    /// Nodes of the state trie that it wrote or removed.
    pub(crate) nodes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Made by the worker that made the block. Only the log needs them, so the shard takes them back
    /// after that: a whole epoch of blocks is in memory.
    bytes: Mutex<Option<BlockBytes>>,
}

/// Body and change set in bytes, or room for those of another block: fresh memory costs more than
/// what is written to it.
#[derive(Debug, Default)]
pub(crate) struct BlockBytes {
    body: Vec<u8>,
    changes: Vec<u8>,
}

impl BlockBytes {
    fn of(mut self, block: &Block) -> BlockBytes {
        self.body.clear();
        self.changes.clear();
        // Most blocks take less.
        self.body.reserve(1_024 + block.transactions.len() * 384);
        block.encode_into(&mut self.body);
        block.changes.encode_into(&mut self.changes);
        self
    }
}

impl NewBlock {
    /// Its bytes are written to `room`.
    pub(crate) fn new(
        block: Block,
        nodes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
        room: BlockBytes,
    ) -> NewBlock {
        let bytes = Mutex::new(Some(room.of(&block)));
        NewBlock { block: Arc::new(block), nodes, bytes }
    }

    /// The log has its bytes: there is room for those of another.
    pub(crate) fn take_bytes(&self) -> Option<BlockBytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl PartialEq for NewBlock {
    fn eq(&self, other: &NewBlock) -> bool {
        self.block == other.block && self.nodes == other.nodes
    }
}

impl Eq for NewBlock {}

impl Record {
    /// Appends its bytes.
    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        let mut head = |kind: u8| {
            into.push(kind);
            into.extend_from_slice(&self.shard.0.to_be_bytes());
        };
        match &self.what {
            What::Created { address, chain_id } => {
                head(CREATED);
                into.extend_from_slice(address.as_slice());
                into.extend_from_slice(&chain_id.to_be_bytes());
            }
            What::Accepted(transaction) => {
                head(ACCEPTED);
                transaction.to_bytes(into);
            }
            What::Dropped { hash, reason } => {
                head(DROPPED);
                into.extend_from_slice(hash.as_slice());
                reason.encode(into);
            }
            What::Traces { number, bytes } => {
                head(TRACES);
                into.extend_from_slice(&number.to_be_bytes());
                into.extend_from_slice(bytes);
            }
            What::Block(new) => {
                head(BLOCK);
                into.extend_from_slice(&new.block.number().to_be_bytes());
                let mut bytes = new.bytes.lock().unwrap_or_else(PoisonError::into_inner);
                let bytes = bytes.get_or_insert_with(|| BlockBytes::default().of(&new.block));
                for part in [&bytes.body, &bytes.changes] {
                    length(into, part.len());
                    into.extend_from_slice(part);
                }
                length(into, new.nodes.len());
                for (key, value) in &new.nodes {
                    length(into, key.len());
                    into.extend_from_slice(key);
                    // One more than its length, so that 0 says that the node is gone.
                    length(into, value.as_ref().map_or(0, |value| value.len() + 1));
                    into.extend_from_slice(value.as_deref().unwrap_or_default());
                }
            }
        }
    }

    /// Reads what `encode` wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Record, StoreError> {
        let mut rest = Rest(bytes);
        let kind = rest.take(1)?[0];
        let shard = ShardIndex(rest.u32()?);
        let what = match kind {
            CREATED => What::Created {
                address: Address::from_slice(rest.take(20)?),
                chain_id: rest.u64()?,
            },
            ACCEPTED => What::Accepted(Arc::new(
                Transaction::from_bytes(&Bytes::copy_from_slice(rest.all()))
                    .map_err(|why| corrupt(&why.to_string()))?,
            )),
            DROPPED => What::Dropped {
                hash: B256::from_slice(rest.take(32)?),
                reason: DropReason::decode(rest.all())
                    .ok_or_else(|| corrupt("no such reason for a drop"))?,
            },
            TRACES => {
                What::Traces { number: rest.u64()?, bytes: Bytes::copy_from_slice(rest.all()) }
            }
            BLOCK => What::Block(Arc::new(block(&mut rest)?)),
            other => return Err(corrupt(&format!("a record of unknown kind {other}"))),
        };
        if !rest.0.is_empty() {
            return Err(corrupt("a record with bytes behind its end"));
        }
        Ok(Record { shard, what })
    }
}

fn block(rest: &mut Rest<'_>) -> Result<NewBlock, StoreError> {
    let number = rest.u64()?;
    let (body, changes) = (rest.part()?, rest.part()?);
    let mut nodes = Vec::new();
    for _ in 0..rest.u32()? {
        let key = rest.part()?.to_vec();
        let value = match rest.u32()? {
            0 => None,
            more => Some(rest.take(more as usize - 1)?.to_vec()),
        };
        nodes.push((key, value));
    }
    let block = Block::decode(body, Arc::new(ChangeSet::decode(changes)?))?;
    if block.number() != number {
        return Err(corrupt("a block under another number than its own"));
    }
    Ok(NewBlock { block: Arc::new(block), nodes, bytes: Mutex::default() })
}

fn length(into: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("a part of a record has less than 4 GiB");
    into.extend_from_slice(&length.to_be_bytes());
}

pub(crate) fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(what.to_owned())
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], StoreError> {
        let (taken, left) =
            self.0.split_at_checked(count).ok_or_else(|| corrupt("a record that ends early"))?;
        self.0 = left;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, StoreError> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into().expect("four bytes were taken")))
    }

    fn u64(&mut self) -> Result<u64, StoreError> {
        Ok(u64::from_be_bytes(self.take(8)?.try_into().expect("eight bytes were taken")))
    }

    fn part(&mut self) -> Result<&'a [u8], StoreError> {
        let count = self.u32()?;
        self.take(count as usize)
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
