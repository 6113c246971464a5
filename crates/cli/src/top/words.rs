//! How is text that strangers wrote brought into columns, so that a terminal obeys none of it?
//!
//! Everything that comes from a node goes through [`clean`] before anything else looks at it; what
//! is drawn is cut and filled by columns, not by characters.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A longer text is cut: no screen shows more, and a megabyte of combining marks fits in a cell.
const CHARS_MAX: usize = 512;
/// Stands for what has no picture of its own.
const REPLACEMENT: char = '\u{fffd}';

/// The text in one line, with a visible sign for each character that a terminal would obey or that
/// would move its neighbours.
pub(crate) fn clean(text: &str) -> String {
    let sign = |c: char| match c {
        // Unicode has a picture for each of these: ␛ for escape, ␊ for a new line.
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)),
        '\x7f' => Some('␡'),
        // They only choose between looks of the character before.
        '\u{fe00}'..='\u{fe0f}' => None,
        _ if c.is_control() || is_unseen(c) => Some(REPLACEMENT),
        _ => Some(c),
    };
    text.chars().take(CHARS_MAX).filter_map(sign).collect()
}

/// Turns the direction of text, joins or splits it, and is not seen itself.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// How many columns it takes.
pub(crate) fn width(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// The text in exactly so many columns: filled with blanks, or cut at its end.
pub(crate) fn left(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    text + &" ".repeat(blanks)
}

/// The same, moved to the right.
pub(crate) fn right(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    " ".repeat(blanks) + &text
}

/// At most so many columns; what is missing at the end is told by `…`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    first(text.graphemes(true), room).concat() + "…"
}

/// At most so many columns; what is missing is missing in the middle, because addresses and names
/// with a number differ at their ends.
pub(crate) fn cut_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let head = first(text.graphemes(true), room.div_ceil(2));
    let mut tail = first(text.graphemes(true).rev(), room / 2);
    tail.reverse();
    format!("{}…{}", head.concat(), tail.concat())
}

/// As many as have room.
fn first<'a>(graphemes: impl Iterator<Item = &'a str>, room: usize) -> Vec<&'a str> {
    let mut used = 0;
    let fits = |grapheme: &&str| {
        used += grapheme.width();
        used <= room
    };
    graphemes.take_while(fits).collect()
}

/// A rate in at most six columns: `0`, `3.4`, `812`, `9,812`, `98.1k`, `3.20M`.
pub(crate) fn rate(per_second: Option<f64>) -> String {
    match per_second {
        None => "-".to_owned(),
        Some(n) if n < 0.05 => "0".to_owned(),
        Some(n) if n < 9.95 => format!("{n:.1}"),
        Some(n) if n < 99_999.5 => crate::text::thousands(n.round() as u64),
        Some(n) if n < 999_950.0 => format!("{:.0}k", n / 1e3),
        Some(n) if n < 1e9 => format!("{:.2}M", n / 1e6),
        Some(n) => format!("{:.1e}", n),
    }
}

/// A count in at most seven columns.
pub(crate) fn amount(n: u64) -> String {
    if n < 1_000_000 { crate::text::thousands(n) } else { rate(Some(n as f64)) }
}

/// `4 s`, `3 min 04 s`, `2 h 05 min`, `3 d 04 h`.
pub(crate) fn age(seconds: f64) -> String {
    // No cast can fail: too large becomes the largest, below zero becomes zero.
    let seconds = seconds as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_becomes_a_sign() {
        assert_eq!(clean("plain ünd 漢字"), "plain ünd 漢字");
        assert_eq!(clean("a\x1b[2J\r\n\tb\x07"), "a␛[2J␍␊␉b␇");
        assert_eq!(clean("\x7f\u{9b}31m\u{202e}evil\u{200b}"), "␡\u{fffd}31m\u{fffd}evil\u{fffd}");
        assert_eq!(clean("❤\u{fe0f}"), "❤");
        let all = (0..=0x10_ffff).filter_map(char::from_u32);
        assert!(!clean(&all.take(0x500).collect::<String>()).contains(char::is_control));
    }

    #[test]
    fn a_megabyte_in_one_cell_is_cut() {
        let marks = format!("a{}", "\u{301}".repeat(1 << 20));
        assert!(clean(&marks).len() < 2_000);
    }

    #[test]
    fn columns_are_counted_not_characters() {
        for text in ["", "ab", "abcdef", "漢字漢字", "e\u{301}e\u{301}e\u{301}e\u{301}", "a漢b字c"]
        {
            for columns in 0..12 {
                assert_eq!(width(&left(text, columns)), columns, "{text} in {columns}");
                assert_eq!(width(&right(text, columns)), columns, "{text} in {columns}");
                assert!(width(&cut_middle(text, columns)) <= columns, "{text} in {columns}");
            }
        }
        assert_eq!(left("漢字漢字", 4), "漢… ");
        assert_eq!(right("ab", 4), "  ab");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut_middle("0x1234567890ab", 9), "0x12…90ab");
    }

    #[test]
    fn numbers_keep_to_their_columns() {
        for (n, expect) in [
            (0.0, "0"),
            (0.34, "0.3"),
            (9.96, "10"),
            (9_812.4, "9,812"),
            (99_999.4, "99,999"),
            (99_999.6, "100k"),
            (1e6, "1.00M"),
        ] {
            assert_eq!(rate(Some(n)), expect);
        }
        assert_eq!(rate(None), "-");
        for n in (0..64).map(|bit| u64::MAX >> bit) {
            assert!(rate(Some(n as f64)).len() <= 7 && amount(n).len() <= 7, "{n}");
        }
    }

    #[test]
    fn ages_have_the_units_that_matter() {
        assert_eq!(age(-3.0), "0 s");
        assert_eq!(age(59.9), "59 s");
        assert_eq!(age(184.0), "3 min 04 s");
        assert_eq!(age(7_500.0), "2 h 05 min");
        assert_eq!(age(277_200.0), "3 d 05 h");
    }
}
