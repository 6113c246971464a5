//! A small exchange: transfers and trades run side by side where they can, and the outcome is that
//! of one by one execution.
//!
//! Three traders pay each other and trade on two markets. Each transaction says beforehand what it
//! reads and writes; the ledger makes those wait for each other that have to: by nonce, or since
//! they touch the same. Nothing here is locked. Along the way a transaction comes too early and
//! waits for the one before it, one is outbid by a better price, one fails for lack of funds, and
//! one is refused.
//!
//! ```text
//! cargo run --example transaction_batch
//! ```

use std::{
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use shiftwork::job::{
    Executor, Pool,
    transaction::{Address, Key, Kind, Ledger, Order, Receipt, Transaction},
};

const TRADERS: [&str; 3] = ["Ada", "Bea", "Cem"];
const MARKETS: [&str; 2] = ["apples", "pears"];

/// Plain numbers. Whoever touches one comes before or after all others that do.
struct World {
    coins: [AtomicU64; 3],
    /// What one costs now: it rises with each that is bought.
    prices: [AtomicU64; 2],
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    Pay { from: usize, to: usize, coins: u64 },
    Buy { who: usize, market: usize, count: u64 },
    Ask { market: usize },
}

#[derive(Debug)]
struct NoFunds {
    needed: u64,
    there: u64,
}

impl fmt::Display for NoFunds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} coins are needed, and {} are there", self.needed, self.there)
    }
}

impl World {
    /// Changes nothing if it fails.
    fn spend(&self, who: usize, coins: u64) -> Result<u64, NoFunds> {
        let there = self.coins[who].load(Relaxed);
        let left = there.checked_sub(coins).ok_or(NoFunds { needed: coins, there })?;
        self.coins[who].store(left, Relaxed);
        Ok(left)
    }

    fn execute(&self, deed: Deed) -> Result<String, NoFunds> {
        match deed {
            Deed::Pay { from, to, coins } => {
                let left = self.spend(from, coins)?;
                self.coins[to].store(self.coins[to].load(Relaxed) + coins, Relaxed);
                Ok(format!("{} pays {coins} to {} and has {left}", TRADERS[from], TRADERS[to]))
            }
            Deed::Buy { who, market, count } => {
                let price = self.prices[market].load(Relaxed);
                let left = self.spend(who, count * price)?;
                self.prices[market].store(price + count, Relaxed);
                let (who, what) = (TRADERS[who], MARKETS[market]);
                Ok(format!("{who} buys {count} {what} at {price} and has {left}"))
            }
            Deed::Ask { market } => {
                Ok(format!("{} cost {}", MARKETS[market], self.prices[market].load(Relaxed)))
            }
        }
    }
}

fn trader(who: usize) -> Address {
    Address::new([who as u8 + 1; 20])
}

/// The markets are what one contract stores.
fn market(market: usize) -> Key {
    Key::Slot(Address::new([0xee; 20]), [market as u8; 32])
}

/// A transaction that declares what its deed touches.
fn transaction(sender: usize, nonce: u64, price: u128, deed: Deed) -> Transaction<Deed> {
    let account = |who| Key::Account(trader(who));
    let plain = Transaction::new(trader(sender), nonce, deed).gas_price(price).gas_limit(21_000);
    match deed {
        Deed::Pay { from, to, .. } => plain.writes([account(from), account(to)]),
        Deed::Buy { who, market: at, .. } => {
            plain.kind(Kind::ContractCall).writes([account(who), market(at)])
        }
        Deed::Ask { market: at } => plain.kind(Kind::ContractCall).reads([market(at)]),
    }
}

fn show(receipts: Vec<Receipt<String, NoFunds>>) {
    for Receipt { sender, nonce, outcome, .. } in receipts {
        let sender = TRADERS[usize::from(sender.get()[0]) - 1];
        match outcome {
            Ok(text) => println!("  {sender} {nonce}: {text}"),
            Err(error) => println!("  {sender} {nonce}: {error}"),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let world = Arc::new(World {
        coins: [100, 50, 10].map(AtomicU64::new),
        prices: [3, 5].map(AtomicU64::new),
    });
    let executor = Executor::new({
        let world = world.clone();
        move |deed: Deed| world.execute(deed)
    });
    let pool = Pool::new()?;
    let mut ledger = Ledger::new().order(Order::Price);

    println!("the first batch, the best price first:");
    // Ada and Bea buy on different markets, side by side. Who asks for a price waits for the buyer.
    ledger.add(transaction(0, 0, 30, Deed::Buy { who: 0, market: 0, count: 4 }))?;
    ledger.add(transaction(1, 0, 30, Deed::Buy { who: 1, market: 1, count: 2 }))?;
    ledger.add(transaction(2, 0, 20, Deed::Ask { market: 0 }))?;
    // Cem can not afford that. The nonce is used all the same.
    ledger.add(transaction(2, 1, 20, Deed::Pay { from: 2, to: 0, coins: 11 }))?;
    ledger.add(transaction(2, 2, 20, Deed::Ask { market: 1 }))?;
    // Bea's third comes before her second, and waits.
    let early = ledger.add(transaction(1, 2, 90, Deed::Pay { from: 1, to: 2, coins: 5 }))?;
    println!("  (Bea 2 waits for her nonce {})", early.missing.ok_or("it should wait")?);
    // Ada changes her mind: that takes a price a tenth higher, and the first is not executed.
    ledger.add(transaction(0, 1, 10, Deed::Pay { from: 0, to: 1, coins: 80 }))?;
    let refused = ledger.add(transaction(0, 1, 10, Deed::Pay { from: 0, to: 1, coins: 8 }));
    println!("  (Ada 1 once more: {})", refused.unwrap_err().reason());
    ledger.add(transaction(0, 1, 11, Deed::Pay { from: 0, to: 1, coins: 8 }))?;
    let first = ledger.submit(&pool, &executor)?;

    // The second batch need not wait for the first: each of its transactions does if it has to.
    ledger.add(transaction(1, 1, 40, Deed::Buy { who: 1, market: 0, count: 1 }))?;
    let second = ledger.submit(&pool, &executor)?;

    show(first.join()?);
    println!("the second batch:");
    show(second.join()?);
    let coins = world.coins.each_ref().map(|coins| coins.load(Relaxed));
    println!("in the end: {coins:?}");
    assert_eq!(coins, [80, 36, 15], "as one by one");
    Ok(())
}
