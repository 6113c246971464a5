//! How does a receipt look to Ethereum?

use std::ops::Range;

use alloy_consensus::{
    Eip658Value, Receipt as EthereumReceipt, ReceiptEnvelope, ReceiptWithBloom, TxType,
};
use alloy_primitives::{Address, B256, Bloom, map::HashMap};
use alloy_rlp::{Encodable, Header};

use crate::{
    block::{
        Receipt,
        root::{Layout, Reference},
    },
    keccak::keccak256_each,
    transaction::SharedTransaction,
};

impl Receipt {
    /// The filter of its logs.
    pub fn bloom(&self) -> Bloom {
        let mut bloom = Bloom::ZERO;
        bloom.accrue_logs(&self.logs);
        bloom
    }

    /// As Ethereum has it, for a transaction of this type.
    pub fn envelope(&self, tx_type: TxType) -> ReceiptEnvelope {
        let receipt = EthereumReceipt {
            status: Eip658Value::Eip658(self.success),
            cumulative_gas_used: self.cumulative_gas_used,
            logs: self.logs.clone(),
        };
        ReceiptEnvelope::from_typed(tx_type, ReceiptWithBloom::new(receipt, self.bloom()))
    }
}

/// The leaves of some receipts of a block, in the order of their keys, and the filter of their logs.
/// Nothing is copied that is large, and each filter is made once.
pub(super) fn receipt_leaves(
    layout: &Layout,
    keys: Range<u32>,
    included: &[(SharedTransaction, Receipt)],
) -> (Vec<Reference>, Bloom) {
    let names = Names::of(keys.clone().map(|key| &included[layout.place(key)].1));
    let mut all = Bloom::ZERO;
    let mut nth = 0..;
    let leaves = layout.leaves(keys, |place, out| {
        let (transaction, receipt) = &included[place];
        let bloom = nth.next().map_or(Bloom::ZERO, |nth| names.bloom(nth));
        all.accrue_bloom(&bloom);
        encode(transaction.envelope().tx_type(), receipt, &bloom, out);
    });
    (leaves, all)
}

/// What the logs of some receipts name: addresses and topics. Most name the same contract and event, and
/// many the same accounts, so each is hashed once; and those side by side, since a hash takes
/// longer than all else about a filter.
struct Names {
    hashes: Vec<B256>,
    /// What the logs of all receipts name, one after the other, as places in `hashes`.
    named: Vec<u32>,
    /// Where those of each receipt end.
    ends: Vec<usize>,
}

impl Names {
    fn of<'a>(receipts: impl ExactSizeIterator<Item = &'a Receipt>) -> Names {
        let mut addresses: HashMap<Address, u32> = HashMap::default();
        // Most name one that no other does.
        let mut topics: HashMap<B256, u32> =
            HashMap::with_capacity_and_hasher(2 * receipts.len(), Default::default());
        let mut distinct: Vec<&[u8]> = Vec::new();
        let mut named = Vec::with_capacity(4 * receipts.len());
        let mut ends = Vec::with_capacity(receipts.len());
        for receipt in receipts {
            for log in &receipt.logs {
                let mut place = |name| {
                    distinct.push(name);
                    (distinct.len() - 1) as u32
                };
                let address = addresses.entry(log.address);
                named.push(*address.or_insert_with(|| place(log.address.as_slice())));
                for topic in log.topics() {
                    let entry = topics.entry(*topic);
                    named.push(*entry.or_insert_with(|| place(topic.as_slice())));
                }
            }
            ends.push(named.len());
        }
        let mut hashes = vec![B256::ZERO; distinct.len()];
        keccak256_each(&distinct, &mut hashes);
        Names { hashes, named, ends }
    }

    /// The filter of the logs of the n-th receipt.
    fn bloom(&self, at: usize) -> Bloom {
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut bloom = Bloom::ZERO;
        for &name in &self.named[begin..self.ends[at]] {
            bloom.m3_2048_hashed(&self.hashes[name as usize]);
        }
        bloom
    }
}

/// The bytes of EIP-2718.
fn encode(tx_type: TxType, receipt: &Receipt, bloom: &Bloom, out: &mut Vec<u8>) {
    if tx_type != TxType::Legacy {
        out.push(u8::from(tx_type));
    }
    let payload_length = receipt.success.length()
        + receipt.cumulative_gas_used.length()
        + bloom.length()
        + receipt.logs.length();
    Header { list: true, payload_length }.encode(out);
    receipt.success.encode(out);
    receipt.cumulative_gas_used.encode(out);
    bloom.encode(out);
    receipt.logs.encode(out);
}
