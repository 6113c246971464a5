//! What got better or worse since an earlier run, beyond the noise?
//!
//! A change counts where ours has moved by more than the rounds of both runs are spread, and its
//! ratio to the best peer has moved as well: a machine that is slower today is slower for everyone.
//! What may be zero or less, a difference of two times, has no ratio: it is compared as it is.

use super::{
    document::{Document, Run},
    stored::Stored,
};

/// A smaller change is noise, whatever the spread says: of a clock, and of counted instructions.
const NOISE_MIN: f64 = 0.05;
const NOISE_OF_COUNTS: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Better,
    Worse,
    Same,
    /// Only in the old run, or without a value in the new one.
    Gone,
    New,
}

/// What a change must be more than.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Noise {
    /// Nothing was compared.
    None,
    /// Of the value.
    Share(f64),
    /// In its unit.
    Absolute(f64),
}

#[derive(Debug, PartialEq)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) before: Option<f64>,
    pub(super) after: Option<f64>,
    /// Above 1: better, so many times.
    pub(super) times: Option<f64>,
    pub(super) noise: Noise,
    pub(super) verdict: Verdict,
}

/// Every row of the new run beside that of the old, then those that are gone from areas that were
/// `asked` for as a whole. Of others nothing is missed.
pub(super) fn changes(old: &[Stored], new: &[Stored], asked: &[&str]) -> Vec<Change> {
    let name = |row: &Stored, rows: &[Stored]| format!("{} {}", row.area, row.title(rows));
    let mut changes: Vec<Change> = new
        .iter()
        .map(|row| {
            let before = old.iter().find(|other| other.key() == row.key());
            change(name(row, new), before, row)
        })
        .collect();
    // Not: of areas with a new row. One that no longer builds has none.
    let missed = |row: &&Stored| asked.contains(&row.area.as_str());
    let gone = |row: &&Stored| new.iter().all(|other| other.key() != row.key());
    changes.extend(old.iter().filter(missed).filter(gone).map(|row| Change {
        name: name(row, old),
        unit: row.unit.clone(),
        before: row.ours,
        after: None,
        times: None,
        noise: Noise::None,
        verdict: Verdict::Gone,
    }));
    changes
}

fn change(name: String, old: Option<&Stored>, new: &Stored) -> Change {
    let before = old.and_then(|old| old.ours);
    let mut change = Change {
        name,
        unit: new.unit.clone(),
        before,
        after: new.ours,
        times: None,
        noise: Noise::None,
        verdict: if before.is_none() { Verdict::New } else { Verdict::Gone },
    };
    let (Some(old), Some(before), Some(after)) = (old, before, new.ours) else { return change };
    if before <= 0.0 || after <= 0.0 {
        (change.noise, change.verdict) = absolute(old, new, before, after);
        return change;
    }
    let times = if new.larger_is_better() { after / before } else { before / after };
    let least = if new.unit.starts_with("instructions") { NOISE_OF_COUNTS } else { NOISE_MIN };
    let noise = half_of_both(old.spread, new.spread).unwrap_or_default().max(least);
    let beside_peers = match (old.ratio, new.ratio) {
        (Some(old), Some(new)) if old > 0.0 && new > 0.0 => new / old,
        _ => times,
    };
    // Both must say so, and the one that says less counts.
    let sure = match (times > 1.0, beside_peers > 1.0) {
        (true, true) => times.min(beside_peers),
        (false, false) => times.max(beside_peers),
        _ => 1.0,
    };
    change.times = Some(times);
    change.noise = Noise::Share(noise);
    change.verdict = match sure {
        sure if sure > 1.0 + noise => Verdict::Better,
        sure if sure < 1.0 / (1.0 + noise) => Verdict::Worse,
        _ => Verdict::Same,
    };
    change
}

/// Where there is no ratio.
fn absolute(old: &Stored, new: &Stored, before: f64, after: f64) -> (Noise, Verdict) {
    // Files of earlier versions say 0 of what is not above 0.
    let share = |row: &Stored, value: f64| row.spread.filter(|_| value > 0.0);
    let range = |row: &Stored, value| row.range.or(share(row, value).map(|share| share * value));
    let Some(noise) = half_of_both(range(old, before), range(new, after)) else {
        // One round each: who knows?
        return (Noise::None, Verdict::Same);
    };
    let noise = noise.max(NOISE_MIN * before.abs().max(after.abs()));
    let gained = if new.larger_is_better() { after - before } else { before - after };
    let verdict = match gained {
        gained if gained > noise => Verdict::Better,
        gained if gained < -noise => Verdict::Worse,
        _ => Verdict::Same,
    };
    (Noise::Absolute(noise), verdict)
}

/// Half of each, to either side of its median. Of one that is not known the other one counts.
fn half_of_both(old: Option<f64>, new: Option<f64>) -> Option<f64> {
    Some((old.or(new)? + new.or(old)?) / 2.0)
}

