//! What shows an account to somebody who knows the state root only?

use alloy_consensus::TrieAccount;
use alloy_eips::BlockId;
use alloy_primitives::{Address, KECCAK256_EMPTY, U256};
use alloy_rpc_types_eth::{EIP1186AccountProofResponse, EIP1186StorageProof};
use alloy_serde::JsonStorageKey;
use shard::{Shard, block::Account, trie::AccountProof};

use super::block_id;
use crate::rpc::{
    error::{LIMIT, RpcError},
    method::{Answer, Call, Kind, Method, Param, answer},
};

/// As many slots can be shown at once: geth's limit.
const SLOTS_MAX: usize = 1_024;

const ADDRESS: Param = Param::required("address", Kind::Address);
const BLOCK: Param = Param::optional("block", Kind::Block);

pub(crate) const METHODS: &[Method] = &[
    Method::on_worker(
        "eth_getProof",
        &[ADDRESS, Param::required("slots", Kind::List), BLOCK],
        proof,
        "What shows an account and slots of it, up to the newest state root.",
    ),
    Method::on_worker(
        "eth_getAccount",
        &[ADDRESS, BLOCK],
        account,
        "An account with its storage root; null if there is none.",
    ),
];

fn proof(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let address: Address = call.args.required("address")?;
    let slots: Vec<JsonStorageKey> = call.args.required("slots")?;
    let block = call.args.optional("block")?;
    call.args.end()?;
    if slots.len() > SLOTS_MAX {
        let message = format!("too many slots: {SLOTS_MAX} at most can be shown at once");
        return Err(RpcError::new(LIMIT, message));
    }
    let numbers: Vec<U256> = slots.iter().map(|slot| slot.as_b256().into()).collect();
    let proof = prove(&shard, address, &numbers, block)?;
    let account = proof.account.unwrap_or(Account {
        nonce: 0,
        balance: U256::ZERO,
        code_hash: KECCAK256_EMPTY,
    });
    let storage = slots.into_iter().zip(proof.storage);
    answer(&EIP1186AccountProofResponse {
        address,
        balance: account.balance,
        code_hash: account.code_hash,
        nonce: account.nonce,
        storage_hash: proof.storage_root,
        account_proof: proof.nodes,
        storage_proof: storage
            .map(|(key, slot)| EIP1186StorageProof { key, value: slot.value, proof: slot.nodes })
            .collect(),
    })
}

fn account(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let address: Address = call.args.required("address")?;
    let block = call.args.optional("block")?;
    call.args.end()?;
    let proof = prove(&shard, address, &[], block)?;
    answer(&proof.account.map(|account| TrieAccount {
        nonce: account.nonce,
        balance: account.balance,
        storage_root: proof.storage_root,
        code_hash: account.code_hash,
    }))
}

/// The nodes are those of the newest state: the trie is kept up, not kept.
fn prove(
    shard: &Shard,
    address: Address,
    slots: &[U256],
    block: Option<BlockId>,
) -> Result<AccountProof, RpcError> {
    let asked = block_id::number(shard, block)?;
    let Some((newest, proof)) = shard.prove(address, slots)? else {
        return Err(RpcError::server(
            "this node keeps no state root, so it can prove nothing: start it with --state-root",
        ));
    };
    // A block may have come between the two looks: what was the newest then was meant.
    let names_newest = !matches!(block, Some(BlockId::Hash(_)))
        && block.is_none_or(|id| id.is_latest() || id.is_pending());
    if asked != newest.number() && !names_newest {
        return Err(RpcError::server(format!(
            "proofs are for the newest block only, which is {}: block {asked} was asked for",
            newest.number()
        )));
    }
    Ok(proof)
}
