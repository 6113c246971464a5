//! What do the tests of execution run on?
//!
//! A state in plain maps, transactions whose senders are simply told, and a few contracts,
//! assembled by hand.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip7702, TxEnvelope, TxLegacy,
    crypto::secp256k1::sign_message,
};
use alloy_eips::{
    Encodable2718,
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256};
use revm::{
    bytecode::opcode as op,
    primitives::{KECCAK_EMPTY, hardfork::SpecId},
};

use crate::{
    block::{Account, ChangeSet, genesis_block},
    config::{Genesis, GenesisAccount, Rules},
    environment::Environment,
    execute::BlockContext,
    state::StateReader,
    store::StoreError,
    transaction::{SharedTransaction, Transaction},
};

pub(crate) const SHARD: Address = Address::repeat_byte(0x5a);
pub(crate) const GWEI: u128 = 1_000_000_000;

/// The `n`-th of those who send transactions; all are rich.
pub(crate) fn user(n: u8) -> Address {
    Address::with_last_byte(n).create(u64::from(n))
}

/// State in plain maps, with faults on demand.
#[derive(Default)]
pub(crate) struct Maps {
    pub(crate) inner: Mutex<MapsInner>,
    /// Every read fails.
    pub(crate) broken: AtomicBool,
    /// Reading this account panics.
    pub(crate) cursed: Mutex<Option<Address>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapsInner {
    pub(crate) accounts: BTreeMap<Address, Account>,
    pub(crate) slots: BTreeMap<(Address, U256), U256>,
    pub(crate) codes: BTreeMap<B256, Bytes>,
    pub(crate) hashes: BTreeMap<u64, B256>,
    pub(crate) reads: usize,
}

impl Maps {
    pub(crate) fn new(rules: &Rules, genesis: &Genesis) -> Arc<Maps> {
        let maps = Maps::default();
        let block = genesis_block(rules, SHARD, genesis, None);
        maps.apply(&block.changes);
        maps.put_hash(0, block.hash);
        Arc::new(maps)
    }

    /// Applies a change set, and checks that what it says was before was there.
    pub(crate) fn apply(&self, changes: &ChangeSet) {
        let mut maps = self.inner.lock().unwrap();
        for (hash, code) in &changes.codes {
            assert_eq!(keccak256(code), *hash);
            maps.codes.insert(*hash, code.clone());
        }
        for change in &changes.accounts {
            assert_eq!(maps.accounts.get(&change.address).copied(), change.before);
            match change.after {
                Some(account) => maps.accounts.insert(change.address, account),
                None => maps.accounts.remove(&change.address),
            };
            for slot in &change.slots {
                let key = (change.address, slot.slot);
                let before = maps.slots.get(&key).copied().unwrap_or_default();
                assert_eq!(before, slot.before);
                assert_ne!(slot.before, slot.after);
                if slot.after.is_zero() {
                    maps.slots.remove(&key);
                } else {
                    maps.slots.insert(key, slot.after);
                }
            }
        }
    }

    pub(crate) fn put_hash(&self, number: u64, hash: B256) {
        self.inner.lock().unwrap().hashes.insert(number, hash);
    }

    pub(crate) fn reads(&self) -> usize {
        self.inner.lock().unwrap().reads
    }

    pub(crate) fn account_of(&self, address: Address) -> Option<Account> {
        self.inner.lock().unwrap().accounts.get(&address).copied()
    }

    pub(crate) fn slot_of(&self, address: Address, slot: u64) -> U256 {
        let key = (address, U256::from(slot));
        self.inner.lock().unwrap().slots.get(&key).copied().unwrap_or_default()
    }

