//! Does the pool do what a list of transactions that is searched from end to end would do?
//!
//! Random calls on both, with limits so small that they are always reached. After each call they must
//! agree about everything that can be asked, and every transaction that was ever accepted must be
//! in the pool, in a block, or reported as dropped: exactly one of the three.

use std::collections::BTreeSet;

use kernel::each_seed;

use super::{
    naive::{Entry, Naive},
    *,
};

const SEEDS: u64 = 30;
const STEPS: usize = 250;
const SENDERS: u8 = 4;
const SECOND: Duration = Duration::from_secs(1);

fn small(order: PoolOrder) -> PoolLimits {
    PoolLimits {
        order,
        transactions_max: 9,
        sender_max: 4,
        bytes_max: 1_500,
        transaction_bytes_max: 400,
        nonce_ahead_max: 6,
        expiry: 20 * SECOND,
        replacement_percent: 10,
    }
}

/// Both, and what became of every transaction that was accepted.
struct World {
    pool: Pool,
    naive: Naive,
    now: Duration,
    in_flight: Vec<Vec<SharedTransaction>>,
    accepted: BTreeSet<B256>,
    gone: BTreeSet<B256>,
    /// How often what has happened.
    effects: Effects,
    seed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    inserted: u64,
    replaced: u64,
    evicted: u64,
    included: u64,
    left: u64,
    dropped: u64,
    expired: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let order = if seed.is_multiple_of(3) { PoolOrder::Fifo } else { PoolOrder::Price };
        let rich = SenderAccount { balance: U256::from(6_000_000), ..SenderAccount::default() };
        let accounts = (0..SENDERS).map(|sender| (Address::repeat_byte(sender), rich)).collect();
        World {
            pool: Pool::new(SHARD, &rules(), small(order), BASE_FEE),
            naive: Naive {
                limits: small(order),
                base_fee: BASE_FEE,
                entries: Vec::new(),
                accounts,
                arrivals: 0,
            },
            now: Duration::ZERO,
            in_flight: Vec::new(),
            accepted: BTreeSet::new(),
            gone: BTreeSet::new(),
            effects: Effects::default(),
            seed,
        }
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn step(&mut self) {
        match self.below(20) {
            0..=9 => self.insert(),
            10..=12 => self.collect(),
            13..=15 => self.finish_block(),
            16 => self.fail_batches(),
            17 => self.change_base_fee(),
            18 => self.pass_time(),
            _ => self.change_account(),
        }
        self.compare();
    }

    fn any_sender(&mut self) -> Address {
        Address::repeat_byte(self.below(u64::from(SENDERS)) as u8)
    }

    fn insert(&mut self) {
        let sender = self.any_sender();
        let account = self.naive.accounts[&sender];
        let nonce = (account.nonce + self.below(8)).saturating_sub(1);
        let fee = u128::from(5 + self.below(20));
        let fields = TxEip1559 {
            max_priority_fee_per_gas: u128::from(1 + self.below(fee as u64)),
            gas_limit: 30_000,
            input: vec![0; self.below(3) as usize * 60].into(),
            value: U256::from(self.below(500_000)),
            ..fields(nonce, fee)
        };
        let transaction = unsigned(sender, fields);
        let expected = self.naive.insert(&transaction, self.now);
        let inserted = self.pool.insert(transaction.clone(), &account, self.now);
        assert_eq!(inserted, expected);
        if let Ok(inserted) = inserted {
            self.effects.inserted += 1;
            self.effects.replaced += u64::from(inserted.replaced.is_some());
            self.effects.evicted += inserted.evicted.len() as u64;
            // After an eviction the same one may come again.
            self.gone.remove(&transaction.hash());
            self.accepted.insert(transaction.hash());
            self.leave(inserted.dropped(transaction.hash()).collect());
        }
    }

    fn collect(&mut self) {
        let (max, gas) = (self.below(6) as usize, 30_000 * (1 + self.below(6)));
        let expected = self.naive.collect(max, gas);
        let batch = self.pool.collect(max, gas, self.naive.base_fee);
        assert_eq!(batch, expected);
        self.in_flight.push(batch);
    }

    /// Executes the oldest batch as a block that holds only some of it.
    fn finish_block(&mut self) {
        if self.in_flight.is_empty() {
            return;
        }
        let batch = self.in_flight.remove(0);
        let room = self.below(batch.len() as u64 + 1) as usize;
        let (mut included, mut left, mut changed) = (Vec::new(), Vec::new(), BTreeSet::new());
        for transaction in batch {
            let (sender, hash) = (transaction.sender(), transaction.hash());
            let mut account = self.naive.accounts[&sender];
            if included.len() < room && transaction.nonce() == account.nonce {
                account.nonce += 1;
                account.balance -= transaction.cost_max().min(account.balance) / U256::from(2);
                self.naive.accounts.insert(sender, account);
                changed.insert(sender);
                included.push(hash);
            } else if self.below(8) == 0 {
                // The virtual machine has found something wrong with it.
                self.naive.remove(hash);
                assert_eq!(self.pool.dropped(hash), Some(transaction.clone()));
                self.leave(vec![(transaction, DropReason::Invalid("unlucky".into()))]);
            } else {
                left.push(hash);
            }
        }
        self.effects.included += included.len() as u64;
        self.effects.left += left.len() as u64;
        self.pool.included(&included);
        for hash in &included {
            self.naive.remove(*hash);
            assert!(self.gone.insert(*hash));
        }
        for sender in changed {
            self.account_is_told(sender);
        }
        self.give_back(&left);
    }

