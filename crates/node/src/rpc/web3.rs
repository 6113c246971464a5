//! Who answers here, and for which network?

use alloy_primitives::{Address, Bytes, U64, keccak256};

use super::method::{Kind, Method, Param, Place, answer};

pub(crate) const METHODS: &[Method] = &[
    Method::here(
        "web3_clientVersion",
        &[],
        |call| {
            call.args.end()?;
            answer(&version())
        },
        "What answers here, and its version.",
    )
    .at(Place::Everywhere),
    Method::on_worker(
        "web3_sha3",
        &[Param::required("data", Kind::Bytes)],
        |call| {
            let data: Bytes = call.args.required("data")?;
            call.args.end()?;
            answer(&keccak256(data))
        },
        "The Keccak-256 hash of bytes.",
    )
    .at(Place::Everywhere),
    Method::here(
        "net_version",
        &[],
        |call| {
            let chain_id = call.shard()?.chain_id();
            call.args.end()?;
            answer(&chain_id.to_string())
        },
        "The shard's chain id, in decimal.",
    )
    .at(Place::OwnOnly),
    Method::here(
        "net_listening",
        &[],
        |call| {
            call.args.end()?;
            answer(&true)
        },
        "Whether it listens: it does, or it would not answer.",
    )
    .at(Place::Everywhere),
    Method::here(
        "net_peerCount",
        &[],
        |call| {
            call.args.end()?;
            answer(&U64::ZERO)
        },
        "How many peers there are: none, there is no network.",
    )
    .at(Place::Everywhere),
    Method::here(
        "eth_accounts",
        &[],
        |call| {
            call.shard()?;
            call.args.end()?;
            let accounts = call.context.accounts.iter();
            answer(&accounts.map(|account| account.address()).collect::<Vec<Address>>())
        },
        "The accounts that the node can sign for: those for development.",
    ),
    Method::here(
        "eth_syncing",
        &[],
        |call| {
            call.shard()?;
            call.args.end()?;
            answer(&false)
        },
        "Whether it is behind others: false, there are no others.",
    ),
];

/// In the form that tools take apart: name, version, system.
fn version() -> String {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("shiftwork/v{}/{os}-{arch}", env!("CARGO_PKG_VERSION"))
}
