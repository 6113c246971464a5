//! How does a receipt look to Ethereum?

use alloy_consensus::{
    Eip658Value, Receipt as EthereumReceipt, ReceiptEnvelope, ReceiptWithBloom, TxType,
};
use alloy_primitives::{
    B256, Bloom, Log, keccak256,
    map::{AddressMap, B256Map},
};
use alloy_rlp::{Encodable, Header};
use alloy_trie::root::ordered_trie_root_with_encoder;

use crate::{block::Receipt, transaction::SharedTransaction};

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

/// The root of the receipts of a block, and the filter of all their logs. Nothing is copied that
/// is large, and each filter is made once.
pub(crate) fn receipts_root(included: &[(SharedTransaction, Receipt)]) -> (B256, Bloom) {
    let mut all = Bloom::ZERO;
    let mut hashes = Hashes::default();
    let root = ordered_trie_root_with_encoder(included, |(transaction, receipt), out| {
        let bloom = hashes.bloom(&receipt.logs);
        all.accrue_bloom(&bloom);
        encode(transaction.envelope().tx_type(), receipt, &bloom, out);
    });
    (root, all)
}

/// The hashes of what the logs of a block name. Most name the same contract and event, and many the
/// same accounts, and a hash takes longer than all else about a filter.
#[derive(Default)]
struct Hashes {
    addresses: AddressMap<B256>,
    topics: B256Map<B256>,
}

impl Hashes {
    fn bloom(&mut self, logs: &[Log]) -> Bloom {
        let mut bloom = Bloom::ZERO;
        for log in logs {
            let hash = self.addresses.entry(log.address).or_insert_with_key(|it| keccak256(it));
            bloom.m3_2048_hashed(hash);
            for topic in log.topics() {
                bloom.m3_2048_hashed(
                    self.topics.entry(*topic).or_insert_with_key(|it| keccak256(it)),
                );
            }
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