    fn read<T>(&self, read: impl FnOnce(&mut MapsInner) -> T) -> Result<T, StoreError> {
        if self.broken.load(Relaxed) {
            return Err(StoreError::Failed);
        }
        let mut maps = self.inner.lock().unwrap();
        maps.reads += 1;
        Ok(read(&mut maps))
    }
}

impl StateReader for Maps {
    fn account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        let cursed = *self.cursed.lock().unwrap();
        assert!(cursed != Some(address), "this account is cursed");
        self.read(|maps| maps.accounts.get(&address).copied())
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, StoreError> {
        self.read(|maps| maps.slots.get(&(address, slot)).copied().unwrap_or_default())
    }

    fn slots(&self, address: Address) -> Result<Vec<(U256, U256)>, StoreError> {
        self.read(|maps| {
            let range = (address, U256::ZERO)..=(address, U256::MAX);
            maps.slots.range(range).map(|((_, slot), value)| (*slot, *value)).collect()
        })
    }

    fn code(&self, hash: B256) -> Result<Bytes, StoreError> {
        self.read(|maps| maps.codes.get(&hash).cloned())?
            .ok_or_else(|| StoreError::Corrupt(format!("there is no code {hash}")))
    }

    fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError> {
        self.read(|maps| maps.hashes.get(&number).copied())
    }
}

/// Eight users with a thousand ether each, and these contracts.
pub(crate) fn genesis(contracts: &[(Address, Bytes)]) -> Genesis {
    let mut genesis = Genesis { timestamp: 1_000, ..Genesis::default() };
    for n in 0..8 {
        let balance = U256::from(10).pow(U256::from(21));
        genesis.accounts.insert(user(n), GenesisAccount { balance, ..Default::default() });
    }
    for (address, code) in contracts {
        let account = GenesisAccount { nonce: 1, code: code.clone(), ..Default::default() };
        genesis.accounts.insert(*address, account);
    }
    genesis
}

/// The context of the block at this height of a node without a base chain.
pub(crate) fn context(height: u64) -> BlockContext {
    let parent = alloy_consensus::Header {
        number: height - 1,
        timestamp: 1_000 + height,
        ..Default::default()
    };
    let parent_hash = keccak256(format!("block {}", height - 1));
    let environment =
        Environment { beneficiary: Address::repeat_byte(0xbe), ..Environment::own(1) };
    BlockContext::after(&parent, parent_hash, &environment)
}

/// A transaction to build on: 1559, for the test's shard, with enough gas and a tip.
pub(crate) fn eip1559(rules: &Rules, nonce: u64, to: TxKind) -> TxEip1559 {
    TxEip1559 {
        chain_id: rules.chain_id(SHARD),
        nonce,
        gas_limit: 200_000,
        max_fee_per_gas: 3 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to,
        value: U256::ZERO,
        access_list: Default::default(),
        input: Bytes::new(),
    }
}

/// As if `sender` had signed it.
pub(crate) fn sent<T>(sender: Address, transaction: T) -> SharedTransaction
where
    T: SignableTransaction<Signature>,
    TxEnvelope: From<alloy_consensus::Signed<T>>,
{
    let signature = Signature::new(U256::from(1), U256::from(2), false);
    let envelope = TxEnvelope::from(transaction.into_signed(signature));
    let encoded = envelope.encoded_2718().into();
    Arc::new(Transaction::from_parts(envelope, encoded, sender, true))
}

/// A transfer from the `n`-th user.
pub(crate) fn transfer(
    rules: &Rules,
    n: u8,
    nonce: u64,
    to: Address,
    value: u64,
) -> SharedTransaction {
    let transaction = TxEip1559 {
        gas_limit: 21_000,
        value: U256::from(value),
        ..eip1559(rules, nonce, TxKind::Call(to))
    };
    sent(user(n), transaction)
}

/// A call from the `n`-th user.
pub(crate) fn call(
    rules: &Rules,
    n: u8,
    nonce: u64,
    to: Address,
    input: impl Into<Bytes>,
) -> SharedTransaction {
    sent(user(n), TxEip1559 { input: input.into(), ..eip1559(rules, nonce, TxKind::Call(to)) })
}

/// The creation of a contract by the `n`-th user.
pub(crate) fn create(rules: &Rules, n: u8, nonce: u64, init: Bytes) -> SharedTransaction {
    let transaction =
        TxEip1559 { gas_limit: 1_000_000, input: init, ..eip1559(rules, nonce, TxKind::Create) };
    sent(user(n), transaction)
}

/// A legacy transfer from the `n`-th user.
pub(crate) fn legacy(rules: &Rules, n: u8, nonce: u64, to: Address) -> SharedTransaction {
    let transaction = TxLegacy {
        chain_id: Some(rules.chain_id(SHARD)),
        nonce,
        gas_price: 2 * GWEI,
        gas_limit: 21_000,
        to: TxKind::Call(to),
        value: U256::from(1),
        input: Bytes::new(),
    };
    sent(user(n), transaction)
}

/// One of the `n`-th user that sets delegations.
pub(crate) fn delegate(
    rules: &Rules,
    n: u8,
    nonce: u64,
    to: Address,
    list: Vec<SignedAuthorization>,
) -> SharedTransaction {
    let transaction = TxEip7702 {
        chain_id: rules.chain_id(SHARD),
        nonce,
        gas_limit: 500_000,
        max_fee_per_gas: 3 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to,
        value: U256::ZERO,
        access_list: Default::default(),
        authorization_list: list,
        input: Bytes::new(),
    };
    sent(user(n), transaction)
}

/// Permission to delegate the account that this secret's signature stands for.
pub(crate) fn authorization(
    rules: &Rules,
    secret: u8,
    address: Address,
    nonce: u64,
) -> SignedAuthorization {
    let chain_id = U256::from(rules.chain_id(SHARD));
    let authorization = Authorization { chain_id, address, nonce };
    let hash = authorization.signature_hash();
    authorization.into_signed(sign_message(B256::repeat_byte(secret), hash).unwrap())
}

/// Bytes of code, one instruction after the other.
#[derive(Clone, Default)]
pub(crate) struct Code(Vec<u8>);

impl Code {
    pub(crate) fn new() -> Code {
        Code::default()
    }

