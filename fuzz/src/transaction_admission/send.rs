//! What someone sends: fields around every limit, signed well or badly.

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip7702, TxEnvelope, TxLegacy, TypedTransaction,
    crypto::secp256k1::sign_message,
};
use alloy_eips::{
    eip2718::Encodable2718,
    eip2930::{AccessList, AccessListItem},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, address};
use arbitrary::Arbitrary;
use shard::Transaction;

/// Those who have keys, and money in the genesis.
pub(super) const SENDERS: [Address; 3] = [
    address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf"),
    address!("2B5AD5c4795c026514f8317c7a215E218DcCD6cF"),
    address!("6813Eb9362372EEF6200f3b1dbC3f819671cBA69"),
];

pub(super) fn address(sender: u8) -> Address {
    SENDERS[usize::from(sender) % SENDERS.len()]
}

fn key(sender: u8) -> B256 {
    B256::with_last_byte(sender % SENDERS.len() as u8 + 1)
}

/// Most bytes stand for something that is in order: what is refused at once shows little.
#[derive(Debug, Arbitrary)]
pub(super) struct Send {
    pub(super) sender: u8,
    kind: Kind,
    chain: u8,
    nonce: u8,
    gas: (u8, u32),
    fee: u8,
    priority_fee: u8,
    value: (u8, u16),
    /// 0 creates a contract.
    to: u8,
    data: (u8, u16),
    list: Vec<u8>,
    /// Who signs it, for which chain, and the nonce.
    authorizations: Vec<(u8, u8, u8)>,
    seal: (u8, u16),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Kind {
    Legacy,
    AccessList,
    DynamicFee,
    SetCode,
}

/// Authorisations of a transaction at most: each is signed and recovered.
const AUTHORIZATIONS_MAX: usize = 4;

fn chain_id(choice: u8, own: u64) -> Option<u64> {
    match choice {
        0 => None,
        1 => Some(0),
        2 => Some(own + 1),
        _ => Some(own),
    }
}

impl Send {
    /// What arrives, if it can be read. `next` is the nonce that is expected.
    pub(super) fn make(
        &self,
        own: u64,
        next: u64,
        read: impl Fn(Bytes) -> Option<Transaction>,
    ) -> Option<Transaction> {
        let fields = self.fields(own, next);
        if self.seal.0 == 0 {
            return Some(Transaction::unsigned(fields, address(self.sender)));
        }
        let signature = sign_message(key(self.sender), fields.signature_hash()).expect("a key");
        let mut bytes = TxEnvelope::from(fields.into_signed(signature)).encoded_2718();
        if self.seal.0 < 20 {
            let at = usize::from(self.seal.1) % bytes.len();
            bytes[at] ^= self.seal.0;
        }
        read(bytes.into())
    }

    fn fields(&self, own: u64, next: u64) -> TypedTransaction {
        let chain = chain_id(self.chain, own);
        let chain_id = chain.unwrap_or_default();
        let nonce = match self.nonce {
            0 => next.wrapping_sub(1),
            1 => u64::MAX,
            2..20 => next + u64::from(self.nonce % 6),
            20..40 => next.saturating_sub(u64::from(self.nonce % 6)),
            _ => next,
        };
        let gas_limit = match self.gas {
            (0, _) => u64::MAX,
            (1, by) => (1 << 24) + u64::from(by % 4) - 2,
            (2..20, gas) => u64::from(gas),
            (20..60, gas) => 20_000 + u64::from(gas % 100_000),
            (_, more) => 500_000 + u64::from(more % 1_000),
        };
        let to = Address::with_last_byte(self.to);
        let kind = if self.to == 0 { TxKind::Create } else { TxKind::Call(to) };
        let value = match self.value {
            (0, _) => U256::MAX,
            (1, value) => U256::from(value) << 24,
            (_, value) => U256::from(value),
        };
        let (first, len) = self.data;
        let len = if first < 2 { len } else { len % 100 };
        // Code of these does nothing, so that money moves only where we see it.
        let input = Bytes::from(vec![first & 1; usize::from(len)]);
        let item = |keys: &u8| AccessListItem {
            address: Address::with_last_byte(*keys),
            storage_keys: vec![B256::ZERO; usize::from(keys % 8)],
        };
        let access_list = AccessList(self.list.iter().map(item).collect());
        let above = if self.priority_fee == 0xFF { 1 } else { 0 };
        let (fee, priority_fee) = (self.fee, self.priority_fee.min(self.fee));
        let (fee, priority_fee) = (u128::from(fee), u128::from(priority_fee) + above);
        let authorizations = self.authorizations.iter().take(AUTHORIZATIONS_MAX);
        match self.kind {
            Kind::Legacy => TypedTransaction::Legacy(TxLegacy {
                chain_id: chain,
                nonce,
                gas_price: fee,
                gas_limit,
                to: kind,
                value,
                input,
            }),
            Kind::AccessList => TypedTransaction::Eip2930(TxEip2930 {
                chain_id,
                nonce,
                gas_price: fee,
                gas_limit,
                to: kind,
                value,
                access_list,
                input,
            }),
            Kind::DynamicFee => TypedTransaction::Eip1559(TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: fee,
                max_priority_fee_per_gas: priority_fee,
                to: kind,
                value,
                access_list,
                input,
            }),
            Kind::SetCode => TypedTransaction::Eip7702(TxEip7702 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: fee,
                max_priority_fee_per_gas: priority_fee,
                to,
                value,
                access_list,
                authorization_list: authorizations.map(|it| authorize(*it, own)).collect(),
                input,
            }),
        }
    }
}

fn authorize((signer, chain, nonce): (u8, u8, u8), own: u64) -> SignedAuthorization {
    let chain_id = U256::from(chain_id(chain, own).unwrap_or_default());
    let nonce = u64::from(nonce % 4);
    let authorization = Authorization { chain_id, address: Address::with_last_byte(signer), nonce };
    let signature = sign_message(key(signer), authorization.signature_hash()).expect("a key");
    authorization.into_signed(signature)
}
