//! Which logs of a range of blocks match a filter?

use std::fmt;

use alloy_primitives::{B256, Log};

use super::Shard;
use crate::{
    block::{Block, Body},
    events::LogFilter,
    store::StoreError,
    view::Place,
};

/// A log, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub block_hash: B256,
    pub block_number: u64,
    pub block_timestamp: u64,
    pub transaction_hash: B256,
    /// The place of its transaction in the block.
    pub transaction_index: u32,
    /// Its own place among all logs of the block.
    pub log_index: u32,
    pub log: Log,
}

/// Why logs could not be given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogsError {
    /// The store can not be read.
    Store(StoreError),
    /// More than so many match: so many were found up to this block.
    TooMany { found: usize, most: usize, block: u64 },
    /// The data of those that match up to this block is longer than [`BYTES_MAX`]: so many bytes.
    TooLong { bytes: usize, block: u64 },
    /// This block is not kept any more.
    NoBlock { number: u64 },
}

impl fmt::Display for LogsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogsError::Store(error) => write!(f, "the logs could not be read: {error}"),
            LogsError::TooMany { found, most, block } => write!(
                f,
                "{found} logs up to block {block} match, at most {most} are given: ask for fewer \
                 blocks, or for fewer addresses and topics"
            ),
            LogsError::TooLong { bytes, block } => write!(
                f,
                "the logs up to block {block} that match have {bytes} bytes of data, at most \
                 {BYTES_MAX} are given of more than one block: ask for fewer blocks, or for fewer \
                 addresses and topics"
            ),
            LogsError::NoBlock { number } => {
                write!(f, "block {number} is not kept any more: ask for younger ones")
            }
        }
    }
}

impl std::error::Error for LogsError {}

impl From<StoreError> for LogsError {
    fn from(error: StoreError) -> LogsError {
        LogsError::Store(error)
    }
}

/// The data of logs that one search finds, in bytes, unless it looks at one block only: that is
/// bounded by its gas.
pub const BYTES_MAX: usize = 8 << 20;

impl Shard {
    /// The logs of these blocks, the last included, that match, in order; of blocks that are not
    /// there yet, none.
    ///
    /// It looks at each block of the range, so the caller bounds the range. Of a block whose bloom
    /// says that nothing matches only the header is decoded, and of the others the receipts. No
    /// lock is held from one block to the next.
    ///
    /// # Errors
    /// If more than `most` match, or so many of several blocks that their data is longer than
    /// [`BYTES_MAX`], or blocks can not be read.
    pub fn logs(
        &self,
        from: u64,
        to: u64,
        filter: &LogFilter,
        most: usize,
    ) -> Result<Vec<LogEntry>, LogsError> {
        let view = &self.inner.view;
        let (mut found, mut counted, mut bytes) = (Vec::new(), 0, 0);
        let last = to.min(view.tip().number());
        for number in from..=last {
            match view.place(number) {
                Place::Memory(block) => in_block(&block, filter, &mut found),
                Place::Tables => view
                    .body(number, |body| in_body(number, body, filter, &mut found))?
                    .ok_or(LogsError::NoBlock { number })?,
                Place::Nowhere => return Err(LogsError::NoBlock { number }),
            }
            let added = &found[counted..];
            bytes += added.iter().map(|entry| entry.log.data.data.len()).sum::<usize>();
            counted = found.len();
            if found.len() > most {
                return Err(LogsError::TooMany { found: found.len(), most, block: number });
            }
            if bytes > BYTES_MAX && from < last {
                return Err(LogsError::TooLong { bytes, block: number });
            }
        }
        Ok(found)
    }
}

fn in_block(block: &Block, filter: &LogFilter, found: &mut Vec<LogEntry>) {
    found.extend(filter.logs(block).map(|one| LogEntry {
        block_hash: block.hash,
        block_number: block.number(),
        block_timestamp: block.header.timestamp,
        transaction_hash: block.transactions[one.transaction].hash(),
        transaction_index: index(one.transaction),
        log_index: index(one.position),
        log: one.log.clone(),
    }));
}

fn in_body(
    block_number: u64,
    body: Body<'_>,
    filter: &LogFilter,
    found: &mut Vec<LogEntry>,
) -> Result<(), StoreError> {
    let header = body.header()?;
    if !filter.may_match(&header.logs_bloom) {
        return Ok(());
    }
    let mut position = 0;
    for transaction in 0..body.len() {
        let mut transaction_hash = None;
        for log in body.receipt(transaction)?.logs {
            if filter.matches(&log) {
                let hash = match transaction_hash {
                    Some(hash) => hash,
                    None => body.transaction(transaction)?.hash(),
                };
                transaction_hash = Some(hash);
                found.push(LogEntry {
                    block_hash: body.hash(),
                    block_number,
                    block_timestamp: header.timestamp,
                    transaction_hash: hash,
                    transaction_index: index(transaction),
                    log_index: index(position),
                    log,
                });
            }
            position += 1;
        }
    }
    Ok(())
}

fn index(at: usize) -> u32 {
    u32::try_from(at).expect("a block takes less than 4 GiB")
}
