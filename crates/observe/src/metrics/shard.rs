//! How are all shards together?

use shard::Shards;

use super::{
    Samples,
    families::shard::{
        BLOCKS, BLOCKS_PARALLEL, COMMIT_FAILURES, COMMIT_FOLDS, COMMIT_RECORDS, COMMITS, INCLUDED,
        POOL, POOL_BYTES, QUARANTINED, SHARDS,
    },
};

impl Samples {
    /// Adds what is known of all shards. It looks at each of them once.
    pub fn shards(&mut self, shards: &Shards) {
        let totals = shards.totals();
        self.add(&SHARDS, &[], totals.shards);
        self.add(&QUARANTINED, &[], totals.quarantined);
        self.add(&BLOCKS, &[], totals.blocks);
        self.add(&BLOCKS_PARALLEL, &[], shards.parallel_blocks());
        self.add(&INCLUDED, &[], totals.included);
        self.add(&POOL, &["ready"], totals.pools.pending - totals.pools.executing);
        self.add(&POOL, &["executing"], totals.pools.executing);
        self.add(&POOL, &["nonce_missing"], totals.pools.waiting);
        self.add(&POOL_BYTES, &[], totals.pools.bytes);
        let commits = shards.commit_counts();
        self.add(&COMMITS, &[], commits.commits);
        self.add(&COMMIT_RECORDS, &[], commits.records);
        self.add(&COMMIT_FOLDS, &[], commits.folds);
        self.add(&COMMIT_FAILURES, &[], commits.failures);
    }
}
