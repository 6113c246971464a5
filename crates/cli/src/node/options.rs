//! All that can be chosen about a node: the one list.

use shard::identity::BaseChainId;

use super::{
    log::{self, LogFormat},
    option::{
        Setting,
        Shape::{Flag, List, Number, Value},
    },
    parse::{
        count, durability, duration, ether, number, prune, show_durability, show_duration,
        show_ether, show_prune, show_size, show_traces, size, some_duration, switch, traces,
        workers,
    },
    words::{
        address, chain_id, list, order, own, path, set_fork, show_fork, show_list, show_order,
        show_path, text,
    },
};

/// A setting that is one field with a parser and a way to show it.
macro_rules! setting {
    ($group:expr, $name:literal, $shape:expr, $($field:ident).+, $parse:expr, $show:expr, $help:literal) => {
        Setting {
            name: $name,
            group: $group,
            shape: $shape,
            help: $help,
            set: |chosen, text| {
                chosen.$($field).+ = $parse(text)?;
                Ok(())
            },
            show: |chosen| ($show)(&chosen.$($field).+),
        }
    };
}

/// A setting that is on or off.
macro_rules! flag {
    ($group:expr, $name:literal, $($field:ident).+, $help:literal) => {
        setting!($group, $name, Flag, $($field).+, switch, text, $help)
    };
}

/// A number, as it is.
macro_rules! number {
    ($group:expr, $name:literal, $what:literal, $($field:ident).+, $parse:expr, $help:literal) => {
        setting!($group, $name, Number($what), $($field).+, $parse, text, $help)
    };
}

/// A duration.
macro_rules! time {
    ($group:expr, $name:literal, $($field:ident).+, $parse:expr, $help:literal) => {
        setting!($group, $name, Value("TIME"), $($field).+, $parse, |time: &_| show_duration(*time), $help)
    };
}

/// A number of bytes.
macro_rules! bytes {
    ($group:expr, $name:literal, $($field:ident).+, $help:literal) => {
        setting!($group, $name, Number("SIZE"), $($field).+, size, |bytes: &_| show_size(*bytes as u64), $help)
    };
}

const DATA: &str = "Data";
const NETWORK: &str = "Network";
const CHAIN: &str = "Chain";
const ACCOUNTS: &str = "Development";
const BASE: &str = "Base chain";
const SCHEDULING: &str = "Scheduling";
const POOL: &str = "Pools";
const LIMITS: &str = "Limits on what strangers send";
const LOG: &str = "Log";

