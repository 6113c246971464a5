//! How do blocks, transactions, receipts and logs look to a client?
//!
//! As geth has them. A block's number is the shard's own height, whatever the base chain's is. A
//! transaction that nobody has signed shows what stands in for its signature: its sender as `r`, and
//! an `s` of 0, which no signature has.

use alloy_consensus::{
    Eip658Value, Header as ConsensusHeader, Receipt as ConsensusReceipt, ReceiptEnvelope,
    ReceiptWithBloom, TxEnvelope, transaction::Recovered,
};
use alloy_network_primitives::BlockTransactions;
use alloy_primitives::{B256, TxKind, U256};
use alloy_rlp::{Encodable, length_of_length};
use alloy_rpc_types_eth::{Block, Header, Log, Transaction, TransactionReceipt, Withdrawals};
use shard::{
    Receipt,
    shard::{Included, LogEntry},
};

/// Where a transaction is, and what it paid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) block_hash: B256,
    pub(crate) block_number: u64,
    pub(crate) block_timestamp: u64,
    /// In the block.
    pub(crate) index: usize,
    pub(crate) gas_price: u128,
}

impl Place {
    pub(crate) fn in_block(block: &shard::Block, index: usize) -> Place {
        Place {
            block_hash: block.hash,
            block_number: block.number(),
            block_timestamp: block.header.timestamp,
            index,
            gas_price: block.receipts[index].gas_price,
        }
    }

    pub(crate) fn of(included: &Included) -> Place {
        Place {
            block_hash: included.block_hash,
            block_number: included.header.number,
            block_timestamp: included.header.timestamp,
            index: included.position.index as usize,
            gas_price: included.receipt.gas_price,
        }
    }
}

/// A block with its transactions, or with their hashes.
pub(crate) fn block(block: &shard::Block, full: bool) -> Block {
    let transactions = if full {
        let all = block.transactions.iter().enumerate();
        let all = all.map(|(index, one)| transaction(one, Some(Place::in_block(block, index))));
        BlockTransactions::Full(all.collect())
    } else {
        BlockTransactions::Hashes(block.transactions.iter().map(|one| one.hash()).collect())
    };
    let header =
        Header { size: Some(U256::from(size(block))), ..header(block.hash, &block.header) };
    Block {
        header,
        uncles: Vec::new(),
        transactions,
        withdrawals: block.header.withdrawals_root.map(|_| Withdrawals::default()),
    }
}

/// A header alone, as subscribers get it.
pub(crate) fn header(hash: B256, header: &ConsensusHeader) -> Header {
    Header { hash, inner: header.clone(), total_difficulty: None, size: None }
}

/// The bytes of a block as peers would send it.
fn size(block: &shard::Block) -> usize {
    let list = |payload: usize| length_of_length(payload) + payload;
    let transactions = block.transactions.iter().map(|one| {
        let bytes = one.encoded().len();
        // A legacy transaction is a list already, any other is a string of bytes.
        if one.envelope().is_legacy() { bytes } else { list(bytes) }
    });
    let withdrawals = if block.header.withdrawals_root.is_some() { list(0) } else { 0 };
    let ommers = list(0);
    list(block.header.length() + list(transactions.sum()) + ommers + withdrawals)
}

/// A transaction of a block, or of the pool.
pub(crate) fn transaction(one: &shard::Transaction, place: Option<Place>) -> Transaction {
    let inner = Recovered::new_unchecked(one.envelope().clone(), one.sender());
    Transaction {
        inner,
        block_hash: place.map(|place| place.block_hash),
        block_number: place.map(|place| place.block_number),
        transaction_index: place.map(|place| place.index as u64),
        effective_gas_price: Some(place.map_or_else(|| one.fee_max(), |place| place.gas_price)),
        block_timestamp: place.map(|place| place.block_timestamp),
    }
}

