//! What do transactions do to the balances, and which of them may not run at once?
//!
//! A transaction reads two accounts, works for about a microsecond on what it read, and moves an
//! amount that depends on it: run in another order, the balances would be others. Balances are
//! read and written with plain loads and stores, so two transactions that wrongly run at once lose
//! money.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{
    Work,
    random::Random,
    spin::{self, STEPS_PER_US},
};

/// Accounts that hot transactions move money between.
const HOT: u32 = 16;

const BALANCE: u64 = 1_000_000;

const SEED: u64 = 11;

const NOBODY: u32 = u32::MAX;

/// What a transaction says beforehand: accounts are numbers from 0.
#[derive(Debug, Clone, Copy)]
pub struct Transaction {
    pub reads: [u32; 2],
    pub writes: [u32; 2],
    amount: u64,
}

/// A batch, and the balances it is about.
#[derive(Debug)]
pub struct Transactions {
    list: Vec<Transaction>,
    balances: Vec<AtomicU64>,
    /// The balances after one-by-one execution.
    expected: Vec<u64>,
}

impl Transactions {
    /// So many percent are between two hot accounts. The others have two accounts each that no
    /// other transaction touches.
    pub(super) fn leaked(count: u64, hot_percent: u64) -> &'static Transactions {
        let count = u32::try_from(count).expect("transactions are counted with 32 bits");
        let mut random = Random::new(SEED);
        let mut own: Vec<u32> = (HOT..HOT + 2 * count).collect();
        for at in (1..own.len()).rev() {
            own.swap(at, random.below(at as u32 + 1) as usize);
        }
        let mut transaction = |number: usize| {
            let accounts = if u64::from(random.below(100)) < hot_percent {
                let from = random.below(HOT);
                [from, (from + 1 + random.below(HOT - 1)) % HOT]
            } else {
                [own[2 * number], own[2 * number + 1]]
            };
            Transaction { reads: accounts, writes: accounts, amount: 1 + random.next() % 1_000 }
        };
        let list: Vec<Transaction> = (0..count as usize).map(&mut transaction).collect();
        let balances = (0..HOT + 2 * count).map(|_| AtomicU64::new(BALANCE)).collect();
        let mut batch = Transactions { list, balances, expected: Vec::new() };
        (0..count).for_each(|number| batch.execute(number));
        batch.expected = batch.balances.iter().map(|balance| balance.load(Relaxed)).collect();
        batch.reset();
        Box::leak(Box::new(batch))
    }

    /// In the order that the outcome must be that of.
    pub fn list(&self) -> &[Transaction] {
        &self.list
    }

    /// One more than the largest account.
    pub fn accounts(&self) -> usize {
        self.balances.len()
    }

    #[inline]
    pub fn execute(&self, number: u32) {
        let Transaction { reads: [from, to], amount, .. } = self.list[number as usize];
        let (from, to) = (&self.balances[from as usize], &self.balances[to as usize]);
        let (has, other) = (from.load(Relaxed), to.load(Relaxed));
        let mixed = spin::spin(has ^ other.rotate_left(32) ^ amount, STEPS_PER_US);
        let moved = (1 + mixed % amount).min(has);
        from.store(has - moved, Relaxed);
        to.store(other + moved, Relaxed);
    }

    pub(super) fn reset(&self) {
        self.balances.iter().for_each(|balance| balance.store(BALANCE, Relaxed));
    }

    /// # Panics
    /// If the balances are not those of one-by-one execution.
    pub(super) fn check(&self) {
        let found = self.balances.iter().map(|balance| balance.load(Relaxed));
        let wrong = found.zip(&self.expected).position(|(found, expected)| found != *expected);
        assert_eq!(wrong, None, "an account whose balance is not that of one-by-one execution");
    }
}

/// The transactions as a graph: one comes after the last before it that wrote what it reads (RAW)
/// or writes (WAW), and after those that have read since then what it writes (WAR).
#[derive(Debug)]
pub struct Conflicts {
    batch: &'static Transactions,
    begins: Vec<u32>,
    predecessors: Vec<u32>,
}

/// Who has read an account since it was written, as a list in one vector for all accounts.
struct Readers {
    /// Per account.
    last: Vec<u32>,
    /// The reader, and where the one before it is.
    all: Vec<(u32, u32)>,
}

impl Readers {
    fn push(&mut self, account: u32, reader: u32) {
        let last = &mut self.last[account as usize];
        self.all.push((reader, *last));
        *last = self.all.len() as u32 - 1;
    }