/// All settings, in the order of the help.
pub(crate) const SETTINGS: &[Setting] = &[
    setting!(
        DATA,
        "data-dir",
        Value("DIR"),
        data_dir,
        path,
        show_path,
        "Where blocks are kept [default: shiftwork/node in your data folder]"
    ),
    flag!(DATA, "in-memory", in_memory, "Keep blocks nowhere: all is gone when the node ends"),
    setting!(
        DATA,
        "durability",
        Value("WHEN"),
        settings.shards.durability,
        durability,
        |when: &_| show_durability(*when),
        "When a transaction is acknowledged: sync (it is on disk), batch=10ms (written, on disk by \
         then), none (written)"
    ),
    setting!(
        DATA,
        "prune",
        Value("BLOCKS"),
        settings.shards.prune_depth,
        prune,
        |depth: &_| show_prune(*depth),
        "How many blocks of a shard are kept: a number, or never to keep all"
    ),
    setting!(
        DATA,
        "traces",
        Value("HOW"),
        settings.shards.traces,
        traces,
        |traces: &_| show_traces(*traces),
        "Call trees: on-demand (by executing the block again), stored (kept with each block)"
    ),
    time!(
        DATA,
        "shutdown-deadline",
        settings.shutdown_deadline,
        some_duration,
        "How long an orderly end may take"
    ),
    setting!(
        NETWORK,
        "http.addr",
        Value("IP"),
        settings.http.address,
        address,
        text,
        "The address to listen on; 0.0.0.0: all"
    ),
    number!(
        NETWORK,
        "http.port",
        "PORT",
        settings.http.port,
        number,
        "The port to listen on; 0: any that is free"
    ),
    setting!(
        NETWORK,
        "http.hosts",
        List("NAMES"),
        settings.http.hosts,
        list,
        show_list,
        "Names by which the node may be called, beside localhost and IP addresses; *: any"
    ),
    setting!(
        NETWORK,
        "http.corsdomain",
        List("ORIGINS"),
        settings.http.origins,
        list,
        show_list,
        "Web pages that may ask, such as https://app.example; *: any"
    ),
    Setting {
        name: "no-dashboard",
        group: NETWORK,
        shape: Flag,
        help: "No page at /dashboard that shows what the node does",
        set: |chosen, text| {
            chosen.settings.dashboard = !switch(text)?;
            Ok(())
        },
        show: |chosen| text(&!chosen.settings.dashboard),
    },
    flag!(
        NETWORK,
        "admin-api",
        settings.admin_api,
        "Methods for whoever runs the node, for everybody who reaches it"
    ),
    setting!(
        CHAIN,
        "chain-id",
        Number("ID"),
        settings.shards.rules.base_chain_id,
        chain_id,
        |id: &BaseChainId| id.get().to_string(),
        "The base chain id, below 2097152. A shard's own is ID * 2^32 + the first 32 bits of the \
         hash of its address"
    ),
    flag!(
        CHAIN,
        "shared-chain-id",
        settings.shards.rules.shared_chain_id,
        "All shards have the base chain id. Anyone can then replay a transaction of one shard in \
         another"
    ),
    Setting {
        name: "hardfork",
        group: CHAIN,
        shape: Value("NAME"),
        help: "The hard fork: london, paris, shanghai, cancun, prague or osaka",
        set: set_fork,
        show: |chosen| show_fork(&format!("{:?}", chosen.settings.shards.rules.fork)),
    },
    setting!(
        CHAIN,
        "genesis",
        Value("FILE"),
        genesis,
        path,
        show_path,
        "What each shard begins with, in geth's format; the development accounts are added"
    ),
    number!(
        CHAIN,
        "block-gas-limit",
        "GAS",
        settings.shards.rules.block_gas_limit,
        count,
        "Gas in a block"
    ),
    number!(
        CHAIN,
        "block-transactions",
        "N",
        settings.shards.rules.block_transactions_max,
        count,
        "Transactions in a block"
    ),
    number!(
        CHAIN,
        "max-shards",
        "N",
        settings.shards.shards_max,
        count,
        "How many shards there may be"
    ),
    flag!(
        CHAIN,
        "strict",
        settings.shards.strict,
        "Only shards that were made on purpose exist: a transaction makes none"
    ),
    flag!(CHAIN, "no-fee", settings.shards.rules.no_fee, "Fees are neither checked nor charged"),
    flag!(
        CHAIN,
        "state-root",
        settings.shards.rules.state_root,
        "Blocks have a state root, and proofs can be asked for; without it the root is zero"
    ),
    flag!(
        CHAIN,
        "system-calls",
        settings.shards.rules.system_calls,
        "Each block begins with the calls of EIP-2935 and EIP-4788"
    ),
    flag!(
        CHAIN,
        "allow-unprotected",
        settings.shards.rules.allow_unprotected,
        "Take transactions without a chain id, which are valid in every shard"
    ),
    setting!(
        ACCOUNTS,
        "mnemonic",
        Value("WORDS"),
        settings.accounts.mnemonic,
        own,
        text,
        "The words that the development accounts are made from"
    ),
    number!(
        ACCOUNTS,
        "accounts",
        "N",
        settings.accounts.count,
        number,
        "How many development accounts there are; 0 outside of development"
    ),
    setting!(
        ACCOUNTS,
        "balance",
        Number("ETHER"),
        settings.accounts.balance,
        ether,
        |wei: &_| show_ether(*wei),
        "What each of them owns in every shard, in ether"
    ),
    flag!(
        ACCOUNTS,
        "no-account-validation",
        settings.shards.rules.no_account_validation,
        "eth_sendTransaction takes transactions from any address, without a signature"
    ),
    flag!(
        ACCOUNTS,
        "dev-api",
        settings.dev_api,
        "Methods that change balances, code, storage and time (anvil_…, hardhat_…, evm_…)"
    ),
    setting!(
        BASE,
        "base-chain-url",
        Value("URL"),
        base_chain.url,
        own,
        text,
        "An Ethereum endpoint whose newest block is the environment of ours [default: none, and the \
         time is that of this machine]"
    ),
    time!(
        BASE,
        "block-poll-interval",
        base_chain.poll_interval,
        some_duration,
        "How often it is asked"
    ),
    time!(
        BASE,
        "base-chain-wait",
        base_chain.wait,
        duration,
        "How long a start waits for its first answer"
    ),
    time!(
        BASE,
        "base-chain-ahead-max",
        base_chain.ahead_max,
        duration,
        "A block so far ahead of this machine's clock is not believed"
    ),
    setting!(
        SCHEDULING,
        "workers",
        Number("N"),
        settings.workers,
        workers,
        |workers: &Option<_>| workers
            .map_or("auto".to_owned(), |workers: std::num::NonZeroUsize| workers.to_string()),
        "Threads for shards, and as many for questions; auto: SHIFTWORK_WORKERS, else one per \
         core"
    ),
    time!(
        SCHEDULING,
        "time-quantum",
        settings.quantum,
        some_duration,
        "How long a shard goes on while others wait"
    ),
    setting!(
        SCHEDULING,
        "parallel",
        Value("BOOL"),
        settings.shards.parallel,
        switch,
        text,
        "Blocks of heavy transactions are executed on several workers"
    ),
    number!(
        SCHEDULING,
        "cache-entries",
        "N",
        settings.shards.cache_entries,
        number,
        "Accounts and slots that a shard keeps at hand"
    ),
    bytes!(
        SCHEDULING,
        "checkpoint-bytes",
        settings.shards.checkpoint_bytes,
        "The log is folded into the tables when it has grown by so much"
    ),
    setting!(
        POOL,
        "pool.order",
        Value("ORDER"),
        settings.shards.pool.order,
        order,
        show_order,
        "Whose turn is next: price (the highest first) or fifo"
    ),
    number!(
        POOL,
        "pool.transactions",
        "N",
        settings.shards.pool.transactions_max,
        count,
        "Transactions in the pool of a shard"
    ),
    number!(
        POOL,
        "pool.sender",
        "N",
        settings.shards.pool.sender_max,
        count,
        "Transactions of one sender in it"
    ),
    bytes!(POOL, "pool.bytes", settings.shards.pool.bytes_max, "Bytes of all transactions in it"),
    bytes!(
        POOL,
        "pool.transaction-bytes",
        settings.shards.pool.transaction_bytes_max,
        "Bytes of one transaction"
    ),
    number!(
        POOL,
        "pool.nonce-ahead",
        "N",
        settings.shards.pool.nonce_ahead_max,
        number,
        "How far a nonce may be ahead of the account's"
    ),
    time!(
        POOL,
        "pool.expiry",
        settings.shards.pool.expiry,
        some_duration,
        "What waits for longer is dropped"
    ),
    number!(
        POOL,
        "pool.replacement",
        "PERCENT",
        settings.shards.pool.replacement_percent,
        number,
        "How much more a replacement must offer"
    ),
    bytes!(LIMITS, "limit.body", settings.limits.body_bytes, "Bytes of a request"),
    bytes!(LIMITS, "limit.answer", settings.limits.answer_bytes, "Bytes of an answer"),
    number!(LIMITS, "limit.batch", "N", settings.limits.batch_items, count, "Requests in a batch"),
    number!(
        LIMITS,
        "limit.depth",
        "N",
        settings.limits.json_depth,
        count,
        "How deep JSON may be nested"
    ),
    bytes!(
        LIMITS,
        "limit.calldata",
        settings.limits.calldata_bytes,
        "Bytes of the input of a call"
    ),
    number!(LIMITS, "limit.call-gas", "GAS", settings.limits.call_gas, count, "Gas of a call"),
    number!(
        LIMITS,
        "limit.connections",
        "N",
        settings.limits.connections,
        count,
        "Connections at once"
    ),
    number!(
        LIMITS,
        "limit.subscriptions",
        "N",
        settings.limits.subscriptions,
        number,
        "Subscriptions of one connection"
    ),
    number!(
        LIMITS,
        "limit.subscriptions-all",
        "N",
        settings.limits.subscriptions_all,
        number,
        "Subscriptions of all connections"
    ),
    number!(
        LIMITS,
        "limit.subscription-blocks",
        "N",
        settings.limits.subscription_blocks,
        number,
        "Blocks that wait for a subscriber who is slow, before it is dropped"
    ),
    number!(
        LIMITS,
        "limit.filters",
        "N",
        settings.limits.filters,
        number,
        "Filters of all clients"
    ),
    number!(
        LIMITS,
        "limit.log-values",
        "N",
        settings.limits.log_values,
        number,
        "Addresses and topics that filters and subscriptions of all clients look for"
    ),
    time!(
        LIMITS,
        "limit.filter-expiry",
        settings.limits.filter_expiry,
        some_duration,
        "A filter that nobody asks for goes"
    ),
    number!(LIMITS, "limit.logs", "N", settings.limits.logs, count, "Logs in an answer"),
    number!(
        LIMITS,
        "limit.log-blocks",
        "N",
        settings.limits.log_blocks,
        count,
        "Blocks that a search for logs looks at"
    ),
    time!(
        LIMITS,
        "limit.header-time",
        settings.limits.header_timeout,
        some_duration,
        "The head of a request must be there by then"
    ),
    time!(
        LIMITS,
        "limit.body-time",
        settings.limits.body_timeout,
        some_duration,
        "A request must be whole by then"
    ),
    time!(
        LIMITS,
        "limit.idle-time",
        settings.limits.idle_timeout,
        some_duration,
        "A connection without requests is closed"
    ),
    setting!(
        LOG,
        "timeline",
        Value("FILE"),
        timeline,
        path,
        show_path,
        "At the end, what each worker did last is written to this file, for https://ui.perfetto.dev"
    ),
    setting!(
        LOG,
        "log-format",
        Value("FORMAT"),
        log_format,
        LogFormat::parse,
        |format: &LogFormat| format.name().to_owned(),
        "What the log looks like: text or json"
    ),
    setting!(
        LOG,
        "log-level",
        Value("LEVEL"),
        log_level,
        log::level,
        text,
        "What is logged: off, error, warn, info, debug, trace, or a list such as info,node=debug"
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::chosen::Chosen, *};

    #[test]
    fn what_is_shown_is_taken_and_shown_the_same() {
        for setting in SETTINGS {
            let mut chosen = Chosen::default();
            let shown = (setting.show)(&chosen);
            (setting.set)(&mut chosen, &shown)
                .unwrap_or_else(|why| panic!("{} {shown:?}: {why}", setting.name));
            assert_eq!((setting.show)(&chosen), shown, "{}", setting.name);
        }
    }

    #[test]
    fn names_are_unique_also_as_variables() {
        let names: BTreeSet<String> = SETTINGS.iter().map(Setting::variable).collect();
        assert_eq!(names.len(), SETTINGS.len());
    }
}
