//! Which bytes stand for a block, and how is one part of it read without the others?
//!
//! ```text
//!   version  hash  header's length  environment's length  count
//!   where transaction 0 begins, receipt 0, transaction 1, ... and the end
//!   header  environment  transaction 0  receipt 0  transaction 1  receipt 1 ...
//!
//!   transaction: signed?  sender  bytes of EIP-2718
//!   receipt:     flags  gas used  cumulative  price  [created]  output  count  logs ...
//! ```
//!
//! Lengths, the count and the places are four bytes each, little-endian; places count from the end
//! of the environment. What the block has changed is kept apart: see [`ChangeSet::encode`].

use std::sync::Arc;

use alloy_consensus::{Header, TxEnvelope};
use alloy_eips::Decodable2718;
use alloy_primitives::{B256, Bytes, Log};
use alloy_rlp::{Decodable, Encodable};

use crate::{
    block::{
        Block, ChangeSet, Receipt,
        bytes::{Reader, put_bytes, put_varint, put_varint_128},
    },
    environment::Environment,
    store::StoreError,
    transaction::{SharedTransaction, Transaction},
};

const VERSION: u8 = 1;

const SUCCESS: u8 = 1;
const CREATED: u8 = 1 << 1;

const NUMBERED: u8 = 1;

impl Block {
    /// Its bytes, without what it has changed.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1_024 + self.transactions.len() * 384);
        self.encode_into(&mut out);
        out
    }

    /// The same, after what is there.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        assert_eq!(self.transactions.len(), self.receipts.len(), "each has a receipt");
        out.push(VERSION);
        out.extend_from_slice(self.hash.as_slice());
        // Lengths and places are filled in when they are known.
        let lengths = out.len();
        let places = lengths + 3 * 4;
        out.resize(places + (2 * self.transactions.len() + 1) * 4, 0);
        let fill = |out: &mut Vec<u8>, at: usize, value: usize| {
            let value = u32::try_from(value).expect("a block takes less than 4 GiB");
            out[at..at + 4].copy_from_slice(&value.to_le_bytes());
        };

        let begin = out.len();
        self.header.encode(out);
        let header = out.len();
        put_environment(out, &self.environment);
        let items = out.len();
        fill(out, lengths, header - begin);
        fill(out, lengths + 4, items - header);
        fill(out, lengths + 8, self.transactions.len());
        let mut place = places;
        for (transaction, receipt) in self.transactions.iter().zip(&self.receipts) {
            let at = out.len() - items;
            fill(out, place, at);
            put_transaction(out, transaction);
            let at = out.len() - items;
            fill(out, place + 4, at);
            put_receipt(out, receipt);
            place += 8;
        }
        let end = out.len() - items;
        fill(out, place, end);
    }

    /// The block that these bytes stand for, with what it has changed.
    pub fn decode(bytes: &[u8], changes: Arc<ChangeSet>) -> Result<Block, StoreError> {
        let body = Body::new(bytes)?;
        let mut transactions = Vec::with_capacity(body.len());
        let mut receipts = Vec::with_capacity(body.len());
        for index in 0..body.len() {
            transactions.push(body.transaction(index)?);
            receipts.push(body.receipt(index)?);
        }
        Ok(Block {
            header: body.header()?,
            hash: body.hash(),
            environment: body.environment()?,
            transactions,
            receipts,
            changes,
        })
    }
}

/// The bytes of a block, to read parts of.
///
/// ```
/// use alloy_primitives::Address;
/// use shard::{block::{Body, genesis_block}, config::{Genesis, Rules}};
///
/// let block = genesis_block(&Rules::default(), Address::ZERO, &Genesis::default(), None);
/// let bytes = block.encode();
/// let body = Body::new(&bytes)?;
/// assert_eq!(body.header()?, block.header);
/// assert!(body.receipt(0).is_err(), "it has no transactions");
/// # Ok::<(), shard::store::StoreError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    hash: B256,
    header: &'a [u8],
    environment: &'a [u8],
    /// Four bytes each, two for each transaction and one for the end.
    places: &'a [u8],
    items: &'a [u8],
    len: usize,
}

impl<'a> Body<'a> {
    /// Looks at lengths only, so it takes no time.
    pub fn new(bytes: &'a [u8]) -> Result<Body<'a>, StoreError> {
        let mut reader = Reader::new(bytes, "a block");
        if reader.u8()? != VERSION {
            return Err(reader.corrupt("its version is not known"));
        }
        let hash = reader.hash()?;
        let (header, environment, len) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let places = len
            .checked_mul(8)
            .and_then(|places| places.checked_add(4))
            .ok_or_else(|| reader.corrupt("it holds less than it says"))?;
        let places = reader.take(places)?;
        let header = reader.take(header)?;
        let environment = reader.take(environment)?;
        let end = places[places.len() - 4..].try_into().map(u32::from_le_bytes);
        let end = end.map_err(|_| reader.corrupt("it ends too early"))?;
        let items = reader.take(end as usize)?;
        reader.end()?;
        Ok(Body { hash, header, environment, places, items, len })
    }

    /// How many transactions it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The header's hash, as it was written.
    pub fn hash(&self) -> B256 {
        self.hash
    }

    pub fn header(&self) -> Result<Header, StoreError> {
        let mut rest = self.header;
        match Header::decode(&mut rest) {
            Ok(header) if rest.is_empty() => Ok(header),
            _ => Err(StoreError::Corrupt("a block: its header can not be decoded".to_owned())),
        }
    }

    pub fn environment(&self) -> Result<Environment, StoreError> {
        read_environment(self.environment)
    }

    /// The transaction at this place.
    pub fn transaction(&self, index: usize) -> Result<SharedTransaction, StoreError> {
        read_transaction(self.item(2 * index)?)
    }

    /// The receipt of the transaction at this place.
    pub fn receipt(&self, index: usize) -> Result<Receipt, StoreError> {
        read_receipt(self.item(2 * index + 1)?)
    }

    fn item(&self, at: usize) -> Result<&'a [u8], StoreError> {
        let corrupt = || StoreError::Corrupt(format!("a block: it has no item {at}"));
        if at >= 2 * self.len {
            return Err(corrupt());
        }
        let mut reader = Reader::new(&self.places[at * 4..], "a block");
        let (begin, end) = (reader.u32()?, reader.u32()?);
        self.items.get(begin..end).ok_or_else(corrupt)
    }
}

