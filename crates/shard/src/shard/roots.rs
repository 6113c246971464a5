//! How is the state root of the next block found, while the block before is not committed?

use std::{collections::VecDeque, sync::Arc};

use alloy_primitives::{B256, map::HashMap};

use crate::{
    block::ChangeSet,
    execute::ExecuteError,
    store::StoreError,
    trie::{self, TrieReader},
    view::View,
};

/// Nodes to write, or with `None` to delete.
pub(crate) type Nodes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// The nodes of the state trie that blocks on their way to the disk have written.
#[derive(Default)]
pub(super) struct Roots {
    on_the_way: VecDeque<Written>,
}

/// What the block of this height has written.
struct Written {
    height: u64,
    nodes: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Roots {
    /// The state root after these changes, and the nodes that they write.
    pub(super) fn update(
        &mut self,
        view: &Arc<View>,
        height: u64,
        parent: B256,
        changes: &ChangeSet,
    ) -> Result<(B256, Nodes), ExecuteError> {
        let update = trie::update(&Newest { roots: self, view }, changes)?;
        if update.before != parent {
            let what = format!("the nodes of the state trie are not those of block {}", height - 1);
            return Err(ExecuteError::Fault(what));
        }
        let nodes = update.nodes.iter().cloned().collect();
        self.on_the_way.push_back(Written { height, nodes });
        Ok((update.root, update.nodes))
    }

    /// Blocks up to this height are in the view.
    pub(super) fn committed(&mut self, height: u64) {
        while self.on_the_way.front().is_some_and(|first| first.height <= height) {
            self.on_the_way.pop_front();
        }
    }

    /// Nothing that is on the way counts any more.
    pub(super) fn clear(&mut self) {
        self.on_the_way.clear();
    }
}

struct Newest<'a> {
    roots: &'a Roots,
    view: &'a View,
}

impl TrieReader for Newest<'_> {
    fn node(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        for written in self.roots.on_the_way.iter().rev() {
            if let Some(node) = written.nodes.get(key) {
                return Ok(node.clone());
            }
        }
        self.view.node(key)
    }
}
