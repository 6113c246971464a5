//! How do shards come back after a stop, or a crash?
//!
//! The tables hold all epochs but the last one or two; the log holds these. What the log says is
//! applied to the views and pools in order, and then folded in the background like any other epoch.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64},
    },
};

use alloy_primitives::{Address, B256, Bytes};
use kernel::{Handle, ScheduleError};
use revm::primitives::hardfork::SpecId;

use super::{
    Shards,
    core::{Core, Registry},
    tickets::Tickets,
    time::Time,
};
use crate::{
    commit::{
        Commit,
        driver::{Committer, StartError},
        reads::Reads,
        record::{Record, ShardIndex, What, corrupt},
    },
    config::Config,
    environment::{Environment, SharedEnvironment},
    events::Hub,
    execute::DropReason,
    genesis::GenesisState,
    shard::Inner,
    store::{Change, Epoch, Store, StoreError, Table},
    transaction::{SharedTransaction, Transaction},
    view::View,
};

/// Where the tables say with which genesis they were made.
const GENESIS_KEY: &[u8] = b"genesis";
const FORK_KEY: &[u8] = b"fork";

/// Why shards could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The store can not be read.
    Store(StoreError),
    /// The runtime takes no strands.
    Runtime(ScheduleError),
    /// The system gives no thread.
    Thread(std::io::Error),
    /// The configuration can not be meant.
    Config(String),
    /// A shard was created under another chain id than it would have now.
    ChainId { shard: Address, was: u64, now: u64 },
    /// The data was made with another genesis, or with rules that give another block 0.
    Genesis,
    /// The data was made under the rules of another hard fork.
    Fork { was: String, now: &'static str },
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::Store(error) => write!(f, "the store can not be opened: {error}"),
            OpenError::Runtime(error) => write!(f, "the runtime takes no shards: {error}"),
            OpenError::Thread(error) => write!(f, "no thread for the committer: {error}"),
            OpenError::Config(what) => f.write_str(what),
            OpenError::ChainId { shard, was, now } => write!(
                f,
                "shard {shard} has the chain id {was} in the data directory and would have {now} \
                 now: use the base chain id that it was created with, or another data directory"
            ),
            OpenError::Genesis => f.write_str(
                "the data directory was made with another genesis: its accounts and time, the \
                 block gas limit, the hard fork, the system calls and the state root must be those \
                 that it was made with; use them, or another data directory",
            ),
            OpenError::Fork { was, now } => write!(
                f,
                "the data directory was made for the hard fork {was}, and this is {now}: use the \
                 one that it was made for, or another data directory"
            ),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Store(error) => Some(error),
            OpenError::Runtime(error) => Some(error),
            OpenError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> OpenError {
        OpenError::Store(error)
    }
}

impl Shards {
    /// Opens what a store holds. `unix_time` is the time of day in seconds, by which blocks are
    /// dated until an environment with a base chain is set.
    ///
    /// # Errors
    /// If the store can not be read, the configuration makes no sense or does not fit the data, or
    /// the runtime has stopped.
    pub fn open(
        runtime: &Handle,
        config: Config,
        store: Arc<dyn Store>,
        unix_time: u64,
    ) -> Result<Shards, OpenError> {
        Shards::open_beside(runtime, runtime, config, store, unix_time)
    }

    /// The same, on two runtimes: shards take turns on one, and on the other senders are recovered
    /// and helpers execute heavy blocks. So that neither waits behind a shard's quantum. Both may
    /// have as many workers as there are cores.
    ///
    /// # Errors
    /// As for [`Shards::open`].
    pub fn open_beside(
        runtime: &Handle,
        others: &Handle,
        config: Config,
        store: Arc<dyn Store>,
        unix_time: u64,
    ) -> Result<Shards, OpenError> {
        let environment = Environment::own(unix_time);
        Shards::open_under(environment, runtime, others, config, store, unix_time)
    }

