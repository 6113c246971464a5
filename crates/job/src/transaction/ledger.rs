//! Transactions that wait: in the order of their senders' nonces, or for one that is missing.

use std::{fmt, hash::Hash};

use crate::{
    batch::{DEPENDENCIES_MAX, OnFailure},
    id::BATCH_MAX,
    transaction::{
        chain::{Chain, Spot},
        conflict::Conflicts,
        hash::SeededMap,
        key::{Address, Key},
        order::Order,
        past::Past,
        reason::{Reason, Rejected},
        terms::Transaction,
        waiting::{Slots, Waiting},
    },
};

/// So many keys a transaction may declare.
pub const KEYS_MAX: usize = 65_536;

/// So many transactions wait in a ledger, unless said otherwise.
pub const WAITING_MAX: usize = 1 << 20;

/// So many of them wait for a missing nonce, unless said otherwise.
pub const HELD_MAX: usize = 16_384;

/// So many of each sender wait for a missing nonce, unless said otherwise.
pub const HELD_PER_SENDER_MAX: usize = 64;

/// Names a transaction that was added to a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub(super) u64);

impl TransactionId {
    /// Its number: that of the next one is higher.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// What to assume of transactions that have not declared what they touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Undeclared {
    /// They conflict with nobody: only nonces order them. For payloads that find out by themselves.
    #[default]
    Independent,
    /// They conflict with everybody: all before them end first, and all after them wait. With this,
    /// the outcome is that of one by one execution whoever has declared what.
    Alone,
}

