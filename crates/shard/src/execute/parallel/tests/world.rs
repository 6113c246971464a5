//! Random shards, random batches.

use std::{collections::BTreeMap, sync::Arc};

use alloy_consensus::{
    Signed, TxEip1559, TxEip2930, TxEip7702, TxEnvelope, TxLegacy,
    crypto::secp256k1::{recover_signer, sign_message},
};
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip2935::HISTORY_STORAGE_ADDRESS,
    eip4788::BEACON_ROOTS_ADDRESS,
    eip7702::Authorization,
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256, map::HashMap};
use revm::primitives::{KECCAK_EMPTY, hardfork::SpecId};

use super::contracts::{self, word, words};
use crate::{
    block::Account,
    config::Rules,
    execute::BlockContext,
    state::StateReader,
    store::StoreError,
    transaction::{SharedTransaction, Transaction},
};

/// Numbers from a seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(7919) ^ 0x9E37_79B9)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A state in memory.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) accounts: HashMap<Address, Account>,
    pub(super) slots: BTreeMap<(Address, U256), U256>,
    pub(super) codes: HashMap<B256, Bytes>,
    /// Whoever reads it panics.
    pub(super) cursed: Option<Address>,
    /// Whoever reads it fails.
    pub(super) unreadable: Option<Address>,
}

impl Memory {
    pub(super) fn put(&mut self, address: Address, balance: u64, code: Bytes) {
        let code_hash = if code.is_empty() { KECCAK_EMPTY } else { keccak256(&code) };
        let balance = U256::from(balance);
        let nonce = u64::from(!code.is_empty());
        self.accounts.insert(address, Account { nonce, balance, code_hash });
        self.codes.insert(code_hash, code);
    }
}

impl StateReader for Memory {
    fn account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        assert_ne!(Some(address), self.cursed, "cursed");
        if Some(address) == self.unreadable {
            return Err(StoreError::Corrupt("unreadable".to_owned()));
        }
        Ok(self.accounts.get(&address).copied())
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, StoreError> {
        Ok(self.slots.get(&(address, slot)).copied().unwrap_or_default())
    }

    fn slots(&self, address: Address) -> Result<Vec<(U256, U256)>, StoreError> {
        let slots = self.slots.range((address, U256::ZERO)..=(address, U256::MAX));
        Ok(slots.map(|((_, slot), value)| (*slot, *value)).collect())
    }

    fn code(&self, hash: B256) -> Result<Bytes, StoreError> {
        Ok(self.codes.get(&hash).cloned().unwrap_or_default())
    }

    fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError> {
        Ok((number < HEIGHT).then(|| keccak256(number.to_be_bytes())))
    }
}

/// The first block that is executed.
pub(super) const HEIGHT: u64 = 1_000;

const RICH: u64 = 1_000_000_000_000_000_000;

/// Contracts, by what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Does {
    Counter = 1,
    OwnCounter,
    Token,
    Swap,
    Reverter,
    Burner,
    Peek,
    PeekBeneficiary,
    Hashes,
    Proxy,
    Mortal,
    Factory,
    Firefly,
    Flip,
    Chain,
}

const ALL: [Does; 15] = [
    Does::Counter,
    Does::OwnCounter,
    Does::Token,
    Does::Swap,
    Does::Reverter,
    Does::Burner,
    Does::Peek,
    Does::PeekBeneficiary,
    Does::Hashes,
    Does::Proxy,
    Does::Mortal,
    Does::Factory,
    Does::Firefly,
    Does::Flip,
    Does::Chain,
];

impl Does {
    pub(super) fn at(self) -> Address {
        Address::repeat_byte(0xc0 + self as u8)
    }

    fn code(self) -> Bytes {
        match self {
            Does::Counter => contracts::counter(),
            Does::OwnCounter => contracts::own_counter(),
            Does::Token => contracts::token(),
            Does::Swap => contracts::swap(),
            Does::Reverter => contracts::reverter(),
            Does::Burner => contracts::burner(),
            Does::Peek => contracts::peek(),
            Does::PeekBeneficiary => contracts::peek_beneficiary(),
            Does::Hashes => contracts::hashes(),
            Does::Proxy => contracts::proxy(),
            Does::Mortal => contracts::mortal(),
            Does::Factory => contracts::factory(),
            Does::Firefly => contracts::firefly(),
            Does::Flip => contracts::flip(),
            Does::Chain => contracts::chain(),
        }
    }
}

