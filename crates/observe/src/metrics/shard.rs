//! How are all shards together?

use shard::{Shards, pool};

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
        let all = shards.all();
        let mut pools = pool::Counts::default();
        let (mut blocks, mut included, mut quarantined) = (0, 0, 0_usize);
        for shard in &all {
            let pool = shard.pool_counts();
            pools.pending += pool.pending;
            pools.waiting += pool.waiting;
            pools.executing += pool.executing;
            pools.bytes += pool.bytes;
            let status = shard.status();
            blocks += status.height;
            included += status.included;
            quarantined += usize::from(status.quarantine.is_some());
        }
        self.add(&SHARDS, &[], all.len());
        self.add(&QUARANTINED, &[], quarantined);
        self.add(&BLOCKS, &[], blocks);
        self.add(&BLOCKS_PARALLEL, &[], shards.parallel_blocks());
        self.add(&INCLUDED, &[], included);
        self.add(&POOL, &["ready"], pools.pending - pools.executing);
        self.add(&POOL, &["executing"], pools.executing);
        self.add(&POOL, &["nonce_missing"], pools.waiting);
        self.add(&POOL_BYTES, &[], pools.bytes);
        let commits = shards.commit_counts();
        self.add(&COMMITS, &[], commits.commits);
        self.add(&COMMIT_RECORDS, &[], commits.records);
        self.add(&COMMIT_FOLDS, &[], commits.folds);
        self.add(&COMMIT_FAILURES, &[], commits.failures);
    }
}