    fn take(&mut self, account: u32, mut take: impl FnMut(u32)) {
        let mut at = std::mem::replace(&mut self.last[account as usize], NOBODY);
        while at != NOBODY {
            let (reader, before) = self.all[at as usize];
            take(reader);
            at = before;
        }
    }
}

impl Conflicts {
    /// In one pass, with a slot per account.
    pub fn leaked(batch: &'static Transactions) -> &'static Conflicts {
        let count = batch.list.len();
        let mut begins = Vec::with_capacity(count + 1);
        let mut predecessors = Vec::with_capacity(2 * count);
        let mut writer = vec![NOBODY; batch.accounts()];
        let mut readers = Readers { last: vec![NOBODY; batch.accounts()], all: Vec::new() };
        begins.push(0);
        for (number, transaction) in batch.list.iter().enumerate() {
            let (number, begin) = (number as u32, predecessors.len());
            let mut after = |one: u32| {
                let known = one == NOBODY || one == number;
                if !known && !predecessors[begin..].contains(&one) {
                    predecessors.push(one);
                }
            };
            for account in transaction.reads {
                after(writer[account as usize]);
            }
            for account in transaction.writes {
                after(std::mem::replace(&mut writer[account as usize], number));
                readers.take(account, &mut after);
            }
            for account in transaction.reads {
                // Who comes after the writer comes after its reading.
                if !transaction.writes.contains(&account) {
                    readers.push(account, number);
                }
            }
            begins.push(predecessors.len() as u32);
        }
        Box::leak(Box::new(Conflicts { batch, begins, predecessors }))
    }
}

impl Work for Conflicts {
    fn nodes(&self) -> u32 {
        self.batch.list.len() as u32
    }

    #[inline]
    fn predecessors(&self, node: u32) -> &[u32] {
        let (from, to) = (self.begins[node as usize], self.begins[node as usize + 1]);
        &self.predecessors[from as usize..to as usize]
    }

    #[inline]
    fn run(&self, node: u32) {
        self.batch.execute(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job;

    fn conflicts(list: &[([u32; 2], [u32; 2])]) -> &'static Conflicts {
        let one = |&(reads, writes): &_| Transaction { reads, writes, amount: 1 };
        let list = list.iter().map(one).collect();
        let balances = (0..10).map(|_| AtomicU64::new(0)).collect();
        let batch = Transactions { list, balances, expected: Vec::new() };
        Conflicts::leaked(Box::leak(Box::new(batch)))
    }

    #[test]
    fn edges_lead_from_writers_and_from_readers_to_the_next_writer() {
        let found = conflicts(&[
            ([0, 1], [0, 1]),
            ([0, 2], [3, 3]), // reads what the first wrote
            ([0, 4], [5, 5]), // so does this one, beside the one before
            ([6, 6], [0, 6]), // overwrites what three others wrote or read
            ([8, 9], [8, 9]), // has to do with nobody
        ]);
        let mut third = found.predecessors(3).to_vec();
        third.sort_unstable();
        assert_eq!((found.predecessors(1), found.predecessors(2)), (&[0][..], &[0][..]));
        assert_eq!((third.as_slice(), found.predecessors(4)), (&[0, 1, 2][..], &[][..]));
    }

    #[test]
    fn only_hot_transactions_conflict() {
        let edges =
            |percent| Conflicts::leaked(Transactions::leaked(1_000, percent)).predecessors.len();
        assert_eq!(edges(0), 0);
        assert!((100..400).contains(&edges(10)), "{}", edges(10));
        assert!((1_500..2_000).contains(&edges(90)), "{}", edges(90));
    }

    /// The program in C++ is refused if it makes another sum of its balances.
    #[test]
    fn the_outcome_is_the_same_in_every_language() {
        let sum = |sum: u64, &one: &u64| sum.wrapping_mul(31).wrapping_add(one);
        let batch = Transactions::leaked(1_000, 90);
        let expected = job::sum_of_taskflow("balances");
        assert_eq!(batch.expected.iter().fold(0, sum), expected);
        assert_eq!(Conflicts::leaked(batch).predecessors.len(), 1_750);
    }

    #[test]
    #[should_panic(expected = "not that of one-by-one execution")]
    fn another_order_is_noticed() {
        let batch = Transactions::leaked(100, 90);
        (0..100).rev().for_each(|number| batch.execute(number));
        batch.check();
    }
}