/// The key of a sender.
fn key(sender: u64) -> B256 {
    B256::with_last_byte(sender as u8 + 1)
}

/// A sender.
pub(super) fn sender(number: u64) -> Address {
    let message = B256::repeat_byte(1);
    let signature = sign_message(key(number), message).expect("the key is one");
    recover_signer(&signature, message).expect("it was just signed")
}

/// A transaction of somebody, with a fee for the beneficiary.
pub(super) fn transaction(from: u64, nonce: u64, to: TxKind, input: Bytes) -> SharedTransaction {
    with_value(from, nonce, to, 0, input)
}

/// A call of somebody, with some ether.
pub(super) fn valued(
    from: u64,
    nonce: u64,
    to: Address,
    value: u64,
    input: Vec<u8>,
) -> SharedTransaction {
    with_value(from, nonce, TxKind::Call(to), value, input.into())
}

fn with_value(from: u64, nonce: u64, to: TxKind, value: u64, input: Bytes) -> SharedTransaction {
    let transaction = TxEip1559 {
        chain_id: Rules::default().chain_id(Address::ZERO),
        nonce,
        gas_limit: 300_000,
        max_fee_per_gas: 5_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to,
        value: U256::from(value),
        access_list: AccessList::default(),
        input,
    };
    let signature = Signature::new(U256::from(1), U256::from(1), false);
    let envelope = TxEnvelope::Eip1559(Signed::new_unhashed(transaction, signature));
    Arc::new(Transaction::from_parts(envelope, Bytes::new(), sender(from), false))
}

/// A call of somebody.
pub(super) fn call(from: u64, nonce: u64, to: Address, input: Vec<u8>) -> SharedTransaction {
    transaction(from, nonce, TxKind::Call(to), input.into())
}

/// So many have keys and no accounts.
const STRANGERS: usize = 3;

