//! What does each shard begin with?
//!
//! All shards begin with the same accounts. They are kept once, not per shard: a shard's tables hold
//! only what its blocks have changed.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256, map::HashMap};

use crate::{
    block::{Account, AccountChange, Block, ChangeSet, genesis_block, genesis_changes},
    commit::{fold::Beginning, record::corrupt},
    config::{Genesis, Rules},
    state::StateReader,
    store::StoreError,
    trie::{self, TrieReader},
};

/// The state of block 0.
pub(crate) struct GenesisState {
    rules: Rules,
    timestamp: u64,
    state_root: Option<B256>,
    changes: Arc<ChangeSet>,
    accounts: HashMap<Address, usize>,
    codes: HashMap<B256, Bytes>,
    /// Of the state trie, if there is one.
    nodes: HashMap<Vec<u8>, Vec<u8>>,
}

struct NoNodes;

impl TrieReader for NoNodes {
    fn node(&self, _: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
}

impl GenesisState {
    pub(crate) fn new(genesis: &Genesis, rules: &Rules) -> GenesisState {
        let changes = genesis_changes(rules, genesis);
        let trie = rules
            .state_root
            .then(|| trie::update(&NoNodes, &changes).expect("a trie without nodes can be read"));
        let state_root = trie.as_ref().map(|trie| trie.root);
        let nodes = trie.into_iter().flat_map(|trie| trie.nodes);
        let accounts = changes.accounts.iter().enumerate();
        GenesisState {
            rules: rules.clone(),
            timestamp: genesis.timestamp,
            state_root,
            nodes: nodes.filter_map(|(key, node)| Some((key, node?))).collect(),
            accounts: accounts.map(|(at, change)| (change.address, at)).collect(),
            codes: changes.codes.iter().cloned().collect(),
            changes: Arc::new(changes),
        }
    }

    /// Block 0 of the shard with this address.
    pub(crate) fn block(&self, shard: Address) -> Block {
        let nothing = Genesis { timestamp: self.timestamp, ..Genesis::default() };
        let block = genesis_block(&self.rules, shard, &nothing, self.state_root);
        // All shards share what they begin with.
        Block { changes: self.changes.clone(), ..block }
    }

    /// Tells it from others: it is that of all that decides about block 0 of each shard.
    pub(crate) fn fingerprint(&self) -> B256 {
        let mut bytes = self.block(Address::ZERO).hash.to_vec();
        bytes.extend(self.changes.encode());
        keccak256(bytes)
    }

    /// A node of the state trie.
    pub(crate) fn node(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.nodes.get(key).cloned()
    }

    fn change(&self, address: Address) -> Option<&AccountChange> {
        self.accounts.get(&address).map(|&at| &self.changes.accounts[at])
    }

    pub(crate) fn slot(&self, address: Address, slot: U256) -> U256 {
        let Some(change) = self.change(address) else { return U256::ZERO };
        let found = change.slots.binary_search_by_key(&slot, |change| change.slot);
        found.map_or(U256::ZERO, |at| change.slots[at].after)
    }
}

impl StateReader for GenesisState {
    fn account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        Ok(self.change(address).and_then(|change| change.after))
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, StoreError> {
        Ok(self.slot(address, slot))
    }

    fn slots(&self, address: Address) -> Result<Vec<(U256, U256)>, StoreError> {
        let slots = self.change(address).map_or(&[][..], |change| &change.slots);
        Ok(slots.iter().map(|change| (change.slot, change.after)).collect())
    }

    fn code(&self, hash: B256) -> Result<Bytes, StoreError> {
        let code = self.codes.get(&hash).cloned();
        code.ok_or_else(|| corrupt(&format!("the genesis has no code with the hash {hash}")))
    }

    fn block_hash(&self, _: u64) -> Result<Option<B256>, StoreError> {
        Ok(None)
    }
}

impl Beginning for GenesisState {
    fn has_slot(&self, address: Address, slot: U256) -> bool {
        !self.slot(address, slot).is_zero()
    }

    fn has_node(&self, key: &[u8]) -> bool {
        self.nodes.contains_key(key)
    }
}