    /// The same, under the environment of a base chain from the first block on: what waits in
    /// pools is executed as soon as they are open.
    ///
    /// # Errors
    /// As for [`Shards::open`].
    pub fn open_under(
        environment: Environment,
        runtime: &Handle,
        others: &Handle,
        config: Config,
        store: Arc<dyn Store>,
        unix_time: u64,
    ) -> Result<Shards, OpenError> {
        config.check().map_err(OpenError::Config)?;
        let genesis = Arc::new(GenesisState::new(&config.genesis, &config.rules));
        check_beginning(&*store, &genesis, config.rules.fork)?;
        let registry = Arc::new(Registry::default());
        let weak: Weak<Registry> = Arc::downgrade(&registry);
        let (clock, cut, depth) = (runtime.clone(), weak.clone(), config.prune_depth);
        let commit = Arc::new(Commit::new(
            store.clone(),
            config.durability,
            config.checkpoint_bytes,
            genesis.clone(),
            Box::new(move |epoch| {
                if let Some(registry) = weak.upgrade() {
                    registry.folded(epoch);
                }
            }),
            Box::new(move |most| {
                let registry = depth.and_then(|depth| Some((cut.upgrade()?, depth)));
                registry.map_or(Vec::new(), |(registry, depth)| registry.cuts(depth, most))
            }),
            Box::new(move || clock.now()),
        ));
        let found = Found::read(&*store)?;
        let (current, _) = store.current();
        commit.take_over(found.older(store.folded(), current), found.newer(current));
        let tables = Arc::new(Reads::new(commit.clone()));
        let committer = Committer::start(commit, runtime).map_err(|error| match error {
            StartError::Thread(error) => OpenError::Thread(error),
            StartError::Strand(error) => OpenError::Runtime(error),
        })?;
        let side_by_side = config.parallel && others.worker_count() > 1;
        let core = Arc::new(Core {
            jobs: side_by_side.then(|| job::Pool::on(others)),
            parallel_blocks: AtomicU64::new(0),
            config,
            runtime: runtime.clone(),
            others: others.clone(),
            tables,
            committer,
            environment: SharedEnvironment::new(environment),
            genesis,
            events: Hub::new(),
            accepted: Hub::new(),
            time: Time::new(unix_time, runtime),
            tickets: Tickets::default(),
            closing: AtomicBool::new(false),
        });
        let shards = Shards { core, registry };
        shards.restore(found)?;
        Ok(shards)
    }

    fn restore(&self, found: Found) -> Result<(), OpenError> {
        let core = &self.core;
        let mut by_index = BTreeMap::new();
        for (&index, &(address, was)) in &found.shards {
            let view = View::open(index, address, core.tables.clone(), core.genesis.clone())?;
            let shard = Inner::new(core.clone(), index, address, Arc::new(view), true);
            if shard.chain_id != was {
                return Err(OpenError::ChainId { shard: address, was, now: shard.chain_id });
            }
            by_index.insert(index, shard);
        }
        for (epoch, record) in &found.records {
            let shard = by_index.get(&record.shard);
            let shard = shard.ok_or_else(|| corrupt("a record of a shard that was not created"))?;
            match &record.what {
                What::Block(new) if new.block.number() > shard.view.tip().number() => {
                    shard.view.add(*epoch, new)?;
                }
                What::Traces { number, bytes } => {
                    shard.view.add_traces(*epoch, *number, bytes.clone());
                }
                What::Dropped { hash, reason } => {
                    shard.view.drop_transactions(*epoch, [(*hash, reason.clone())]);
                }
                _ => {}
            }
        }
        for (index, waiting) in found.waiting {
            let shard = by_index.get(&index);
            let shard = shard.ok_or_else(|| corrupt("a pool of a shard that was not created"))?;
            refill(shard, waiting)?;
        }
        let mut members = self.registry.write();
        for shard in by_index.into_values() {
            shard.start().map_err(OpenError::Runtime)?;
            // What is in its pool is looked at.
            shard.wake();
            members.insert(shard);
        }
        drop(members);
        // What was folded meanwhile was told to those in the registry only.
        self.registry.folded(core.tables.folded());
        Ok(())
    }
}

