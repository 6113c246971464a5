//! A bank whose accounts are strands, and a bug that only some orders of events show.
//!
//! Each account has a mailbox and takes its turns one at a time, so nothing is ever locked over two
//! accounts. Money moves by letters: the payer takes it off its balance and posts it to the payee.
//! However the turns interleave, no money may be made or lost. One real run shows one order of
//! events; here the same bank runs in a thousand simulations, and each seed can be repeated.
//!
//! ```text
//! cargo run --example bank             every seed balances
//! cargo run --example bank -- --bug    some do not: the first of them is shown
//! ```

use std::{
    collections::VecDeque,
    error::Error,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use shiftwork::{Handle, Runtime, Step, Strand, Turn};

const ACCOUNTS: usize = 6;
const OPENING: u64 = 100;
const ORDERS: usize = 6;
const SEEDS: u64 = 1000;

enum Letter {
    /// Pay so much to that account, if the balance allows it.
    Pay { to: usize, amount: u64 },
    /// Here is some money.
    Money(u64),
}

/// What is known of an account from outside.
struct Account {
    mailbox: Mutex<VecDeque<Letter>>,
    balance: Mutex<u64>,
    strand: OnceLock<Strand>,
}

type Bank = Arc<Vec<Account>>;

/// Puts a letter in the mailbox, then wakes the account. In this order: the turn that the wake
/// asks for is sure to find the letter.
fn post(bank: &Bank, to: usize, letter: Letter) {
    bank[to].mailbox.lock().unwrap().push_back(letter);
    let _ = bank[to].strand.get().expect("all accounts are open").wake();
}

/// One turn of account `me`.
fn turn(bank: &Bank, me: usize, with_bug: bool, turn: &mut Turn<'_>) -> Step<()> {
    loop {
        let letter = bank[me].mailbox.lock().unwrap().pop_front();
        // Each letter is some work; in a simulation this is what takes time.
        turn.simulate(Duration::from_micros(2));
        match letter {
            None => return Step::Pause,
            Some(Letter::Money(amount)) => *bank[me].balance.lock().unwrap() += amount,
            Some(Letter::Pay { to, amount }) => {
                let mut balance = bank[me].balance.lock().unwrap();
                if let Some(rest) = balance.checked_sub(amount) {
                    *balance = rest;
                    drop(balance);
                    post(bank, to, Letter::Money(amount));
                }
            }
        }
        // The bug: "I was woken for a letter, I have read a letter, I am done." But wakes are not
        // counted: two of them before one turn are one turn, which must read all that is there.
        if with_bug {
            return Step::Pause;
        }
    }
}

/// How long a customer thinks, in microseconds: by the seed, like all chance in a simulated world.
fn think(seed: u64, order: usize) -> u64 {
    (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(8 * order as u32) % 100
}

/// Opens the accounts and sends the orders. Nothing in it knows whether it is simulated.
fn open(handle: &Handle, seed: u64, with_bug: bool) -> Result<Bank, Box<dyn Error>> {
    let account = |_| Account {
        mailbox: Mutex::default(),
        balance: Mutex::new(OPENING),
        strand: OnceLock::new(),
    };
    let bank: Bank = Arc::new((0..ACCOUNTS).map(account).collect());
    for me in 0..ACCOUNTS {
        let theirs = bank.clone();
        let body = move |t: &mut Turn<'_>| turn(&theirs, me, with_bug, t);
        let (strand, _) = handle.strand().name(format!("account {me}")).idle(body)?;
        let _ = bank[me].strand.set(strand);
    }
    // Customers: each is a job that sends one order.
    for order in 0..ORDERS {
        let bank = bank.clone();
        handle.submit(move |turn| {
            turn.simulate(Duration::from_micros(think(seed, order)));
            let (from, to) = (order % ACCOUNTS, (order * 5 + 3) % ACCOUNTS);
            post(&bank, from, Letter::Pay { to, amount: 30 });
        })?;
    }
    Ok(bank)
}

fn main() -> Result<(), Box<dyn Error>> {
    let with_bug = std::env::args().any(|word| word == "--bug");
    let mut failed = Vec::new();
    for seed in 0..SEEDS {
        let mut simulation = Runtime::builder().workers(4).record(1000).simulate(seed)?;
        let bank = open(&simulation, seed, with_bug)?;
        let took = simulation.run();
        let total: u64 = bank.iter().map(|account| *account.balance.lock().unwrap()).sum();
        if total == OPENING * ACCOUNTS as u64 {
            continue;
        }
        if failed.is_empty() {
            println!(
                "seed {seed}: {total} of {} is left after {took:?}",
                OPENING * ACCOUNTS as u64
            );
            for (number, account) in bank.iter().enumerate() {
                let unread = account.mailbox.lock().unwrap().len();
                let balance = account.balance.lock().unwrap();
                println!("  account {number}: {balance:>3}, and {unread} letters it never read");
            }
            println!("  how it ended, every time with this seed:");
            let log = simulation.log();
            let lines: Vec<&str> = log.lines().collect();
            lines.iter().rev().take(6).rev().for_each(|line| println!("  {line}"));
        }
        failed.push(seed);
    }
    match failed.len() {
        0 => println!("{SEEDS} orders of events, and the money is right after each"),
        n => println!("{n} of {SEEDS} seeds lose money"),
    }
    Ok(())
}
