//! Who executes which transactions of a stretch?

use std::{cmp::Reverse, ops::Range};

use alloy_primitives::{Address, map::HashMap};

use crate::transaction::SharedTransaction;

/// Nobody has it yet.
const NONE: u32 = u32::MAX;

/// The senders of a batch, by numbers in the order in which they appear.
#[derive(Debug)]
pub(super) struct Senders {
    /// Of each transaction.
    numbers: Vec<u32>,
    count: usize,
}

impl Senders {
    pub(super) fn of(batch: &[SharedTransaction]) -> Senders {
        let mut known: HashMap<Address, u32> = HashMap::default();
        let number = |transaction: &SharedTransaction| {
            let next = known.len() as u32;
            *known.entry(transaction.sender()).or_insert(next)
        };
        let numbers = batch.iter().map(number).collect();
        Senders { numbers, count: known.len() }
    }

    /// Divides a stretch into at most about so many shares of about the same length, each in order.
    /// All transactions of one sender are in one, since each needs the nonce of the one before. The
    /// longest come first: who begins with what is short ends with what is long, and others wait.
    pub(super) fn divide(&self, stretch: Range<u32>, shares_max: usize) -> Vec<Vec<u32>> {
        let length = stretch.len().div_ceil(shares_max) as u32;
        let places = || stretch.clone().map(|place| (place, self.numbers[place as usize] as usize));
        let mut counts = vec![0; self.count];
        places().for_each(|(_, sender)| counts[sender] += 1);
        let mut share_of = vec![NONE; self.count];
        let mut shares: Vec<Vec<u32>> = Vec::new();
        let mut planned = length;
        for (place, sender) in places() {
            if share_of[sender] == NONE {
                if planned >= length {
                    shares.push(Vec::new());
                    planned = 0;
                }
                planned += counts[sender];
                share_of[sender] = shares.len() as u32 - 1;
            }
            shares[share_of[sender] as usize].push(place);
        }
        shares.sort_by_key(|share| Reverse(share.len()));
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(senders: &[u32], stretch: Range<u32>, shares_max: usize) -> Vec<Vec<u32>> {
        let count = senders.iter().max().map_or(0, |most| *most as usize + 1);
        Senders { numbers: senders.to_vec(), count }.divide(stretch, shares_max)
    }

    #[test]
    fn transactions_of_one_sender_are_in_one_share_in_their_order() {
        let shares = divide(&[0, 1, 2, 0, 1, 2, 0, 1], 0..8, 2);
        assert_eq!(shares, [vec![0, 1, 3, 4, 6, 7], vec![2, 5]]);
    }

    #[test]
    fn shares_have_about_the_same_length_and_the_longest_comes_first() {
        let shares = divide(&[0, 1, 2, 2, 2, 2, 3, 4], 0..8, 4);
        assert_eq!(shares, [vec![2, 3, 4, 5], vec![0, 1], vec![6, 7]]);
    }

    #[test]
    fn only_what_is_in_the_stretch_is_divided() {
        assert_eq!(divide(&[0, 1, 0, 1, 0], 1..4, 8), [vec![1, 3], vec![2]]);
        assert_eq!(divide(&[0, 0], 0..2, 8), [vec![0, 1]], "of one sender there is one share");
    }
}