/// A receipt. `logs_before` come before its own in the block.
pub(crate) fn receipt(
    one: &shard::Transaction,
    receipt: &Receipt,
    place: Place,
    logs_before: usize,
) -> TransactionReceipt {
    let hash = one.hash();
    let logs = (logs_before..).zip(&receipt.logs).map(|(log_index, log)| Log {
        inner: log.clone(),
        block_hash: Some(place.block_hash),
        block_number: Some(place.block_number),
        block_timestamp: Some(place.block_timestamp),
        transaction_hash: Some(hash),
        transaction_index: Some(place.index as u64),
        log_index: Some(log_index as u64),
        removed: false,
    });
    let inner = ConsensusReceipt {
        status: Eip658Value::Eip658(receipt.success),
        cumulative_gas_used: receipt.cumulative_gas_used,
        logs: logs.collect(),
    };
    let inner = ReceiptWithBloom::new(inner, receipt.bloom());
    // Geth names the address of a creation that failed, too.
    let creation = || one.sender().create(one.nonce());
    let (to, contract_address) = match one.kind() {
        TxKind::Call(to) => (Some(to), None),
        TxKind::Create => (None, Some(receipt.created.unwrap_or_else(creation))),
    };
    TransactionReceipt {
        inner: ReceiptEnvelope::from_typed(one.envelope().tx_type(), inner),
        transaction_hash: hash,
        transaction_index: Some(place.index as u64),
        block_hash: Some(place.block_hash),
        block_number: Some(place.block_number),
        gas_used: receipt.gas_used,
        effective_gas_price: receipt.gas_price,
        blob_gas_used: None,
        blob_gas_price: None,
        from: one.sender(),
        to,
        contract_address,
    }
}

/// The receipts of a block, in order.
pub(crate) fn receipts(block: &shard::Block) -> Vec<TransactionReceipt> {
    let mut logs_before = 0;
    let pairs = block.transactions.iter().zip(&block.receipts).enumerate();
    pairs
        .map(|(index, (one, its))| {
            let receipt = receipt(one, its, Place::in_block(block, index), logs_before);
            logs_before += its.logs.len();
            receipt
        })
        .collect()
}

/// A log that was found.
pub(crate) fn log(entry: LogEntry) -> Log {
    Log {
        inner: entry.log,
        block_hash: Some(entry.block_hash),
        block_number: Some(entry.block_number),
        block_timestamp: Some(entry.block_timestamp),
        transaction_hash: Some(entry.transaction_hash),
        transaction_index: Some(entry.transaction_index.into()),
        log_index: Some(entry.log_index.into()),
        removed: false,
    }
}

/// The type of a transaction as clients get it.
pub(crate) type RpcTransaction = Transaction<TxEnvelope>;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_consensus::{Block as ConsensusBlock, BlockBody, TxEip1559, TxLegacy};
    use alloy_eips::eip4895::Withdrawals;
    use alloy_primitives::Address;
    use shard::{
        Environment,
        block::genesis_block,
        config::{Genesis, Rules},
    };

    use super::*;

    fn included(count: u64) -> shard::Block {
        let first = genesis_block(&Rules::default(), Address::ZERO, &Genesis::default(), None);
        let transactions = (0..count).map(|nonce| {
            let sender = Address::repeat_byte(7);
            let fields = if nonce % 2 == 0 {
                TxEip1559 { nonce, ..Default::default() }.into()
            } else {
                TxLegacy { nonce, chain_id: Some(1), ..Default::default() }.into()
            };
            Arc::new(shard::Transaction::unsigned(fields, sender))
        });
        let receipt = Receipt {
            success: true,
            gas_used: 21_000,
            cumulative_gas_used: 21_000,
            gas_price: 3,
            created: None,
            output: Default::default(),
            logs: vec![Default::default(); 2],
        };
        shard::Block {
            environment: Environment::own(0),
            transactions: transactions.collect(),
            receipts: vec![receipt; usize::try_from(count).unwrap()],
            ..first
        }
    }

    #[test]
    fn the_size_of_a_block_is_that_of_its_bytes() {
        for count in [0, 1, 2, 9] {
            let ours = included(count);
            let transactions: Vec<TxEnvelope> =
                ours.transactions.iter().map(|one| one.envelope().clone()).collect();
            let withdrawals = Some(Withdrawals::default());
            let body = BlockBody { transactions, ommers: vec![], withdrawals };
            let theirs = ConsensusBlock::new(ours.header.clone(), body);
            assert_eq!(size(&ours), theirs.length(), "{count} transactions");
        }
    }

    #[test]
    fn logs_are_counted_through_the_block() {
        let receipts = receipts(&included(3));
        let logs = receipts.iter().flat_map(|receipt| receipt.inner.logs());
        let indices: Vec<_> = logs.map(|log| log.log_index.unwrap()).collect();
        assert_eq!(indices, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_creation_that_failed_still_names_an_address() {
        let mut block = included(1);
        block.receipts[0].success = false;
        let receipt = &receipts(&block)[0];
        assert_eq!(receipt.to, None);
        assert_eq!(receipt.contract_address, Some(receipt.from.create(0)));
    }
}
