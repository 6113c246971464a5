//! A transaction before it is added to a ledger: who sends it, at what price, and what it touches.

use std::{fmt, time::Duration};

use crate::{
    about::{About, Kept},
    id::{CLASSES_MAX, Class},
    transaction::key::{Address, Key},
};

/// What every transaction is estimated to take, in nanoseconds.
const BASE: u64 = 50_000;
/// What each unit of gas adds.
const PER_GAS: u64 = 10;
/// What the call of a contract adds.
const CALL: u64 = 200_000;

/// Room for so many keys is made at first.
const KEYS_USUAL: usize = 4;

/// What a transaction does, as far as its duration is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Kind {
    /// Moves value from one account to another.
    #[default]
    Transfer,
    /// Calls a contract.
    ContractCall,
    /// Creates a contract.
    ContractCreation,
}

impl Kind {
    /// The class of its transactions, unless they are [given another](Transaction::class): one of
    /// the last three.
    pub fn class(self) -> Class {
        Class::new(CLASSES_MAX - 1 - self as u32)
    }
}

/// A payload that is executed in the order of its sender's nonces, and in the order of those others
/// that touch the same keys.
///
/// ```
/// use job::transaction::{Address, Key, Kind, Transaction};
/// use std::time::Duration;
///
/// let (alice, bob) = (Address::new([1; 20]), Address::new([2; 20]));
/// let transfer = Transaction::new(alice, 0, "5 to Bob")
///     .gas_price(30)
///     .gas_limit(21_000)
///     .writes([Key::Account(alice), Key::Account(bob)]);
/// assert_eq!(transfer.estimate(), Duration::from_micros(260));
/// let call = transfer.kind(Kind::ContractCall);
/// assert_eq!(call.estimate(), Duration::from_micros(460));
/// ```
#[derive(Clone)]
#[must_use = "a transaction is executed once it is added to a ledger and that is submitted"]
pub struct Transaction<T, K = Key> {
    pub(super) terms: Terms<K>,
    pub(super) payload: T,
}

/// All of it but the payload.
#[derive(Clone)]
pub(super) struct Terms<K> {
    pub(super) price: u128,
    pub(super) sender: Address,
    pub(super) kind: Kind,
    pub(super) nonce: u64,
    pub(super) gas_limit: u64,
    pub(super) class: Option<Class>,
    /// Those that it reads, and after them those that it writes.
    keys: Vec<K>,
    reads: usize,
    declared: bool,
}

impl<T> Transaction<T> {
    /// A transfer at price 0 with gas limit 0 that has not declared what it touches.
    pub fn new(sender: Address, nonce: u64, payload: T) -> Transaction<T> {
        Transaction::with_keys(sender, nonce, payload)
    }
}

impl<T, K> Transaction<T, K> {
    /// As [`new`](Transaction::new), for keys of a type of your own.
    ///
    /// ```
    /// use job::transaction::{Address, Transaction};
    ///
    /// let cells = Transaction::with_keys(Address::default(), 0, ()).reads([3u64]).writes([4, 5]);
    /// assert_eq!((cells.read_set(), cells.write_set()), (&[3][..], &[4, 5][..]));
    /// ```
    pub fn with_keys(sender: Address, nonce: u64, payload: T) -> Transaction<T, K> {
        let terms = Terms {
            price: 0,
            sender,
            kind: Kind::default(),
            nonce,
            gas_limit: 0,
            class: None,
            keys: Vec::new(),
            reads: 0,
            declared: false,
        };
        Transaction { terms, payload }
    }

    /// What the sender pays per unit of gas: its priority.
    pub fn gas_price(mut self, price: u128) -> Transaction<T, K> {
        self.terms.price = price;
        self
    }

    /// How much gas it may use.
    pub fn gas_limit(mut self, limit: u64) -> Transaction<T, K> {
        self.terms.gas_limit = limit;
        self
    }

    /// What it does: a transfer unless said otherwise.
    pub fn kind(mut self, kind: Kind) -> Transaction<T, K> {
        self.terms.kind = kind;
        self
    }

    /// What others it resembles, instead of those [of its kind](Kind::class).
    pub fn class(mut self, class: Class) -> Transaction<T, K> {
        self.terms.class = Some(class);
        self
    }

    /// Declares what it reads, in addition to what was said before. What is not named here or in
    /// [`writes`](Transaction::writes) it does not touch.
    pub fn reads(mut self, keys: impl IntoIterator<Item = K>) -> Transaction<T, K> {
        let terms = &mut self.terms;
        let writes = terms.keys.split_off(terms.reads);
        terms.extend(keys);
        terms.reads = terms.keys.len();
        terms.keys.extend(writes);
        self
    }

    /// Declares what it writes, in addition to what was said before. Its sender's account is not
    /// written unless it is named.
    pub fn writes(mut self, keys: impl IntoIterator<Item = K>) -> Transaction<T, K> {
        self.terms.extend(keys);
        self
    }

    /// Who sends it.
    pub fn sender(&self) -> Address {
        self.terms.sender
    }

    /// Which of its sender's it is.
    pub fn nonce(&self) -> u64 {
        self.terms.nonce
    }

    /// What it declared to read.
    pub fn read_set(&self) -> &[K] {
        self.terms.sets().0
    }

    /// What it declared to write.
    pub fn write_set(&self) -> &[K] {
        self.terms.sets().1
    }

    /// Whether it has declared what it touches.
    pub fn is_declared(&self) -> bool {
        self.terms.declared
    }

    /// How long it should take before anything is learnt of its class: 50 µs, 10 ns per unit of gas,
    /// and 200 µs for the call of a contract.
    pub fn estimate(&self) -> Duration {
        self.terms.estimate()
    }

    /// Takes the payload back.
    pub fn into_payload(self) -> T {
        self.payload
    }
}

impl<K> Terms<K> {
    /// What it reads, and what it writes.
    #[inline]
    pub(super) fn sets(&self) -> (&[K], &[K]) {
        self.keys.split_at(self.reads)
    }

    fn extend(&mut self, keys: impl IntoIterator<Item = K>) {
        if self.keys.capacity() == 0 {
            // Mostly there are few of both, and then they need room once.
            self.keys.reserve(KEYS_USUAL);
        }
        self.keys.extend(keys);
        self.declared = true;
    }

    #[inline]
    pub(super) fn is_declared(&self) -> bool {
        self.declared
    }

    /// How many keys it names.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.keys.len()
    }

    fn estimate(&self) -> Duration {
        let extra = if self.kind == Kind::ContractCall { CALL } else { 0 };
        let gas = self.gas_limit.saturating_mul(PER_GAS);
        Duration::from_nanos(gas.saturating_add(BASE + extra))
    }

    /// What a pool needs to know of it.
    #[inline]
    pub(super) fn kept(&self) -> Kept {
        Kept::new(&About {
            priority: self.price as f64,
            estimate: Some(self.estimate()),
            class: Some(self.class.unwrap_or_else(|| self.kind.class())),
            ..About::default()
        })
    }
}

impl<T, K> fmt::Debug for Transaction<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("sender", &self.terms.sender)
            .field("nonce", &self.terms.nonce)
            .field("gas_price", &self.terms.price)
            .field("gas_limit", &self.terms.gas_limit)
            .field("kind", &self.terms.kind)
            .field("reads", &self.read_set().len())
            .field("writes", &self.write_set().len())
            .finish_non_exhaustive()
    }
}
