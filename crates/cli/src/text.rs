//! How numbers, and what strangers wrote, are written for people.

use std::{borrow::Cow, time::Duration};

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration in the unit that suits it.
pub(crate) fn quantile(duration: Option<Duration>) -> String {
    let Some(duration) = duration else { return "?".to_owned() };
    match duration.as_nanos() {
        0..1_000 => format!("{} ns", duration.as_nanos()),
        1_000..1_000_000 => format!("{:.0} µs", duration.as_secs_f64() * 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", duration.as_secs_f64() * 1e3),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

/// A duration with three digits that count, in the unit that suits it.
pub(crate) fn precise(duration: Duration) -> String {
    const UNITS: [(f64, &str); 5] =
        [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"), (3600e9, "h")];
    let nanos = duration.as_nanos() as f64;
    // What would be written as 1000 of one unit is 1.00 of the next.
    let (size, unit) =
        UNITS.into_iter().rev().find(|(size, _)| nanos >= size * 0.9995).unwrap_or(UNITS[0]);
    let amount = nanos / size;
    match amount {
        _ if unit == "ns" || amount >= 99.95 => format!("{amount:.0} {unit}"),
        _ if amount >= 9.995 => format!("{amount:.1} {unit}"),
        _ => format!("{amount:.2} {unit}"),
    }
}

/// `1 job`, `2 jobs`.
pub(crate) fn count(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {what}{s}", thousands(n as u64))
}

/// Text that a stranger wrote, with nothing in it that a terminal would obey. Lines stay lines.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_bad) {
        return text.into();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if is_bad(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_that_strangers_wrote() {
        assert_eq!(visible("plain, ünd\tmore\n"), "plain, ünd\tmore\n");
        assert_eq!(visible("a\x1b[2Jb\r\u{9b}"), "a\\u{1b}[2Jb\\r\\u{9b}");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }

    #[test]
    fn durations_have_a_unit_that_suits_them() {
        assert_eq!(quantile(None), "?");
        assert_eq!(quantile(Some(Duration::from_nanos(512))), "512 ns");
        assert_eq!(quantile(Some(Duration::from_micros(33))), "33 µs");
        assert_eq!(quantile(Some(Duration::from_micros(1_500))), "1.5 ms");
    }

    #[test]
    fn three_digits_count() {
        let nanos = |nanos| precise(Duration::from_nanos(nanos));
        assert_eq!(nanos(0), "0 ns");
        assert_eq!(nanos(7), "7 ns");
        assert_eq!(nanos(999), "999 ns");
        assert_eq!(nanos(1_000), "1.00 µs");
        assert_eq!(nanos(99_949), "99.9 µs");
        assert_eq!(nanos(99_951), "100 µs");
        assert_eq!(nanos(999_600), "1.00 ms");
        assert_eq!(nanos(40_000_400), "40.0 ms");
        assert_eq!(nanos(7_200_000_000_000), "2.00 h");
    }
}
