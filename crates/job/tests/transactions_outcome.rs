//! Whatever runs side by side, balances and receipts are those of one by one execution.
//!
//! Accounts are plain numbers: who touches one loads it, works a little, and stores it. Two that
//! conflict and run at the same time, or in the wrong order, lose an update or read a wrong sum.
//! What the ledger decides (who is due, in which order) is compared with a plain model as well.

use std::{
    collections::BTreeMap,
    hint::black_box,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use job::{
    Executor, JobError, Policy, Pool, PoolBuilder,
    transaction::{Address, Key, Ledger, Order, Reason, Receipts, Transaction, Undeclared},
};

const POLICIES: [Policy; 6] = [
    Policy::Fcfs,
    Policy::HighestPriority,
    Policy::ShortestFirst,
    Policy::RoundRobin,
    Policy::WorkStealing,
    Policy::MultilevelFeedback { queue_count: 3, time_slice: Duration::from_millis(1) },
];

/// What a transaction does: reads some accounts, and moves value between two.
#[derive(Debug, Clone, PartialEq)]
struct Deed {
    reads: Vec<usize>,
    from: usize,
    to: usize,
    amount: u64,
    panics: bool,
}

type Receipt = Result<u64, JobError<u64>>;

impl Deed {
    /// A sum of all that it saw; or if there is not enough, what there is.
    fn execute(&self, accounts: &[AtomicU64]) -> Result<u64, u64> {
        if self.panics {
            // Without the hook's text.
            resume_unwind(Box::new("as it was told"));
        }
        let seen: u64 = self.reads.iter().map(|at| accounts[*at].load(Relaxed)).sum();
        let (from, to) = (accounts[self.from].load(Relaxed), accounts[self.to].load(Relaxed));
        let left = from.checked_sub(self.amount).ok_or(from)?;
        // Time for others to come in between.
        (0..black_box(50)).for_each(|n| {
            black_box(n);
        });
        if self.from != self.to {
            accounts[self.from].store(left, Relaxed);
            accounts[self.to].store(to + self.amount, Relaxed);
        }
        Ok(seen * 31 + left)
    }

    /// The same, and a panic as a receipt.
    fn receipt(&self, accounts: &[AtomicU64]) -> Receipt {
        if self.panics {
            return Err(JobError::Panicked("as it was told".to_owned()));
        }
        self.execute(accounts).map_err(JobError::Failed)
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn address(number: usize) -> Address {
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
    Address::new(bytes)
}

fn key(account: usize) -> Key {
    let holder = address(account / 2);
    if account.is_multiple_of(2) { Key::Account(holder) } else { Key::Slot(holder, [7; 32]) }
}

/// The ledger as one would write it down: what waits of each sender, and what is due.
#[derive(Default)]
struct Model {
    next: BTreeMap<usize, u64>,
    waiting: BTreeMap<(usize, u64), (u128, u64, Deed)>,
    /// In the order in which they became due.
    due: Vec<(usize, u64)>,
    ids: u64,
}

impl Model {
    /// Whether it is taken.
    fn add(&mut self, sender: usize, nonce: u64, price: u128, deed: &Deed) -> bool {
        let next = *self.next.entry(sender).or_default();
        if nonce < next {
            return false;
        }
        if let Some((old, ..)) = self.waiting.get(&(sender, nonce))
            && (price * 10 < old * 11 || price == *old)
        {
            return false;
        }
        self.ids += 1;
        let new = self.waiting.insert((sender, nonce), (price, self.ids, deed.clone())).is_none();
        let mut at = next;
        while new && self.waiting.contains_key(&(sender, at)) {
            if !self.due.contains(&(sender, at)) {
                self.due.push((sender, at));
            }
            at += 1;
        }
        true
    }

    /// What a submission takes, in order.
    fn submit(&mut self, order: Order) -> Vec<(usize, u64, Deed)> {
        let mut due = std::mem::take(&mut self.due);
        let mut taken = Vec::new();
        while !due.is_empty() {
            let is_turn = |(sender, nonce): &(usize, u64)| self.next[sender] == *nonce;
            let turns = due.iter().enumerate().filter(|(_, one)| is_turn(one));
            let (at, _) = match order {
                Order::Given => turns.min_by_key(|(at, _)| *at),
                _ => turns.min_by_key(|(_, one)| {
                    let (price, id, _) = &self.waiting[one];
                    (std::cmp::Reverse(*price), *id)
                }),
            }
            .unwrap();
            let (sender, nonce) = due.remove(at);
            self.next.insert(sender, nonce + 1);
            let (_, _, deed) = self.waiting.remove(&(sender, nonce)).unwrap();
            taken.push((sender, nonce, deed));
        }
        taken
    }
}

/// A world of a seed: several batches, some of which come while others have not ended.
struct World {
    random: Random,
    accounts: usize,
    senders: usize,
    order: Order,
    undeclared: Undeclared,
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random(seed);
        random.below(1);
        World {
            accounts: 2 + random.below(if seed.is_multiple_of(2) { 6 } else { 60 }),
            senders: 1 + random.below(12),
            order: if random.below(2) == 0 { Order::Given } else { Order::Price },
            // With walls also those are safe that declare nothing.
            undeclared: [Undeclared::Independent, Undeclared::Alone][random.below(2)],
            random,
        }
    }

    fn deed(&mut self) -> Deed {
        let (random, accounts) = (&mut self.random, self.accounts);
        Deed {
            reads: (0..random.below(4)).map(|_| random.below(accounts)).collect(),
            from: random.below(accounts),
            to: random.below(accounts),
            amount: random.below(60) as u64,
            panics: random.below(40) == 0,
        }
    }

    fn add(&mut self, ledger: &mut Ledger<Deed>, model: &mut Model) {
        let (sender, deed) = (self.random.below(self.senders), self.deed());
        let next = model.next.get(&sender).copied().unwrap_or(0);
        let waiting = model.waiting.keys().filter(|(of, _)| *of == sender).count() as u64;
        // Mostly the next one, sometimes one behind a gap, or one that is there already.
        let nonce = match self.random.below(6) {
            0 => (next + self.random.below(4) as u64).saturating_sub(1),
            1 => next + waiting + 1,
            _ => next + waiting,
        };
        let price = self.random.below(30) as u128;
        let mut transaction = Transaction::new(address(sender), nonce, deed.clone());
        if self.undeclared == Undeclared::Independent || self.random.below(10) > 0 {
            let keys = |accounts: &[usize]| accounts.iter().map(|at| key(*at)).collect::<Vec<_>>();
            transaction = transaction.reads(keys(&deed.reads)).writes(keys(&[deed.from, deed.to]));
        }
        let taken = ledger.add(transaction.gas_price(price).gas_limit(price as u64));
        let expected = model.add(sender, nonce, price, &deed);
        match taken {
            Ok(_) => assert!(expected, "the model refuses it"),
            Err(refused) => {
                let fits = matches!(
                    refused.reason(),
                    Reason::InLine { .. } | Reason::NonceTooLow { .. } | Reason::Underpriced { .. }
                );
                assert!(!expected && fits, "{refused}");
            }
        }
    }

    /// Adds and submits, and does `between` after each submission; then all must have ended after
    /// `finish`.
    fn play(
        mut self,
        pool: &Pool,
        mut between: impl FnMut(&mut Random, &Receipts<u64, u64>),
        finish: impl FnOnce(),
    ) {
        let fresh = || (0..self.accounts).map(|_| AtomicU64::new(100)).collect::<Arc<[_]>>();
        let (accounts, plain) = (fresh(), fresh());
        let executor = Executor::new({
            let accounts = accounts.clone();
            move |deed: Deed| deed.execute(&accounts)
        });
        let mut ledger = Ledger::new().order(self.order).undeclared(self.undeclared);
        let mut model = Model::default();
        let (mut receipts, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..1 + self.random.below(6) {
            for _ in 0..self.random.below(60) {
                self.add(&mut ledger, &mut model);
            }
            let batch = ledger.submit(pool, &executor).unwrap();
            expected.push(model.submit(self.order));
            between(&mut self.random, &batch);
            receipts.push(batch);
        }
        finish();
        for (batch, deeds) in receipts.into_iter().zip(expected) {
            let batch = batch.join().unwrap();
            assert_eq!(batch.len(), deeds.len());
            for (receipt, (sender, nonce, deed)) in batch.into_iter().zip(deeds) {
                assert_eq!((receipt.sender, receipt.nonce), (address(sender), nonce));
                assert_eq!(receipt.outcome, deed.receipt(&plain), "{deed:?}");
            }
        }
        for (account, plain) in accounts.iter().zip(&*plain) {
            assert_eq!(account.load(Relaxed), plain.load(Relaxed));
        }
    }
}

fn pool(policy: Policy) -> PoolBuilder {
    Pool::builder().policy(policy).accept_while_paused()
}

#[test]
fn balances_and_receipts_in_a_simulation_are_those_of_one_by_one_execution() {
    for policy in POLICIES {
        kernel::each_seed(100, |seed| {
            let workers = 1 + seed as usize % 5;
            let mut simulated = pool(policy).workers(workers).simulate(seed).unwrap();
            let shared = simulated.share();
            let simulation = std::cell::RefCell::new(simulated.simulation());
            World::new(seed).play(
                &shared,
                // Sometimes it has ended when the next one comes.
                |random, _| {
                    if random.below(3) == 0 {
                        simulation.borrow_mut().run();
                    }
                },
                || {
                    simulation.borrow_mut().run();
                },
            );
        });
    }
}

/// The pool is paused now and then, so that batches pile up and then run at once.
#[test]
fn balances_and_receipts_on_threads_are_those_of_one_by_one_execution() {
    for policy in POLICIES {
        let pool = pool(policy).workers(3).build().unwrap();
        kernel::each_seed(60, |seed| {
            World::new(seed).play(
                &pool,
                |random, receipts| match random.below(4) {
                    0 => pool.pause(),
                    1 => pool.resume(),
                    2 if pool.workers().iter().any(|w| *w != job::WorkerStatus::Unavailable) => {
                        // Only where somebody takes them.
                        pool.resume();
                        receipts.wait().unwrap();
                    }
                    _ => {}
                },
                || pool.resume(),
            );
        });
    }
}
