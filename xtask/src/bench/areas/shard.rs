//! Shards: transactions per second over the virtual machine alone, latency, reads.

use std::time::Duration;

use super::{Area, Extra};
use crate::bench::plan::{Allocators, Better, NONE, Plan, Target, clock};

pub(super) const AREA: Area = Area {
    name: "shard",
    about: &["sharded transactions, in process, over revm alone on one core"],
    ours: "bench-shard",
    peers: "bench-shard-peers",
    extra: Extra { feature: "shards", also_ours: true, ignore_rust_version: false },
    foreign: &[],
    versions: &["revm", "redb", "mimalloc"],
    limit: Duration::from_secs(300),
    prepare: None,
    plans: PLANS,
    numbers: &[],
    glance: &["token_1_none", "transfer_64_sync", "latency_1", "reads"],
};

const fn shard(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan {
        allocators: Allocators::Together,
        target: |_, _| NONE,
        rounds_max: 3,
        ..clock(workload, results, quick)
    }
}

const fn rate(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan { better: Better::Larger, ..shard(workload, results, quick) }
}

/// A chain of so many blocks: what one costs at its end, reads anywhere in it, opening it again.
macro_rules! growth {
    ($workload:literal, $quick:literal) => {
        Plan {
            rounds_max: 1,
            ..shard(
                $workload,
                &[
                    concat!($workload, "_each"),
                    concat!($workload, "_block"),
                    concat!($workload, "_receipt"),
                    concat!($workload, "_reopen"),
                ],
                $quick,
            )
        }
    };
}

macro_rules! at_most {
    ($max:expr) => {
        |_, _| Target { max: Some($max), ..NONE }
    };
}

macro_rules! at_least {
    ($min:expr) => {
        |_, _| Target { min: Some($min), ..NONE }
    };
}

const PLANS: &[Plan] = &[
    rate("transfer_1_none", &["transfer_1_none"], 20_000),
    rate("transfer_1_sync", &["transfer_1_sync"], 20_000),
    rate("transfer_64_none", &["transfer_64_none"], 20_000),
    rate("transfer_64_sync", &["transfer_64_sync"], 20_000),
    rate("transfer_1024_none", &["transfer_1024_none"], 20_000),
    rate("transfer_1024_sync", &["transfer_1024_sync"], 20_000),
    // On one worker, as the floor: at least 60 % of it.
    Plan {
        workers: 1,
        target: |_, _| Target { of_floor: Some(0.6), ..NONE },
        ..rate("token_1_none", &["token_1_none"], 20_000)
    },
    rate("token_1_sync", &["token_1_sync"], 20_000),
    rate("token_64_none", &["token_64_none"], 20_000),
    rate("token_64_sync", &["token_64_sync"], 20_000),
    rate("token_1024_none", &["token_1024_none"], 20_000),
    rate("token_1024_sync", &["token_1024_sync"], 20_000),
    rate("swap_1_none", &["swap_1_none"], 5_000),
    rate("swap_1_sync", &["swap_1_sync"], 5_000),
    rate("swap_64_none", &["swap_64_none"], 5_000),
    rate("swap_64_sync", &["swap_64_sync"], 5_000),
    rate("swap_1024_none", &["swap_1024_none"], 5_000),
    rate("swap_1024_sync", &["swap_1024_sync"], 5_000),
    Plan { target: at_most!(4.0), ..shard("storage_cost", &["storage_cost"], 20_000) },
    rate("accounts_100", &["accounts_100"], 20_000),
    rate("accounts_10000", &["accounts_10000"], 20_000),
    rate("accounts_1000000", &["accounts_1000000"], 20_000),
    Plan { target: at_least!(1.5), ..rate("parallel_swapapart", &["parallel_swapapart"], 5_000) },
    Plan { target: at_least!(0.9), ..rate("parallel_swap", &["parallel_swap"], 5_000) },
    shard("latency_1", &["latency_1_p50", "latency_1_p99"], 2_000),
    shard("latency_64", &["latency_64_p50", "latency_64_p99"], 6_400),
    rate("blocks_1", &["blocks_1"], 2_000),
    rate("blocks_64", &["blocks_64"], 6_400),
    growth!("growth_1000", 1_000),
    growth!("growth_10000", 2_000),
    growth!("growth_100000", 5_000),
    growth!("growth_1000000", 10_000),
    shard("reads", &["reads_balance", "reads_receipt", "reads_balance_past"], 20_000),
    Plan { target: at_most!(1_000.0), ..shard("reopen", &["reopen"], 20_000) },
];
