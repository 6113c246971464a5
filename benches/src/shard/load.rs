//! Which transactions does a load consist of?

use std::sync::Arc;

use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use shard::{
    Config, Transaction,
    config::{Genesis, GenesisAccount, Rules},
};

/// Accounts that send, in each shard.
pub const SENDERS: u64 = 100;

const GWEI: u128 = 1_000_000_000;
const TOKEN: &str = include_str!("../../contracts/token.hex");
const PAIR: &str = include_str!("../../contracts/pair.hex");
/// Of the contracts' functions.
const TRANSFER: [u8; 4] = hex!("a9059cbb");
const APPROVE: [u8; 4] = hex!("095ea7b3");
const MINT: [u8; 4] = hex!("40c10f19");
const FUND: [u8; 4] = hex!("7b1837de");
const SWAP: [u8; 4] = hex!("c037646a");

/// What transactions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Move ether.
    Transfer,
    /// Move an ERC-20 token.
    Token,
    /// Swap two tokens in one market.
    Swap,
    /// Swap two tokens, each sender in a market of its own: nothing conflicts.
    SwapApart,
}

impl Kind {
    pub fn of(name: &str) -> Option<Kind> {
        Some(match name {
            "transfer" => Kind::Transfer,
            "token" => Kind::Token,
            "swap" => Kind::Swap,
            "swapapart" => Kind::SwapApart,
            _ => return None,
        })
    }
}

/// The n-th account. The first [`SENDERS`] have ether.
pub fn account(n: u64) -> Address {
    let mut bytes = [0xac; 20];
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    Address::from(bytes)
}

/// Senders need no signature, so that signing is not measured, and pools are as large as it takes.
pub fn config() -> Config {
    let given = GenesisAccount { balance: U256::from(10u128.pow(30)), ..Default::default() };
    let accounts = (0..SENDERS).map(|n| (account(n), given.clone())).collect();
    let mut config = Config {
        genesis: Genesis { accounts, timestamp: 1 },
        rules: Rules { no_account_validation: true, ..Rules::default() },
        shards_max: 10_000,
        ..Config::default()
    };
    config.rules.block_gas_limit = 1_000_000_000;
    config.pool.transactions_max = 10_000_000;
    config.pool.sender_max = 1_000_000;
    config.pool.nonce_ahead_max = 1_000_000;
    config.pool.bytes_max = 4 << 30;
    config
}

/// The transactions of one shard.
pub struct Load {
    kind: Kind,
    shard: Address,
    chain_id: u64,
    nonces: Vec<u64>,
    /// Accounts that receive.
    recipients: u64,
    random: u64,
    /// Where each sender's contract is.
    contracts: Vec<Address>,
}

impl Load {
    pub fn new(config: &Config, kind: Kind, shard: Address, recipients: u64) -> Load {
        Load {
            kind,
            shard,
            chain_id: config.rules.chain_id(shard),
            nonces: vec![0; SENDERS as usize],
            recipients,
            random: 0x9e37_79b9_7f4a_7c15,
            contracts: Vec::new(),
        }
    }

    pub fn shard(&self) -> Address {
        self.shard
    }

    /// What must have happened before: in order, of one sender each after the other.
    pub fn prepare(&mut self) -> Vec<Arc<Transaction>> {
        match self.kind {
            Kind::Transfer => Vec::new(),
            Kind::Token => {
                let (token, deploy) = self.deploy(0, TOKEN);
                self.contracts = vec![token; SENDERS as usize];
                let mint = |to| call(MINT, &[word(account(to)), U256::from(10u128.pow(24))]);
                let mut all = vec![deploy];
                all.extend((0..SENDERS).map(|to| self.send(0, token.into(), 200_000, mint(to))));
                all
            }
            Kind::Swap => {
                let (pair, deploy) = self.deploy(0, PAIR);
                self.contracts = vec![pair; SENDERS as usize];
                let mut all = vec![deploy];
                for trader in 0..SENDERS {
                    let fund = call(FUND, &[word(account(trader)), U256::from(10u128.pow(20))]);
                    all.push(self.send(0, pair.into(), 300_000, fund));
                }
                for trader in 0..SENDERS {
                    all.extend(self.approve(trader, pair));
                }
                all
            }
            Kind::SwapApart => {
                let mut all = Vec::new();
                for trader in 0..SENDERS {
                    let (pair, deploy) = self.deploy(trader, PAIR);
                    self.contracts.push(pair);
                    all.push(deploy);
                    let fund = call(FUND, &[word(account(trader)), U256::from(10u128.pow(20))]);
                    all.push(self.send(trader, pair.into(), 300_000, fund));
                    all.extend(self.approve(trader, pair));
                }
                all
            }
        }
    }

    /// So many more transactions, of all senders in turn.
    pub fn transactions(&mut self, count: u64) -> Vec<Arc<Transaction>> {
        (0..count).map(|n| self.next(n)).collect()
    }

    fn next(&mut self, n: u64) -> Arc<Transaction> {
        let sender = n % SENDERS;
        // Recipients are behind the senders, so that they have no ether at first.
        let recipient = account(SENDERS + self.draw() % self.recipients);
        match self.kind {
            Kind::Transfer => self.send(sender, recipient.into(), 21_000, Bytes::new()),
            Kind::Token => {
                let transfer = call(TRANSFER, &[word(recipient), U256::from(1)]);
                let token = self.contracts[sender as usize];
                self.send(sender, token.into(), 100_000, transfer)
            }
            Kind::Swap | Kind::SwapApart => {
                let direction = U256::from(self.nonces[sender as usize] % 2);
                let swap = call(SWAP, &[direction, U256::from(10u128.pow(15))]);
                let pair = self.contracts[sender as usize];
                self.send(sender, pair.into(), 300_000, swap)
            }
        }
    }

    fn approve(&mut self, trader: u64, pair: Address) -> [Arc<Transaction>; 2] {
        // A contract's first creations have the nonces 1 and 2.
        [1, 2].map(|nonce| {
            let approve = call(APPROVE, &[word(pair), U256::MAX]);
            self.send(trader, pair.create(nonce).into(), 100_000, approve)
        })
    }

    fn deploy(&mut self, sender: u64, code: &str) -> (Address, Arc<Transaction>) {
        let at = account(sender).create(self.nonces[sender as usize]);
        let code =
            Bytes::from(hex::decode(code.trim()).expect("the file holds hexadecimal digits"));
        (at, self.send(sender, TxKind::Create, 5_000_000, code))
    }

    fn send(&mut self, sender: u64, to: TxKind, gas_limit: u64, input: Bytes) -> Arc<Transaction> {
        let nonce = &mut self.nonces[sender as usize];
        let fields = TxEip1559 {
            chain_id: self.chain_id,
            nonce: *nonce,
            gas_limit,
            max_fee_per_gas: 2 * GWEI,
            max_priority_fee_per_gas: GWEI,
            to,
            value: U256::from(u64::from(input.is_empty())),
            access_list: Default::default(),
            input,
        };
        *nonce += 1;
        Arc::new(Transaction::unsigned(TypedTransaction::Eip1559(fields), account(sender)))
    }

    /// The next of a sequence that looks random (xorshift) and is the same each time.
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

fn word(address: Address) -> U256 {
    U256::from_be_slice(address.as_slice())
}

fn call(function: [u8; 4], arguments: &[U256]) -> Bytes {
    let mut input = function.to_vec();
    arguments.iter().for_each(|argument| input.extend(argument.to_be_bytes::<32>()));
    input.into()
}
