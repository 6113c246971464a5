//! How are values written: durations, sizes, amounts of ether?

use std::{
    fmt::Display,
    num::{NonZeroU64, NonZeroUsize},
    str::FromStr,
    time::Duration,
};

use alloy_primitives::U256;
use shard::config::{Durability, Traces};

/// Clocks can be added to so much without an end.
const DURATION_MAX: Duration = Duration::from_secs(87_600 * 3_600);
const WEI_DIGITS: usize = 18;

/// `100ms`, `12s`, `1.5m`, `3h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let what = || format!("`{text}` is no duration: give one like 500ms, 10s, 2m or 3h");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| what())?;
    let seconds = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        // Seconds and milliseconds are both usual, and a factor of 1,000 apart.
        "" if number == 0.0 => 1.0,
        "" => return Err(format!("`{text}` has no unit: give one like 500ms, 10s, 2m or 3h")),
        _ => return Err(what()),
    };
    let duration = Duration::try_from_secs_f64(number * seconds).unwrap_or(Duration::MAX);
    if duration > DURATION_MAX {
        return Err(format!("`{text}` is too long: 87600h, ten years, is the longest"));
    }
    Ok(duration)
}

/// The same, and not nothing.
pub(crate) fn some_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("it must be more than 0".to_owned()),
        duration => Ok(duration),
    }
}

/// As [`duration`] reads it.
pub(crate) fn show_duration(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    match (seconds, nanos) {
        (0, 0) => "0s".to_owned(),
        (_, 0) if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        (_, 0) if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        (_, 0) => format!("{seconds}s"),
        _ if nanos.is_multiple_of(1_000_000) => format!("{}ms", duration.as_millis()),
        _ => format!("{}us", duration.as_secs_f64() * 1e6),
    }
}

/// Bytes, or a number with K, M or G.
pub(crate) fn size<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let what = || format!("`{text}` is no size: give bytes, or a number with K, M or G (5M)");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| what())?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "kb" | "mb" | "gb" => {
            return Err(format!("`{text}`: K, M and G are powers of 1,024 here, without a B"));
        }
        _ => return Err(what()),
    };
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or_else(|| format!("`{text}` must be more than 0, and not as large"))?;
    bytes.try_into().map_err(|_| format!("`{text}` is too large"))
}

/// As [`size`] reads it.
pub(crate) fn show_size(bytes: u64) -> String {
    for (shift, unit) in [(30, "G"), (20, "M"), (10, "K")] {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// A number; between its digits there may be `_`.
pub(crate) fn number<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.replace('_', "").parse().map_err(|why| format!("`{text}` is no such number: {why}"))
}

/// A number from 1.
pub(crate) fn count<T: FromStr<Err: Display> + PartialEq + Default>(
    text: &str,
) -> Result<T, String> {
    match number(text)? {
        zero if zero == T::default() => Err("it must be at least 1".to_owned()),
        count => Ok(count),
    }
}

/// A number from 1, or `auto`.
pub(crate) fn workers(text: &str) -> Result<Option<NonZeroUsize>, String> {
    match text {
        "auto" => Ok(None),
        _ => number::<usize>(text)?
            .try_into()
            .map(Some)
            .map_err(|_| "there must be at least one worker".to_owned()),
    }
}

/// Whether it is on.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "on" | "yes" => Ok(true),
        "false" | "0" | "off" | "no" | "" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

/// Ether with up to 18 decimals, in wei.
pub(crate) fn ether(text: &str) -> Result<U256, String> {
    let what = || format!("`{text}` is no amount of ether: give one like 10000 or 0.5");
    let plain = text.replace('_', "");
    let (whole, part) = plain.split_once('.').unwrap_or((&plain, ""));
    let digits = format!("{whole}{part:0<WEI_DIGITS$}");
    if whole.is_empty() || part.len() > WEI_DIGITS || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(what());
    }
    U256::from_str_radix(&digits, 10).map_err(|_| what())
}

/// As [`ether`] reads it.
pub(crate) fn show_ether(wei: U256) -> String {
    let digits = format!("{wei:0>width$}", wei = wei.to_string(), width = WEI_DIGITS + 1);
    let (whole, part) = digits.split_at(digits.len() - WEI_DIGITS);
    match part.trim_end_matches('0') {
        "" => whole.to_owned(),
        part => format!("{whole}.{part}"),
    }
}

