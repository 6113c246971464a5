//! Transactions as jobs: nonces, prices, and what they read and write.
//!
//! A [`Transaction`] carries a payload, and says who sends it, with which nonce, at what price, and
//! if that is known which [keys](Key) it reads and writes. A [`Ledger`] puts transactions in order
//! and [submits](Ledger::submit) them to a [`Pool`](crate::Pool) as jobs that wait for each other no
//! more than they have to. An [`Executor`](crate::Executor) executes the payloads, and
//! [`Receipts`] tell what became of them.
//!
//! ```
//! use std::sync::{Arc, atomic::{AtomicU64, Ordering::Relaxed}};
//! use job::{Executor, Pool};
//! use job::transaction::{Address, Key, Ledger, Order, Transaction};
//!
//! // Three accounts, each a number of its own: what touches different ones runs side by side.
//! let accounts: Arc<[AtomicU64; 3]> = Arc::new([10, 0, 0].map(AtomicU64::new));
//! let executor = Executor::new({
//!     let accounts = accounts.clone();
//!     move |(from, to, amount): (usize, usize, u64)| {
//!         // No lock: whoever else touches these two comes before or after.
//!         let left = accounts[from].load(Relaxed).checked_sub(amount).ok_or("no funds")?;
//!         accounts[from].store(left, Relaxed);
//!         accounts[to].store(accounts[to].load(Relaxed) + amount, Relaxed);
//!         Ok::<u64, &str>(left)
//!     }
//! });
//!
//! let address = |at: usize| Address::new([at as u8; 20]);
//! let transfer = |from: usize, nonce, to: usize, amount| {
//!     Transaction::new(address(from), nonce, (from, to, amount))
//!         .writes([Key::Account(address(from)), Key::Account(address(to))])
//! };
//! let mut ledger = Ledger::new().order(Order::Price);
//! ledger.add(transfer(1, 0, 2, 5).gas_price(10))?;
//! ledger.add(transfer(0, 0, 1, 7).gas_price(20))?;
//!
//! let pool = Pool::new()?;
//! let receipts = ledger.submit(&pool, &executor)?.join()?;
//! assert_eq!(receipts[0].outcome, Ok(3)); // the better price came first,
//! assert_eq!(receipts[1].outcome, Ok(2)); // so there was something to pass on
//! assert_eq!(accounts.each_ref().map(|account| account.load(Relaxed)), [3, 2, 5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Priorities and estimates
//! The gas price is the job's priority, for [`Policy::HighestPriority`](crate::Policy) and with
//! [`ageing`](crate::PoolBuilder::ageing) if cheap ones are not to starve: it decides which of those
//! runs next that need not wait for each other. [`Order::Price`] decides more: in which order those
//! count as executed that conflict. The [estimate](Transaction::estimate) holds until the pool has
//! learnt how long those of the same [class](Kind::class) take.

mod chain;
mod conflict;
mod edges;
mod hash;
mod key;
mod ledger;
mod order;
mod past;
mod reason;
mod receipts;
mod submit;
mod table;
mod terms;
mod waiting;

pub use key::{Address, Key};
pub use ledger::{
    Added, HELD_MAX, HELD_PER_SENDER_MAX, KEYS_MAX, Ledger, TransactionId, Undeclared, WAITING_MAX,
};
pub use order::Order;
pub use reason::{Reason, Rejected};
pub use receipts::{Receipt, Receipts};
pub use terms::{Kind, Transaction};