    fn give_back(&mut self, left: &[B256]) {
        let given = |it: &&Entry| left.contains(&it.transaction.hash());
        let entries = self.naive.entries.iter().filter(given);
        let senders: BTreeSet<Address> = entries.map(|it| it.transaction.sender()).collect();
        left.iter().for_each(|hash| self.naive.mark(*hash, false));
        let expected = senders.into_iter().flat_map(|it| self.naive.settle(it)).collect();
        let told = self.pool.give_back(left);
        self.are_told(told, expected);
        // Nothing that was not executed has gone without a word.
        assert!(left.iter().all(|hash| self.pool.get(*hash).is_some() || self.gone.contains(hash)));
    }

    fn account_is_told(&mut self, sender: Address) {
        let account = self.naive.accounts[&sender];
        let expected = self.naive.settle(sender);
        let told = self.pool.account_changed(sender, account.nonce, account.balance);
        self.are_told(told, expected);
    }

    fn are_told(&mut self, mut told: Vec<Dropped>, mut expected: Vec<Dropped>) {
        expected.sort_by_key(|(transaction, _)| transaction.hash());
        told.sort_by_key(|(transaction, _)| transaction.hash());
        assert_eq!(told, expected);
        self.effects.dropped += told.len() as u64;
        self.leave(told);
    }

    fn fail_batches(&mut self) {
        while !self.in_flight.is_empty() {
            let at = self.below(self.in_flight.len() as u64) as usize;
            let batch = self.in_flight.remove(at);
            self.give_back(&hashes(&batch));
        }
    }

    fn change_base_fee(&mut self) {
        let base_fee = 6 + self.below(12);
        self.naive.base_fee = base_fee;
        self.pool.set_base_fee(base_fee);
    }

    fn pass_time(&mut self) {
        let passed = self.below(15);
        self.now += Duration::from_secs(passed);
        let expected = self.naive.expire(self.now);
        let told = self.pool.expire(self.now);
        assert!(told.iter().all(|(_, reason)| *reason == DropReason::Expired));
        let hashes: BTreeSet<B256> = told.iter().map(|(it, _)| it.hash()).collect();
        assert_eq!(hashes, expected);
        self.effects.expired += told.len() as u64;
        self.leave(told);
    }

    /// Others have given or taken money; now and then a nonce was used elsewhere.
    fn change_account(&mut self) {
        let sender = self.any_sender();
        let mut account = self.naive.accounts[&sender];
        account.balance = U256::from(self.below(8_000_000));
        account.nonce += u64::from(self.below(4) == 0);
        self.naive.accounts.insert(sender, account);
        self.account_is_told(sender);
    }

    fn leave(&mut self, dropped: Vec<Dropped>) {
        for (transaction, _) in dropped {
            assert!(self.gone.insert(transaction.hash()), "it had gone before");
        }
    }

    fn compare(&self) {
        let (pool, naive) = (&self.pool, &self.naive);
        let mut expected: Vec<&Entry> = naive.entries.iter().collect();
        expected.sort_by_key(|it| (it.transaction.sender(), it.nonce()));
        let expected: Vec<_> =
            expected.into_iter().map(|it| (&it.transaction, naive.status(it))).collect();
        assert_eq!(pool.iter().collect::<Vec<_>>(), expected);
        for (transaction, status) in &expected {
            assert_eq!(pool.status(transaction.hash()), Some(*status));
        }
        assert_eq!(pool.has_ready(), naive.ready().is_some());
        let waits = |status: &Status| matches!(status, Status::Queued(Queued::Missing { .. }));
        let waiting = expected.iter().filter(|(_, status)| waits(status)).count();
        let counts = Counts {
            pending: expected.len() - waiting,
            waiting,
            executing: naive.entries.iter().filter(|it| it.executing).count(),
            bytes: naive.entries.iter().map(|it| it.transaction.encoded().len()).sum(),
        };
        assert_eq!(pool.counts(), counts);
        assert!(
            pool.len() <= naive.limits.transactions_max && counts.bytes <= naive.limits.bytes_max
        );
        let waiting = naive.entries.iter().filter(|it| !it.executing);
        assert_eq!(pool.oldest(), waiting.map(|it| it.since).min());
        for sender in naive.accounts.keys() {
            let next = (!naive.line(*sender).is_empty()).then(|| naive.missing(*sender));
            assert_eq!(pool.next_nonce(*sender), next);
        }
        let here: BTreeSet<B256> = pool.iter().map(|(it, _)| it.hash()).collect();
        assert!(here.is_disjoint(&self.gone));
        assert_eq!(here.union(&self.gone).copied().collect::<BTreeSet<_>>(), self.accepted);
    }
}

fn run(seed: u64) -> Effects {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.step();
    }
    world.effects
}

#[test]
fn a_pool_does_what_a_searched_list_does_and_loses_nothing() {
    each_seed(SEEDS, |seed| _ = run(seed));
}

/// A model in which nothing happens would show nothing.
#[test]
fn everything_that_can_happen_does_in_the_model() {
    let all: Vec<Effects> = (0..8).map(run).collect();
    let rare: [fn(&Effects) -> u64; 7] = [
        |it| it.inserted,
        |it| it.replaced,
        |it| it.evicted,
        |it| it.included,
        |it| it.left,
        |it| it.dropped,
        |it| it.expired,
    ];
    let counts = rare.map(|count| all.iter().map(count).sum::<u64>());
    assert!(counts.iter().all(|count| *count >= 8), "{counts:?}");
}
