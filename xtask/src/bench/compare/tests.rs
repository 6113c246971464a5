//! Is a change seen where there is one, and none where there is none?

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
    let cost =
        |ours: f64, range: f64| Stored { spread: None, range: Some(range), ..row(ours, 0.0, None) };
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