/// A shard, and those who use it.
pub(super) struct World {
    pub(super) rules: Rules,
    pub(super) memory: Arc<Memory>,
    pub(super) beneficiary: Address,
    senders: Vec<Address>,
    /// What the senders think, and then the strangers.
    nonces: Vec<u64>,
    /// What is used most: so that conflicts differ from seed to seed.
    favourites: Vec<Does>,
    with_base: bool,
    children: Vec<Address>,
    dice: Dice,
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let mut dice = Dice::new(seed);
        let forks =
            [SpecId::LONDON, SpecId::SHANGHAI, SpecId::CANCUN, SpecId::PRAGUE, SpecId::OSAKA];
        let rules = Rules {
            fork: if dice.one_in(2) { SpecId::OSAKA } else { dice.of(&forks) },
            block_gas_limit: dice.of(&[400_000, 1_500_000, 30_000_000, 30_000_000]),
            block_transactions_max: dice.of(&[7, 1_000, 1_000]),
            system_calls: dice.one_in(3),
            no_fee: dice.one_in(5),
            ..Rules::default()
        };
        let senders: Vec<_> = (0..2 + dice.below(12)).map(sender).collect();
        let mut memory = Memory::default();
        for sender in &senders {
            let poor = dice.one_in(10);
            memory.put(*sender, if poor { 300_000_000_000_000 } else { RICH }, Bytes::new());
            memory.slots.insert((Does::Token.at(), word(*sender)), U256::from(dice.below(100)));
        }
        for does in ALL {
            memory.put(does.at(), if dice.one_in(3) { 50 } else { 0 }, does.code());
        }
        for slot in 0..4 {
            memory.slots.insert((Does::Mortal.at(), U256::from(slot)), U256::from(slot + 1));
        }
        // What system calls write to: the word that they are given.
        for address in [HISTORY_STORAGE_ADDRESS, BEACON_ROOTS_ADDRESS] {
            let write = contracts::code().push(0).op(&[0x35]).push(0).op(&[0x55]).bytes();
            memory.put(address, 0, write);
        }
        if dice.one_in(4) {
            memory.cursed = Some(Address::repeat_byte(0xdd));
        }
        if dice.one_in(30) {
            memory.unreadable = Some(Address::repeat_byte(0xee));
        }
        let beneficiary = match dice.below(6) {
            5 => sender(senders.len() as u64),
            0 => senders[0],
            1 => Does::Proxy.at(),
            2 => Address::ZERO,
            _ => Address::repeat_byte(0xbe),
        };
        let favourites = (0..1 + dice.below(4)).map(|_| dice.of(&ALL)).collect();
        let nonces = vec![0; senders.len() + STRANGERS];
        let with_base = dice.one_in(3);
        let memory = Arc::new(memory);
        let children = Vec::new();
        World { rules, memory, beneficiary, senders, nonces, favourites, with_base, children, dice }
    }

    /// One without surprises: so many who are rich, all contracts, a beneficiary apart.
    pub(super) fn plain(senders: u64, rules: Rules) -> World {
        let mut memory = Memory::default();
        let senders: Vec<_> = (0..senders).map(sender).collect();
        senders.iter().for_each(|sender| memory.put(*sender, RICH, Bytes::new()));
        ALL.iter().for_each(|does| memory.put(does.at(), 0, does.code()));
        World {
            rules,
            memory: Arc::new(memory),
            beneficiary: Address::repeat_byte(0xbe),
            nonces: vec![0; senders.len()],
            senders,
            favourites: ALL.to_vec(),
            with_base: false,
            children: Vec::new(),
            dice: Dice::new(0),
        }
    }

    /// The context of the next block but so many.
    pub(super) fn context(&self, after: u64) -> BlockContext {
        let height = HEIGHT + after;
        let number = if self.with_base { 5_000 } else { height };
        let hashes = (4_990..5_000u64).map(|number| (number, keccak256(number.to_le_bytes())));
        BlockContext {
            height,
            number,
            parent_hash: keccak256((height - 1).to_be_bytes()),
            timestamp: 1_700_000_000 + after,
            base_fee: 1_000_000_000,
            excess_blob_gas: 0,
            prevrandao: B256::repeat_byte(3),
            beneficiary: self.beneficiary,
            parent_beacon_block_root: B256::repeat_byte(4),
            base_hashes: self.with_base.then(|| Arc::new(hashes.collect())),
        }
    }

    pub(super) fn batch(&mut self) -> Vec<SharedTransaction> {
        (0..self.dice.below(60)).map(|_| self.transaction()).collect()
    }

    /// What the senders think is what is so.
    pub(super) fn learn(&mut self, state: &dyn StateReader) {
        for (sender, nonce) in self.senders.iter().zip(&mut self.nonces) {
            *nonce = match state.account(*sender) {
                Ok(Some(account)) => account.nonce,
                _ => 0,
            };
        }
    }

    fn transaction(&mut self) -> SharedTransaction {
        let from = self.dice.below(self.senders.len() as u64);
        let (kind, value, data) = self.deed();
        let priority = self.dice.of(&[0, 1_000_000, 2_000_000_000, 3_000_000_000]);
        let mut nonce = self.nonces[from as usize];
        let (mut gas_limit, mut max_fee_per_gas) = (300_000, 5_000_000_000);
        // Some can not be in the block.
        match self.dice.below(60) {
            0 => gas_limit = 21_000 + self.dice.below(20_000),
            1 => gas_limit = 40_000_000,
            2 => max_fee_per_gas = 900_000_000,
            3 => nonce = nonce.saturating_sub(1),
            4 => nonce += 1,
            _ => self.nonces[from as usize] += 1,
        }
        let chain_id = self.rules.chain_id(Address::ZERO);
        let access_list = AccessList(vec![AccessListItem {
            address: Does::Counter.at(),
            storage_keys: vec![B256::ZERO],
        }]);
        let signature = Signature::new(U256::from(1), U256::from(1), false);
        let max_priority_fee_per_gas = priority.min(max_fee_per_gas);
        let envelope = match (self.dice.below(8), kind) {
            (0, TxKind::Call(to)) if self.rules.fork.is_enabled_in(SpecId::PRAGUE) => {
                // Some are of strangers, who have no account.
                let by = self.dice.below(self.nonces.len() as u64);
                let authorization = Authorization {
                    chain_id: U256::from(chain_id),
                    address: self.dice.of(&ALL).at(),
                    nonce: self.nonces[by as usize],
                };
                self.nonces[by as usize] += 1;
                let signed = sign_message(key(by), authorization.signature_hash());
                let authorization = authorization.into_signed(signed.expect("the key is one"));
                let transaction = TxEip7702 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to,
                    value,
                    access_list,
                    authorization_list: vec![authorization],
                    input: data,
                };
                TxEnvelope::Eip7702(Signed::new_unhashed(transaction, signature))
            }
            (1, to) => {
                let gas_price = max_fee_per_gas;
                let transaction = TxLegacy {
                    chain_id: Some(chain_id),
                    nonce,
                    gas_price,
                    gas_limit,
                    to,
                    value,
                    input: data,
                };
                TxEnvelope::Legacy(Signed::new_unhashed(transaction, signature))
            }
            (2, to) => {
                let gas_price = max_fee_per_gas;
                let transaction = TxEip2930 {
                    chain_id,
                    nonce,
                    gas_price,
                    gas_limit,
                    to,
                    value,
                    access_list,
                    input: data,
                };
                TxEnvelope::Eip2930(Signed::new_unhashed(transaction, signature))
            }
            (_, to) => {
                let transaction = TxEip1559 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to,
                    value,
                    access_list: AccessList::default(),
                    input: data,
                };
                TxEnvelope::Eip1559(Signed::new_unhashed(transaction, signature))
            }
        };
        let sender = self.senders[from as usize];
        Arc::new(Transaction::from_parts(envelope, Bytes::new(), sender, false))
    }

    /// What it is about.
    fn deed(&mut self) -> (TxKind, U256, Bytes) {
        let value = if self.dice.one_in(4) { 0 } else { self.dice.below(1_000) };
        let value = U256::from(value);
        let stranger = self.senders.len() as u64 + self.dice.below(STRANGERS as u64);
        let someone = match self.dice.below(10) {
            8 | 9 => sender(stranger),
            0 => self.beneficiary,
            1 => Address::repeat_byte(0xdd),
            2 => Address::repeat_byte(0xee),
            3 => self.children.last().copied().unwrap_or_default(),
            4 => self.dice.of(&ALL).at(),
            5 => Address::repeat_byte(0x70 + self.dice.below(3) as u8),
            _ => self.dice.of(&self.senders.clone()),
        };
        let number = U256::from(self.dice.below(5));
        if self.dice.one_in(5) {
            return (TxKind::Call(someone), value, Bytes::new());
        }
        if self.dice.one_in(15) {
            let made = if self.dice.one_in(2) { contracts::counter() } else { contracts::mortal() };
            return (TxKind::Create, U256::ZERO, contracts::maker(&made));
        }
        let does = if self.dice.one_in(3) {
            self.dice.of(&ALL)
        } else {
            self.dice.of(&self.favourites.clone())
        };
        let data = match does {
            Does::Token => words(&[word(someone), number]),
            Does::Swap => words(&[number, U256::from(3)]),
            Does::Peek => words(&[word(someone)]),
            Does::Hashes | Does::Flip | Does::Chain => words(&[number]),
            Does::Proxy => words(&[word(someone), word(self.beneficiary)]),
            Does::Mortal if self.dice.one_in(2) => words(&[word(someone)]),
            Does::Factory => {
                let maker = contracts::maker(&contracts::mortal());
                let salt = B256::from(number);
                self.children.push(does.at().create2(salt, keccak256(&maker)));
                let mut data = words(&[number]);
                data.extend_from_slice(&maker);
                data
            }
            _ => Vec::new(),
        };
        let value = if matches!(does, Does::Proxy | Does::Firefly | Does::Factory) {
            value
        } else {
            U256::ZERO
        };
        (TxKind::Call(does.at()), value, data.into())
    }
}
