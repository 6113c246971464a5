//! How is a transaction stored, so that nothing has to be recovered when it is read?
//!
//! ```text
//!   flags  sender  [count  (valid authority)...]  bytes of EIP-2718
//!     1      20       4       1      20           the rest
//! ```
//!
//! The part in brackets is there if AUTHORITIES is set. Numbers are little-endian.

use std::fmt;

use alloy_consensus::{Transaction as _, TxEnvelope};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, Bytes};

use super::Transaction;

const SIGNED: u8 = 1;
const AUTHORITIES: u8 = 2;

impl Transaction {
    /// Appends it to `out`. Its length is not written: whoever stores it knows.
    pub fn to_bytes(&self, out: &mut Vec<u8>) {
        let authorities = if self.authorities.is_empty() { 0 } else { AUTHORITIES };
        out.push(authorities | if self.signed { SIGNED } else { 0 });
        out.extend_from_slice(self.sender.as_slice());
        if authorities != 0 {
            let count = u32::try_from(self.authorities.len()).expect("its bytes have a limit");
            out.extend_from_slice(&count.to_le_bytes());
            for authority in &self.authorities {
                out.push(u8::from(authority.is_some()));
                out.extend_from_slice(authority.unwrap_or_default().as_slice());
            }
        }
        out.extend_from_slice(&self.encoded);
    }

    /// Reads what [`Transaction::to_bytes`] has written, without copying the transaction's bytes.
    ///
    /// ```
    /// use alloy_consensus::{TxEip1559, TypedTransaction};
    /// use alloy_primitives::Address;
    /// use shard::Transaction;
    ///
    /// let fields = TypedTransaction::Eip1559(TxEip1559::default());
    /// let transaction = Transaction::unsigned(fields, Address::repeat_byte(7));
    /// let mut bytes = Vec::new();
    /// transaction.to_bytes(&mut bytes);
    /// assert_eq!(Transaction::from_bytes(&bytes.into())?, transaction);
    /// # Ok::<(), shard::transaction::Corrupt>(())
    /// ```
    ///
    /// # Errors
    /// If this is not what was written.
    pub fn from_bytes(bytes: &Bytes) -> Result<Transaction, Corrupt> {
        let mut rest = &bytes[..];
        let [flags] = take(&mut rest)?;
        if flags & !(SIGNED | AUTHORITIES) != 0 {
            return Err(Corrupt);
        }
        let sender = Address::from(take(&mut rest)?);
        let mut authorities = Vec::new();
        if flags & AUTHORITIES != 0 {
            for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
                let [valid] = take(&mut rest)?;
                let authority = Address::from(take(&mut rest)?);
                authorities.push((valid != 0).then_some(authority));
            }
        }
        let encoded = bytes.slice_ref(rest);
        let envelope = TxEnvelope::decode_2718_exact(rest).map_err(|_| Corrupt)?;
        if envelope.authorization_list().unwrap_or_default().len() != authorities.len() {
            return Err(Corrupt);
        }
        Ok(Transaction { envelope, encoded, sender, signed: flags & SIGNED != 0, authorities })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Corrupt> {
    let (taken, left) = rest.split_first_chunk::<N>().ok_or(Corrupt)?;
    *rest = left;
    Ok(*taken)
}

/// Stored bytes that are not a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "these bytes are not a stored transaction: the file that they come from is damaged",
        )
    }
}

impl std::error::Error for Corrupt {}