/// The table, those that changed first, and a sentence.
pub(super) fn table(changes: &[Change], number: fn(f64) -> String) -> (Vec<Vec<String>>, String) {
    let head = ["row", "unit", "before", "after", "times", "noise", ""];
    let mut lines = vec![head.map(String::from).to_vec()];
    let order = [Verdict::Worse, Verdict::Gone, Verdict::Better, Verdict::New, Verdict::Same];
    for verdict in order {
        for change in changes.iter().filter(|change| change.verdict == verdict) {
            let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
            lines.push(vec![
                change.name.clone(),
                change.unit.clone(),
                shown(change.before),
                shown(change.after),
                change.times.map_or_else(|| "-".to_owned(), |times| format!("{times:.2}")),
                match change.noise {
                    Noise::None => "-".to_owned(),
                    Noise::Share(share) => format!("{:.0} %", 100.0 * share),
                    Noise::Absolute(noise) => number(noise),
                },
                word(verdict).to_owned(),
            ]);
        }
    }
    let count = |verdict| changes.iter().filter(|change| change.verdict == verdict).count();
    let sentence = format!(
        "{} worse, {} gone, {} better, {} new, {} the same; above 1 is better",
        count(Verdict::Worse),
        count(Verdict::Gone),
        count(Verdict::Better),
        count(Verdict::New),
        count(Verdict::Same),
    );
    (lines, sentence)
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "WORSE",
        Verdict::Same => "",
        Verdict::Gone => "GONE",
        Verdict::New => "new",
    }
}

/// What makes a comparison doubtful. Ratios to peers stand it; rows without peers do not.
pub(super) fn doubts(old: &Document, new: &Document) -> Vec<String> {
    let mut doubts = Vec::new();
    if old.run.quick != new.run.quick {
        doubts.push("one of the two runs was quick: its workloads were smaller".to_owned());
    }
    let machine = |run: &Run| match run.machine.as_str() {
        "" => "an unknown machine".to_owned(),
        model => format!("{model} with {} cores", run.cores),
    };
    let (before, after) = (machine(&old.run), machine(&new.run));
    if before != after {
        doubts.push(format!(
            "measured on {before} before and on {after} now: what has no peer is compared by its \
             absolute value"
        ));
    }
    for (when, document) in [("before", old), ("now", new)] {
        let mut areas: Vec<&str> = document.rows.iter().map(|row| row.area.as_str()).collect();
        areas.dedup();
        areas.retain(|area| !document.run.disturbed_in(area).is_empty());
        if !areas.is_empty() {
            doubts.push(format!("the machine was not quiet {when}, in {}", areas.join(", ")));
        }
    }
    doubts
}

