//! What would the virtual machine alone need for the same transactions?
//!
//! `bench-shard-peers <workload> --peer floor` prints one line of JSON, as `bench-shard` does for
//! ours. The floor is revm on one core: one machine, state in its own cache, one `finalize` per
//! thousand transactions; no pool, no receipts, no blocks, no disk.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::{process::ExitCode, time::Instant};

use alloy_primitives::{Address, U256};
use benches::{
    Args, Line,
    shard::{Load, config, throughput},
};
use revm::{
    ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext,
    context::{BlockEnv, Context},
    database::{CacheDB, EmptyDB},
    state::AccountInfo,
};
use shard::transaction::tx_env;

/// Transactions per block, as by default.
const BLOCK: usize = 1_000;

fn main() -> ExitCode {
    match Args::from_env().and_then(|args| run(&args)) {
        Ok(Some(line)) => println!("{line}"),
        Ok(None) => {}
        Err(problem) => {
            eprintln!("bench-shard-peers: {problem}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run(args: &Args) -> Result<Option<Line>, String> {
    let asked = throughput(&args.workload);
    if args.list {
        if asked.is_some() {
            println!("floor");
        }
        return Ok(None);
    }
    let (kind, _, _) = asked.ok_or(format!("no workload {:?}", args.workload))?;
    let count = args.items(100_000);
    let config = config();
    let mut rates: Vec<f64> = (0..args.repeats)
        .map(|_| {
            let mut load = Load::new(&config, kind, Address::repeat_byte(1), 10_000);
            let prepare = load.prepare();
            // As ours: a tenth to warm up.
            let warm_up = load.transactions(count / 10);
            let transactions = load.transactions(count);
            let mut database = CacheDB::new(EmptyDB::default());
            for (&address, given) in &config.genesis.accounts {
                let info = AccountInfo { balance: given.balance, ..AccountInfo::default() };
                database.insert_account_info(address, info);
            }
            let chain_id = config.rules.chain_id(load.shard());
            let mut machine = Context::mainnet()
                .with_db(database)
                .modify_cfg_chained(|cfg| {
                    cfg.set_spec_and_mainnet_gas_params(config.rules.fork);
                    cfg.chain_id = chain_id;
                })
                .with_block(BlockEnv {
                    number: U256::from(1),
                    timestamp: U256::from(1),
                    gas_limit: config.rules.block_gas_limit,
                    basefee: 1_000_000_000,
                    ..BlockEnv::default()
                })
                .build_mainnet();
            let mut execute = |transactions: &[std::sync::Arc<shard::Transaction>]| {
                for block in transactions.chunks(BLOCK) {
                    for transaction in block {
                        let result = machine.transact_one(tx_env(transaction));
                        assert!(result.is_ok_and(|result| result.is_success()), "it must succeed");
                    }
                    let state = machine.finalize();
                    machine.commit(state);
                }
            };
            execute(&prepare);
            execute(&warm_up);
            let start = Instant::now();
            execute(&transactions);
            count as f64 / start.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let line = Line::new(&args.workload, "floor", "tx/s", rates[rates.len() / 2]);
    Ok(Some(line.with("items", count as f64).with("workers", 1.0)))
}
