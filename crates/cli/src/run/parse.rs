//! How sizes, durations and numbers of operations are written on the command line.

use std::time::Duration;

/// A page of WebAssembly's memory: less is no memory.
const MEMORY_MIN: u64 = 64 << 10;
/// More can not be addressed with 32 bits.
const MEMORY_MAX: u64 = 4 << 30;

/// The memory of a task.
pub(crate) fn memory(text: &str) -> Result<usize, String> {
    match size(text)? {
        Some(bytes @ MEMORY_MIN..=MEMORY_MAX) => Ok(bytes as usize),
        _ => Err("it must be from 64K (one page) to 4G".to_owned()),
    }
}

/// The memories of all tasks.
pub(crate) fn program_memory(text: &str) -> Result<usize, String> {
    match size(text)?.map(usize::try_from) {
        Some(Ok(bytes)) if bytes as u64 >= MEMORY_MIN => Ok(bytes),
        Some(Ok(_)) => Err("it must be at least 64K (one page)".to_owned()),
        _ => Err("it is too large".to_owned()),
    }
}

/// `65536`, `64K`, `64M`, `1G`, also with `B` or `iB` behind the letter. `None`: too large to count.
fn size(text: &str) -> Result<Option<u64>, String> {
    let what = || format!("`{text}` is no size: give bytes, or a number with K, M or G (64M)");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| what())?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err(what()),
    };
    Ok(number.checked_mul(1 << shift))
}

/// `500ms`, `10s`, `1.5m`, `2h`; without a unit, seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let what = || format!("`{text}` is no duration: give one like 500ms, 10s or 2m");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| what())?;
    let seconds = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(what()),
    };
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(Duration::ZERO) => Err("it must be more than 0".to_owned()),
        Ok(duration) => Ok(duration),
        Err(_) => Err("it is too long".to_owned()),
    }
}

/// A number of operations, from 1.
pub(crate) fn operations(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(operations) => Ok(operations),
        Err(_) => Err(format!("`{text}` is no number of operations")),
    }
}

/// A number of tasks, from 1: main is one.
pub(crate) fn tasks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(tasks) => Ok(tasks),
        Err(_) => Err(format!("`{text}` is no number of tasks")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_are_those_of_a_memory() {
        assert_eq!(memory("65536"), Ok(64 << 10));
        assert_eq!(memory("64k"), Ok(64 << 10));
        assert_eq!(memory("10MB"), Ok(10 << 20));
        assert_eq!(memory("1GiB"), Ok(1 << 30));
        assert_eq!(memory("4G"), Ok(4 << 30));
        for bad in ["", "0", "63K", "5G", "M", "1.5G", "-1", "64X", "99999999999999999999", "1T"] {
            assert!(memory(bad).is_err(), "{bad:?} was taken");
        }
        assert!(memory("18014398509481984K").is_err(), "it overflows");
    }

    #[test]
    fn the_memory_of_all_may_be_larger_than_that_of_one() {
        assert_eq!(program_memory("64K"), Ok(64 << 10));
        assert_eq!(program_memory("100G"), Ok(100 << 30));
        for bad in ["", "0", "63K", "M", "1.5G", "-1", "64X", "18014398509481984K"] {
            assert!(program_memory(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn tasks_are_counted_from_one() {
        assert_eq!(tasks("1"), Ok(1));
        for bad in ["0", "-1", "1.5", "many", ""] {
            assert!(tasks(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn durations_have_units_and_are_more_than_nothing() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for bad in ["", "s", "0", "0ms", "-1s", "1d", "1 s", "soon", "1..5s", "1e300h", "inf"] {
            assert!(duration(bad).is_err(), "{bad:?} was taken");
        }
        let long = format!("{}h", "9".repeat(40));
        assert_eq!(duration(&long), Err("it is too long".to_owned()));
    }

    #[test]
    fn operations_are_counted_from_one() {
        assert_eq!(operations("1"), Ok(1));
        for bad in ["0", "-1", "1.5", "many", ""] {
            assert!(operations(bad).is_err(), "{bad:?} was taken");
        }
    }
}