/// Whether a build that watches this should fail.
pub(super) fn is_worse(changes: &[Change]) -> bool {
    changes.iter().any(|change| matches!(change.verdict, Verdict::Worse | Verdict::Gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: f64, spread: f64, ratio: Option<f64>) -> Stored {
        Stored {
            area: "kernel".to_owned(),
            workload: "submit_1".to_owned(),
            larger_is_better: Some(false),
            ours: Some(ours),
            spread: Some(spread),
            ratio,
            ..Stored::default()
        }
    }

    fn verdict(old: Stored, new: Stored) -> Verdict {
        changes(&[old], &[new], &["kernel"])[0].verdict
    }

    #[test]
    fn a_change_within_the_spread_is_none() {
        assert_eq!(verdict(row(100.0, 0.3, None), row(120.0, 0.3, None)), Verdict::Same);
        assert_eq!(verdict(row(100.0, 0.1, None), row(120.0, 0.1, None)), Verdict::Worse);
        assert_eq!(verdict(row(120.0, 0.1, None), row(100.0, 0.1, None)), Verdict::Better);
    }

    #[test]
    fn a_small_change_is_none_however_small_the_spread() {
        assert_eq!(verdict(row(100.0, 0.0, None), row(104.0, 0.0, None)), Verdict::Same);
        let count = |ours| Stored { unit: "instructions/job".to_owned(), ..row(ours, 0.0, None) };
        assert_eq!(verdict(count(100.0), count(104.0)), Verdict::Worse);
    }

    #[test]
    fn a_machine_that_is_slower_for_everyone_made_nothing_worse() {
        let (old, new) = (row(100.0, 0.1, Some(2.0)), row(200.0, 0.1, Some(2.0)));
        assert_eq!(verdict(old.clone(), new), Verdict::Same);
        assert_eq!(verdict(old.clone(), row(200.0, 0.1, Some(1.0))), Verdict::Worse);
        // Only the peers got faster.
        assert_eq!(verdict(old, row(100.0, 0.1, Some(1.0))), Verdict::Same);
    }

    #[test]
    fn of_rates_the_larger_is_the_better() {
        let rate = |ours| Stored { larger_is_better: Some(true), ..row(ours, 0.0, None) };
        assert_eq!(verdict(rate(100.0), rate(50.0)), Verdict::Worse);
        assert_eq!(verdict(rate(50.0), rate(100.0)), Verdict::Better);
    }

    #[test]
    fn what_may_be_below_zero_is_compared_as_it_is() {
        let cost = |ours: f64, range: f64| Stored {
            spread: None,
            range: Some(range),
            ..row(ours, 0.0, None)
        };
        assert_eq!(verdict(cost(-0.4, 1.0), cost(0.5, 1.0)), Verdict::Same);
        assert_eq!(verdict(cost(-0.4, 1.0), cost(4.0, 1.0)), Verdict::Worse);
        assert_eq!(verdict(cost(4.0, 1.0), cost(-0.4, 1.0)), Verdict::Better);
        assert_eq!(verdict(row(4.0, 0.5, None), cost(-0.4, 1.0)), Verdict::Better);
        // Of a file that does not know its range, that of the other counts.
        let unknown = Stored { range: None, ..cost(-0.4, 0.0) };
        assert_eq!(verdict(unknown.clone(), cost(4.0, 1.0)), Verdict::Worse);
        assert_eq!(verdict(unknown.clone(), unknown), Verdict::Same);
        let older = row(-0.4, 0.0, None);
        assert_eq!(verdict(older.clone(), cost(0.5, 1.0)), Verdict::Same);
        assert_eq!(verdict(older, cost(4.0, 1.0)), Verdict::Worse);
    }

    #[test]
    fn a_round_alone_is_as_noisy_as_the_rounds_of_the_other_run() {
        let once = Stored { spread: None, ..row(100.0, 0.0, None) };
        assert_eq!(verdict(once.clone(), row(120.0, 0.3, None)), Verdict::Same);
        assert_eq!(verdict(once, row(120.0, 0.1, None)), Verdict::Worse);
    }

    #[test]
    fn what_is_gone_counts_and_what_was_not_measured_does_not() {
        let other = Stored { workload: "submit_4".to_owned(), ..row(1.0, 0.0, None) };
        let unmeasured = Stored { area: "node".to_owned(), ..row(1.0, 0.0, None) };
        let failed = Stored { ours: None, ..row(1.0, 0.0, None) };
        let old = [row(1.0, 0.0, None), other, unmeasured];
        let both = changes(&old, std::slice::from_ref(&failed), &["kernel"]);
        let verdicts: Vec<Verdict> = both.iter().map(|change| change.verdict).collect();
        assert_eq!(verdicts, [Verdict::Gone, Verdict::Gone]);
        assert!(is_worse(&both));
        assert_eq!(changes(&old, &[failed], &[]).len(), 1);
        let new = changes(&[], &[row(1.0, 0.0, None)], &["kernel"]);
        assert_eq!(new[0].verdict, Verdict::New);
        assert!(!is_worse(&new));
    }

    #[test]
    fn an_area_that_was_asked_for_and_has_no_row_is_gone() {
        let old = [row(1.0, 0.0, None)];
        let gone = changes(&old, &[], &["kernel", "node"]);
        assert_eq!((gone.len(), gone[0].verdict), (1, Verdict::Gone));
        assert!(is_worse(&gone));
        assert!(changes(&old, &[], &["node"]).is_empty());
    }

    #[test]
    fn another_machine_and_what_disturbed_a_run_are_doubts() {
        let run = Run { machine: "Epyc".to_owned(), cores: 2, ..Run::default() };
        let old = Document { run, rows: vec![row(1.0, 0.0, None)] };
        assert!(doubts(&old, &old).is_empty());
        let mut new = old.clone();
        new.run.cores = 4;
        new.run.quick = true;
        new.run.disturbed.insert("kernel".to_owned(), vec!["40 % busy".to_owned()]);
        new.run.disturbed.insert("node".to_owned(), vec!["not compared".to_owned()]);
        let said = doubts(&old, &new);
        assert!(said[0].contains("quick"), "{said:?}");
        assert!(said[1].contains("Epyc with 2 cores before and on Epyc with 4 cores"), "{said:?}");
        assert_eq!(said[2..], ["the machine was not quiet now, in kernel"]);
    }

    #[test]
    fn the_table_begins_with_what_is_worse() {
        let named = |name: &str, ours| Stored { workload: name.into(), ..row(ours, 0.0, None) };
        let old = [named("a", 1.0), named("b", 1.0)];
        let changes = changes(&old, &[named("a", 0.5), named("b", 2.0)], &["kernel"]);
        let (lines, sentence) = table(&changes, |value| format!("{value}"));
        assert_eq!(lines[1][0], "kernel b");
        assert_eq!(lines[1][6], "WORSE");
        assert!(sentence.starts_with("1 worse, 0 gone, 1 better"), "{sentence}");
    }
}
