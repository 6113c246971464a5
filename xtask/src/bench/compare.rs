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
mod tests;
