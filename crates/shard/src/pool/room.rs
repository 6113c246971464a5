//! What gives way to a new transaction when the pool is full?
//!
//! Only the last transaction of a sender ever gives way: a gap in the middle would hold up all that
//! come after it. One that can be executed next stays.

use alloy_primitives::Address;

use super::{
    Pool, Refusal,
    line::{Line, Pooled},
};
use crate::{config::PoolOrder, transaction::Transaction};

/// Transactions that give way to one at most. A large one may need the room of many small ones.
const VICTIMS_MAX: usize = 64;

impl Pool {
    /// Who must go so that the transaction fits, in place of the one that it replaces.
    ///
    /// - The sender's own last one, if the new one comes before it. Otherwise someone whose limit is
    ///   filled with later ones could never send the one that they all wait for.
    /// - Then the cheapest last ones of other senders that are cheaper than this one. Not for one that
    ///   must wait for another itself, and not in a pool where only arrival counts.
    pub(super) fn make_room_for(
        &self,
        transaction: &Transaction,
        account_nonce: u64,
        line: Option<&Line>,
        replaced: Option<&Pooled>,
    ) -> Result<Vec<(Address, u64)>, Refusal> {
        let limits = &self.limits;
        let (count, bytes) = match replaced {
            None => (1, 0),
            Some(replaced) => (0, replaced.transaction.encoded().len()),
        };
        let (sender, nonce) = (transaction.sender(), transaction.nonce());
        let bytes = self.bytes - bytes + transaction.encoded().len();
        let mut need = Need {
            count: (self.hashes.len() + count).saturating_sub(limits.transactions_max),
            bytes: bytes.saturating_sub(limits.bytes_max),
        };
        let sender_full = line.is_some_and(|line| line.len() + count > limits.sender_max);

        let mut victims = Vec::new();
        if sender_full || need.is_some() {
            let own = line.and_then(Line::last);
            let own = own.filter(|(last, _)| *last > nonce && !self.is_executing(sender, *last));
            match own {
                Some((last, pooled)) => {
                    need.gets(pooled);
                    victims.push((sender, last));
                }
                None if sender_full => {
                    return Err(Refusal::SenderFull { transactions_max: limits.sender_max });
                }
                None => {}
            }
        }
        if !need.is_some() {
            return Ok(victims);
        }
        if limits.order == PoolOrder::Fifo || nonce > line.map_or(account_nonce, Line::missing) {
            return Err(Refusal::Full);
        }
        let offered = transaction.gas_price(self.terms.base_fee(self.index.base_fee()));
        for (price, other) in self.index.tails().filter(|(_, other)| *other != sender) {
            if victims.len() == VICTIMS_MAX {
                return Err(Refusal::Full);
            }
            if price >= offered {
                return Err(Refusal::Underpriced { price });
            }
            let (last, pooled) = self.lines[&other].last().expect("a line is never empty");
            need.gets(pooled);
            victims.push((other, last));
            if !need.is_some() {
                return Ok(victims);
            }
        }
        Err(Refusal::Full)
    }
}

/// What is missing.
struct Need {
    count: usize,
    bytes: usize,
}

impl Need {
    fn is_some(&self) -> bool {
        self.count > 0 || self.bytes > 0
    }

    fn gets(&mut self, victim: &Pooled) {
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(victim.transaction.encoded().len());
    }
}
