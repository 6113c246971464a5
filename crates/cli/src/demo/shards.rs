//! The shards' part of the demo: transfers in small chains, which execute and commit them in blocks.

use std::{sync::Arc, time::Duration};

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, U256};
use anyhow::Result;
use shard::{Config, Shards, Transaction, config::GenesisAccount, store::MemoryStore};

use super::part::{Part, Stage};

const SHARDS: u8 = 3;
/// To each shard at a time.
const WAVE: u64 = 4;

pub(crate) fn start(stage: &Stage) -> Result<Vec<Part>> {
    let (part, tally) = Part::new("transfers in 3 shards", "transfers");
    let (alice, bob) = (Address::repeat_byte(0xa1), Address::repeat_byte(0xb0));
    let mut config = Config::default();
    // Nobody signs here: recovering senders would be most of the work.
    config.rules.no_account_validation = true;
    let balance = U256::from(10).pow(U256::from(30));
    config.genesis.accounts.insert(alice, GenesisAccount { balance, ..Default::default() });
    let rules = config.rules.clone();
    let shards = Shards::open(&stage.handle, config, Arc::new(MemoryStore::new()), 0)?;
    let stage = stage.clone();
    stage.handle.clone().spawn(async move {
        let mut clock = stage.handle.interval(Duration::from_millis(5));
        let (mut nonce, mut counted) = (0, 0);
        while !stage.is_closed() {
            clock.tick().await;
            let mut accepted = Vec::new();
            for address in (1..=SHARDS).map(Address::repeat_byte) {
                for nonce in nonce..nonce + WAVE {
                    let fields = TxEip1559 {
                        chain_id: rules.chain_id(address),
                        nonce,
                        gas_limit: 21_000,
                        max_fee_per_gas: 2_000_000_000,
                        to: bob.into(),
                        value: U256::from(1),
                        ..Default::default()
                    };
                    let transaction = Arc::new(Transaction::unsigned(fields.into(), alice));
                    let Ok(acceptance) = shards.accept(address, transaction) else { return };
                    accepted.push(acceptance);
                }
            }
            for acceptance in accepted {
                if acceptance.await.is_err() {
                    return;
                }
            }
            nonce += WAVE;
            let included = shards.included();
            tally.add(included - counted);
            counted = included;
        }
    })?;
    Ok(vec![part])
}