    pub(crate) fn op(mut self, opcode: u8) -> Code {
        self.0.push(opcode);
        self
    }

    pub(crate) fn ops(mut self, opcodes: &[u8]) -> Code {
        self.0.extend_from_slice(opcodes);
        self
    }

    pub(crate) fn push(mut self, value: impl TryInto<U256, Error: std::fmt::Debug>) -> Code {
        let value: U256 = value.try_into().unwrap();
        let len = value.byte_len().max(1);
        self.0.push(op::PUSH1 - 1 + len as u8);
        self.0.extend_from_slice(&value.to_be_bytes::<32>()[32 - len..]);
        self
    }

    /// A place to jump to, in one byte.
    pub(crate) fn here(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn bytes(self) -> Bytes {
        self.0.into()
    }
}

/// Code that, when it is run, leaves `code` as a contract.
pub(crate) fn init_of(code: &Bytes) -> Bytes {
    let mut init = Code::new().push(code.len() as u64).op(op::DUP1);
    // The length of what stands before the code: two more for the place, and the rest.
    let before = init.here() + 2 + 6;
    init = init.push(before).ops(&[op::PUSH1, 0, op::CODECOPY, op::PUSH1, 0, op::RETURN]);
    assert_eq!(init.here(), before);
    init.ops(code).bytes()
}

/// Balances by address; takes a receiver and an amount, 32 bytes each; logs, and reverts where
/// there is not enough.
pub(crate) fn token() -> Bytes {
    let refuse = 75;
    let code = Code::new()
        .push(32u64)
        .op(op::CALLDATALOAD)
        .ops(&[op::CALLER, op::SLOAD, op::DUP2, op::DUP2, op::LT])
        .push(refuse)
        .op(op::JUMPI)
        .ops(&[op::DUP2, op::SWAP1, op::SUB, op::CALLER, op::SSTORE])
        .push(0u64)
        .ops(&[op::CALLDATALOAD, op::DUP1, op::SLOAD, op::DUP3, op::ADD, op::SWAP1, op::SSTORE])
        .push(0u64)
        .op(op::MSTORE)
        .push(0u64)
        .ops(&[op::CALLDATALOAD, op::CALLER])
        .op(op::PUSH32)
        .ops(keccak256("Transfer(address,address,uint256)").as_slice());
    let code = code.push(32u64).push(0u64).op(op::LOG3).push(32u64).push(0u64).op(op::RETURN);
    assert_eq!(code.here(), refuse);
    code.op(op::JUMPDEST).push(0u64).push(0u64).op(op::REVERT).bytes()
}

/// What to tell the token.
pub(crate) fn token_input(to: Address, amount: u64) -> Bytes {
    [to.into_word().0, U256::from(amount).to_be_bytes::<32>()].concat().into()
}

/// The genesis account of a token of which each user has a million.
pub(crate) fn token_account() -> GenesisAccount {
    let balance = B256::from(U256::from(1_000_000));
    let storage = (0..8).map(|n| (user(n).into_word(), balance)).collect();
    GenesisAccount { nonce: 1, code: token(), storage, ..Default::default() }
}

/// Always reverts, with the number 42.
pub(crate) fn reverter() -> Bytes {
    Code::new().push(42u64).push(0u64).op(op::MSTORE).push(32u64).push(0u64).op(op::REVERT).bytes()
}

/// Burns all gas that it gets.
pub(crate) fn burner() -> Bytes {
    Code::new().op(op::JUMPDEST).push(0u64).op(op::JUMP).bytes()
}

/// Without input it writes 7 into slot 1; with input it destroys itself in favour of its caller.
pub(crate) fn mortal() -> Bytes {
    let code =
        Code::new().ops(&[op::CALLDATASIZE, op::ISZERO]).push(7u64).ops(&[op::JUMPI, op::CALLER]);
    assert_eq!(code.here(), 6);
    code.op(op::SELFDESTRUCT)
        .op(op::JUMPDEST)
        .push(7u64)
        .push(1u64)
        .ops(&[op::SSTORE, op::STOP])
        .bytes()
}

/// Creates a contract with its input as init code and salt 0. Its address goes into slot 0.
pub(crate) fn factory() -> Bytes {
    Code::new()
        .op(op::CALLDATASIZE)
        .push(0u64)
        .push(0u64)
        .op(op::CALLDATACOPY)
        .push(0u64)
        .op(op::CALLDATASIZE)
        .push(0u64)
        .push(0u64)
        .op(op::CREATE2)
        .push(0u64)
        .ops(&[op::SSTORE, op::STOP])
        .bytes()
}

/// Calls itself with all its gas, as deep as that goes, and counts in slot 0.
pub(crate) fn recursive() -> Bytes {
    Code::new()
        .push(0u64)
        .push(0u64)
        .push(0u64)
        .push(0u64)
        .push(0u64)
        .ops(&[op::ADDRESS, op::GAS, op::CALL, op::POP])
        .push(0u64)
        .op(op::SLOAD)
        .push(1u64)
        .op(op::ADD)
        .push(0u64)
        .ops(&[op::SSTORE, op::STOP])
        .bytes()
}

/// Adds one to what transient slot 0 holds, and writes that into slot 0.
pub(crate) fn transient() -> Bytes {
    Code::new()
        .push(0u64)
        .op(op::TLOAD)
        .push(1u64)
        .op(op::ADD)
        .push(0u64)
        .op(op::TSTORE)
        .push(0u64)
        .op(op::TLOAD)
        .push(0u64)
        .ops(&[op::SSTORE, op::STOP])
        .bytes()
}

/// Writes the hashes of the last two blocks into slots 1 and 2.
pub(crate) fn hasher() -> Bytes {
    let hash = |code: Code, back: u64| {
        code.push(back).ops(&[op::NUMBER, op::SUB, op::BLOCKHASH]).push(back).op(op::SSTORE)
    };
    hash(hash(Code::new(), 1), 2).op(op::STOP).bytes()
}

/// Numbers that look random, and are the same each time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

pub(crate) const TOKEN: Address = Address::repeat_byte(0x10);
pub(crate) const REVERTER: Address = Address::repeat_byte(0x11);
pub(crate) const BURNER: Address = Address::repeat_byte(0x12);
pub(crate) const MORTAL: Address = Address::repeat_byte(0x13);
pub(crate) const FACTORY: Address = Address::repeat_byte(0x14);
pub(crate) const RECURSIVE: Address = Address::repeat_byte(0x15);
pub(crate) const TRANSIENT: Address = Address::repeat_byte(0x16);
pub(crate) const HASHER: Address = Address::repeat_byte(0x17);

/// All of the contracts above.
pub(crate) fn zoo() -> Genesis {
    let mut genesis = genesis(&[
        (REVERTER, reverter()),
        (BURNER, burner()),
        (MORTAL, mortal()),
        (FACTORY, factory()),
        (RECURSIVE, recursive()),
        (TRANSIENT, transient()),
        (HASHER, hasher()),
    ]);
    genesis.accounts.insert(TOKEN, token_account());
    genesis
}

/// Random transactions of all kinds. Nonces count up per user in `nonces`, now and then wrongly. Some
/// are for strangers, who have keys and at first no accounts, and who delegate where there is EIP-7702.
pub(crate) fn random_batch(
    rules: &Rules,
    dice: &mut Dice,
    nonces: &mut [u64; 8],
    len: usize,
) -> Vec<SharedTransaction> {
    let mut batch = Vec::new();
    for _ in 0..len {
        let n = dice.roll(8) as u8;
        let nonce = nonces[usize::from(n)];
        let wrong = dice.roll(20);
        if wrong == 0 {
            batch.push(transfer(rules, n, nonce + 5, user(0), 1));
            continue;
        }
        if wrong == 1 && nonce > 0 {
            batch.push(transfer(rules, n, nonce - 1, user(0), 1));
            continue;
        }
        let other = match dice.roll(13) {
            known @ 0..10 => user(known as u8),
            stranger => {
                let any = authorization(rules, stranger as u8, TRANSIENT, 0);
                any.recover_authority().unwrap()
            }
        };
        batch.push(match dice.roll(16) {
            0 | 1 => transfer(rules, n, nonce, other, dice.roll(1_000)),
            2 => legacy(rules, n, nonce, other),
            3 | 4 => call(rules, n, nonce, TOKEN, token_input(other, dice.roll(400_000))),
            5 => call(rules, n, nonce, REVERTER, Bytes::new()),
            6 => call(rules, n, nonce, MORTAL, vec![0; dice.roll(2) as usize]),
            7 => call(rules, n, nonce, FACTORY, init_of(&mortal())),
            8 => call(
                rules,
                n,
                nonce,
                FACTORY.create2(B256::ZERO, keccak256(init_of(&mortal()))),
                vec![0; dice.roll(2) as usize],
            ),
            9 => call(rules, n, nonce, TRANSIENT, Bytes::new()),
            10 => call(rules, n, nonce, HASHER, Bytes::new()),
            11 | 12 => call(rules, n, nonce, other, Bytes::new()),
            13 | 14 if rules.fork.is_enabled_in(SpecId::PRAGUE) => {
                let stranger = 10 + dice.roll(3) as u8;
                let signed = authorization(rules, stranger, TRANSIENT, dice.roll(3));
                delegate(rules, n, nonce, other, vec![signed])
            }
            _ => create(rules, n, nonce, init_of(&token())),
        });
        nonces[usize::from(n)] += 1;
    }
    batch
}

/// The code hash of an account without code.
pub(crate) const NO_CODE: B256 = KECCAK_EMPTY;
