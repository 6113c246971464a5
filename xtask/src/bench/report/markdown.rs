//! The tables of `docs/performance.md`: what stands between two markers is made anew, the rest stays.

use anyhow::{Context, Result};

use super::reasons::Reasons;
use crate::bench::{
    document::Run,
    exchange,
    stored::Stored,
    table::{self, number},
};

/// In per cent. From here on it may be luck on which side of a target a value is.
const SPREAD_LARGE: f64 = 30.0;

/// So many peers stand in a table; the chart has all.
const PEERS_SHOWN: usize = 3;

/// Puts `section` between the markers of `area`.
///
/// # Errors
/// If the page has no such markers.
pub(super) fn replace(page: &str, area: &str, section: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- bench:{area} -->"), format!("<!-- /bench:{area} -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = parts.with_context(|| {
        format!("docs/performance.md has no place for {area}: add the lines {begin} and {end}")
    })?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", section.trim()))
}

/// The section of an area.
pub(super) fn section(
    area: &str,
    run: &Run,
    rows: &[Stored],
    reasons: &Reasons,
    curves: &[String],
) -> String {
    let mut text = measured(area, run);
    text.push_str(&format!("\n![{area}: ours and every peer](charts/{area}.svg)\n\n"));
    text.push_str(
        "| Workload | Unit | Ours | Spread | Best peers | Ratio | Floor | Target | Met |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    rows.iter().for_each(|row| text.push_str(&line(row, rows)));
    text.push_str(&failures(rows));
    for curve in curves {
        text.push_str(&format!("\n![{area}: {curve}](charts/{area}-{curve}.svg)\n"));
    }
    text.push_str(&shortfalls(rows, reasons));
    text
}

/// When, where and how.
fn measured(area: &str, run: &Run) -> String {
    let known = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    let mut text = format!(
        "Measured {} at commit {} by `{}`: {} cores, {}, {}, {}.",
        known(&run.date),
        known(&run.commit),
        known(&run.command),
        run.cores,
        known(&run.machine),
        known(&run.system),
        known(&run.compiler),
    );
    if let Some(versions) = run.versions.get(area).filter(|list| !list.is_empty()) {
        text.push_str(&format!(" Versions: {}.", versions.join(", ")));
    }
    if run.quick {
        text.push_str(" **This was a quick run, with smaller workloads: not for the record.**");
    }
    match run.disturbed_in(area).as_slice() {
        [] if run.cores > 0 => text.push_str(" The machine was quiet before and after."),
        [] => {}
        some => text.push_str(&format!(" **The machine was not quiet**: {}.", some.join("; "))),
    }
    if let Some(said) = run.exchange.get(area).and_then(|measured| exchange::said(measured)) {
        text.push_str(&format!(" Before and after, {said}."));
    }
    for note in run.notes.get(area).into_iter().flatten() {
        text.push_str(&format!(" Note: {}.", one_line(note)));
    }
    wrapped(&text)
}

pub(super) fn line(row: &Stored, rows: &[Stored]) -> String {
    let none = || "–".to_owned();
    let peers = row.peers_in_order().into_iter().take(PEERS_SHOWN);
    let mut peers = list(peers);
    let information = list(row.information_in_order().into_iter());
    if !information.is_empty() {
        let space = if peers.is_empty() { "" } else { " " };
        peers.push_str(&format!("{space}(for information: {information})"));
    }
    let target = row.target.words(number);
    let cells = [
        row.title(rows),
        row.unit.clone(),
        row.ours.map_or_else(none, number),
        spread(row).unwrap_or_else(none),
        if peers.is_empty() { none() } else { peers },
        row.ratio.map_or_else(none, |ratio| match ratio < 1.0 {
            true => format!("**{ratio:.2}**"),
            false => format!("{ratio:.2}"),
        }),
        row.floor.map_or_else(none, number),
        if target.is_empty() { none() } else { target },
        row.met.map_or_else(none, |met| if met { "yes" } else { "**no**" }.to_owned()),
    ];
    format!("| {} |\n", cells.map(|cell| one_line(&cell).replace('|', "\\|")).join(" | "))
}

fn spread(row: &Stored) -> Option<String> {
    let text = table::spread(row.spread, row.range, &row.unit)?;
    // As it is shown.
    let large = row.spread.is_some_and(|share| (100.0 * share).round() > SPREAD_LARGE);
    Some(if large { format!("**{text}**") } else { text })
}

fn list<'a>(others: impl Iterator<Item = (&'a str, f64)>) -> String {
    let others = others.map(|(name, value)| format!("{name} {}", number(value)));
    others.collect::<Vec<_>>().join(", ")
}

/// Peers that did not get through.
fn failures(rows: &[Stored]) -> String {
    let each = rows.iter().flat_map(|row| {
        let title = row.title(rows);
        row.peers_failed
            .iter()
            .map(move |(peer, why)| format!("- {title}: {peer}, {}\n", one_line(why)))
    });
    let list: String = each.collect();
    if list.is_empty() { list } else { format!("\nPeers that failed:\n\n{list}") }
}

/// Every row that is behind or short, with the reason.
fn shortfalls(rows: &[Stored], reasons: &Reasons) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.falls_short()) {
        let mut facts = Vec::new();
        facts.extend(row.ours.map(|ours| format!("{} {}", number(ours), row.unit)));
        facts.extend(row.ratio.map(|ratio| format!("ratio {ratio:.2}")));
        let target = row.target.words(number);
        if row.met == Some(false) && !target.is_empty() {
            facts.push(format!("target: {target}"));
        }
        let reason = reasons.of(row, rows);
        let reason = reason.unwrap_or("The cause has not been found out yet.");
        let item = format!("- **{}** ({}). {reason}", row.title(rows), facts.join("; "));
        text.push_str(&wrapped(&one_line(&item)).replace('\n', "\n  "));
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    match text.is_empty() {
        true if rows.iter().all(|row| row.ratio.is_none()) => {
            "\nEvery row reaches its target.\n".to_owned()
        }
        true => "\nEvery row is ahead of its best peer and reaches its target.\n".to_owned(),
        false => format!("\nBehind a peer, or short of a target:\n\n{text}"),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lines of a length that one reads in an editor.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 108;
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let more = word.chars().count();
        if length > 0 && length + 1 + more > WIDTH {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += more;
    }
    lines.push('\n');
    lines
}