/// Refuses data that was made with another genesis, or for another hard fork: not all of these
/// have another block 0. What is new says from now on what it is.
fn check_beginning(
    store: &dyn Store,
    genesis: &GenesisState,
    fork: SpecId,
) -> Result<(), OpenError> {
    let said = |key: &[u8]| {
        let mut found = None;
        store.get(Table::Meta, key, &mut |bytes| found = Some(bytes.to_vec()))?;
        Ok::<_, StoreError>(found)
    };
    let (fingerprint, now) = (genesis.fingerprint(), <&'static str>::from(fork));
    match (said(GENESIS_KEY)?, said(FORK_KEY)?) {
        (Some(was), _) if was != fingerprint.as_slice() => Err(OpenError::Genesis),
        (Some(_), Some(was)) if was != now.as_bytes() => {
            Err(OpenError::Fork { was: String::from_utf8_lossy(&was).into_owned(), now })
        }
        // Data from before forks were noted does not say. Whoever only looks at it must not decide.
        (Some(_), _) => Ok(()),
        (None, _) => {
            let put = |(key, value): (&[u8], &[u8])| Change::Put {
                table: Table::Meta,
                key: key.to_vec(),
                value: value.to_vec(),
            };
            let both = [(GENESIS_KEY, fingerprint.as_slice()), (FORK_KEY, now.as_bytes())];
            Ok(store.fold(store.folded(), &mut both.into_iter().map(put))?)
        }
    }
}

/// Puts transactions back into a pool. What it does not take any more is dropped with the reason.
fn refill(shard: &Arc<Inner>, waiting: BTreeMap<B256, Waiting>) -> Result<(), StoreError> {
    let mut waiting: Vec<Waiting> = waiting.into_values().collect();
    waiting.sort_by_key(|one| (one.order, one.transaction.sender(), one.transaction.nonce()));
    let now = shard.core.runtime.now();
    let mut done = Ok(());
    shard.change_pool(|pool| {
        let mut dropped = Vec::new();
        for Waiting { transaction, .. } in waiting {
            match shard.insert(pool, transaction.clone(), now) {
                Ok(Ok(inserted)) => dropped.extend(inserted.dropped(transaction.hash())),
                Ok(Err(refusal)) => {
                    let reason = DropReason::Invalid(format!("after reopening: {refusal}"));
                    dropped.push((transaction, reason));
                }
                Err(error) => {
                    done = Err(error);
                    break;
                }
            }
        }
        dropped
    });
    done
}

/// What the store says.
struct Found {
    shards: BTreeMap<ShardIndex, (Address, u64)>,
    records: Vec<(Epoch, Record)>,
    waiting: BTreeMap<ShardIndex, BTreeMap<B256, Waiting>>,
}

/// A transaction of a pool.
struct Waiting {
    transaction: SharedTransaction,
    /// In which order the log says that they came. The tables do not: those in them are older than
    /// all in the log, and have 0.
    order: usize,
}

impl Found {
    fn read(store: &dyn Store) -> Result<Found, StoreError> {
        let mut found =
            Found { shards: BTreeMap::new(), records: Vec::new(), waiting: BTreeMap::new() };
        let mut trouble = None;
        store.scan(Table::Shards, &[], &[u8::MAX; 5], &mut |key, value| {
            trouble = found.shard(key, value).err();
            trouble.is_none()
        })?;
        store.scan(Table::Pool, &[], &[u8::MAX; 37], &mut |key, value| {
            trouble = trouble.take().or_else(|| found.pooled(key, value).err());
            trouble.is_none()
        })?;
        trouble.map_or(Ok(()), Err)?;
        store.replay(&mut |epoch, bytes| {
            let record = Record::decode(bytes)?;
            found.record(&record);
            found.records.push((epoch, record));
            Ok(())
        })?;
        Ok(found)
    }

    fn shard(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let wrong = || corrupt("an entry of the table of shards");
        let index = ShardIndex(u32::from_be_bytes(key.try_into().map_err(|_| wrong())?));
        let (address, chain_id) = value.split_first_chunk::<20>().ok_or_else(wrong)?;
        let chain_id = u64::from_be_bytes(chain_id.try_into().map_err(|_| wrong())?);
        self.shards.insert(index, (Address::from(*address), chain_id));
        Ok(())
    }

    fn pooled(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let wrong = |why: &dyn std::fmt::Display| corrupt(&format!("a pool's entry: {why}"));
        let (index, _) = key.split_first_chunk::<4>().ok_or_else(|| wrong(&"its key"))?;
        let value = Bytes::copy_from_slice(value);
        let transaction = Transaction::from_bytes(&value).map_err(|why| wrong(&why))?;
        let waiting = self.waiting.entry(ShardIndex(u32::from_be_bytes(*index))).or_default();
        let transaction = Arc::new(transaction);
        waiting.insert(transaction.hash(), Waiting { transaction, order: 0 });
        Ok(())
    }

    fn record(&mut self, record: &Record) {
        let waiting = self.waiting.entry(record.shard).or_default();
        match &record.what {
            What::Created { address, chain_id } => {
                self.shards.insert(record.shard, (*address, *chain_id));
            }
            What::Accepted(transaction) => {
                let order = self.records.len() + 1;
                let transaction = transaction.clone();
                waiting.insert(transaction.hash(), Waiting { transaction, order });
            }
            What::Dropped { hash, .. } => {
                waiting.remove(hash);
            }
            What::Traces { .. } => {}
            What::Block(new) => {
                for transaction in &new.block.transactions {
                    waiting.remove(&transaction.hash());
                }
            }
        }
    }

    /// The records of an epoch that is complete and was not folded. It must be, also without any.
    fn older(&self, folded: Epoch, current: Epoch) -> Option<(Epoch, Vec<Record>)> {
        let last = folded.next();
        let older = self.records.iter().filter(|(epoch, _)| *epoch < current);
        (last < current).then(|| (last, older.map(|(_, record)| record.clone()).collect()))
    }

    fn newer(&self, current: Epoch) -> Vec<Record> {
        let newer = self.records.iter().filter(|(epoch, _)| *epoch >= current);
        newer.map(|(_, record)| record.clone()).collect()
    }
}
