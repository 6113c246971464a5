//! How are values written that are words: forks, orders, paths, lists?

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use shard::{config::PoolOrder, identity::BaseChainId};

use super::{chosen::Chosen, parse::number};

pub(super) fn text(value: &impl ToString) -> String {
    value.to_string()
}

pub(super) fn own(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

pub(super) fn path(text: &str) -> Result<Option<PathBuf>, String> {
    Ok((!text.is_empty()).then(|| text.into()))
}

pub(super) fn show_path(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or(String::new(), |path| path.display().to_string())
}

pub(super) fn list(text: &str) -> Result<Vec<String>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    Ok(parts.map(str::to_owned).collect())
}

pub(super) fn show_list(parts: &[String]) -> String {
    parts.join(",")
}

pub(super) fn address(text: &str) -> Result<IpAddr, String> {
    match text {
        "localhost" => Ok(Ipv4Addr::LOCALHOST.into()),
        _ => text.parse().map_err(|_| {
            format!("`{text}` is no IP address: give one like 127.0.0.1, 0.0.0.0 or ::1")
        }),
    }
}

pub(super) fn chain_id(text: &str) -> Result<BaseChainId, String> {
    BaseChainId::new(number(text)?).ok_or_else(|| {
        let largest = BaseChainId::END - 1;
        format!("a base chain id is from 1 to {largest}, so that those of shards stay below 2^53")
    })
}

pub(super) fn order(text: &str) -> Result<PoolOrder, String> {
    match text {
        "price" => Ok(PoolOrder::Price),
        "fifo" => Ok(PoolOrder::Fifo),
        _ => Err(format!("`{text}` is neither price nor fifo")),
    }
}

pub(super) fn show_order(order: &PoolOrder) -> String {
    match order {
        PoolOrder::Price => "price".to_owned(),
        PoolOrder::Fifo => "fifo".to_owned(),
    }
}

pub(super) const FORKS: [&str; 6] = ["london", "paris", "shanghai", "cancun", "prague", "osaka"];

pub(super) fn set_fork(chosen: &mut Chosen, text: &str) -> Result<(), String> {
    let wrong = || format!("`{text}` is no hard fork: give one of {}", FORKS.join(", "));
    let lower = text.to_ascii_lowercase();
    let name = match lower.as_str() {
        "paris" | "merge" => "Merge".to_owned(),
        name if FORKS.contains(&name) => name[..1].to_ascii_uppercase() + &name[1..],
        _ => return Err(wrong()),
    };
    chosen.settings.shards.rules.fork = name.parse().map_err(|_| wrong())?;
    Ok(())
}

pub(super) fn show_fork(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "merge" => "paris".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fork_that_is_named_is_known() {
        for fork in FORKS {
            let mut chosen = Chosen::default();
            set_fork(&mut chosen, fork).unwrap();
            assert_eq!(show_fork(&format!("{:?}", chosen.settings.shards.rules.fork)), fork);
        }
        assert!(set_fork(&mut Chosen::default(), "frontier").is_err());
        assert!(set_fork(&mut Chosen::default(), "ü").is_err());
    }
}