fn put_environment(out: &mut Vec<u8>, environment: &Environment) {
    out.push(if environment.number.is_some() { NUMBERED } else { 0 });
    if let Some(number) = environment.number {
        put_varint(out, number);
    }
    put_varint(out, environment.timestamp);
    put_varint(out, environment.base_fee);
    put_varint(out, environment.excess_blob_gas);
    out.extend_from_slice(environment.prevrandao.as_slice());
    out.extend_from_slice(environment.beneficiary.as_slice());
    out.extend_from_slice(environment.parent_beacon_block_root.as_slice());
    let mut hashes: Vec<_> = environment.hashes.iter().collect();
    hashes.sort_unstable();
    put_varint(out, hashes.len() as u64);
    for (number, hash) in hashes {
        put_varint(out, *number);
        out.extend_from_slice(hash.as_slice());
    }
}

fn read_environment(bytes: &[u8]) -> Result<Environment, StoreError> {
    let mut reader = Reader::new(bytes, "an environment");
    let number = match reader.u8()? {
        0 => None,
        NUMBERED => Some(reader.varint()?),
        _ => return Err(reader.corrupt("its flags are not known")),
    };
    let mut environment = Environment {
        number,
        timestamp: reader.varint()?,
        base_fee: reader.varint()?,
        excess_blob_gas: reader.varint()?,
        prevrandao: reader.hash()?,
        beneficiary: reader.address()?,
        parent_beacon_block_root: reader.hash()?,
        hashes: Arc::default(),
    };
    let count = reader.count(33)?;
    let mut hashes = alloy_primitives::map::HashMap::default();
    for _ in 0..count {
        hashes.insert(reader.varint()?, reader.hash()?);
    }
    reader.end()?;
    environment.hashes = Arc::new(hashes);
    Ok(environment)
}

fn put_transaction(out: &mut Vec<u8>, transaction: &Transaction) {
    out.push(u8::from(transaction.is_signed()));
    out.extend_from_slice(transaction.sender().as_slice());
    out.extend_from_slice(transaction.encoded());
}

fn read_transaction(bytes: &[u8]) -> Result<SharedTransaction, StoreError> {
    let mut reader = Reader::new(bytes, "a transaction");
    let signed = match reader.u8()? {
        0 => false,
        1 => true,
        _ => return Err(reader.corrupt("its flags are not known")),
    };
    let sender = reader.address()?;
    let encoded = &bytes[21..];
    let envelope = TxEnvelope::decode_2718_exact(encoded)
        .map_err(|error| reader.corrupt(&error.to_string()))?;
    let encoded = Bytes::copy_from_slice(encoded);
    Ok(Arc::new(Transaction::from_parts(envelope, encoded, sender, signed)))
}

fn put_receipt(out: &mut Vec<u8>, receipt: &Receipt) {
    let created = if receipt.created.is_some() { CREATED } else { 0 };
    out.push(u8::from(receipt.success) | created);
    put_varint(out, receipt.gas_used);
    put_varint(out, receipt.cumulative_gas_used);
    put_varint_128(out, receipt.gas_price);
    if let Some(created) = receipt.created {
        out.extend_from_slice(created.as_slice());
    }
    put_bytes(out, &receipt.output);
    put_varint(out, receipt.logs.len() as u64);
    for log in &receipt.logs {
        out.extend_from_slice(log.address.as_slice());
        out.push(log.topics().len() as u8);
        for topic in log.topics() {
            out.extend_from_slice(topic.as_slice());
        }
        put_bytes(out, &log.data.data);
    }
}

fn read_receipt(bytes: &[u8]) -> Result<Receipt, StoreError> {
    let mut reader = Reader::new(bytes, "a receipt");
    let flags = reader.u8()?;
    if flags & !(SUCCESS | CREATED) != 0 {
        return Err(reader.corrupt("its flags are not known"));
    }
    let mut receipt = Receipt {
        success: flags & SUCCESS != 0,
        gas_used: reader.varint()?,
        cumulative_gas_used: reader.varint()?,
        gas_price: reader.varint_128()?,
        created: None,
        output: Bytes::new(),
        logs: Vec::new(),
    };
    if flags & CREATED != 0 {
        receipt.created = Some(reader.address()?);
    }
    receipt.output = reader.bytes()?;
    let count = reader.count(22)?;
    receipt.logs.reserve_exact(count);
    for _ in 0..count {
        let address = reader.address()?;
        let topics = usize::from(reader.u8()?);
        if topics > 4 {
            return Err(reader.corrupt("a log has more than four topics"));
        }
        let topics = (0..topics).map(|_| reader.hash()).collect::<Result<Vec<_>, _>>()?;
        receipt.logs.push(Log::new_unchecked(address, topics, reader.bytes()?));
    }
    reader.end()?;
    Ok(receipt)
}
