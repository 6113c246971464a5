//! Do the clients of anvil, hardhat and ganache find what a developer can do under their names?

mod common;

use alloy_primitives::Address;
use common::{MARKET, path, result, start};
use node::methods;
use serde_json::{Value, json};

const STRANGER: Address = Address::repeat_byte(0x57);

/// What one is called by different clients.
const NAMES: &[&[&str]] = &[
    &["anvil_setBalance", "hardhat_setBalance", "evm_setAccountBalance"],
    &["anvil_setNonce", "hardhat_setNonce", "evm_setAccountNonce"],
    &["anvil_setCode", "hardhat_setCode", "evm_setAccountCode"],
    &["anvil_setStorageAt", "hardhat_setStorageAt"],
    &["anvil_impersonateAccount", "hardhat_impersonateAccount"],
    &["anvil_stopImpersonatingAccount", "hardhat_stopImpersonatingAccount"],
    &["anvil_autoImpersonateAccount", "hardhat_autoImpersonateAccount"],
    &["anvil_getAutomine", "hardhat_getAutomine"],
    &["anvil_setAutomine", "evm_setAutomine"],
    &["anvil_mine", "hardhat_mine"],
    &["anvil_snapshot", "evm_snapshot"],
    &["anvil_revert", "evm_revert"],
    &["anvil_increaseTime", "evm_increaseTime"],
    &["anvil_setTime", "evm_setTime"],
    &["anvil_setNextBlockTimestamp", "evm_setNextBlockTimestamp"],
];
/// What clients know by one name only.
const ALONE: &[&str] = &["anvil_nodeInfo", "evm_mine"];

#[test]
fn what_has_several_names_is_there_under_each_of_them() {
    let find = |name: &str| methods().find(|method| method.name == name);
    for names in NAMES {
        let found = names.iter().map(|name| find(name).unwrap_or_else(|| panic!("no {name}")));
        let found: Vec<_> = found.map(|one| (one.about, format!("{:?}", one.params))).collect();
        assert!(found.iter().all(|one| *one == found[0]), "{names:?} differ");
    }
    let is_known = |name: &str| ALONE.contains(&name) || NAMES.concat().contains(&name);
    let ours = ["anvil", "hardhat", "evm"];
    for method in methods() {
        let (namespace, _) = method.name.split_once('_').unwrap();
        let listed = !ours.contains(&namespace) || is_known(method.name);
        assert!(listed, "{}: what else is it called by clients?", method.name);
    }
}

#[test]
fn whether_transactions_are_executed_at_once_is_told_to_each_client() {
    let node = start(|settings| settings.dev_api = true);
    let ask = |method: &str, params: Value| result(node.address(), &path(MARKET), method, params);
    for name in ["anvil", "hardhat"] {
        assert_eq!(ask(&format!("{name}_getAutomine"), json!([])), true);
    }
    assert_eq!(ask("anvil_setAutomine", json!([true])), true);
    ask("evm_setAccountBalance", json!([STRANGER, "0x64"]));
    assert_eq!(ask("eth_getBalance", json!([STRANGER])), "0x64");
}
