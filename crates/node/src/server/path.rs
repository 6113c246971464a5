//! What is asked for, by its path?

use alloy_primitives::Address;

use crate::{context::Endpoint, dashboard::Target};

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Rpc(Endpoint),
    Health,
    Ready,
    Metrics,
    /// `/admin/timeline`
    Timeline,
    /// `/dashboard` and what is below it.
    Dashboard(Target),
    /// `/shard/` and something that is no address.
    NoAddress,
    Unknown,
}

impl Path {
    pub(super) fn parse(path: &str) -> Path {
        match path {
            "/" => Path::Rpc(Endpoint::Root),
            "/health" => Path::Health,
            "/ready" => Path::Ready,
            "/metrics" => Path::Metrics,
            "/admin/timeline" => Path::Timeline,
            _ => match path.strip_prefix("/shard/") {
                Some(address) => {
                    // Some tools add a slash to the end.
                    let address = address.strip_suffix('/').unwrap_or(address);
                    address
                        .parse::<Address>()
                        .map_or(Path::NoAddress, |address| Path::Rpc(Endpoint::Shard(address)))
                }
                None => match path.strip_prefix("/dashboard") {
                    Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                        Path::Dashboard(Target::parse(rest))
                    }
                    _ => Path::Unknown,
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_shard_by_its_address() {
        let address = Address::repeat_byte(0xab);
        let own = Path::Rpc(Endpoint::Shard(address));
        assert_eq!(Path::parse(&format!("/shard/{address}")), own);
        assert_eq!(Path::parse(&format!("/shard/{address:#x}/")), own);
        assert_eq!(Path::parse("/"), Path::Rpc(Endpoint::Root));
        assert_eq!(Path::parse("/shard/"), Path::NoAddress);
        assert_eq!(Path::parse("/shard/0x12"), Path::NoAddress);
        assert_eq!(Path::parse("/shards"), Path::Unknown);
        assert_eq!(Path::parse("/dashboard"), Path::Dashboard(Target::Redirect));
        assert_eq!(Path::parse("/dashboard/state"), Path::Dashboard(Target::State));
        assert_eq!(Path::parse("/dashboards"), Path::Unknown);
    }
}
