//! In which order the transactions of a batch count as executed.

use std::cmp::{Ordering, Reverse};

use crate::transaction::{
    chain::{Chain, NONE},
    waiting::Slots,
};

/// The order in which the transactions of a batch count as executed: whatever runs side by side,
/// the outcome is as if they had run one by one in this order. In both, those of a sender come in
/// the order of their nonces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Order {
    /// As they were added. One that waited for a missing nonce comes directly after it; one that
    /// replaced another has its place.
    #[default]
    Given,
    /// Always the one at the highest price of those whose turn it is by nonce; at the same price
    /// the one that was added first.
    Price,
}

/// The slots by price. `line` has them as they were added, those of a sender by nonce.
///
/// A transaction has its turn when its own price, and that of all before it by nonce, is reached.
/// So it is sorted by the lowest price up to it, then by who of those at this price was added last,
/// then by nonce.
pub(super) fn by_price<T, K>(
    line: &[u32],
    waiting: &Slots<T, K>,
    chains: &mut [Chain],
) -> Vec<u32> {
    let mut ranks: Vec<(Reverse<u128>, u64, u32)> = Vec::with_capacity(line.len());
    for (at, slot) in (0u32..).zip(line) {
        let one = waiting.get(*slot);
        let chain = &mut chains[one.chain as usize];
        let (mut price, mut id) = (one.terms.price, one.id);
        if let Some((Reverse(lowest), last, _)) = ranks.get(chain.at as usize) {
            id = match lowest.cmp(&price) {
                Ordering::Less => *last,
                Ordering::Equal => id.max(*last),
                Ordering::Greater => id,
            };
            price = price.min(*lowest);
        }
        ranks.push((Reverse(price), id, at));
        chain.at = at;
    }
    for slot in line {
        chains[waiting.get(*slot).chain as usize].at = NONE;
    }
    ranks.sort_unstable();
    ranks.into_iter().map(|(_, _, at)| line[at as usize]).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transaction::{Address, Transaction, waiting::Waiting};
    use std::collections::BinaryHeap;

    /// Against the plain way: a heap of those whose turn it is.
    #[test]
    fn it_is_the_order_of_a_heap_of_those_whose_turn_it_is() {
        kernel::each_seed(200, |seed| {
            let mut random = seed + 1;
            let mut below = |n: u64| {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (random >> 33) % n
            };
            let senders = 1 + below(8) as u32;
            let mut chains: Vec<Chain> = (0..senders).map(|_| Chain::new(0)).collect();
            let mut of: Vec<Vec<u32>> = vec![Vec::new(); senders as usize];
            let mut waiting = Slots::new();
            let mut line = Vec::new();
            // Those that were held back came before the missing one.
            let mut ids: Vec<u64> = (0..below(60)).collect();
            (1..ids.len()).for_each(|at| ids.swap(at, below(at as u64 + 1) as usize));
            for id in ids {
                let chain = below(senders.into()) as u32;
                let price = below(6).into();
                let terms = Transaction::new(Address::default(), 0, ()).gas_price(price).terms;
                let slot = waiting.insert(Waiting { terms, id, chain, payload: Some(()) });
                chains[chain as usize].push(slot, |_| ());
                of[chain as usize].push(slot);
                line.push(slot);
            }
            let rank = |slot: u32| {
                let one = waiting.get(slot);
                (one.terms.price, Reverse(one.id), slot)
            };
            let mut heap: BinaryHeap<_> =
                of.iter().filter_map(|slots| slots.first().copied()).map(rank).collect();
            let mut expected = Vec::new();
            while let Some((_, _, slot)) = heap.pop() {
                expected.push(slot);
                let slots = &of[waiting.get(slot).chain as usize];
                let at = slots.iter().position(|other| *other == slot).unwrap();
                heap.extend(slots.get(at + 1).copied().map(rank));
            }
            assert_eq!(by_price(&line, &waiting, &mut chains), expected);
        });
    }
}
