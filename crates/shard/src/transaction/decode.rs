//! Are these bytes a transaction that shards can take?

use std::fmt;

use alloy_consensus::TxEnvelope;
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::{Address, B256, Bytes};

/// The type byte of blob transactions, EIP-4844.
const BLOB: u8 = 3;

/// What begins with this or more has no type in front of it: it is a legacy transaction.
const LEGACY: u8 = 0x80;

/// A transaction that was decoded, and whose sender is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecovered {
    pub(super) envelope: TxEnvelope,
    pub(super) encoded: Bytes,
    /// Who sent it, if that was found out together with others.
    pub(super) sender: Option<Address>,
}

impl Unrecovered {
    /// Decodes the bytes of EIP-2718: a legacy transaction, or the type and what follows.
    ///
    /// There is one way to write a transaction, and no other is taken: the hash of the bytes is the
    /// transaction's.
    ///
    /// ```
    /// use shard::transaction::{Malformed, Unrecovered};
    ///
    /// let nothing = Unrecovered::decode(Default::default(), 131_072);
    /// assert_eq!(nothing, Err(Malformed::Empty));
    /// ```
    ///
    /// # Errors
    /// If they are longer than `bytes_max`, are no transaction, or one that shards do not take.
    pub fn decode(encoded: Bytes, bytes_max: usize) -> Result<Unrecovered, Malformed> {
        let Some(&first) = encoded.first() else { return Err(Malformed::Empty) };
        if encoded.len() > bytes_max {
            return Err(Malformed::TooLong { bytes: encoded.len(), bytes_max });
        }
        match first {
            1 | 2 | 4 | LEGACY.. => {}
            BLOB => return Err(Malformed::Blob),
            unknown => return Err(Malformed::UnknownType(unknown)),
        }
        let mut rest = &encoded[..];
        let envelope = TxEnvelope::decode_2718(&mut rest)
            .map_err(|error| Malformed::Rlp(error.to_string()))?;
        if !rest.is_empty() {
            return Err(Malformed::Trailing { bytes: rest.len() });
        }
        if envelope.encoded_2718() != encoded[..] {
            return Err(Malformed::NotCanonical);
        }
        Ok(Unrecovered { envelope, encoded, sender: None })
    }

    /// As Ethereum has it.
    pub fn envelope(&self) -> &TxEnvelope {
        &self.envelope
    }

    /// The bytes, as they were sent.
    pub fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// The hash that it is known by.
    pub fn hash(&self) -> B256 {
        *self.envelope.tx_hash()
    }
}

/// Why bytes are not a transaction, or not one whose sender is known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    Empty,
    TooLong {
        bytes: usize,
        bytes_max: usize,
    },
    /// The first byte names a type that there is not.
    UnknownType(u8),
    /// EIP-4844: there is nowhere to put blobs.
    Blob,
    /// Cut off, or not what its type asks for.
    Rlp(String),
    /// A whole transaction, and then more.
    Trailing {
        bytes: usize,
    },
    /// Written in another way than the one that is allowed.
    NotCanonical,
    /// EIP-2: otherwise each transaction could be given a second hash.
    HighS,
    /// Nobody has made this signature.
    Signature,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Empty => {
                f.write_str("typed transaction too short: there are no bytes; send a signed transaction")
            }
            Malformed::TooLong { bytes, bytes_max } => write!(
                f,
                "oversized data: transaction size {bytes}, limit {bytes_max}; send less data at once"
            ),
            Malformed::UnknownType(first) => write!(
                f,
                "transaction type not supported: {first}; send type 0 (legacy), 1, 2 or 4"
            ),
            Malformed::Blob => f.write_str(
                "transaction type not supported: 3, a blob transaction (EIP-4844); shards keep no \
                 blobs, send the data as calldata in a transaction of type 2",
            ),
            Malformed::Rlp(error) => write!(
                f,
                "rlp: {error}; send the transaction as EIP-2718 encodes it, without a wrapper"
            ),
            Malformed::Trailing { bytes } => write!(
                f,
                "rlp: input contains more than one value: {bytes} bytes follow the transaction; send one at a time"
            ),
            Malformed::NotCanonical => f.write_str(
                "rlp: non-canonical encoding; its hash would not be the transaction's, encode it anew",
            ),
            Malformed::HighS => f.write_str(
                "invalid transaction v, r, s values: s is in the upper half (EIP-2); sign it again",
            ),
            Malformed::Signature => f.write_str(
                "invalid transaction v, r, s values: no sender can be recovered; sign it again",
            ),
        }
    }
}

impl std::error::Error for Malformed {}
