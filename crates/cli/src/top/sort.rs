//! In which order are those that take turns shown, and which of them?

use std::cmp::Ordering;

use clap::ValueEnum;

use super::picture::Entry;

/// A column that can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// Shard, process, task, job, strand
    Kind,
    /// As its author calls it
    Name,
    /// What it is doing
    State,
    /// What it does per second
    Rate,
    /// What it has done since the start
    Done,
    /// What waits for it
    Waiting,
    /// What went wrong last
    Error,
}

impl Column {
    /// From left to right.
    pub(crate) const ALL: [Column; 7] = [
        Column::Kind,
        Column::Name,
        Column::State,
        Column::Rate,
        Column::Done,
        Column::Waiting,
        Column::Error,
    ];

    pub(crate) fn key(self) -> char {
        match self {
            Column::Kind => 'k',
            Column::Name => 'n',
            Column::State => 't',
            Column::Rate => 'd',
            Column::Done => 'D',
            Column::Waiting => 'w',
            Column::Error => 'e',
        }
    }

    pub(crate) fn heading(self) -> &'static str {
        match self {
            Column::Kind => "KIND",
            Column::Name => "NAME",
            Column::State => "STATE",
            Column::Rate => "DONE/S",
            Column::Done => "DONE",
            Column::Waiting => "WAITING",
            Column::Error => "ERROR",
        }
    }

    /// Numbers begin with the largest, text with A.
    fn is_number(self) -> bool {
        matches!(self, Column::Rate | Column::Done | Column::Waiting)
    }
}

/// The order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sort {
    pub(crate) by: Column,
    pub(crate) reversed: bool,
}

impl Sort {
    /// Whether small ones come first.
    pub(crate) fn is_rising(self) -> bool {
        self.by.is_number() == self.reversed
    }

    /// To the next column.
    pub(crate) fn next(self) -> Sort {
        let at = Column::ALL.iter().position(|column| *column == self.by).unwrap_or(0);
        Sort { by: Column::ALL[(at + 1) % Column::ALL.len()], reversed: false }
    }

    fn compare(self, a: &Entry, b: &Entry) -> Ordering {
        let order = match self.by {
            Column::Kind => a.kind.cmp(&b.kind),
            Column::Name => a.name.cmp(&b.name),
            Column::State => a.state.cmp(&b.state),
            Column::Rate => match (a.rate, b.rate) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                // What is not known comes last, whichever way it is turned.
                (a, b) => return b.is_some().cmp(&a.is_some()),
            },
            Column::Done => a.done.cmp(&b.done),
            Column::Waiting => a.waiting.cmp(&b.waiting),
            Column::Error => match (a.error.is_empty(), b.error.is_empty()) {
                (false, false) => a.error.cmp(&b.error),
                (a, b) => return a.cmp(&b),
            },
        };
        if self.is_rising() { order } else { order.reverse() }
    }

    /// Those that match the filter, in order. Equal ones are in the order of what they have done,
    /// then of their names, so that rows do not jump.
    pub(crate) fn apply<'a>(self, entries: &'a [Entry], filter: &str) -> Vec<&'a Entry> {
        let filter = filter.to_lowercase();
        let mut chosen: Vec<_> = entries.iter().filter(|entry| matches(entry, &filter)).collect();
        chosen.sort_by(|a, b| {
            let order = self.compare(a, b).then_with(|| b.done.cmp(&a.done));
            order.then_with(|| a.name.cmp(&b.name)).then_with(|| a.kind.cmp(&b.kind))
        });
        chosen
    }
}

impl Default for Sort {
    fn default() -> Sort {
        Sort { by: Column::Rate, reversed: false }
    }
}

/// `filter` is in lower case.
fn matches(entry: &Entry, filter: &str) -> bool {
    let texts = [&entry.kind, &entry.name, &entry.state, &entry.error];
    filter.is_empty() || texts.into_iter().any(|text| text.to_lowercase().contains(filter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let entry = |kind: &str, name: &str, rate, done, error: &str| Entry {
            kind: kind.to_owned(),
            name: name.to_owned(),
            rate,
            done,
            error: error.to_owned(),
            ..Entry::default()
        };
        vec![
            entry("task", "b", Some(2.0), 10, ""),
            entry("shard", "Ä", None, 99, "broken"),
            entry("shard", "a", Some(9.0), 30, ""),
            entry("task", "c", Some(2.0), 20, "a trap"),
        ]
    }

    fn names(sort: Sort, filter: &str) -> String {
        let entries = entries();
        sort.apply(&entries, filter).into_iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn each_column_sorts_both_ways_and_the_unknown_stays_last() {
        for (by, expect, reversed) in [
            (Column::Rate, "acbÄ", "cbaÄ"),
            (Column::Done, "Äacb", "bcaÄ"),
            (Column::Name, "abcÄ", "Äcba"),
            (Column::Kind, "Äacb", "cbÄa"),
            (Column::Error, "cÄab", "Äcab"),
            (Column::Waiting, "Äacb", "Äacb"),
            (Column::State, "Äacb", "Äacb"),
        ] {
            assert_eq!(names(Sort { by, reversed: false }, ""), expect, "{by:?}");
            assert_eq!(names(Sort { by, reversed: true }, ""), reversed, "{by:?}");
        }
    }

    #[test]
    fn a_filter_looks_at_all_text_and_at_no_case() {
        let sort = Sort { by: Column::Name, reversed: false };
        assert_eq!(names(sort, "SHARD"), "aÄ");
        assert_eq!(names(sort, "ä"), "Ä");
        assert_eq!(names(sort, "TRAP"), "c");
        assert_eq!(names(sort, "nobody"), "");
    }

    #[test]
    fn columns_have_keys_of_their_own_and_follow_each_other_around() {
        let mut sort = Sort::default();
        let mut keys = Vec::new();
        for _ in Column::ALL {
            keys.push(sort.by.key());
            sort = sort.next();
        }
        assert_eq!(sort, Sort::default());
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), Column::ALL.len());
    }
}