/// `sync`, `batch=10ms` or `none`.
pub(crate) fn durability(text: &str) -> Result<Durability, String> {
    match (text, text.strip_prefix("batch=")) {
        ("sync", _) => Ok(Durability::Sync),
        ("none", _) => Ok(Durability::None),
        (_, Some(delay)) => some_duration(delay).map(Durability::Batch),
        _ => Err(format!("`{text}` is none of sync, batch=10ms (or another delay), none")),
    }
}

/// As [`durability`] reads it.
pub(crate) fn show_durability(durability: Durability) -> String {
    match durability {
        Durability::Sync => "sync".to_owned(),
        Durability::Batch(delay) => format!("batch={}", show_duration(delay)),
        Durability::None => "none".to_owned(),
    }
}

/// How many blocks are kept.
pub(crate) fn prune(text: &str) -> Result<Option<NonZeroU64>, String> {
    match text {
        "never" => Ok(None),
        _ => count::<u64>(text).map(NonZeroU64::new),
    }
}

/// As [`prune`] reads it.
pub(crate) fn show_prune(depth: Option<NonZeroU64>) -> String {
    depth.map_or("never".to_owned(), |depth| depth.to_string())
}

/// Whether call trees are kept.
pub(crate) fn traces(text: &str) -> Result<Traces, String> {
    match text {
        "on-demand" => Ok(Traces::OnDemand),
        "stored" => Ok(Traces::Stored),
        _ => Err(format!("`{text}` is neither on-demand nor stored")),
    }
}

/// As [`traces`] reads it.
pub(crate) fn show_traces(traces: Traces) -> String {
    match traces {
        Traces::OnDemand => "on-demand".to_owned(),
        Traces::Stored => "stored".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_are_shown_as_they_are_read() {
        for (text, millis) in
            [("100ms", 100), ("12s", 12_000), ("1.5m", 90_000), ("3h", 10_800_000)]
        {
            let read = duration(text).unwrap();
            assert_eq!(read, Duration::from_millis(millis));
            assert_eq!(duration(&show_duration(read)), Ok(read));
        }
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for bad in ["", "s", "10", "-1s", "1d", "1 s", "soon", "1..5s", "inf"] {
            assert!(duration(bad).is_err(), "{bad:?} was taken");
        }
        assert!(some_duration("0s").is_err());
    }

    #[test]
    fn sizes_are_powers_of_1024_and_fit() {
        assert_eq!(size::<u32>("5M"), Ok(5 << 20));
        assert_eq!(size::<usize>("131072"), Ok(128 << 10));
        assert_eq!(size::<u64>("1GiB"), Ok(1 << 30));
        for bad in ["", "0", "5G", "M", "1.5M", "-1", "64X", "5MB", "99999999999999999999"] {
            assert!(size::<u32>(bad).is_err(), "{bad:?} was taken");
        }
        for bytes in [1, 1024, 5 << 20, 25_000_000, 64 << 20, 3 << 30] {
            assert_eq!(size(&show_size(bytes)), Ok(bytes));
        }
    }

    #[test]
    fn ether_has_eighteen_decimals() {
        let one = U256::from(10u64.pow(18));
        assert_eq!(ether("1"), Ok(one));
        assert_eq!(ether("10_000"), Ok(one * U256::from(10_000)));
        assert_eq!(ether("0.000000000000000001"), Ok(U256::from(1)));
        for bad in ["", ".", ".5", "-1", "1e3", "0x1", "1.0000000000000000001", "1.-1"] {
            assert!(ether(bad).is_err(), "{bad:?} was taken");
        }
        for text in ["0", "1", "0.5", "10000", "0.000000000000000001"] {
            assert_eq!(show_ether(ether(text).unwrap()), text);
        }
    }

    #[test]
    fn durability_is_one_of_three() {
        for text in ["sync", "batch=10ms", "none"] {
            assert_eq!(show_durability(durability(text).unwrap()), text);
        }
        for bad in ["", "batch", "batch=", "batch=0s", "batch=10", "fast"] {
            assert!(durability(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn what_is_kept_is_shown_as_it_is_read() {
        for text in ["never", "1", "100000"] {
            assert_eq!(show_prune(prune(text).unwrap()), text);
        }
        for text in ["on-demand", "stored"] {
            assert_eq!(show_traces(traces(text).unwrap()), text);
        }
        assert!(prune("0").is_err() && prune("all").is_err() && traces("yes").is_err());
    }
}
