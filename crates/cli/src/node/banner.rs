//! What does one need to know to use a node that has just started?

use std::fmt::Write;

use ::node::{
    Node, Settings,
    settings::{Http, Storage},
};

use super::parse::{show_durability, show_ether};

/// Where it is, who has funds, and how to begin.
pub(crate) fn text(node: &Node, settings: &Settings) -> String {
    let (address, rules) = (node.address(), &settings.shards.rules);
    let mut text = format!("Shiftwork {}\n\n", env!("CARGO_PKG_VERSION"));
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    row("Endpoint", format!("http://{address}/shard/<address>  (eth_*, one shard; also ws://)"));
    row("", format!("http://{address}/                 (shard_*, all shards)"));
    if settings.dashboard {
        row("Dashboard", format!("http://{address}/dashboard"));
    }
    let base = rules.base_chain_id.get();
    row(
        "Chain id",
        if rules.shared_chain_id {
            format!("{base}, shared by all shards: transactions can be replayed in other shards")
        } else {
            format!(
                "base {base}; a shard's own is {base} * 2^32 + the first 32 bits of keccak256(address)"
            )
        },
    );
    row(
        "Data",
        match &settings.storage {
            Storage::Memory => "in memory: all is gone when the node ends".to_owned(),
            Storage::Directory(path) => {
                let durability = show_durability(settings.shards.durability);
                format!(
                    "{} (durability {durability}, {} shards)",
                    path.display(),
                    node.shards().len()
                )
            }
        },
    );
    if let Some(status) = node.base_chain() {
        let number = status.head.map_or("?".to_owned(), |head| head.number.to_string());
        let id = status.chain_id.map_or("?".to_owned(), |id| id.to_string());
        row("Base chain", format!("{}, chain id {id}, block {number}", status.endpoint));
    }
    let accounts = node.accounts();
    if let Some(first) = accounts.first() {
        let balance = show_ether(settings.accounts.balance);
        let _ = writeln!(
            text,
            "\nAccounts, each with {balance} ether in every shard. Everybody knows their keys.\n"
        );
        for (index, account) in accounts.iter().enumerate() {
            let _ = writeln!(text, "  ({index}) {}  {}", account.address(), account.key());
        }
        let shard = "0x00000000000000000000000000000000000000AA";
        let _ = writeln!(
            text,
            "\nTry: cast balance {} --rpc-url http://{address}/shard/{shard}",
            first.address()
        );
    }
    text.push_str("\nCtrl-C ends it.\n");
    text
}

/// What is dangerous about these settings, if they are not those of a machine of one's own.
pub(crate) fn warnings(settings: &Settings) -> Vec<String> {
    let Http { address, hosts, origins, .. } = &settings.http;
    let rules = &settings.shards.rules;
    let mut warnings = Vec::new();
    if rules.shared_chain_id {
        warnings.push(
            "--shared-chain-id: anyone can replay a transaction of one shard in another, since \
             their nonces are apart"
                .to_owned(),
        );
    }
    let any = |names: &[String]| names.iter().any(|name| name == "*");
    if any(origins) && address.is_loopback() {
        warnings.push("--http.corsdomain *: every web page that you open can ask this node".into());
    }
    if any(hosts) && address.is_loopback() {
        warnings.push("--http.hosts *: web pages can reach this node by DNS rebinding".to_owned());
    }
    if address.is_loopback() {
        return warnings;
    }
    let mut open = |what: &str| {
        warnings.push(format!("the node listens on {address}, which others may reach, {what}"));
    };
    if settings.accounts.count > 0 {
        open("and its funded accounts have keys that everybody knows (--accounts 0)");
    }
    if settings.dev_api {
        open("with --dev-api: whoever reaches it can change all balances, code and the time");
    }
    if settings.admin_api {
        open("with --admin-api: whoever reaches it can run it");
    }
    if rules.no_account_validation {
        open("with --no-account-validation: whoever reaches it can send as anybody");
    }
    open("without TLS: put a proxy before it (docs/node.md)");
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dangerous_is_told_where_others_reach_it() {
        let mut settings = Settings::in_memory();
        assert_eq!(warnings(&settings), Vec::<String>::new());
        settings.dev_api = true;
        settings.admin_api = true;
        settings.shards.rules.no_account_validation = true;
        assert_eq!(warnings(&settings), Vec::<String>::new());
        settings.http.address = [0, 0, 0, 0].into();
        let told = warnings(&settings).join("\n");
        for expect in ["--accounts 0", "--dev-api", "--admin-api", "--no-account-validation"] {
            assert!(told.contains(expect), "{told}");
        }
        let mut careful = Settings::in_memory();
        careful.http.address = [0, 0, 0, 0].into();
        careful.accounts.count = 0;
        assert!(warnings(&careful).join("").contains("without TLS"));
        let mut shared = Settings::in_memory();
        shared.shards.rules.shared_chain_id = true;
        assert!(warnings(&shared).join("").contains("replay"));
    }
}