/// Transactions before they are executed, and the memory of what was.
///
/// They are added one by one, and [submitted](Ledger::submit) together as a batch. The ledger makes
/// them wait for each other such that the outcome is that of one by one execution in the chosen
/// [`Order`]: those of a sender by their nonces, also across batches; and those that conflict by what
/// they have declared to read and to write, also with transactions of earlier batches that have not
/// ended. All others run side by side.
///
/// A transaction whose nonce leaves a gap is held back until the missing one is added. A second one
/// with the same nonce replaces the first at a price that is at least 10 % higher, for as long as
/// that has not been submitted. What is refused comes back with the [reason](Reason).
///
/// **A transaction that was submitted has used its nonce**, whatever becomes of it. If it fails,
/// panics or is cancelled, the later ones of its sender run all the same, and so do those that
/// conflict with it: what it did until then, its executor has to undo. That is how a chain includes
/// a transaction that failed. [`on_failure`](Ledger::on_failure) can fail those of the same batch instead.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use job::{Executor, Pool};
/// use job::transaction::{Address, Key, Ledger, Transaction};
///
/// let (alice, bob) = (Address::new([1; 20]), Address::new([2; 20]));
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let executor = Executor::new({
///     let log = log.clone();
///     move |what: &'static str| {
///         log.lock().map_err(|_| "poisoned")?.push(what);
///         Ok::<_, &str>(what.len())
///     }
/// });
///
/// let pool = Pool::new()?;
/// let mut ledger = Ledger::new();
/// let both = [Key::Account(alice), Key::Account(bob)];
/// let second = ledger.add(Transaction::new(alice, 1, "and five more").writes(both))?;
/// assert_eq!(second.missing, Some(0));
/// ledger.add(Transaction::new(alice, 0, "five to Bob").writes(both))?;
/// ledger.add(Transaction::new(bob, 0, "ten to Alice").writes(both))?;
///
/// let receipts = ledger.submit(&pool, &executor)?.join()?;
/// assert_eq!(*log.lock().unwrap(), ["five to Bob", "and five more", "ten to Alice"]);
/// assert_eq!(receipts[1].outcome, Ok(13));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ledger<T, K = Key> {
    pub(super) order: Order,
    pub(super) undeclared: Undeclared,
    pub(super) on_failure: OnFailure,
    waiting_max: usize,
    held_max: usize,
    held_per_sender_max: usize,
    first_nonce: Option<FirstNonce>,
    senders: SeededMap<Address, u32>,
    pub(super) chains: Vec<Chain>,
    pub(super) waiting: Slots<T, K>,
    /// The slots of those that are due, in the order in which they became so.
    pub(super) line: Vec<u32>,
    held: usize,
    /// How many keys those that wait have declared.
    pub(super) keys: usize,
    ids: u64,
    pub(super) conflicts: Conflicts<K>,
    pub(super) past: Past<K>,
}

/// Tells at which nonce a sender is.
type FirstNonce = Box<dyn Fn(Address) -> u64 + Send>;

/// What became of a transaction that was added.
#[derive(Debug)]
#[non_exhaustive]
pub struct Added<T, K = Key> {
    /// Its name.
    pub id: TransactionId,
    /// The nonce it is held back for, if there is a gap.
    pub missing: Option<u64>,
    /// The one with the same nonce that it replaced.
    pub replaced: Option<Box<Transaction<T, K>>>,
}

impl<T, K: Copy + Eq + Hash> Default for Ledger<T, K> {
    fn default() -> Ledger<T, K> {
        Ledger::new()
    }
}

impl<T, K: Copy + Eq + Hash> Ledger<T, K> {
    /// A ledger in which nothing waits, and every sender starts at nonce 0.
    pub fn new() -> Ledger<T, K> {
        Ledger {
            order: Order::default(),
            undeclared: Undeclared::default(),
            on_failure: OnFailure::RunDependents,
            waiting_max: WAITING_MAX,
            held_max: HELD_MAX,
            held_per_sender_max: HELD_PER_SENDER_MAX,
            first_nonce: None,
            senders: SeededMap::default(),
            chains: Vec::new(),
            waiting: Slots::new(),
            line: Vec::new(),
            held: 0,
            keys: 0,
            ids: 0,
            conflicts: Conflicts::new(),
            past: Past::new(),
        }
    }

    /// In which order the transactions of a batch count as executed: as they were added unless said
    /// otherwise.
    pub fn order(mut self, order: Order) -> Ledger<T, K> {
        self.order = order;
        self
    }

    /// What to assume of those that have not declared what they touch.
    pub fn undeclared(mut self, undeclared: Undeclared) -> Ledger<T, K> {
        self.undeclared = undeclared;
        self
    }

    /// What one that fails, panics or is cancelled does to those of the same batch that were to run
    /// after it: they run unless said otherwise. [`FailDependents`](OnFailure::FailDependents) fails
    /// the later ones of its sender, and all that conflict with it, whoever sent them. Those of
    /// other batches run in any case: whether they came before it had failed is a matter of chance.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Ledger<T, K> {
        self.on_failure = on_failure;
        self
    }

    /// How many may wait to be submitted: [`WAITING_MAX`] unless said otherwise, and never more than
    /// [`BATCH_MAX`]. Together they may declare 16 keys for each of these places.
    pub fn waiting_max(mut self, transactions: usize) -> Ledger<T, K> {
        self.waiting_max = transactions.min(BATCH_MAX);
        self
    }

    /// How many may wait for a missing nonce: [`HELD_MAX`] unless said otherwise.
    pub fn held_max(mut self, transactions: usize) -> Ledger<T, K> {
        self.held_max = transactions;
        self
    }

    /// How many of each sender may wait for a missing nonce: [`HELD_PER_SENDER_MAX`] unless said
    /// otherwise.
    pub fn held_per_sender_max(mut self, transactions: usize) -> Ledger<T, K> {
        self.held_per_sender_max = transactions;
        self
    }

    /// Asks at which nonce a sender is, when one of its transactions is added and nothing is known
    /// of it.
    pub fn first_nonce(mut self, ask: impl Fn(Address) -> u64 + Send + 'static) -> Ledger<T, K> {
        self.first_nonce = Some(Box::new(ask));
        self
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, transactions: usize) {
        self.waiting.reserve(transactions);
        self.senders.reserve(transactions);
        self.line.reserve(transactions);
    }

    /// Adds a transaction: it is due, or held back for one that is missing.
    ///
    /// # Errors
    /// Why it is refused; the transaction comes back.
    pub fn add(&mut self, transaction: Transaction<T, K>) -> Result<Added<T, K>, Rejected<T, K>> {
        let (sender, nonce) = (transaction.terms.sender, transaction.terms.nonce);
        let keys = transaction.terms.size();
        if nonce == u64::MAX {
            return Err(Rejected::new(Reason::NonceTooHigh, transaction));
        }
        if keys > KEYS_MAX {
            return Err(Rejected::new(Reason::TooManyKeys { keys, max: KEYS_MAX }, transaction));
        }
        let known = self.senders.get(&sender).copied();
        let (next, spot) = match known {
            Some(chain) => {
                let chain = &self.chains[chain as usize];
                (chain.next(), chain.seek(nonce))
            }
            None => {
                // Asked once: a second answer might be another.
                let next = self.ask(sender);
                (next, Chain::new(next).seek(nonce))
            }
        };
        let spot = match spot {
            Spot::Taken(slot) => return self.replace(slot, transaction),
            Spot::Past | Spot::InLine => {
                let reason = match spot {
                    Spot::Past => Reason::NonceTooLow { nonce, next },
                    _ => Reason::InLine { nonce },
                };
                return Err(Rejected::new(reason, transaction));
            }
            free => free,
        };
        if let Some(reason) = self.no_room(spot, known, keys) {
            return Err(Rejected::new(reason, transaction));
        }
        // From here on it is taken; a sender of whom everything was refused leaves no trace.
        let chain = match known {
            Some(chain) => chain,
            None => self.meet(sender, next),
        };
        let Transaction { terms, payload } = transaction;
        let id = self.next_id();
        let slot = self.waiting.insert(Waiting { terms, id: id.0, chain, payload: Some(payload) });
        self.keys += keys;
        let chain = &mut self.chains[chain as usize];
        let mut missing = None;
        if spot == Spot::Next {
            let held = chain.held_len();
            chain.push(slot, |slot| self.line.push(slot));
            self.held -= held - chain.held_len();
        } else {
            chain.hold(nonce, slot);
            self.held += 1;
            missing = Some(chain.missing());
        }
        Ok(Added { id, missing, replaced: None })
    }

    /// Adds many. Returns those that were refused.
    pub fn add_all(
        &mut self,
        transactions: impl IntoIterator<Item = Transaction<T, K>>,
    ) -> Vec<Rejected<T, K>> {
        let transactions = transactions.into_iter();
        self.reserve(transactions.size_hint().0.min(self.waiting_max));
        transactions.filter_map(|transaction| self.add(transaction).err()).collect()
    }

    fn no_room(&self, spot: Spot, known: Option<u32>, keys: usize) -> Option<Reason> {
        if self.waiting.len() >= self.waiting_max || self.keys + keys > self.keys_max() {
            return Some(Reason::Full { max: self.waiting_max });
        }
        if spot != Spot::Gap {
            return None;
        }
        let held = known.map_or(0, |chain| self.chains[chain as usize].held_len());
        if held >= self.held_per_sender_max {
            return Some(Reason::HeldBySender { max: self.held_per_sender_max });
        }
        (self.held >= self.held_max).then_some(Reason::Held { max: self.held_max })
    }

    /// How many keys may wait.
    fn keys_max(&self) -> usize {
        // A batch has one dependency for each key at most, one by nonce, and two around each that
        // runs alone.
        (self.waiting_max * 16).clamp(KEYS_MAX, DEPENDENCIES_MAX - 3 * BATCH_MAX)
    }

    /// One with the same nonce waits.
    #[cold]
    fn replace(
        &mut self,
        slot: u32,
        transaction: Transaction<T, K>,
    ) -> Result<Added<T, K>, Rejected<T, K>> {
        let keys_max = self.keys_max();
        let waiting = self.waiting.get_mut(slot);
        let (nonce, needed) = (transaction.terms.nonce, price_to_replace(waiting.terms.price));
        // At the highest price there is, nothing is 10 % higher.
        if transaction.terms.price < needed || waiting.terms.price == u128::MAX {
            return Err(Rejected::new(Reason::Underpriced { nonce, needed }, transaction));
        }
        let keys = self.keys - waiting.terms.size() + transaction.terms.size();
        if keys > keys_max {
            return Err(Rejected::new(Reason::Full { max: self.waiting_max }, transaction));
        }
        self.keys = keys;
        self.ids += 1;
        let id = TransactionId(self.ids);
        let chain = waiting.chain;
        let Transaction { terms, payload } = transaction;
        let new = Waiting { terms, id: id.0, chain, payload: Some(payload) };
        let old = std::mem::replace(waiting, new).into_transaction();
        let missing = self.chains[chain as usize].missing();
        let missing = (nonce > missing).then_some(missing);
        Ok(Added { id, missing, replaced: Some(Box::new(old)) })
    }

    /// Takes back all of a sender's transactions that wait, by nonce: those that are held, and those
    /// that are due.
    pub fn take_back(&mut self, sender: Address) -> Vec<Transaction<T, K>> {
        let Some(at) = self.senders.get(&sender).copied() else { return Vec::new() };
        let chain = &mut self.chains[at as usize];
        self.held -= chain.held_len();
        if chain.due_len() > 0 {
            self.line.retain(|slot| self.waiting.get(*slot).chain != at);
        }
        let slots = chain.take_back();
        let back: Vec<_> =
            slots.iter().map(|slot| self.waiting.remove(*slot).into_transaction()).collect();
        self.keys -= back.iter().map(|transaction| transaction.terms.size()).sum::<usize>();
        back
    }

    /// Forgets senders of whom nothing waits and everything has ended. If one of them comes again,
    /// it is at the nonce that [`first_nonce`](Ledger::first_nonce) tells; so this is for ledgers
    /// that have a source for it. Returns how many were forgotten.
    pub fn forget_idle(&mut self) -> usize {
        let live = self.past.open(&self.conflicts);
        let before = self.chains.len();
        let mut chains = Vec::new();
        let mut moved = vec![u32::MAX; before];
        for (at, chain) in std::mem::take(&mut self.chains).into_iter().enumerate() {
            if chain.is_waiting() || chain.last.is_some_and(|last| live.runs(last)) {
                moved[at] = chains.len() as u32;
                chains.push(chain);
            }
        }
        self.chains = chains;
        self.senders.retain(|_, at| {
            *at = moved[*at as usize];
            *at != u32::MAX
        });
        self.waiting.iter_mut().for_each(|one| one.chain = moved[one.chain as usize]);
        before - self.chains.len()
    }

    /// The nonce of the sender's next transaction that will be put in line.
    pub fn next_nonce(&self, sender: Address) -> u64 {
        match self.senders.get(&sender) {
            Some(chain) => self.chains[*chain as usize].next(),
            None => self.ask(sender),
        }
    }

    /// At which nonce a sender is of whom nothing is known.
    fn ask(&self, sender: Address) -> u64 {
        self.first_nonce.as_ref().map_or(0, |ask| ask(sender))
    }

    /// How many are due: the next submission puts them in line.
    pub fn due(&self) -> usize {
        self.line.len()
    }

    /// How many are held back for a missing nonce.
    pub fn held(&self) -> usize {
        self.held
    }

    /// How many senders are remembered.
    pub fn senders(&self) -> usize {
        self.senders.len()
    }

    /// Remembers a sender, who is at this nonce.
    fn meet(&mut self, sender: Address, next: u64) -> u32 {
        self.chains.push(Chain::new(next));
        let at = self.chains.len() as u32 - 1;
        self.senders.insert(sender, at);
        at
    }

    fn next_id(&mut self) -> TransactionId {
        self.ids += 1;
        TransactionId(self.ids)
    }
}

/// The lowest price that replaces one at `price`: at least 10 % more, and more in any case.
fn price_to_replace(price: u128) -> u128 {
    price.saturating_add(price.div_ceil(10).max(1))
}

impl<T, K> fmt::Debug for Ledger<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("due", &self.line.len())
            .field("held", &self.held)
            .field("senders", &self.senders.len())
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ten_percent_is_rounded_up() {
        let needed = [0, 1, 9, 10, 11, 100, 101, u128::MAX].map(price_to_replace);
        assert_eq!(needed, [1, 2, 10, 11, 13, 110, 112, u128::MAX]);
    }
}
